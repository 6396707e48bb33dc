"""Requirements on models: an MSCR that is defined, and at least as large as the user requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.mscr.finding import Robustness
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True)
class Verdict:
    """The MSCR of one model, compared with the required one by its 95 % interval."""

    label: str
    """The model, and its training noise in a study."""
    mscr: Estimate
    least: float
    """The MSCR required, as a fraction."""

    @property
    def outcome(self) -> Literal["met", "not met", "inconclusive"]:
        """``met`` if the interval is above `least`, ``not met`` if below, else ``inconclusive``."""
        if self.mscr.low >= self.least:
            return "met"
        return "not met" if self.mscr.high < self.least else "inconclusive"

    def __str__(self) -> str:
        value, low, high = self.mscr.value, self.mscr.low, self.mscr.high
        return (
            f"requirement MSCR >= {self.least:.2%} {self.outcome}: {self.label} has {value:+.2%}, "
            f"95 % interval {low:+.2%} to {high:+.2%}"
        )


def check_min_mscr(finding: Robustness, least: float) -> list[Verdict]:
    """Compare every MSCR with `least`, a fraction such as -0.01."""
    verdicts = []
    for subject in finding.subjects:
        for series in subject.at_eps_min:
            entry = subject.entry(series) + ("," if subject.is_study else "")
            verdicts.append(Verdict(entry, series.relative_loss, least))
    if not verdicts:
        raise InputError("--min-mscr needs noise of size eps_min on record")
    return verdicts


def check_defined(finding: Robustness) -> None:
    """Raise `UndefinedError` for models that classify no clean point correctly."""
    if finding.undefined:
        raise UndefinedError(
            f"MSCR is undefined for {', '.join(finding.undefined)}: a clean accuracy of 0 leaves "
            "nothing to lose; check that the model's labels are the data's"
        )
