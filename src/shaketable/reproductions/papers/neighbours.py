"""Nearest neighbours: accuracy of 1-NN with ties, and agreement with it."""
