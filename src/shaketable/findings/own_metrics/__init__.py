"""Metrics of other packages and of users: one table of their values for every model."""
