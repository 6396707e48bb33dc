"""Separation and audit as tables in the terminal, and as JSON."""

from __future__ import annotations

from typing import Any

from shaketable.core.norms import norm_title, norm_to_json
from shaketable.data.dataset import Dataset
from shaketable.separations.audit import Audit
from shaketable.separations.facts import MAX_CLASSES
from shaketable.separations.one_nn import OneNN
from shaketable.separations.pair import (
    compare_with_columns,
    describe_deviations,
    describe_gaps,
    list_gaps,
)
from shaketable.separations.separation import Separation, rank_class_pairs
from shaketable.separations.words import one_nn_sentence
from shaketable.views.numbers import format_distance, format_short_distance
from shaketable.views.terminal import print_lines, print_table


def separation_json(
    result: Separation, data: Dataset, audit: Audit, one_nn: OneNN | None = None
) -> dict[str, Any]:
    """Separation and audit as one JSON object; rows are those of the source."""
    gaps = list_gaps(data, result.pair, result.p)
    return {
        "norm": norm_to_json(result.p),
        "two_r": result.two_r,
        "epsilon_min": result.epsilon_min,
        "epsilon_min_deviations": compare_with_columns(data, result.epsilon_min) or None,
        "pair": [data.source_row(row) for row in result.pair],
        "pair_features": None if gaps is None else [gap.json() for gap in gaps],
        "closest": [pair.json() for pair in audit.pairs],
        "nearest": audit.nearest,
        "duplicates": audit.duplicates.json(),
        "clashes": [{"rows": [i, j], "classes": [a, b]} for (i, a), (j, b) in audit.clashes],
        "classes": list(result.classes),
        "by_class": audit.by_class,
        "by_part": result.by_part,
        **({} if one_nn is None else {"one_nn": _one_nn_json(one_nn)}),
        "notes": list(result.notes),
    }


def _one_nn_json(result: OneNN) -> dict[str, Any]:
    """Accuracies of the 1-NN classifier as a JSON object, in per cent."""
    (low, high), (least, most) = result.accuracy, result.majority_accuracy
    return {
        "test_points": len(result.test),
        "accuracy": {"low": 100 * low, "high": 100 * high},
        "majority_accuracy": {"low": 100 * least, "high": 100 * most},
    }


def print_separation(
    result: Separation, data: Dataset, audit: Audit, one_nn: OneNN | None = None
) -> None:
    """Print separation and audit as sentences and tables."""
    print_lines(f"data: {data.name}; {data.n} points, {len(data.classes)} classes")
    print_lines(f"{norm_title(result.p)} separation 2r = {result.two_r!r}")
    places = [
        f"row {data.source_row(row)} ({result.classes[result.y[row]]!r})" for row in result.pair
    ]
    parts = ", training part first" if data.n_train is not None else ""
    print_lines(f"closest pair: {' and '.join(places)}, rows counted from 0{parts}")
    if differing := describe_gaps(list_gaps(data, result.pair, result.p)):
        print_lines(f"  {differing}")
    print_lines(f"eps_min = {result.epsilon_min!r}")
    if size := describe_deviations(compare_with_columns(data, result.epsilon_min)):
        print_lines(f"  that is {size}")
    for part, value in result.by_part.items():
        print_lines(f"  2r {part}: {'no pair of classes' if value is None else repr(value)}")
    if audit.nearest is not None:
        least, *quartiles, most = (format_short_distance(value) for value in audit.nearest.values())
        print_lines(
            f"distance of a point to the nearest point of another class: {least} to {most}, "
            f"quartiles {', '.join(quartiles)}"
        )
    print_lines(f"duplicates: {audit.duplicates}")
    if audit.left_out:
        print_lines(f"clashes: {audit.left_out}")
    if one_nn is not None:
        print_lines(f"1-NN: {one_nn_sentence(one_nn)}")
    _print_closest(audit)
    _print_classes(result, audit)


def _print_closest(audit: Audit) -> None:
    rows = []
    for rank, pair in enumerate(audit.pairs, start=1):
        (i, j), (a, b) = pair.rows, pair.classes
        points = [str(value) for value in (rank, i, a, j, b)]
        rows.append(
            [*points, format_distance(pair.distance), _format_without(pair.epsilon_min_without)]
        )
    title = "closest pair of different classes"
    if len(rows) > 1:
        title = (
            f"the {len(rows)} closest pairs of different classes; on the right, eps_min if a pair "
            "and all above it were left out"
        )
    print_table(title, ["", "row", "class", "row", "class", "2r", "eps_min without"], rows)
    print_lines(*audit.outliers)


def _print_classes(result: Separation, audit: Audit) -> None:
    """Print the minimum distance of every pair of classes; of many, the closest pairs only."""
    n = len(result.classes)
    if audit.by_class is None:
        print_lines("", f"2r of every pair of classes is not kept for {n} classes")
    elif n > MAX_CLASSES:
        pairs = rank_class_pairs(result.classes, audit.by_class)
        rows = [
            [str(a), str(b), format_short_distance(value)] for a, b, value in pairs[:MAX_CLASSES]
        ]
        title = f"2r of the closest {len(rows)} of {len(pairs)} pairs of classes"
        print_table(title, ["class", "class", "2r"], rows)
    elif n > 2:
        rows = [
            [str(label), *("" if v is None else format_short_distance(v) for v in row)]
            for label, row in zip(result.classes, audit.by_class, strict=True)
        ]
        print_table("2r of every pair of classes", ["", *map(str, result.classes)], rows)


def _format_without(value: float | None) -> str:
    """Format eps_min without some pairs."""
    return "no pair left" if value is None else format_distance(value)
