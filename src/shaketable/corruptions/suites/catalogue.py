"""Suites: named lists of corruptions, the published ladders as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name, parse_call, split_factors, split_name
from shaketable.corruptions import CameraGaussian, Corruption, parse
from shaketable.corruptions.common import BENCHMARK, NAMES, NO_NOISE, CommonCorruption
from shaketable.corruptions.published import check_folder_name, published_in
from shaketable.corruptions.suites.ladders import LADDERS, Ladders, specs_of
from shaketable.data.bounds import Bounds

COMMON_METRICS = ("mce", "mce_15", "mce_xn")
"""Metrics of the suites of common corruptions."""

_RELATIVE = frozenset({"l0", "sp", "ga", "rotation", *NAMES})
"""Corruptions whose sizes are relative to the value range."""

Levels: TypeAlias = "Iterable[str | Corruption] | Mapping[str, str | Corruption]"
Orders: TypeAlias = Literal["both", "all", "given"]


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
    part: Literal["test", "train"] = "test"
    """The part of the data it is meant for."""

    @property
    def needs_range(self) -> bool:
        """Whether its sizes are meant for values of a certain range."""
        if self.d is not None or self.family:
            return True
        return any(
            parse_call(f).name in _RELATIVE for name in self.names for f in split_factors(name)
        )

    def __str__(self) -> str:
        if not self.names:
            return self.about
        names = [display_name(name) for name in self.names]
        shown = names if len(names) <= 10 else [names[0], "…", names[-1]]
        return f"{self.about}: {', '.join(shown)}"

    def on(self, shape: tuple[int, ...], bounds: Bounds | None) -> Suite:
        """Return the suite for points of this shape in a range; refuse what it is not meant for.

        >>> suite("ice").on((28, 28), Bounds(0, 1)).names[:3]
        ('l0.5(1630)', 'l1(6.38)', 'l2(0.253)')
        """
        if self.metric in COMMON_METRICS:
            return self._on_pictures(shape)
        if self.d is None and not self.family:
            return self._on_points(shape)
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

    def _on_points(self, shape: tuple[int, ...]) -> Suite:
        """Return the same suite; refuse points that are no pictures where it turns them."""
        turns = any(f.startswith("rotation(") for name in self.names for f in split_factors(name))
        if turns and len(shape) not in (2, 3):
            raise InputError(
                f"suite {self.name!r} turns pictures, height x width x channels, got points of "
                f"shape {shape}; reshape pictures that are flat rows; for tables there is "
                "'two-factor-table'"
            )
        return self

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
        raise unknown_name("suite", name, SUITES)
    return SUITES[name]


def grid(
    first: Levels,
    second: Levels,
    *more: Levels,
    orders: Orders = "both",
    title: str = "",
    about: str = "",
) -> Suite:
    """Suite of faults that follow one another: every level of every factor, and none of it.

    Clean points come first, then every combination, in every order. Levels that are specs make sets
    that are known by their specs, so that single faults occur once. Levels that have labels make
    sets with names, put together from the labels; each is a draw of its own, and so are
    single faults in different orders, when the label of ``clean`` tells these apart.

    Parameters
    ----------
    first, second, *more
        Levels of every factor: specs, or specs with labels, as a mapping or as ``a as LABEL``.
        ``clean`` stands for none of the factor, and is added where it is missing.
    orders
        ``"both"``, or ``"all"`` of more than two, or only as ``"given"``.
    title, about
        How the suite is called, and described; by default by the kinds of its factors.

    >>> grid(["sp(0.1)"], ["rotation(30)"], orders="given").names
    ('clean', 'rotation(30)', 'sp(0.1)', 'sp(0.1) + rotation(30)')
    >>> grid({"S0": "clean", "S": "sp(0.1)"}, {"R0": "clean", "R": "rotation(30)"}).names[1:4]
    ('rotation(30) as S0R', 'sp(0.1) as SR0', 'sp(0.1) + rotation(30) as SR')
    """
    if orders not in get_args(Orders):
        raise unknown_name("orders", str(orders), get_args(Orders))
    known = [_levels(levels) for levels in (first, second, *more)]
    labelled = any(label not in ("", spec) for levels in known for label, spec in levels.items())
    if labelled and any(label == spec != "clean" for way in known for label, spec in way.items()):
        raise InputError("levels must have labels for every factor, or for none; got both")
    found: dict[str, str] = {}
    for way in [known] if orders == "given" else permutations(known):
        for chosen in product(*(levels.items() for levels in way)):
            spec = " + ".join(spec for _, spec in chosen if spec != "clean")
            name = "".join(label for label, _ in chosen) if labelled else spec
            full = f"{spec} as {name}" if labelled else spec
            if spec:
                parse(full, eps_min=lambda _: 1.0)  # refuses what has no place in a sequence
            if spec and found.setdefault(name, full) != full:
                raise InputError(f"labels must tell all sets apart, got {name!r} twice")
    kinds = [
        parse_call(f).name for way in known for spec in way.values() for f in split_factors(spec)
    ]
    title = title or " x ".join(dict.fromkeys(kinds))
    said = (
        f"{' and '.join(dict.fromkeys(kinds))}, {'as given' if orders == 'given' else 'all orders'}"
    )
    return Suite(title, about or said, ("clean", *found.values()), "mcv", k=1)


def _levels(levels: Levels) -> dict[str, str]:
    """Specs by label, with none of the factor among them; without labels by themselves."""
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InputError(f"levels must be a list of specs, got {levels!r}; write ['sp(0.1)']")
    if isinstance(levels, Mapping):
        pairs = [(str(label), _spec(level)) for label, level in levels.items()]
    else:  # a spec may have a name, which is its label
        specs = [_spec(level) for level in levels]
        pairs = [("" if s == "clean" else display_name(s), split_name(s)[0]) for s in specs]
    known = dict(pairs)
    if odd := [spec for spec in known.values() if split_name(spec)[1]]:
        raise InputError(f"levels that have labels must have no names besides, got {odd[0]!r}")
    if len(known) < len(pairs) or not set(known.values()) - {"clean"}:
        raise InputError(
            f"levels must be corruptions, each once, got {[s for _, s in pairs]}; clean is added "
            "by itself"
        )
    return known if "clean" in known.values() else {"": "clean", **known}


def _spec(level: str | Corruption) -> str:
    """Canonical spec of a level; ``eps_min`` stays as it is."""
    if isinstance(level, str) and "eps_min" in level:
        return level
    return (parse(level) if not hasattr(level, "spec") else level).spec


def _linf(*epsilons: float | str) -> tuple[str, ...]:
    return tuple(f"linf({epsilon})" for epsilon in epsilons)


def _published(name: str, about: str, metric: str, d: int) -> Suite:
    about = f"{about} (Siedel et al. 2024, Table 1)"
    return Suite(name, about, specs_of(LADDERS[name]), metric, k=1, d=d)


def _common(name: str, about: str, metric: str, kinds: tuple[str, ...]) -> Suite:
    names = tuple(f"{kind}({severity})" for kind in kinds for severity in range(1, 6))
    return Suite(name, f"{about} (Hendrycks & Dietterich 2019)", names, metric, k=1)


# The Gaussian factor of the two-factor sets: print gives one number and calls it density. imnoise,
# which made the pictures, reads one number as the mean, with a variance of 0.01; many readers take
# it for the variance, and can have that as two-factor-variance. It is decided here alone.
def _by_mean(m: float) -> str:
    return CameraGaussian(m).spec


def _by_variance(m: float) -> str:
    return CameraGaussian(0, m).spec


_SHARES = (0.1, 0.15, 0.2)
_SP = {"SP0": "clean", **{f"SP{m}": f"sp({m})" for m in _SHARES}}
_RO = {f"RO{angle}": f"rotation({angle})" if angle else "clean" for angle in (0, -60, -30, 30, 60)}
_NO = {"NO0": "clean", **{f"NO{m}": f"jitter({m})" for m in (0.2, 0.5, 1)}}
_MI = {"MI0": "clean", **{f"MI{m}": f"missing({m})" for m in _SHARES}}
_SC = {"SC1": "clean", **{f"SC{m}": f"scaling({m})" for m in (0.8, 0.9, 1.1, 1.2)}}


def _two_factor(name: str, about: str, *pairs: tuple[Levels, Levels]) -> Suite:
    """Clean points, and the faults of every two factors in both orders."""
    names = (name for pair in pairs for name in grid(*pair).names[1:])
    return Suite(name, about, ("clean", *names), "mcv", k=1)


def _pictures(name: str, gaussian: Callable[[float], str], meaning: str) -> Suite:
    ga = {"GA0": "clean", **{f"GA{m}": gaussian(m) for m in _SHARES}}
    about = f"69 sets: salt & pepper with Gaussian noise ({meaning}) or rotation, in both orders"
    return _two_factor(name, f"{about} (Dai & Berleant 2022)", (_SP, ga), (_SP, _RO))


def _training() -> Suite:
    sp, ga, left, right = "sp(0.1)", _by_mean(0.1), "rotation(-30)", "rotation(30)"
    sets = {
        "SP0.1": sp, "GA0.1": ga, "SP0.1GA0.1": f"{sp} + {ga}", "GA0.1SP0.1": f"{ga} + {sp}",
        "SP0.1RL30": f"{sp} + {left}", "SP0.1RR30": f"{sp} + {right}",
        "RL30": left, "RR30": right,
    }  # fmt: skip
    names = ("clean", *(f"{spec} as {name}" for name, spec in sets.items()))
    about = "the nine training sets of two-factor (Dai & Berleant 2022)"
    return Suite("two-factor-train", about, names, "mcv", k=1, part="train")


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
    _pictures("two-factor", _by_mean, "mean as named, variance 0.01"),
    _pictures("two-factor-variance", _by_variance, "mean 0, variance as named"),
    _training(),
    _two_factor("two-factor-table", "69 sets for tables: missing values with noise or a wrong "
                "scale, in both orders", (_NO, _MI), (_MI, _SC)),
)  # fmt: skip
SUITES = {suite.name: suite for suite in _ALL}


def _derive(asked: Suite, base: Suite, d: int, width: float) -> Suite:
    r"""Sizes that move every single value as much, on the scale of its range, as CIFAR's do.

    .. math:: \epsilon = \epsilon_{CIFAR}\,(d / 3072)^{1/p}\,(high - low)

    The share of values that L0 noise hits stays, and levels at which it is no value are left out.
    """
    assert base.d is not None, "published suites know their shape"
    ladders: Ladders = {}
    for p, sizes in LADDERS[base.name].items():
        factor = 1.0 if p == 0 else (d / base.d) ** (1 / p) * width
        found = tuple(float(f"{size * factor:.3g}") for size in sizes)
        if p == 0:
            found = tuple(size for size in found if round(size * d) > 0)
        ladders |= {p: found} if found else {}
    how = f"derived from {base.name} for {d} values in a range of {width:g}"
    return replace(asked, names=specs_of(ladders), derived=how)
