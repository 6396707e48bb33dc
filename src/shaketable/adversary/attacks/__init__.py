"""Attacks: ways to search the region around a point for one that the model labels wrongly.

Each attack is a class that follows the protocol in `registry.py`, and declares its spec there in
the module that defines it; those of other packages are found by entry point. Results are confirmed
by `registry.confirm`, whoever found them.
"""
