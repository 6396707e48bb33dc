"""Requirements on models: met, not met or inconclusive, decided from records by intervals.

`requirement` reads a requirement such as ``error[jitter(0.2)] <= 5%``, `quantities` lists what can
be required and finds its cases in the records, `check` decides; `pytest_plugin` is the fixture for
tests.
"""
