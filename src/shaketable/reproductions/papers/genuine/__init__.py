"""Proper measure for adversarial robustness (2020): the worst case, genuine and standard."""
