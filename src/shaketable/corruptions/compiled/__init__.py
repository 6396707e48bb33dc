"""Loops over values that numba compiles: noise, replaced values and rotation, from keys.

`streams` has the random words of a key, `ziggurat` noise in p-norm balls, `levels` what changes
single values and moves pixels.
"""
