"""Suites: named lists of corruptions that are evaluated together.

`suite` has the class and the registry, `catalogue` declares ours, `grids` makes suites of combined
corruptions, and `ladders` has the published sizes of p-norm noise.
"""
