"""Which points and which class a requirement is about: all, one class, one group, or every group.

What stands in brackets has parts, with commas between them. ``by COLUMN=VALUE`` is a group of
points, ``class NAME`` a class, ``under SPEC`` a corruption or a suite. The words ``class`` and
``under`` may be left out: a bare name is a class if the metric has one value per class, such as
recall; all else is a corruption or a suite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.spec import split_top_level
from shaketable.core.types import BoolArray
from shaketable.evaluation.records import CLEAN, Points, Records
from shaketable.findings.choosing import matches
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.quantities import SeriesQuantity, find_quantity
from shaketable.findings.series import Series
from shaketable.findings.subgroups.numbers import (
    CLASS,
    Partition,
    split_by_class,
    split_by_column,
)
from shaketable.statistics.estimate import Estimate

FEW = 10
"""Points that a class or a group must have to be decided."""

_GROUP = re.compile(r"by\s+(?P<column>[^=]+?)\s*=\s*(?P<value>.+)", re.DOTALL)
_WORD = re.compile(r"(?P<word>class|under)\s+(?P<name>.+)", re.DOTALL)
_BARE = re.compile(r"[^()|+]+")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Bracket:
    """What stands in the brackets of a requirement.

    >>> read_bracket("recall[fraud, fog(3)] >= 80", "recall", "fraud, fog(3)")
    Bracket(under='fog(3)', label='fraud', group=None)
    >>> read_bracket("accuracy[by sex=f] >= 85", "accuracy", "by sex=f").group
    ('sex', 'f')
    """

    under: str = ""
    label: str = ""
    group: tuple[str, str] | None = None


def read_bracket(text: str, metric: str, inside: str) -> Bracket:
    """Read what stands in brackets; `text` is the whole requirement, for errors."""
    found: dict[str, Any] = {}
    for part in split_top_level(inside, ","):
        name, value = _read_part(metric, part)
        if name in found:
            what = {"under": "corruptions or suites", "label": "classes", "group": "groups"}[name]
            remedy = {
                "under": f"; {CLASS} {part} is a class, and by {CLASS}={part} its points",
                "label": f"; under {part} is a corruption",
            }.get(name, "")
            raise InputError(
                f"requirement {text!r} names two {what}: {found[name]!r} and {value!r}; write one "
                f"requirement for each{remedy}"
            )
        found[name] = value
    return Bracket(**found)


def _read_part(metric: str, part: str) -> tuple[str, str | tuple[str, str]]:
    if group := _GROUP.fullmatch(part):
        return "group", (_unquote(group["column"]), _unquote(group["value"]))
    if word := _WORD.fullmatch(part):
        return ("label" if word["word"] == CLASS else "under"), _unquote(word["name"])
    is_name = part[:1] in "\"'" or (_BARE.fullmatch(part) is not None and part != CLEAN)
    return ("label", _unquote(part)) if is_name and has_classes(metric) else ("under", part)


def has_classes(metric: str) -> bool:
    """Whether a metric has one value per class; not if it is unknown."""
    try:
        quantity = find_quantity(metric, metric)
    except InputError:
        return False
    return isinstance(quantity, SeriesQuantity) and quantity.has_classes


def _unquote(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


@dataclass(frozen=True, eq=False)
class Part:
    """A class, a group of points, or both, of one model under one corruption."""

    name: str
    """Such as ``sex=f`` or ``class fraud``; empty for all points."""
    choose: Callable[[Points], BoolArray] | None = None
    label: Any = None

    def take(self, source: _T) -> _T:
        """Return its points."""
        if self.choose is None:
            return source
        assert isinstance(source, Series)
        return source.choose_points(self.choose, self.name)  # type: ignore[return-value]

    def count(self, source: object) -> int | None:
        """Return its number of points, or those of its class; None if it is all points."""
        if not self.name:
            return None
        assert isinstance(source, Series)
        return min(self._count(cell.points) for cell in source.noisy)

    def _count(self, points: Points) -> int:
        chosen = np.ones(len(points.y), bool) if self.choose is None else self.choose(points)
        if self.label is not None:
            chosen = chosen & (points.y == points.classes.index(self.label))
        return int(chosen.sum())


def list_parts(
    groups: RecordGroups, text: str, bracket: Bracket, worst: str, source: object, *, by_label: bool
) -> list[Part]:
    """Return what a requirement is about, of one model: one part, or with `worst` every group.

    `by_label` says whether the metric has one value per class; then groups by class are these.
    """
    if not (bracket.label or bracket.group or worst):
        return [Part("")]
    if not isinstance(source, Series):
        raise InputError(
            f"requirement {text!r}: classes and groups have metrics of one corruption alone; "
            "require such a metric, as in accuracy[by sex=f, linf(0.1)]"
        )
    points = source.first.points
    label = None
    if bracket.label:
        _refuse_ambiguous(groups, text, bracket.label, points)
        label = _find_label(text, bracket.label, points)
    one = _split(groups, text, *bracket.group, source) if bracket.group else None
    name = ", ".join(
        [f"{CLASS} {bracket.label}"] * bool(bracket.label)
        + [f"{column}={value}" for column, value in [bracket.group or ("", "")] if column]
    )
    if not worst:
        return [Part(name, one, label)]
    if worst == CLASS and by_label:
        return [Part(f"{CLASS} {each}", one, each) for each in points.classes]
    labels = _find_partition(groups.records, text, worst, source)
    return [
        Part(
            ", ".join(filter(None, [name, f"{worst}={value}"])),
            _join(one, _split(groups, text, worst, value, source)),
            label,
        )
        for value in (*labels.labels, *labels.unseen)
    ]


def _refuse_ambiguous(groups: RecordGroups, text: str, label: str, points: Points) -> None:
    """Raise if a bare name is that of a class and of a corruption."""
    if f"{CLASS} {label}" in text or f'"{label}"' in text or f"'{label}'" in text:
        return
    known = any(matches(s, label) for s in groups.series)
    if known and label in map(str, points.classes):
        raise InputError(
            f"requirement {text!r}: {label} is a class and a corruption; write {CLASS} {label} or "
            f"under {label}"
        )
    if known:
        raise InputError(f"requirement {text!r}: {label} is a corruption; write under {label}")


def _find_label(text: str, label: str, points: Points) -> Any:
    known = {str(each): each for each in points.classes}
    if label not in known:
        raise unknown_name(f"class in requirement {text!r}:", label, known)
    return known[label]


def _find_partition(records: Records, text: str, column: str, source: Series) -> Partition:
    """Return the points of the first run by the values of a column."""
    cell = source.first
    if column == CLASS:
        return split_by_class(cell.points)
    known = {g.name: g for g in records.groupings if g.fingerprint == cell.fingerprint}
    if column not in known:
        raise InputError(
            f"requirement {text!r} needs groups by {column} on record, got "
            f"{list_names([CLASS, *known])}; evaluate with "
            + either(f"--by {column}", f"by={column!r}")
        )
    return split_by_column(cell.points, known[column])


def _split(
    groups: RecordGroups, text: str, column: str, value: str, source: Series
) -> Callable[[Points], BoolArray]:
    """Return the function that chooses the points of one group, in every run."""
    partition = _find_partition(groups.records, text, column, source)
    if value not in (*partition.labels, *partition.unseen):
        known = (*partition.labels, *partition.unseen)
        raise unknown_name(f"value of {column} in requirement {text!r}:", value, known)
    if column == CLASS:
        return partial(_choose_class, value=value)
    (grouping,) = (
        g
        for g in groups.records.groupings
        if (g.name, g.fingerprint) == (column, source.first.fingerprint)
    )
    code = grouping.labels.index(value)
    return lambda points: np.asarray(grouping.codes[points.rows] == code)


def _choose_class(points: Points, value: str) -> BoolArray:
    return np.asarray(points.y == [str(each) for each in points.classes].index(value))


def _join(
    first: Callable[[Points], BoolArray] | None, second: Callable[[Points], BoolArray]
) -> Callable[[Points], BoolArray]:
    if first is None:
        return second
    return lambda points: first(points) & second(points)


def find_worst(estimates: Sequence[Estimate], *, highest: bool) -> Estimate:
    """Return the lowest, or the highest, of several values, with an interval for it.

    The groups share the error probability: each of m groups has an interval of confidence
    1 - alpha / m. With that of all of them, the lowest value is above the lowest of the lower
    limits, and below the lowest of the upper ones.

    >>> from shaketable.statistics.intervals import proportion
    >>> print(find_worst([proportion(90, 100), proportion(80, 100)], highest=False))
    0.800 (95 % interval 0.695 to 0.882)
    """
    if len(estimates) == 1:
        return estimates[0]
    pick = max if highest else min

    def compute(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        shared = 1 - (1 - confidence) / len(estimates)
        each = [e.again(confidence=shared, times=times, careful=careful) for e in estimates]
        return pick(e.low for e in each), pick(e.high for e in each)

    worst = pick(estimates, key=lambda e: e.value)
    confidence = worst.confidence
    return Estimate(
        worst.value,
        *compute(confidence, 1.0, False),
        confidence,
        f"{worst.method}; the worst of {len(estimates)} groups, which share the error probability",
        compute,
    )
