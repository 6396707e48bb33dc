"""The suites that come with shaketable: published ones, and variants of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shaketable.corruptions import CameraGaussian
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE
from shaketable.corruptions.common.severities import NAMES
from shaketable.corruptions.suites.grids import Levels, grid
from shaketable.corruptions.suites.suite import SUITES, Suite
from shaketable.corruptions.training_sets import LADDERS, TWO_FACTOR, specs_of, write_gaussian


def _linf(*epsilons: float | str) -> tuple[str, ...]:
    return tuple(f"linf({epsilon})" for epsilon in epsilons)


def _published(name: str, about: str, metric: str, d: int) -> Suite:
    about = f"{about} (Siedel et al. 2024, Table 1)"
    return Suite(name, about, specs_of(LADDERS[name]), metric, k=1, d=d)


def _for_any_shape(name: str, metric: str) -> Suite:
    family = (f"{name}-cifar", f"{name}-tiny")
    about = f"{' or '.join(family)} where they fit; otherwise derived from shape and range"
    return Suite(name, about, (), metric, k=1, family=family)


def _common(name: str, about: str, metric: str, kinds: tuple[str, ...]) -> Suite:
    names = tuple(f"{kind}({severity})" for kind in kinds for severity in range(1, 6))
    return Suite(name, f"{about} (Hendrycks & Dietterich 2019)", names, metric, k=1)


_ALL_19 = (
    "all 19 common corruptions, 5 severities each; like every suite of them, it takes jpeg=QUALITY "
    "to compress the images, frost=DIR for other ice, published=DIR to read images"
)


def _by_variance(m: float) -> str:
    return CameraGaussian(0, m).spec


MULTIPLES = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 7.5)
"""Sizes of ``mscr-ladder``, in units of eps_min.

They span the sizes of the two published studies, in units of the eps_min of their data: 0.25, 0.5,
1, 1.74, 2.49, 3.74, 4.98 and 7.48 in two dimensions (Siedel et al. 2022, Table 2), and 0.09, 0.19,
0.28, 0.47, 0.66, 1 and 1.42 on CIFAR-10 (Table 3). Up to 1 no accuracy has to be lost; beyond it
the balls of the closest points of two classes overlap. The smallest size shows whether a model
breaks long before, the largest ones how fast accuracy falls off.
"""

_SHARES = (0.1, 0.15, 0.2)
_SP = {"SP0": "clean", **{f"SP{m}": f"sp({m})" for m in _SHARES}}
_RO = {f"RO{angle}": f"rotation({angle})" if angle else "clean" for angle in (0, -60, -30, 30, 60)}
_NO = {"NO0": "clean", **{f"NO{m}": f"jitter({m})" for m in (0.2, 0.5, 1)}}
_MI = {"MI0": "clean", **{f"MI{m}": f"missing({m})" for m in _SHARES}}
_SC = {"SC1": "clean", **{f"SC{m}": f"scaling({m})" for m in (0.8, 0.9, 1.1, 1.2)}}


def _two_factor(name: str, about: str, *pairs: tuple[Levels, Levels]) -> Suite:
    """Clean points, and every combination of each pair of factors, in both orders."""
    names = (name for pair in pairs for name in grid(*pair).names[1:])
    return Suite(name, about, ("clean", *names), "mcv", k=1)


def _two_factor_images(name: str, gaussian: Callable[[float], str], meaning: str) -> Suite:
    ga = {"GA0": "clean", **{f"GA{m}": gaussian(m) for m in _SHARES}}
    about = f"69 sets: salt & pepper with Gaussian noise ({meaning}) or rotation, in both orders"
    return _two_factor(name, f"{about} (Dai & Berleant 2022)", (_SP, ga), (_SP, _RO))


def _training(name: str) -> Suite:
    names = ("clean", *(f"{spec} as {label}" for label, spec in TWO_FACTOR.items()))
    about = "the nine training sets of two-factor (Dai & Berleant 2022)"
    return Suite(name, about, names, "mcv", k=1, part="train")


def _declare(make: Callable[..., Suite], name: str, *details: Any) -> None:
    """Declare a suite, which is made when it is first asked for."""
    SUITES.declare(name, partial(make, name, *details))


_declare(Suite, "mscr", "the one level that MSCR needs", _linf("eps_min"))
_declare(
    Suite,
    "mscr-ladder",
    "noise of 0.1 to 7.5 times eps_min, for any data; L-inf, or mscr-ladder(norm=2)",
    _linf(*("eps_min" if c == 1 else f"{c}*eps_min" for c in MULTIPLES)),
)
_declare(
    Suite,
    "mscr-2d",
    "L-inf levels of the 2-D study (Siedel et al. 2022, Table 2)",
    _linf(0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03),
)
_declare(
    Suite,
    "mscr-cifar",
    "L-inf levels of the CIFAR-10 study (Siedel et al. 2022, Table 3), pixels in [0, 1]",
    _linf(0.01, 0.02, 0.03, 0.05, 0.07, "eps_min", 0.15),
)
_declare(_published, "pnorm-cifar", "9 norms x 10 sizes for 32x32x3 images", "mce_lp", 3072)
_declare(_published, "pnorm-tiny", "9 norms x 10 sizes for 64x64x3 images", "mce_lp", 12288)
_declare(_published, "ice-cifar", "6 imperceptible noises for 32x32x3 images", "ice", 3072)
_declare(_published, "ice-tiny", "6 imperceptible noises for 64x64x3 images", "ice", 12288)
_declare(_for_any_shape, "pnorm", "mce_lp")
_declare(_for_any_shape, "ice", "ice")
_declare(_common, "common-19", _ALL_19, "mce", NAMES)
_declare(_common, "common-15", "the 15 of the published benchmark", "mce_15", BENCHMARK)
_declare(_common, "common-xn", "the 15 that are not pixel noise", "mce_xn", NO_NOISE)
_declare(_two_factor_images, "two-factor", write_gaussian, "mean as named, variance 0.01")
_declare(_two_factor_images, "two-factor-variance", _by_variance, "mean 0, variance as named")
_declare(_training, "two-factor-train")
_declare(
    _two_factor,
    "two-factor-table",
    "69 sets for tables: missing values with noise or a wrong scale, in both orders",
    (_NO, _MI),
    (_MI, _SC),
)
