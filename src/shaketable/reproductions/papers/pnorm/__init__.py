"""Siedel et al. (2024): random noise of every p-norm, in training and tests of image networks."""
