"""The rule by which training noise is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shaketable.statistics.estimate import Estimate

ONE_ERROR = 0.68
"""Confidence of an interval of one standard error to both sides."""


@dataclass(frozen=True)
class Candidate:
    """Training noise of the search, compared with none on points left out of fitting."""

    noise: str
    size: float | None
    """Its size relative to the ladder's unit; None for noise that was named."""
    clean_accuracy: float
    robust_accuracy: float
    clean: Estimate
    """Clean accuracy minus that of training without noise, on as many copies."""
    robust: Estimate
    """Accuracy under the test noise minus that of the same."""

    def fits(self, price: float) -> bool:
        """Whether the loss of clean accuracy is at most `price`, up to one standard error."""
        return self.clean.again(confidence=ONE_ERROR).high >= -price

    def json(self, price: float) -> dict[str, Any]:
        """Values in per cent, differences in percentage points."""
        return {
            "noise": self.noise,
            "size": self.size,
            "clean": 100 * self.clean_accuracy,
            "robust": 100 * self.robust_accuracy,
            "clean_difference": self.clean.json(),
            "robust_difference": self.robust.json(),
            "fits_price": self.fits(price),
        }


def choose(candidates: Iterable[Candidate], price: float) -> Candidate | None:
    """Return the candidate with the highest accuracy under noise among those that fit the price.

    None if none of these is more accurate under noise than training without noise. Of equal ones,
    the first is chosen.
    """
    fit = [candidate for candidate in candidates if candidate.fits(price)]
    best = max(fit, key=lambda candidate: candidate.robust.value, default=None)
    return best if best is not None and best.robust.value > 0 else None
