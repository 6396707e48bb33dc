"""What a results file keeps of the data themselves: facts, no points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from shaketable.core.arrays import split_rows
from shaketable.data.dataset import Dataset

Kind: TypeAlias = Literal["table", "images", "points"]

_SHOWN = 45  # classes that are named


@dataclass(frozen=True, kw_only=True)
class DataRecord:
    """Size, classes and values of a data set.

    >>> from shaketable import make_dataset
    >>> DataRecord.of(make_dataset([[0.0], [4.0]], ["a", "b"])).summary["Values"]
    '0 to 4, no range is declared'
    """

    fingerprint: str
    name: str
    n: int
    n_train: int | None
    """Points of the training part; None if the data have one part."""
    shape: tuple[int, ...]
    """Of a point."""
    dtype: str
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    """Points of every class."""
    low: float | None
    """Smallest value; None if there is none."""
    high: float | None
    bounds: str
    """Declared range of values; empty for none."""
    missing: int
    """Missing cells."""
    features: tuple[str, ...]
    """Names of the features; empty if they have none."""
    kind: Kind
    """``table``: of several kinds of columns; ``images``: of several dimensions."""
    groups: tuple[str, ...]
    """Columns that rows are grouped by."""
    notes: tuple[str, ...]
    """What a reader of any results on them should know."""

    @property
    def summary(self) -> dict[str, str]:
        """The facts as texts, by title."""
        parts = ""
        if self.n_train is not None:
            parts = f": {self.n_train:,} for training, {self.n - self.n_train:,} for tests"
        classes = [f"{name} ({n:,})" for name, n in zip(self.classes, self.counts, strict=True)]
        more = [f"and {len(classes) - _SHOWN} more"] if len(classes) > _SHOWN else []
        values = "none"
        if self.low is not None and self.high is not None:
            values = f"{self.low:.6g} to {self.high:.6g}"
        levels = ", which count as x/255" if self.dtype == "uint8" and self.kind == "images" else ""
        return {
            "Data": self.name,
            "Fingerprint of the data": self.fingerprint,
            "Points": f"{self.n:,}{parts}",
            "Features of a point": " × ".join(map(str, self.shape)) or "1",
            "Precision of the points": self.dtype,
            "Classes (points)": ", ".join([*classes[:_SHOWN], *more]),
            "Values": f"{values}{levels}, "
            + (f"declared {self.bounds}" if self.bounds else "no range is declared"),
            "Missing cells": f"{self.missing:,}",
        }

    @classmethod
    def of(cls, data: Dataset) -> DataRecord:
        """Collect the facts; all values are read once."""
        low, high, missing = np.inf, -np.inf, 0
        for block in split_rows(data.x):
            lacking = np.isnan(block) if block.dtype.kind == "f" else np.zeros(1, bool)
            missing += int(lacking.sum())
            if not lacking.all():
                low = min(low, float(np.nanmin(block)))
                high = max(high, float(np.nanmax(block)))
        counts = np.bincount(data.y, minlength=len(data.classes))
        is_table = data.table is not None
        kind: Kind = "points" if len(data.shape) < 2 else "images"
        return cls(
            fingerprint=data.fingerprint,
            name=data.name,
            n=data.n,
            n_train=data.n_train,
            shape=tuple(data.shape),
            dtype=str(data.x.dtype),
            classes=tuple(map(str, data.classes)),
            counts=tuple(counts.tolist()),
            low=low if np.isfinite(low) else None,
            high=high if np.isfinite(high) else None,
            bounds="" if data.bounds is None else str(data.bounds),
            missing=missing,
            features=tuple(data.features or ()),
            kind="table" if is_table else kind,
            groups=tuple(group.name for group in data.groupings),
            notes=tuple(data.notes(distances=False)),
        )
