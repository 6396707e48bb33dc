"""Imperceptible noise of every norm on one image (Fig. 2)."""
