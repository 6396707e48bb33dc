"""Buying robustness: noise, augmentations, recipes and a loop for torch networks."""
