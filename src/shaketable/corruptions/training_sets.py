"""Published training noise by name: C1, C2 and C3, and the sets of two-factor perturbation."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from shaketable.core.errors import InputError
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
from shaketable.corruptions.suites.ladders import LADDERS, derive_ladders
from shaketable.data.bounds import Bounds

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
