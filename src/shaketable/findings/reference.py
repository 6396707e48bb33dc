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
