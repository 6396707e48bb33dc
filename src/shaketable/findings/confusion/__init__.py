"""Confusion: which class turns into which, on clean points and under corruptions."""
