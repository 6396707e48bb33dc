"""balls."""
