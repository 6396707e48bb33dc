"""Comparison: which model is more accurate, on clean points and under every corruption."""
