"""Balls of p-norms: volume factors (Table 6), samples (Fig. 1) and overlaps (Fig. 5)."""

from __future__ import annotations

from shaketable.corruptions.balls.charts import tabulate_volumes, volumes_chart
from shaketable.corruptions.balls.numbers import volume_table
from shaketable.reproductions.claims import Close
from shaketable.reproductions.numbers import Number, NumberTable
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
