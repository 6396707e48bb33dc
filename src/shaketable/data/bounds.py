"""What happens to noise at the edge of the value range."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import format_value
from shaketable.core.types import Array

Rule: TypeAlias = Literal["clip", "truncate"]


@dataclass(frozen=True)
class Bounds:
    """The value range [low, high] and how noise is kept inside it.

    ``clip``: noise first, then every value is moved to the nearest one in range. ``truncate``: the
    noise is uniform in the part of the ball that lies in range. The two differ: at x = 0 and
    L-inf noise of size 0.1 they shift the mean by 0.025 and 0.050.
    """

    low: float
    high: float
    rule: Rule = "clip"
    steps: int = 0
    """Equal steps of the range that the data count in, 255 for uint8 pictures; 0: any value goes.

    The data decide it, and so it is not told with the bounds. Faults of cameras round to it.
    """

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"bounds must have low < high, got {self.low!r}, {self.high!r}")
        if self.rule not in get_args(Rule):
            raise unknown_name("bounds rule", self.rule, get_args(Rule))

    def __str__(self) -> str:
        return f"{self.rule}[{format_value(self.low)}, {format_value(self.high)}]"

    def of_whole_numbers(self) -> Bounds:
        """Return the same bounds for data that are whole numbers."""
        whole = float(self.low).is_integer() and float(self.high).is_integer()
        return replace(self, steps=int(self.high - self.low) if whole else 0)

    def held(self, x: Any) -> Any:
        """Values, of an array or a tensor, as the data can hold them: in range, on a step."""
        x = x.clip(self.low, self.high)
        if not self.steps:
            return x
        span = self.high - self.low
        if span == self.steps:
            return (x - self.low).round() + self.low
        # in this order k/255 comes out as uint8 pictures have it
        return ((x - self.low) * (self.steps / span)).round() * span / self.steps + self.low

    def check(self, x: Array) -> None:
        """Raise unless every value of `x` lies in range."""
        if x.size and not (x.min() >= self.low and x.max() <= self.high):
            raise InputError(
                f"x must lie in the bounds [{self.low}, {self.high}], but its values span "
                f"[{x.min()}, {x.max()}]; widen the bounds or scale the data"
            )


BoundsLike: TypeAlias = "Bounds | tuple[float, float] | None"


def as_bounds(bounds: BoundsLike) -> Bounds | None:
    """Bounds from what users write: a pair means clipping, None means no bounds."""
    if bounds is None or isinstance(bounds, Bounds):
        return bounds
    try:
        low, high = (end + 0.0 for end in bounds)  # text has no sum with a number
    except (TypeError, ValueError) as error:
        raise InputError(f"bounds must be two numbers (low, high), got {bounds!r}") from error
    return Bounds(float(low), float(high))
