"""In the terminal."""

from typing import TYPE_CHECKING

from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_table

if TYPE_CHECKING:
    from worst_loss.finding import WorstLoss


def print_worst(finding: "WorstLoss") -> None:
    """Print one row per model."""
    rows = [
        [label, s.first.corruption, format_entry(s.relative_loss)]
        for label, s in finding.worst.items()
    ]
    print_table("Largest loss of accuracy", ["model", "corruption", "loss, %"], rows)
