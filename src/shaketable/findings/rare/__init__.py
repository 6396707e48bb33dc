"""Rare failures: the probability of a wrong answer under noise, at every point and over them."""
