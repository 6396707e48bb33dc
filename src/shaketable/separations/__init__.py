"""separations."""
