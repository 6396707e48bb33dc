"""The same requirements as a test: ``pytest check_model.py``."""

import joblib


def test_model(shaketable):
    """The model is accurate, and noise costs it little."""
    model = joblib.load("model.joblib")
    shaketable.require(model, "test.npz", "accuracy >= 90%", "error[jitter(0.2)] <= 10%")
