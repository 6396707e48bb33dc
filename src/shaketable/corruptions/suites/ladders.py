"""Published sizes of p-norm noise, norm by norm (Siedel et al. 2024, Table 1)."""

import math

from shaketable.core.norms import norm_name
from shaketable.core.spec import format_value

Ladders = dict[float, tuple[float, ...]]

_CIFAR: Ladders = {
    0: (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12),
    0.5: (2.5e4, 5e4, 7.5e4, 1e5, 1.5e5, 2e5, 2.5e5, 3e5, 3.5e5, 4e5),
    1: (12.5, 25, 37.5, 50, 75, 100, 125, 150, 175, 200),
    2: (0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5),
    5: (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6),
    10: (0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3),
    50: (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.18),
    200: (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15),
    math.inf: (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15),
}
_TINY: Ladders = {
    0: (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3),
    0.5: (2e5, 4e5, 7e5, 1.2e6, 1.8e6, 2.5e6, 3.5e6, 5e6, 8e6, 1.2e7),
    1: (37.5, 75, 125, 200, 300, 400, 600, 800, 1100, 1500),
    2: (0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 20),
    5: (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5),
    10: (0.02, 0.04, 0.06, 0.1, 0.14, 0.18, 0.25, 0.35, 0.5, 0.7),
    50: (0.02, 0.03, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.35),
    200: (0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3),
    math.inf: (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3),
}
_ICE_CIFAR: Ladders = {
    0.5: (2.5e4,), 1: (25,), 2: (0.5,), 10: (0.03,), 50: (0.02,), math.inf: (0.01,)
}  # fmt: skip
_ICE_TINY: Ladders = {
    0.5: (7e5,), 1: (125,), 2: (2,), 10: (0.06,), 50: (0.04,), math.inf: (0.01,)
}  # fmt: skip
LADDERS = {
    "pnorm-cifar": _CIFAR, "pnorm-tiny": _TINY, "ice-cifar": _ICE_CIFAR, "ice-tiny": _ICE_TINY
}  # fmt: skip


def specs_of(ladders: Ladders) -> tuple[str, ...]:
    """Specs of all norms and sizes."""
    return tuple(
        f"{norm_name(p)}({format_value(size)})" for p, sizes in ladders.items() for size in sizes
    )


def derive_ladders(ladders: Ladders, base: int, d: int, width: float) -> Ladders:
    r"""Sizes for `d` values in a range of `width`, from sizes for `base` values in [0, 1].

    Relative to the range, a single value moves as much as under the published sizes:

    .. math:: \epsilon' = \epsilon\,(d' / d)^{1/p}\,(high - low)

    The share of values that L0 noise replaces stays the same; shares that amount to no value are
    left out.
    """
    derived: Ladders = {}
    for p, published in ladders.items():
        factor = 1.0 if p == 0 else (d / base) ** (1 / p) * width
        sizes = tuple(float(f"{size * factor:.3g}") for size in published)
        if p == 0:
            sizes = tuple(size for size in sizes if round(size * d) > 0)
        derived |= {p: sizes} if sizes else {}
    return derived
