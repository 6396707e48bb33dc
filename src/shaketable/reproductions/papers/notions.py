"""Notions of robustness together: the same models on the same data under all of them."""
