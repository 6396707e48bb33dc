"""The class of suites, and the registry in which they are found by name."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from shaketable.core.errors import InputError, either, guard_foreign
from shaketable.core.importing import trust_also
from shaketable.core.norms import as_p, norm_name
from shaketable.core.registry import Registry
from shaketable.core.spec import (
    Call,
    display_name,
    format_value,
    parse_call,
    read_multiple,
    split_calls,
)
from shaketable.corruptions.common.corruption import CommonCorruption, check_quality
from shaketable.corruptions.common.severities import NAMES
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.parse import as_corruption, needs_range
from shaketable.corruptions.published import check_folder_name, find_published_folder
from shaketable.corruptions.training_sets import LADDERS, derive_ladders, specs_of
from shaketable.data.bounds import Bounds

_OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

SuiteKind: TypeAlias = Literal["levels", "pnorm", "common", "sets"]

_KIND_OF_METRIC: dict[str, SuiteKind] = {
    "mce_lp": "pnorm",
    "ice": "pnorm",
    "mce": "common",
    "mce_15": "common",
    "mce_xn": "common",
    "mcv": "sets",
}
_MEMBERS = {
    "pnorm": (r"l(inf|[\d.]+(e-?\d+)?)", "p-norm noise, such as l2(0.5)"),
    "common": ("|".join(NAMES), "common corruptions, such as fog(3)"),
}
"""By kind: regular expression of the names of all members, and what they are."""


def suite_kind(metric: str) -> SuiteKind:
    """Kind of the suites that a metric is computed from.

    ``pnorm``: sizes of p-norm noise; ``common``: common corruptions at all severities; ``sets``:
    sets of single and combined corruptions, which mCV compares; ``levels``: any other list.

    >>> suite_kind("mce_15"), suite_kind("")
    ('common', 'levels')
    """
    return _KIND_OF_METRIC.get(metric, "levels")


@dataclass(frozen=True)
class Suite:
    """A named list of corruptions; `names` are their spec strings.

    Parameters
    ----------
    name
        Name of the suite.
    about
        What it is, in one line.
    names
        Specs of its corruptions.
    metric
        Name of its metric; empty for none.
    k
        Number of draws per point.
    d
        Number of values of a point that it is made for; None for any.
    family
        Names of suites from which the one that fits the data is taken.
    derived
        How sizes are derived from the data, if they are.
    part
        Part of the data that it is for.

    Examples
    --------
    >>> ladder = Suite("ladder", "two sizes", ("linf(0.1)", "linf(0.2)"))
    >>> ladder.names
    ('linf(0.1)', 'linf(0.2)')
    """

    name: str
    about: str
    names: tuple[str, ...]
    metric: str = ""
    """Name of the metric that is computed from it; empty for none."""
    k: int = 10
    """Draws per point, unless another number is asked for."""
    d: int | None = None
    """Number of values per point that its sizes are published for; None: any number."""
    family: tuple[str, ...] = ()
    """Published suites it stands for where one fits; otherwise sizes are derived from the first."""
    derived: str = ""
    """How its sizes were derived; empty for published sizes."""
    part: Literal["test", "train"] = "test"
    """The part of the data that it is made for."""

    def __post_init__(self) -> None:
        names: Any = self.names
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"names of suite {self.name!r} must be specs, such as ('linf(0.1)',), got {names!r}"
            )
        object.__setattr__(self, "names", tuple(names))
        if not self.names and not self.family:
            raise InputError(f"suite {self.name!r} has no corruptions; give names=('linf(0.1)', …)")
        for spec in self.names:
            self._check_member(spec)

    def _check_member(self, spec: str) -> None:
        """Raise an `InputError` for a corruption that the metric cannot be computed from."""
        if self.kind not in _MEMBERS:
            return
        pattern, what = _MEMBERS[self.kind]
        single = (spec.strip(),) == split_calls(spec)
        if not single or not re.fullmatch(pattern, parse_call(spec).name):
            raise InputError(
                f"suite {self.name!r} has the metric {self.metric}, so all its names must be "
                f"{what}, got {spec!r}; leave it out, or give another metric"
            )

    @property
    def kind(self) -> SuiteKind:
        """What it consists of; see `suite_kind`."""
        return suite_kind(self.metric)

    @property
    def needs_range(self) -> bool:
        """Whether its sizes refer to a value range."""
        if self.d is not None or self.family:
            return True
        return any(map(needs_range, self.names))

    def __str__(self) -> str:
        if not self.names:
            return self.about
        names = [display_name(name) for name in self.names]
        shown = names if len(names) <= 10 else [names[0], "…", names[-1]]
        return f"{self.about}: {', '.join(shown)}"

    def on(self, shape: tuple[int, ...], bounds: Bounds | None) -> Suite:
        """Return the suite for points of this shape and value range.

        Raises `InputError` if the suite is not made for such points.

        Parameters
        ----------
        shape
            Shape of one point.
        bounds
            Value range of the points.

        Returns
        -------
        Suite
            The suite for such points.

        Examples
        --------
        >>> suite("ice").on((28, 28), Bounds(0, 1)).names[:3]
        ('l0.5(1630)', 'l1(6.38)', 'l2(0.253)')
        """
        if self.kind == "common":
            return self._on_images(shape)
        if self.d is None and not self.family:
            return self._on_points(shape)
        d = math.prod(shape)
        if self.d is not None and d != self.d:
            raise InputError(
                f"suite {self.name!r} is for points of {self.d} values, got {d} values; use "
                f"{self._find_general()!r}, whose sizes are derived from shape and range"
            )
        if bounds is None or math.inf in (-bounds.low, bounds.high):
            raise InputError(
                f"suite {self.name!r} needs a finite value range, and none is declared; give "
                f"{either('--bounds LOW,HIGH', 'bounds=(low, high)')}, or put the features on [0, "
                f"1] ({either('--scale', '.scaled()')})"
            )
        unit = (bounds.low, bounds.high) == (0, 1)
        if self.d is not None and not unit:
            raise InputError(
                f"suite {self.name!r} is for values in [0, 1], got [{bounds.low:g}, "
                f"{bounds.high:g}]; store images as uint8 or divide them by {bounds.high:g}, or "
                f"use {self._find_general()!r}, whose sizes are derived from shape and range"
            )
        published = [suite(name) for name in self.family]
        fitting = [s for s in published if unit and s.d == d]
        if self.d is not None or fitting:
            return fitting[0] if fitting else self
        return self._derive_from(published[0], d, bounds.high - bounds.low)

    def _find_general(self) -> str:
        """Return the name of the suite that stands for this one where it fits."""
        names = (name for name in SUITES.declared if self.name in SUITES.get(name).family)
        return next(names, "pnorm")

    def _derive_from(self, base: Suite, d: int, width: float) -> Suite:
        """Return the suite with sizes derived from those of a published one."""
        assert base.d is not None, "published suites know their shape"
        ladders = derive_ladders(LADDERS[base.name], base.d, d, width)
        how = f"derived from {base.name} for {d} values in a range of {width:g}"
        return replace(self, names=specs_of(ladders), derived=how)

    def _on_images(self, shape: tuple[int, ...]) -> Suite:
        """Return the suite; `derived` says so if severities are interpolated for this size."""
        if find_published_folder(self.names):
            return self
        member = CommonCorruption(NAMES[0], 1).for_shape(shape)
        how = f"severities interpolated for images of {member.profile}" if member.derived else ""
        return replace(self, derived=how)

    def _on_points(self, shape: tuple[int, ...]) -> Suite:
        """Return the suite; raise if it rotates points that are no images."""
        rotates = any(c.startswith("rotation(") for name in self.names for c in split_calls(name))
        if rotates and len(shape) not in (2, 3):
            raise InputError(
                f"suite {self.name!r} rotates images, height x width x channels, got points of "
                f"shape {shape}; reshape images that are flat rows; for tables use "
                "'two-factor-table'"
            )
        return self

    def with_options(
        self,
        *,
        norm: str | float | None = None,
        published: str | Path | None = None,
        frost: str | Path | None = None,
        jpeg: float | None = None,
    ) -> Suite:
        """Return the suite with other noise or images; the options are those of `suite`.

        Parameters
        ----------
        norm
            Order of the norm of its noise.
        published
            Folder of published images.
        frost
            Folder of frost textures.
        jpeg
            Quality of a JPEG file that images pass through.

        Returns
        -------
        Suite
            The suite with these options.

        Examples
        --------
        >>> suite("mscr").with_options(norm=2).names
        ('l2(eps_min)',)
        """
        chosen = self if norm is None else self._in_norm(norm)
        images = {"published": published, "frost": frost, "jpeg": jpeg}
        given = [option for option, value in images.items() if value is not None]
        if given and self.kind != "common":
            raise InputError(
                f"{given[0]}= is for suites of common corruptions, such as common-19, got "
                f"{self.name!r}"
            )
        texts = " ".join(self.names)
        made = [option for option in given if option != "published"]
        made += [option for option in ("textures", "jpeg") if f" {option}=" in texts]
        if made and (published is not None or find_published_folder(self.names)):
            raise InputError(f"{made[0]}= is for images made here, not for published ones")
        if published is not None:
            chosen = chosen._add_option("published", _check_folder(published, "published"))
        if frost is not None:
            chosen = chosen._add_option("textures", _check_folder(frost, "textures"), to="frost(")
        if jpeg is not None:
            chosen = chosen._add_option("jpeg", check_quality(jpeg))
        return chosen

    def _in_norm(self, norm: str | float) -> Suite:
        """Return the suite in another norm, if all its sizes are in units of eps_min."""
        p = as_p(norm)
        if not self.names or not all(map(_is_in_eps_min, self.names)):
            raise InputError(
                f"suite {self.name!r} takes no norm, because not all its sizes are in units of "
                "eps_min; leave the norm out, or use mscr-ladder"
            )
        names = tuple(str(Call(norm_name(p), parse_call(spec).args)) for spec in self.names)
        if names == self.names:
            return self
        return replace(self, name=str(Call(self.name, (), {"norm": p})), names=names)

    def _add_option(self, option: str, value: str | int, to: str = "") -> Suite:
        """Return the suite with an option of all members whose specs start like this."""
        names = (
            f"{name[:-1]}, {option}={value})" if name.startswith(to) else name
            for name in self.names
        )
        return replace(self, names=tuple(names))


def _check_folder(folder: str | Path, option: str) -> str:
    """Return the name of a folder, or raise an `InputError` if no spec can hold it."""
    name = str(folder)
    check_folder_name(name, option)
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _is_in_eps_min(spec: str) -> bool:
    """Whether a spec is one corruption whose only argument is a multiple of eps_min."""
    if split_calls(spec) != (spec,):
        return False
    call = parse_call(spec)
    return len(call.args) == 1 and not call.options and read_multiple(call.args[0]) is not None


def _admit(name: str, thing: Any) -> Suite:
    """Return a suite of another package: a Suite, a list of specs, or a function returning one.

    What it names may be imported later, as its module is trusted.
    """
    about = ""
    if inspect.isroutine(thing):
        about = (inspect.getdoc(thing) or "").partition("\n")[0]
        thing = _call(name, thing)
    if isinstance(thing, Suite):
        trust_also(thing.names)
        return thing
    if not isinstance(thing, list | tuple) or not thing:
        raise InputError(
            f"suite {name} must be a Suite, a list of specs, or a function that returns one, got "
            f"{thing!r}"
        )
    names = tuple(spec_of(member) for member in thing)
    trust_also(names)
    return Suite(name, about or "corruptions of another package", names)


def _call(name: str, function: Callable[..., Any]) -> Any:
    """Return what a function of another package returns; what it raises is an error of one line."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of a few built-in functions
        parameters = {}.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in _OPTIONAL]
    if needed:
        raise InputError(
            f"suite {name} must be a function without arguments, but it needs {', '.join(needed)}; "
            "give them defaults"
        )
    with (
        guard_foreign(f"suite {name} failed with {{error}}; correct the function"),
        guard_foreign(f"suite {name}: {{text}}", only=(InputError,), but=()),  # a Suite's own
    ):
        return function()


def spec_of(member: str | Corruption) -> str:
    """Canonical spec of a corruption in a list; ``eps_min`` stays as it is.

    >>> spec_of("l2(5e-1)"), spec_of("l2(eps_min)")
    ('l2(0.5)', 'l2(eps_min)')
    """
    if isinstance(member, str) and "eps_min" in member:
        return member
    return as_corruption(member).spec


SUITES: Registry[Suite] = Registry(
    "suite", admit=_admit, homes=("shaketable.corruptions.suites.catalogue",)
)
"""Suites by name; ours are declared in `catalogue`."""


_OPTIONS = ("norm", "published", "frost", "jpeg")


def suite(
    name: str,
    *,
    norm: str | float | None = None,
    published: str | Path | None = None,
    frost: str | Path | None = None,
    jpeg: float | None = None,
) -> Suite:
    """Return the suite of that name, or the one that ``package.module:name`` refers to.

    The latter is a `Suite`, a list of specs, or a function that returns one of them.

    Parameters
    ----------
    name
        Such as ``pnorm``; options may stand in brackets behind it, as in ``common-19(jpeg=85)``.
    norm
        For suites with sizes in units of eps_min: the norm of the noise.
    published
        For suites of common corruptions, as all that follow: a folder such as CIFAR-10-C, from
        which the images are read instead of generating them.
    frost
        Folder with images of ice for frost; by default textures are generated.
    jpeg
        Quality, 1 to 100, of a JPEG compression of every corrupted image. Published
        Tiny-ImageNet-C and ImageNet-C have one of 85, CIFAR-10-C has none.

    Returns
    -------
    Suite
        The suite.

    Examples
    --------
    >>> suite("mscr").names, suite("mscr(norm=2)").names
    (('linf(eps_min)',), ('l2(eps_min)',))
    >>> suite("common-15", jpeg=85).names[0]
    'gaussian_noise(1, jpeg=85)'
    >>> suite("common-15(published=CIFAR-10-C)").names[0]
    'gaussian_noise(1, published=CIFAR-10-C)'
    """
    call = parse_call(name) if name.endswith(")") else Call(name)
    found = SUITES.get("common-19" if call.name == "common" else call.name)
    given = {"norm": norm, "published": published, "frost": frost, "jpeg": jpeg}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    written = [*zip(_OPTIONS, call.args, strict=False), *call.options.items()]
    names = [*options, *(key for key, _ in written)]
    empty = call.name != name and not written
    if empty or len(call.args) > 1 or len(set(names)) < len(names) or set(names) - set(_OPTIONS):
        takes = "published=, frost= and jpeg=, as in common-19(jpeg=85)"
        takes = takes if found.kind == "common" else "a norm, as in mscr(norm=2)"
        raise InputError(f"suite {call.name} takes {takes}, got {name!r}")
    options |= {key: v if key in ("norm", "jpeg") else format_value(v) for key, v in written}
    return found.with_options(**options)
