"""Training regimes: five metrics of every regime, and how each differs from a baseline."""
