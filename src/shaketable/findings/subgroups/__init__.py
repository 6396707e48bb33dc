"""Subgroups: accuracy and error probability of every class, and of every group of rows."""
