"""The vocabulary of all other packages: errors, spec strings, norms, keys, registries, progress.

Nothing here knows data, models or corruptions, and nothing of ours is imported from outside.
"""
