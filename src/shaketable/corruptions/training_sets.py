"""Published sizes of p-norm noise, and published training noise by name.

The sizes are those of Siedel et al. (2024), Table 1, norm by norm; C1, C2 and C3 draw from them.
The others are the training sets of two-factor perturbation (Dai & Berleant 2022).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from shaketable.core.errors import InputError
from shaketable.core.norms import norm_name
from shaketable.core.spec import Call, format_value
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.camera_faults import CameraGaussian
from shaketable.corruptions.compose import Named
from shaketable.corruptions.corruption import Corruption, Traits
from shaketable.corruptions.images import check_finite_range
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.one_of import OneOf
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.registry import CORRUPTIONS, Declaration, EpsMin, check_bare
from shaketable.data.bounds import Bounds

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


_NORMS = tuple(LADDERS["pnorm-cifar"])
_SETS = {"C1": (_NORMS, 10), "C2": ((0, 2, math.inf), 10), "C3": (_NORMS, 5)}
"""Norms of every set, and how many sizes of each, the smallest first."""
_VALUES = {"cifar": 3072, "tiny": 12288}
"""Number of values per image that sizes are published for."""


@dataclass(frozen=True)
class NoiseSet(Corruption):
    """One size of one norm, drawn for every point, of a training set of Siedel et al. (2024).

    ``C1``: 9 norms x 10 sizes; ``C2``: p = 0, 2, inf x 10 sizes; ``C3``: 9 norms x the 5 smallest
    sizes. Points of 3072 and 12288 values have the published sizes, all others sizes derived from
    those for 3072, as in the suite pnorm; sizes are multiplied by the width of the value range.

    >>> NoiseSet("C1").for_shape((32, 32, 3)).spec, NoiseSet("C2").for_shape((28, 28)).spec
    ('C1(cifar)', 'C2(784)')
    """

    name: str
    profile: str = ""
    """``cifar``, ``tiny`` or the number of values per point; empty until the shape is known."""
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"|cifar|tiny|[1-9]\d*", self.profile):
            raise InputError(
                f"{self.name} takes cifar, tiny, or the number of values per point that its sizes "
                f"are for, got {self.profile!r}; leave it out"
            )

    traits = Traits(needs_range=True)

    def write(self) -> Call:
        """Return its name; with the name of its sizes once the shape is known."""
        return Call(self.name, (self.profile,) if self.profile else ())

    @property
    def choice(self) -> OneOf:
        """The noises that one is drawn of; shape and value range must be known."""
        bounds = check_finite_range(self.bounds, self)
        return _list_noises(self.name, self.profile, bounds)

    def for_shape(self, shape: tuple[int, ...]) -> NoiseSet:
        """Return the same set with the sizes for points of this shape."""
        d = math.prod(shape)
        fitting = (profile for profile, values in _VALUES.items() if values == d)
        return self if self.profile else replace(self, profile=next(fitting, str(d)))

    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Apply one of the noises to every row; `drawn` are the keys."""
        return self.for_shape(tuple(x.shape[1:])).choice.apply(x, drawn)


@lru_cache(maxsize=64)
def _list_noises(name: str, profile: str, bounds: Bounds) -> OneOf:
    """Return the noises of a set, in these bounds."""
    norms, count = _SETS[name]
    base = profile if profile in _VALUES else "cifar"
    published = {p: LADDERS[f"pnorm-{base}"][p][:count] for p in norms}
    d = _VALUES[base] if profile == base else int(profile)
    ladders = derive_ladders(published, _VALUES[base], d, bounds.high - bounds.low)
    levels = ((p, size) for p, sizes in ladders.items() for size in sizes)
    noises = tuple(PNormNoise(p, size) if p else Impulse(size) for p, size in levels)
    return OneOf(tuple(noise.bind(bounds) for noise in noises))


def _read_noise_set(call: Call, eps_min: EpsMin | None) -> NoiseSet:  # noqa: ARG001  (of p-norms)
    if call.options or len(call.args) > 1:
        raise InputError(f"{call.name} takes the name of its sizes or nothing, got {call}")
    return NoiseSet(call.name, format_value(call.args[0]) if call.args else "")


for _name, _what in (
    ("C1", "9 norms x 10 sizes"),
    ("C2", "p = 0, 2, inf x 10 sizes"),
    ("C3", "9 norms x the 5 smallest sizes"),
):
    CORRUPTIONS.add(
        _name,
        Declaration(
            read=_read_noise_set,
            forms={
                _name: f"p-norm noise of a random norm and size for every point: {_what} (Siedel "
                "et al. 2024), for the shape and range of the data"
            },
            home=__name__,
        ),
    )


# The Gaussian factor of the two-factor sets: the paper gives one number and calls it density.
# MATLAB's imnoise, which made the images, reads a single number as the mean, with variance 0.01;
# two-factor-variance is for readers who take it for the variance.
def write_gaussian(m: float) -> str:
    """Return the spec of the Gaussian factor of the two-factor sets."""
    return CameraGaussian(m).spec


def _list_two_factor() -> dict[str, str]:
    sp, ga, left, right = "sp(0.1)", write_gaussian(0.1), "rotation(-30)", "rotation(30)"
    return {
        "SP0.1": sp,
        "GA0.1": ga,
        "SP0.1GA0.1": f"{sp} + {ga}",
        "GA0.1SP0.1": f"{ga} + {sp}",
        "SP0.1RL30": f"{sp} + {left}",
        "SP0.1RR30": f"{sp} + {right}",
        "RL30": left,
        "RR30": right,
    }


TWO_FACTOR = _list_two_factor()
"""Specs of the two-factor training sets of Dai & Berleant (2022) by name, without clean."""


def _read_two_factor(call: Call, eps_min: EpsMin | None) -> Named:
    from shaketable.corruptions.parse import parse  # it builds on this module

    check_bare(call)
    return Named(parse(TWO_FACTOR[call.name], eps_min=eps_min), call.name)


for _name, _spec in TWO_FACTOR.items():
    CORRUPTIONS.add(
        _name,
        Declaration(
            read=_read_two_factor,
            forms={_name: f"training set of Dai & Berleant (2022): {_spec}"},
            home=__name__,
        ),
    )
