"""A metric of another package: the largest loss of accuracy under any corruption on record.

It shows what a new metric needs: this folder, and the two lines of entry points in pyproject.toml.
"""
