"""The metric."""

from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.series import Series, group_series
from shaketable.statistics.estimate import Estimate


def worst_loss(records: Records) -> Estimate:
    """Largest loss of accuracy under any corruption, relative to the clean accuracy."""
    return choose_worst(group_series(records)).relative_loss


def choose_worst(series: list[Series]) -> Series:
    """Return the series that loses most."""
    candidates = [s for s in series if s.first.corruption != "clean" and s.change is not None]
    if not candidates:
        raise InputError("worst_loss needs a model under a corruption; evaluate one")
    return min(candidates, key=lambda s: s.relative_loss.value)
