"""Measures beyond accuracy: for uneven classes, and of scores, under noise and with intervals."""
