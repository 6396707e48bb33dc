"""Suites of noise in one column at a time, which show on which feature a model is fragile."""

from __future__ import annotations

from dataclasses import replace

from shaketable.core.errors import InputError, either
from shaketable.core.spec import join_names, parse_call, split_calls, split_names
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.parse import parse
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.dataset import Dataset
from shaketable.data.frames.columns import Column, Kind

METRIC = "feature_losses"
"""Metric that is computed from these suites."""

NOISES = ("jitter(0.5)", "swap(0.1)")
"""Noise in numbers, and in text, categories, booleans and one-hot groups."""


def per_feature(data: Dataset, *noises: str) -> Suite:
    """Suite of noise in one column of a table at a time, for every column that may change.

    Parameters
    ----------
    data
        A table.
    noises
        Specs of noise; each is applied to every column that it suits. By default
        ``jitter(0.5)``, normal noise of half a standard deviation of the column, for numbers, and
        ``swap(0.1)``, another value of the column in one row of ten, for text, categories and
        booleans.

    >>> from shaketable import load
    >>> per_feature(load("iris"), "jitter(1)").names[0]
    'jitter(1, only="sepal length (cm)")'
    """
    if len(data.shape) != 1:
        raise InputError(
            f"noise in one feature at a time is for tables, got points of shape {data.shape}; "
            f"leave it out ({either('--features', 'per_feature')})"
        )
    chosen = [(spec, _check(spec)) for spec in noises or NOISES]
    names = [
        _add_column(spec, name)
        for name, column in _list_columns(data)
        for spec, noise in chosen
        if _suits(noise, column, named=bool(noises))
    ]
    if not names:
        raise InputError(
            f"no feature of {data.name!r} can be changed by {', '.join(noises or NOISES)}; name "
            "noise that suits its columns, such as swap(0.1) for text"
        )
    about = f"{' or '.join(noises or NOISES)} in one column at a time"
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


def _list_columns(data: Dataset) -> list[tuple[str, Column | None]]:
    """Names of the columns, and what is known of them: None for plain numbers."""
    names = data.features or tuple(map(str, range(data.d)))
    columns = data.table.columns if data.table else (None,) * data.d
    return list(zip(names, columns, strict=True))


def _suits(noise: Corruption, column: Column | None, *, named: bool) -> bool:
    """Whether noise applies to a column; noise that was `named` also to kinds that it may take."""
    if column is None:
        kind: Kind = "number"
    elif not column.touched or (column.kind == "date" and not column.moved):
        return False
    else:
        kind = column.kind
    return kind in (noise.kinds_to_name if named or kind == "date" else noise.kinds)
