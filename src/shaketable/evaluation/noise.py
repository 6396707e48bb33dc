"""Which random numbers a point gets: they depend on the data, the corruption, the run and the seed.

The model is no part of that, so every model is evaluated on the same corrupted points, and
comparisons are paired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import IntArray
from shaketable.corruptions import Corruption
from shaketable.data.bounds import Bounds, BoundsLike, Rule, as_bounds
from shaketable.data.dataset import Dataset, as_floats

Draws: TypeAlias = Literal["independent", "ladder", "shared"]

RuleName: TypeAlias = Literal["declared", "clip", "truncate"]
"""Bounds by name: those that the data declare, or the same with this rule."""

USUAL_K = 10
"""Draws per point if none are asked for."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How corruptions are drawn and bounded, whatever the model."""

    k: int
    """Draws per point."""
    seed: int
    run: int = 0
    draws: Draws = "independent"
    """See `keys`."""
    bounds: Bounds | None = None
    on_device: bool = False
    """Draw on the model's torch device what can be made there (`Corruption.made_on`)."""

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("seed", 0), ("run", 0)):
            # a plain int, whatever kind of integer it was: it goes into keys and into the store
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=least))
        if self.draws not in get_args(Draws):
            raise unknown_name("draws", self.draws, get_args(Draws))

    def keys(self, data: Dataset, corruption: Corruption, rows: IntArray, draws: IntArray) -> Any:
        """Keys of every row and draw, shape (rows, draws).

        Independent draws differ from corruption to corruption. With ladder draws, a point's noise
        is drawn once and scaled to all sizes. With shared draws, in addition all points, in
        training and test, get the same k offsets, as in the published 2-D study (Siedel et al.
        2022, Table 2).
        """
        if self.draws == "shared":
            rows = np.zeros_like(rows)
        key = digest(SCHEME, data.fingerprint, self.stream(corruption), self.run, self.seed)
        return row_keys(key, rows, draws)

    def stream(self, corruption: Corruption) -> str:
        """Name of the random stream: corruptions with the same stream share their draws."""
        return corruption.spec if self.draws == "independent" else corruption.ladder


def choose_bounds(data: Dataset, bounds: BoundsLike | RuleName) -> Bounds | None:
    """Bounds that noise is kept in; raises `InputError` if the data exceed them.

    ``"declared"`` stands for those of the data, ``"clip"`` and ``"truncate"`` for the same with
    this rule.
    """
    chosen = data.bounds if bounds == "declared" else as_bounds(name_rule(data, bounds))
    if chosen is not None:
        if data.x.dtype == np.uint8 and (chosen.low, chosen.high) == (0, 255):
            raise InputError(
                "bounds of uint8 images, which count as x/255, must not be (0, 255): values are "
                "from 0 to 1; leave bounds out, or give floats, x.astype('float32')"
            )
        chosen.check(as_floats(np.array(data.span, dtype=data.x.dtype)))
        if data.x.dtype == np.uint8 and (chosen.low, chosen.high) == (0, 1):
            chosen = replace(chosen, steps=255)
    return chosen


def name_rule(data: Dataset, bounds: BoundsLike | RuleName) -> Any:
    """Return the bounds that the data declare with the rule that is named, or bounds as given."""
    if bounds not in get_args(Rule):
        return bounds
    if data.bounds is None:
        hint = "0, 1): the features are scaled" if data.scaling else "LOW, HIGH)"
        raise InputError(
            f"bounds {bounds} need a value range; write "
            + either(f"'{bounds}({hint}'", f"Bounds({hint}")
        )
    return replace(data.bounds, rule=bounds)  # type: ignore[arg-type]  # one of its values


def choose_range(data: Dataset, bounds: BoundsLike | RuleName) -> Bounds | None:
    """Bounds for corruptions that need a value range, which for scaled features is [0, 1]."""
    if bounds == "declared" and data.bounds is None and data.scaling is not None:
        return Bounds(0.0, 1.0)
    return choose_bounds(data, bounds)


def apply_rule(limits: Bounds | None, rule: Rule, *, given: BoundsLike | RuleName) -> Bounds | None:
    """Return the bounds that were chosen, with the rule of a recipe.

    `Bounds` that were given have a rule of their own, which counts; a pair (low, high) has none.
    """
    if limits is None or isinstance(given, Bounds) or given in get_args(Rule) or rule == "clip":
        return limits
    return replace(limits, rule=rule)
