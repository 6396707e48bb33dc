"""Imperceptible noise of every norm (Fig. 2)."""
