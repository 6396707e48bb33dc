"""Data in the plane: separation, training noise against test noise, and what follows from both."""
