"""Adversarial accuracies as tables in a terminal."""

from __future__ import annotations

from shaketable.adversary import words
from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.worst_case import WorstCase
from shaketable.views.numbers import format_entry, format_share
from shaketable.views.terminal import print_lines, print_notes, print_table


def print_worst_case(worst: WorstCase) -> None:
    """Print one table per model, one row per epsilon, and the differences between models."""
    eps_min = words.write_eps_min(worst)
    points = len(worst.curves[0].target.rows)
    print_lines(f"{worst.data.name}: {points} points; {worst.norm} eps_min = {eps_min}")
    for model in worst.models:
        curves, noisy = worst.of(model), worst.random.get(model, {})
        rows = []
        for at in zip(*curves, strict=True):
            random = noisy.get(at[0].epsilon)
            rows.append([f"{at[0].epsilon:g}", *map(_describe_accuracy, at)])
            rows[-1] += [] if not noisy else ["" if random is None else format_entry(random)]
        header = ["epsilon", *(curve.name for curve in curves)]
        header += ["random noise"] if noisy else []
        clean = f"clean accuracy {format_share(curves[0].clean)}"
        print_table(f"{model}: accuracy in %, {worst.norm}; {clean}", header, rows)
        for curve in curves:
            area = f"area {curve.area:.4g} up to epsilon {curve.accuracies[-1].epsilon:g}"
            print_lines(f"{curve.name}: {area}; {curve.bound}")
        for note in dict.fromkeys(note for curve in curves for note in curve.accuracies[-1].notes):
            print_lines(note)
        for sentence in worst.sentences(model):
            print_lines(sentence)
    largest = max(a.epsilon for a in worst.curves[0])
    rows = [
        [a.name, d.first, d.second, format_entry(d.value, signed=True), d.words]
        for a, d in worst.differences()
        if a.epsilon == largest
    ]
    if rows:
        header = ["accuracy", "first", "second", "difference", "in words"]
        print_table(
            f"Which withstands more at epsilon {largest:g}? In percentage points", header, rows
        )
    print_notes(worst.notes)


def _describe_accuracy(a: AdversarialAccuracy) -> str:
    """An accuracy with its interval, and the number of points where these are not all."""
    if not a.n:
        return words.NO_ROOM
    found = "" if a.remains_exactly else " found"
    return format_entry(a.estimate) + ("" if a.remains.all() else f" of {a.n}{found}")
