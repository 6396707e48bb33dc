"""Corruptions of torch tensors: `device` decides where to compute them, `fused` has kernels."""
