"""Suites: named lists of corruptions that are evaluated together.

`suite` has the class and the registry, `catalogue` declares ours, `grids` makes suites of combined
corruptions, and `per_feature` suites of noise in one column at a time.
"""
