"""Errata: slips in print and in authors' code that touch numbers shown here, as data.

They are in ``errata.toml``; `list_touching` returns those that some results have to do with.
"""
