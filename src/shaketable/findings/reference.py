"""The reference: the model that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence


def choose_reference(labels: Sequence[str], reference: str = "") -> tuple[str, str]:
    """Return the label of the model that others are compared with, and why it is that one.

    >>> choose_reference(["net", "net(clean)"])
    ('net(clean)', 'the only model whose name says it was trained on clean data')
    """
    named = [label for label in labels if label == "clean" or label.endswith("(clean)")]
    if reference:
        return reference, "as chosen"
    if len(named) == 1:
        return named[0], "the only model whose name says it was trained on clean data"
    return labels[0], "the first of the table"


def choose_references(labels: Sequence[str], reference: str = "") -> tuple[dict[str, str], str]:
    """Return which model each one is compared with, and why.

    Without a choice, several networks have one reference each, if every network has a model that
    was trained on clean data; else all models are compared with one.

    >>> choose_references(["a(clean)", "a(C1)", "b(C1)", "b(clean)"])[0]
    {'a(clean)': 'a(clean)', 'a(C1)': 'a(clean)', 'b(C1)': 'b(clean)', 'b(clean)': 'b(clean)'}
    """
    networks = [label.removesuffix("clean)") for label in labels if label.endswith("(clean)")]
    if not reference and len(networks) > 1:
        own = {
            label: f"{max((n for n in networks if label.startswith(n)), key=len, default='')}clean)"
            for label in labels
        }
        if all(chosen in own for chosen in own.values()):
            return own, "of each network the model trained on clean data"
    chosen, why = choose_reference(labels, reference)
    return dict.fromkeys(labels, chosen), why
