"""Siedel et al. (2022): class separation, and noise of its size in training and tests."""
