"""Flags for the columns of a table: what they hold, which may change, within which limits."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from shaketable.core.spec import split_names

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


def add_column_flags(parser: argparse.ArgumentParser) -> None:
    """Add what columns hold, which of them corruptions may change, and how."""
    parser.add_argument(
        "--types",
        type=_parse_types,
        metavar="COLUMN=TYPE,…",
        help="what columns of a table hold: date, text or category, as in since=date,zip=text "
        "(default: as pandas reads them, so dates in CSV files are text)",
    )
    parser.add_argument(
        "--only",
        type=_split_columns,
        metavar="COLUMN,…",
        help="columns that corruptions may change (default: noise changes all numbers)",
    )
    parser.add_argument(
        "--keep", type=_split_columns, metavar="COLUMN,…", help="columns that nothing may change"
    )
    parser.add_argument(
        "--column-bounds",
        type=_parse_bounds,
        metavar="COLUMN=LOW:HIGH,…",
        help="range of corrupted values, by column; an end may be left out, as in age=0:",
    )
    parser.add_argument(
        "--step",
        type=_parse_steps,
        metavar="COLUMN=STEP,…",
        help="corrupted values are rounded to this step, such as age=1 for whole numbers",
    )
    parser.add_argument(
        "--one-hot",
        type=_split_columns,
        metavar="PREFIX,…",
        help="0/1 columns whose names begin with PREFIX are one category, which stays valid",
    )
    parser.add_argument(
        "--others",
        metavar="agree|gower",
        help="how columns that noise leaves alone count in distances: points must agree in them, "
        "or they add Gower's distance (default: agree)",
    )


def choose_columns(args: argparse.Namespace, data: Dataset) -> Dataset:
    """Return the data with the choice of columns that the flags say."""
    given = [args.only, args.keep, args.column_bounds, args.step, args.one_hot, args.others]
    if not any(given):
        return data
    return data.touching(
        only=args.only,
        keep=args.keep,
        column_bounds=args.column_bounds,
        steps=args.step,
        one_hot=args.one_hot or (),
        others=args.others,
    )


def _split_columns(text: str) -> list[str]:
    if names := split_names(text):
        return list(names)
    raise argparse.ArgumentTypeError("must name at least one column")


def _parse_bounds(text: str) -> dict[str, tuple[float, float]]:
    bounds = {}
    for name, value in _split_settings(text, "LOW:HIGH"):
        low, colon, high = value.partition(":")
        if not colon:
            raise argparse.ArgumentTypeError(f"must be COLUMN=LOW:HIGH, got {name}={value}")
        bounds[name] = (_parse_number(low, -math.inf), _parse_number(high, math.inf))
    return bounds


def _parse_steps(text: str) -> dict[str, float]:
    return {name: _parse_number(value, math.nan) for name, value in _split_settings(text, "STEP")}


def _parse_types(text: str) -> dict[str, str]:
    return dict(_split_settings(text, "TYPE"))


def _split_settings(text: str, value: str) -> list[tuple[str, str]]:
    """Pairs of a column and the text of its setting."""
    pairs = []
    for word in split_names(text):
        name, equals, setting = word.rpartition("=")
        if not equals or not name:
            raise argparse.ArgumentTypeError(f"must be COLUMN={value},…, got {word!r}")
        pairs.append((name, setting))
    return pairs


def _parse_number(text: str, default: float) -> float:
    try:
        return float(text) if text.strip() else default
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must hold numbers, got {text!r}") from error
