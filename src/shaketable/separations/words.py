"""Texts about separations: captions of figures, and the 1-NN classifier in a sentence."""

from __future__ import annotations

from shaketable.core.norms import norm_title
from shaketable.separations.one_nn import OneNN

NEAREST = (
    "Bars count points; the line is their cumulative share. Both begin at the separation 2r, "
    "which a single pair of points sets."
)
LEFT_OUT = (
    "Each step to the right leaves out one more of the closest pairs. A steep first step means "
    "that eps_min depends on a few points; a flat line, that it does not."
)
POINTS = "The rings and the line between them mark the pair of points that sets 2r."


def one_nn_sentence(result: OneNN) -> str:
    """How often the nearest training point has the test point's label, as a sentence."""
    accuracy, by_majority = _percent(result.accuracy), _percent(result.majority_accuracy)
    sentence = (
        f"{accuracy} of {len(result.test)} test points get the right label from the nearest "
        f"training point ({norm_title(result.p)})"
    )
    if result.accuracy == result.majority_accuracy:
        return sentence
    return (
        f"{sentence}, counting ties as wrong or as right; {by_majority} if the majority of the "
        "equally near points decides"
    )


def _percent(limits: tuple[float, float]) -> str:
    """Share, or its range, in per cent."""
    low, high = limits
    return f"{low:.2%}" if low == high else f"{low:.2%} to {high:.2%}"
