"""Networks on images: noise in training and in tests."""
