"""one_nn."""
