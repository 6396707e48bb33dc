"""Suites of noise in one column at a time, which show on which feature a model is fragile."""

from __future__ import annotations

from dataclasses import replace

from shaketable.core.errors import InputError, either
from shaketable.core.spec import join_names, parse_call, split_calls, split_names
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.parse import parse
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.dataset import Dataset
from shaketable.data.frames.columns import CATEGORIES, Kind

METRIC = "feature_losses"
"""Metric that is computed from these suites."""

MOVED, SWAPPED = "jitter(0.5)", "swap(0.1)"
"""Noise in numbers and dates, and in text, categories, booleans and numbers of few values."""


def per_feature(data: Dataset, *noises: str) -> Suite:
    """Suite of noise in one column of a table at a time, for every column that may change.

    Parameters
    ----------
    data
        A table.
    *noises
        Specs of noise; each is applied to every column that it suits. By default
        ``jitter(0.5)``, normal noise of half a standard deviation of the column, for numbers and
        dates, and ``swap(0.1)``, another value of the column in one row of ten, for text,
        categories, booleans, and numbers of few values, such as flags, ratings and counts (see
        `Columns.has_steps`): smaller noise would seldom change the answer of a model.

    Returns
    -------
    Suite
        One corruption per column and noise.

    Examples
    --------
    >>> from shaketable import load
    >>> per_feature(load("iris"), "jitter(1)").names[0]
    'jitter(1, only="sepal length (cm)")'
    """
    if len(data.shape) != 1:
        raise InputError(
            f"noise in one feature at a time is for tables, got points of shape {data.shape}; "
            f"leave it out ({either('--features', 'per_feature')})"
        )
    chosen = [(spec, _check(spec)) for spec in noises]
    names = [
        _add_column(spec, name)
        for place, (name, kind) in enumerate(_list_columns(data))
        for spec in (
            [spec for spec, noise in chosen if kind in noise.traits.kinds_to_name]
            if noises
            else [SWAPPED if kind in CATEGORIES or data.columns.has_steps(place) else MOVED]
        )
        if kind is not None
    ]
    if not names:
        raise InputError(
            f"no feature of {data.name!r} can be changed by {', '.join(noises)}; name noise that "
            "suits its columns, such as swap(0.1) for text"
        )
    about = f"{' or '.join(noises or (MOVED, SWAPPED))} in one column at a time"
    return Suite("per-feature", about, tuple(dict.fromkeys(names)), METRIC)


def split_column(spec: str) -> tuple[str, str]:
    """Return the column of a member of such a suite, and its noise without the column.

    >>> split_column('jitter(0.5, only="net income")')
    ('net income', 'jitter(0.5)')
    """
    call = parse_call(spec)
    (column,) = split_names(call.options["only"])
    options = {key: value for key, value in call.options.items() if key != "only"}
    return column, str(replace(call, options=options))


def _check(spec: str) -> Corruption:
    """Return the noise; raise for a sequence, and for noise whose columns are named already."""
    noise = parse(spec, eps_min=lambda _: 1.0)
    if split_calls(spec) != (spec.strip(),) or "only" in parse_call(spec).options:
        raise InputError(
            f"noise in one feature at a time must be one corruption without only=, got {spec!r}"
        )
    return noise


def _add_column(spec: str, name: str) -> str:
    call = parse_call(spec)
    return str(replace(call, options={**call.options, "only": join_names([name])}))


def _list_columns(data: Dataset) -> list[tuple[str, Kind | None]]:
    """Names of the columns and what they hold; None for columns that must not change."""
    names = data.features or tuple(map(str, range(data.d)))
    if data.table is None:
        return [(name, "number") for name in names]
    kinds = [column.kind if column.touched else None for column in data.table.columns]
    return list(zip(names, kinds, strict=True))
