"""Voronoi cells of the evaluated points: everything closer to one of them than to any other.

`cells` tests points and pulls them back into their cells, exactly and in every dimension;
`kernels` are its compiled loops, `tensors` the same for torch.
"""
