"""Confidence: whether a model is as sure as it is right, clean and under corruptions."""
