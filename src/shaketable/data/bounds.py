"""Bounds: the range of values, and how noise is kept inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import format_value
from shaketable.core.types import Array

Rule: TypeAlias = Literal["clip", "truncate"]

ROUNDING = 1e-6
"""Slack for values that were computed in float32, such as resized images."""


@dataclass(frozen=True)
class Bounds:
    """The value range [low, high] and how noise is kept inside it.

    ``clip``: noise is added, then every value is moved to the nearest one in range. ``truncate``:
    noise is uniform in the part of the ball that lies in range. The two differ: at x = 0, L-inf
    noise of size 0.1 shifts the mean by 0.025 (clip) or 0.050 (truncate).

    Parameters
    ----------
    low, high
        Ends of the value range.
    rule
        ``clip`` or ``truncate``.
    steps
        Number of steps between the ends that values are rounded to; 0 for none.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = Bounds(0, 1)
    >>> bounds.enforce(np.array([-0.5, 0.5, 2.0]))
    array([0. , 0.5, 1. ])
    >>> bounds.check(np.array([0.0, 1.0]))
    >>> Bounds(0, 255).with_whole_steps().steps
    255
    """

    low: float
    high: float
    rule: Rule = "clip"
    steps: int = 0
    """Number of equal steps that the data divide the range into: 255 for uint8 images; 0 for none.

    It follows from the data and so is not part of the text of the bounds. Camera faults round to
    these steps.
    """

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"bounds must have low < high, got {self.low!r}, {self.high!r}")
        if self.rule not in get_args(Rule):
            raise unknown_name("bounds rule", self.rule, get_args(Rule))

    def __str__(self) -> str:
        return f"{self.rule}[{format_value(self.low)}, {format_value(self.high)}]"

    def with_whole_steps(self) -> Bounds:
        """Return the same bounds for data that are whole numbers: steps of 1, if both ends are.

        Returns
        -------
        Bounds
            Bounds with steps of 1, if both ends are whole numbers.
        """
        whole = float(self.low).is_integer() and float(self.high).is_integer()
        return replace(self, steps=int(self.high - self.low) if whole else 0)

    @property
    def on_bytes(self) -> bool:
        """Whether values are those of uint8 images: k/255, and any noise is clipped to them."""
        return (self.low, self.high, self.steps, self.rule) == (0, 1, 255, "clip")

    def enforce(self, x: Any) -> Any:
        """Clip values of an array or a tensor to the range, and round them to the steps if any.

        Parameters
        ----------
        x
            Array or tensor.

        Returns
        -------
        Any
            A copy within the range.
        """
        x = x.clip(self.low, self.high)
        if not self.steps:
            return x
        span = self.high - self.low
        if span == self.steps:
            return (x - self.low).round() + self.low
        # in this order of operations k/255 comes out as uint8 images have it
        return ((x - self.low) * (self.steps / span)).round() * span / self.steps + self.low

    def check(self, x: Array, *, slack: float = 0.0) -> None:
        """Raise `InputError` unless every value of `x` lies in range.

        They may be beyond it by `slack`, a share of the end that is farther from 0.

        Parameters
        ----------
        x
            Values.
        slack
            How far values may be beyond the range, as a share of the end that is farther from 0.
        """
        low, high = self.low, self.high
        if getattr(x.dtype, "kind", "") == "f":  # numpy before 2 would compare as float64
            low, high = x.dtype.type(low), x.dtype.type(high)
        more = slack * max(abs(end) for end in (low, high, 0.0) if math.isfinite(end))
        if x.size and not (x.min() >= low - more and x.max() <= high + more):
            raise InputError(
                f"x must lie in the bounds [{self.low}, {self.high}], but its values span "
                f"[{x.min()}, {x.max()}]; widen the bounds or scale the data"
            )


BoundsLike: TypeAlias = "Bounds | tuple[float, float] | None"


def as_bounds(bounds: BoundsLike) -> Bounds | None:
    """`Bounds` of a pair (low, high), which means clipping; None for no bounds."""
    if bounds is None or isinstance(bounds, Bounds):
        return bounds
    try:
        low, high = (end + 0.0 for end in bounds)  # text has no sum with a number
    except (TypeError, ValueError) as error:
        raise InputError(f"bounds must be two numbers (low, high), got {bounds!r}") from error
    return Bounds(float(low), float(high))
