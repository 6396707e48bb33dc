"""Suites: named lists of corruptions, the published ladders as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from shaketable.corruptions import Bounds
from shaketable.corruptions.common import BENCHMARK, NAMES, NO_NOISE, CommonCorruption
from shaketable.corruptions.published import check_folder_name, published_in
from shaketable.errors import InputError, unknown
from shaketable.norms import norm_name
from shaketable.spec import format_value

COMMON_METRICS = ("mce", "mce_15", "mce_xn")
"""Metrics of the suites of common corruptions."""

Ladders = dict[float, tuple[float, ...]]


@dataclass(frozen=True)
class Suite:
    """A named list of corruptions; `names` are their spec strings."""

    name: str
    about: str
    names: tuple[str, ...]
    metric: str = ""
    """The metric it is made for."""
    k: int = 10
    """Draws a point, unless others are asked for."""
    d: int | None = None
    """Values of the points that its sizes are published for; None where they fit all."""
    family: tuple[str, ...] = ()
    """Published suites it stands for where one fits; else sizes are derived from the first."""
    derived: str = ""
    """How its sizes were derived, where they are not published ones."""

    @property
    def needs_range(self) -> bool:
        """Whether its sizes are meant for values of a certain range."""
        return self.d is not None or bool(self.family) or self.metric in COMMON_METRICS

    def __str__(self) -> str:
        if not self.names:
            return self.about
        shown = self.names if len(self.names) <= 10 else (self.names[0], "…", self.names[-1])
        return f"{self.about}: {', '.join(shown)}"

    def on(self, shape: tuple[int, ...], bounds: Bounds | None) -> Suite:
        """Return the suite for points of this shape in a range; refuse what it is not meant for.

        >>> suite("ice").on((28, 28), Bounds(0, 1)).names[:3]
        ('l0.5(1630)', 'l1(6.38)', 'l2(0.253)')
        """
        if self.metric in COMMON_METRICS:
            return self._on_pictures(shape)
        if not self.needs_range:
            return self
        d = math.prod(shape)
        other = next((s.name for s in SUITES.values() if self.name in s.family), "")
        if self.d is not None and d != self.d:
            raise InputError(
                f"suite {self.name!r} is for points of {self.d} values, got {d} values; use "
                f"{other!r}, whose sizes are derived from shape and range"
            )
        if bounds is None or math.inf in (-bounds.low, bounds.high):
            raise InputError(
                f"suite {self.name!r} needs a finite value range, and none is declared; give "
                "bounds=(low, high), --range LOW,HIGH, or put the features on [0, 1] (--scale)"
            )
        unit = (bounds.low, bounds.high) == (0, 1)
        if self.d is not None and not unit:
            raise InputError(
                f"suite {self.name!r} is for values in [0, 1], got [{bounds.low:g}, "
                f"{bounds.high:g}]; store pictures as uint8 or divide them by {bounds.high:g}, or "
                f"use {other!r}, whose sizes are derived from shape and range"
            )
        published = [suite(name) for name in self.family]
        fitting = [s for s in published if unit and s.d == d]
        if self.d is not None or fitting:
            return fitting[0] if fitting else self
        return _derive(self, published[0], d, bounds.high - bounds.low)

    def _on_pictures(self, shape: tuple[int, ...]) -> Suite:
        """Return the same suite, marked where severities are interpolated for this size."""
        if published_in(self.names):
            return self
        sized = CommonCorruption(NAMES[0], 1).sized(shape)
        how = f"severities interpolated for pictures of {sized.profile}" if sized.derived else ""
        return replace(self, derived=how)

    def with_textures(self, folder: str | Path) -> Suite:
        """Return the same suite with frost from the pictures of a folder."""
        self._refuse_others("frost textures")
        check_folder_name(str(folder), "textures")
        if published_in(self.names):
            raise InputError("textures are for pictures made here, not for published ones")
        names = (
            f"{name[:-1]}, textures={folder})" if name.startswith("frost(") else name
            for name in self.names
        )
        return replace(self, names=tuple(names))

    def published(self, folder: str | Path) -> Suite:
        """Return the same suite, read from the pictures of a folder, such as CIFAR-10-C.

        >>> suite("common-15").published("CIFAR-10-C").names[0]
        'gaussian_noise(1, published=CIFAR-10-C)'
        """
        self._refuse_others("published pictures")
        check_folder_name(str(folder), "published")
        if any("textures=" in name for name in self.names):
            raise InputError("textures are for pictures made here, not for published ones")
        names = (f"{name[:-1]}, published={folder})" for name in self.names)
        return replace(self, names=tuple(names))

    def _refuse_others(self, what: str) -> None:
        if self.metric not in COMMON_METRICS:
            raise InputError(
                f"{what} are for suites of common corruptions, such as common-19, got {self.name!r}"
            )


def suite(name: str) -> Suite:
    """Suite of that name.

    >>> suite("mscr").names
    ('linf(eps_min)',)
    """
    name = "common-19" if name == "common" else name
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]


def _specs(ladders: Ladders) -> tuple[str, ...]:
    return tuple(
        f"{norm_name(p)}({format_value(size)})" for p, sizes in ladders.items() for size in sizes
    )


def _linf(*epsilons: float | str) -> tuple[str, ...]:
    return tuple(f"linf({epsilon})" for epsilon in epsilons)


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
_LADDERS = {
    "pnorm-cifar": _CIFAR, "pnorm-tiny": _TINY, "ice-cifar": _ICE_CIFAR, "ice-tiny": _ICE_TINY
}  # fmt: skip


def _published(name: str, about: str, metric: str, d: int) -> Suite:
    about = f"{about} (Siedel et al. 2024, Table 1)"
    return Suite(name, about, _specs(_LADDERS[name]), metric, k=1, d=d)


def _common(name: str, about: str, metric: str, kinds: tuple[str, ...]) -> Suite:
    names = tuple(f"{kind}({severity})" for kind in kinds for severity in range(1, 6))
    return Suite(name, f"{about} (Hendrycks & Dietterich 2019)", names, metric, k=1)


_ALL = (
    Suite("mscr", "the one level that MSCR needs", _linf("eps_min")),
    Suite(
        "mscr-2d",
        "L-inf levels of the 2-D study (Siedel et al. 2022, Table 2)",
        _linf(0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03),
    ),
    Suite(
        "mscr-cifar",
        "L-inf levels of the CIFAR-10 study (Siedel et al. 2022, Table 3), pixels in [0, 1]",
        _linf(0.01, 0.02, 0.03, 0.05, 0.07, "eps_min", 0.15),
    ),
    _published("pnorm-cifar", "9 norms x 10 sizes for 32x32x3 pictures", "mce_lp", 3072),
    _published("pnorm-tiny", "9 norms x 10 sizes for 64x64x3 pictures", "mce_lp", 12288),
    _published("ice-cifar", "6 imperceptible noises for 32x32x3 pictures", "ice", 3072),
    _published("ice-tiny", "6 imperceptible noises for 64x64x3 pictures", "ice", 12288),
    Suite("pnorm", "pnorm-cifar or pnorm-tiny where they fit; else derived from shape and range",
          (), "mce_lp", k=1, family=("pnorm-cifar", "pnorm-tiny")),
    Suite("ice", "ice-cifar or ice-tiny where they fit; else derived from shape and range",
          (), "ice", k=1, family=("ice-cifar", "ice-tiny")),
    _common("common-19", "all 19 common corruptions, 5 severities each", "mce", NAMES),
    _common("common-15", "the 15 that the benchmark is made of", "mce_15", BENCHMARK),
    _common("common-xn", "the 15 that are not pixel noise", "mce_xn", NO_NOISE),
)  # fmt: skip
SUITES = {suite.name: suite for suite in _ALL}


def _derive(asked: Suite, base: Suite, d: int, width: float) -> Suite:
    r"""Sizes that move every single value as much, on the scale of its range, as CIFAR's do.

    .. math:: \epsilon = \epsilon_{CIFAR}\,(d / 3072)^{1/p}\,(high - low)

    The share of values that L0 noise hits stays, and levels at which it is no value are left out.
    """
    assert base.d is not None, "published suites know their shape"
    ladders: Ladders = {}
    for p, sizes in _LADDERS[base.name].items():
        factor = 1.0 if p == 0 else (d / base.d) ** (1 / p) * width
        found = tuple(float(f"{size * factor:.3g}") for size in sizes)
        if p == 0:
            found = tuple(size for size in found if round(size * d) > 0)
        ladders |= {p: found} if found else {}
    how = f"derived from {base.name} for {d} values in a range of {width:g}"
    return replace(asked, names=_specs(ladders), derived=how)
