"""Options of every activity that loads data, and of the range that noise is kept in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.options import (
    COMMON,
    LIST,
    PAIRS,
    option,
    parse_finite,
    switch,
    whole,
)
from shaketable.core.spec import format_value, parse_call, split_names

if TYPE_CHECKING:
    from shaketable.data.bounds import BoundsLike
    from shaketable.data.dataset import Dataset
    from shaketable.data.tables import NonNumeric

_GROUP = "data"
_TYPES = ("date", "text", "category")
_WORDS = ("drop", "keep", "only", "onehot", *_TYPES, "step")


def _check_column(text: str) -> str:
    Columns.parse([text])
    return text


@dataclass(frozen=True)
class DataOptions:
    """Which data, and what their columns are."""

    data: str | None = option("file, folder or built-in set", metavar="DATA", group=COMMON)
    label: str | None = option(
        "column of a CSV or parquet file with the classes", metavar="COLUMN", group=COMMON
    )
    test: str | None = option("file or folder with a fixed test part", metavar="FILE", group=_GROUP)
    class_index: str | None = option(
        "file that names the classes of models in the order of their scores, as JSON or one per "
        "line, such as imagenet_class_index.json; the data need not have all of them",
        metavar="FILE",
        group=_GROUP,
        example="imagenet_class_index.json",
    )
    points: int | None = whole(
        "take only N points, of a fixed test part if any, drawn with --seed",
        metavar="N",
        group=_GROUP,
        example=1000,
    )
    scale: bool = switch("scale every feature to [0, 1]", group=_GROUP)
    drop_clashes: bool = switch(
        "leave out points that coincide with a point of another class", group=_GROUP
    )
    non_numeric: NonNumeric = option(
        "what to do with columns of text (default: keep: models get a data frame)",
        "keep",
        metavar="keep|error|drop|onehot",
        group=_GROUP,
    )
    column: tuple[str, ...] = option(
        "what a column of a table is, or several: drop (no feature), keep (nothing may change it), "
        "only (corruptions may change such columns alone), date, text or category (default: as "
        "pandas reads it), LOW:HIGH (range of corrupted values; an end may be left out), step N "
        "(they are rounded to it), as in 'age=0:120 step 1'; onehot with the start of a name: the "
        "0/1 columns that begin so are one category. Repeat it for other columns",
        (),
        read=_check_column,
        form=PAIRS,
        metavar="NAME[,NAME]=WORDS",
        group=_GROUP,
        example={"age": "0:120 step 1", "id": "drop"},
    )
    others: str | None = option(
        "how columns that noise leaves alone count in distances: points must agree in them, or "
        "they add Gower's distance (default: agree)",
        metavar="agree|gower",
        group=_GROUP,
        example="gower",
    )

    def load(self, **changes: Any) -> Dataset:
        """Load the data; `changes` are arguments of `load` that count instead or in addition."""
        from shaketable.data.files import load

        if self.data is None:
            raise InputError(
                "--data must name a file or a built-in set; see shaketable list datasets"
            )
        columns = Columns.parse(self.column)
        given: dict[str, Any] = {
            "label": self.label,
            "test": self.test,
            "non_numeric": self.non_numeric,
            "drop": columns.drop,
            "types": columns.types or None,
            "drop_clashes": self.drop_clashes,
            "points": self.points,
            "class_index": self.class_index,
        }
        given |= changes
        scale = given.pop("scale", self.scale)
        data = columns.choose(load(self.data, **given), self.others)
        return data.scaled() if scale else data


@dataclass
class Columns:
    """What the columns of a table are: arguments of `load` and of `Dataset.touching`."""

    drop: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    only: list[str] = field(default_factory=list)
    one_hot: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Columns:
        r"""Parse texts such as ``age=0:120 step 1``; commas in a name have a backslash before them.

        >>> Columns.parse(["age=0: step 1", r"a\,b,id=drop"]).drop
        ['a,b', 'id']
        """
        columns = cls()
        for text in texts:
            start, equals, end = text.rpartition("=")
            names = split_names(start) if equals else ()
            if not names or not end.strip():
                raise InputError(f"must be NAME=WORDS, such as 'age=0:120 step 1', got {text!r}")
            for name in names:
                columns._add(name, end.split())
        return columns

    def _add(self, name: str, words: list[str]) -> None:
        """Add what one column is."""
        lists = {"drop": self.drop, "keep": self.keep, "only": self.only, "onehot": self.one_hot}
        while words:
            word = words.pop(0)
            if word in lists:
                lists[word].append(name)
            elif word in _TYPES:
                self.types[name] = word
            elif word == "step":
                if not words:
                    raise InputError(
                        f"must be {name}=step N, such as step 1; the number is missing"
                    )
                self.steps[name] = parse_finite(words.pop(0))
            elif ":" in word:
                low, _, high = word.partition(":")
                self.bounds[name] = (_read_end(low, -math.inf), _read_end(high, math.inf))
            else:
                raise unknown_name(f"word for column {name!r}:", word, [*_WORDS, "LOW:HIGH"])

    def choose(self, data: Dataset, others: str | None) -> Dataset:
        """Return the data with this choice of columns that corruptions may change, and how."""
        if not any([self.only, self.keep, self.bounds, self.steps, self.one_hot, others]):
            return data
        return data.touching(
            only=self.only or None,
            keep=self.keep or None,
            column_bounds=self.bounds or None,
            steps=self.steps or None,
            one_hot=self.one_hot,
            others=others,  # type: ignore[arg-type]  # it is checked there
        )


def _read_end(text: str, default: float) -> float:
    """Parse an end of a range, which may be left out or infinite."""
    try:
        return float(text) if text else default
    except ValueError as error:
        raise InputError(f"must hold numbers, got {text!r}") from error


def bounds_option() -> Any:
    """Field for the range of values, and what noise does at its edge; see `choose_bounds`."""
    return option(
        "what noise does at the edge of the value range (clip, truncate, none), and the range if "
        "the data declare none: 'clip(0, 1)', or 0,1 (default: as the data declare)",
        "declared",
        read=parse_bounds,
        form=LIST,
        metavar="clip|truncate|none|LOW,HIGH",
        group="noise",
        write=write_bounds,
        example="clip(0, 1)",
    )


def parse_bounds(text: str) -> BoundsLike | str:
    """Read bounds: a rule, a rule with its range, a range, ``none`` or ``declared``.

    >>> parse_bounds("truncate(0, 1)"), parse_bounds("-1,1"), parse_bounds("none")
    (Bounds(low=0.0, high=1.0, rule='truncate', steps=0), (-1.0, 1.0), None)
    """
    from shaketable.data.bounds import Bounds

    if text[:1] in "-.0123456789" or "," in text.partition("(")[0]:
        try:
            low, high = map(float, text.split(","))
        except ValueError as error:
            raise InputError(f"must be LOW,HIGH, such as 0,1, got {text!r}") from error
        return low, high
    call = parse_call(text)
    rules = ("clip", "truncate", "none", "declared")
    if call.name not in rules:
        raise unknown_name("bounds", call.name, rules)
    if not call.args and not call.options:
        return None if call.name == "none" else call.name
    try:
        low, high = map(float, call.args)
    except ValueError as error:
        raise InputError(f"must be {call.name}(LOW, HIGH), got {text!r}") from error
    return Bounds(low, high, call.name)  # type: ignore[arg-type]  # it refuses none


def write_bounds(value: Any) -> str | list[float]:
    """Setting of bounds, from which `parse_bounds` reads them."""
    from shaketable.data.bounds import Bounds, as_bounds

    if value is None or isinstance(value, str):
        return value or "none"
    bounds = as_bounds(value)
    assert bounds is not None
    if isinstance(value, Bounds):
        return f"{bounds.rule}({format_value(bounds.low)}, {format_value(bounds.high)})"
    return [bounds.low, bounds.high]
