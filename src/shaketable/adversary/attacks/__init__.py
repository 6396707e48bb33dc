"""Attacks: ways to search the region around a point for one that the model labels wrongly.

Each attack is a class that follows the protocol in `registry.py` and declares its spec in the module
that defines it; `registry.py` collects them, together with those of other packages. Results are
confirmed by `attack.confirm`, whoever found them.
"""
