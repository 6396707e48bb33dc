"""Corruptions of some columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.spec import join_names, parse_call
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.compose import Named
from shaketable.corruptions.corruption import Corruption, Wrapper
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns


@dataclass(frozen=True)
class Only(Wrapper):
    """``a(…, only="COLUMN,…")``: the same corruption as on a table of these columns alone.

    All other columns stay as they are. Columns without names are numbered from 0.

    >>> from shaketable.corruptions import corrupt, parse
    >>> parse("linf(0.1, only=age)").spec
    'linf(0.1, only="age")'
    >>> moved = corrupt([[0.0] * 3] * 2, 'linf(0.1, only="1")', rng=0) != 0
    >>> moved.tolist()
    [[False, True, False], [False, True, False]]
    """

    corruption: Corruption
    names: tuple[str, ...]
    places: tuple[int, ...] | None = field(default=None, compare=False, repr=False)
    """Places of the columns; None until the columns of the data are known."""

    takes_levels = False
    additive = None
    stages = ()

    def __post_init__(self) -> None:
        inner = self.corruption
        if not self.names:
            raise InputError(f"only must name a column, got none for {inner.spec}")
        if inner.by_row or inner.stages or isinstance(inner, Named | Only):
            raise InputError(
                f"only= is for single corruptions, got {inner.spec}; name the columns "
                "in each factor"
            )

    @property
    def spec(self) -> str:
        """Canonical spec string: the corruption's, with the columns."""
        return self._add_columns(self.corruption.spec)

    @property
    def ladder(self) -> str:
        """The ladder of the corruption on these columns."""
        return self._add_columns(self.corruption.ladder)

    @property
    def size(self) -> float:
        """As the corruption inside."""
        return self.corruption.size

    def for_shape(self, shape: tuple[int, ...]) -> Only:
        """Return itself; raise an error for points that are no rows of a table."""
        if len(shape) != 1:
            raise InputError(
                f"{self.spec} is for tables, got points of shape {shape}; leave only= out"
            )
        return self

    def for_columns(self, columns: Columns) -> Only:
        """Return the same corruption with the places of the columns filled in."""
        places = columns.find(self.names)
        inner = self.corruption.for_shape((len(places),)).for_columns(columns.take(places))
        return replace(self, corruption=inner, places=places)

    def bind(self, bounds: Bounds | None) -> Only:
        """Return the same corruption in these bounds."""
        return replace(self, corruption=self.corruption.bind(bounds))

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return what the corruption draws for its columns."""
        return self.corruption.draw(self._take(x), keys)

    def apply(self, x: Array, drawn: Any) -> Array:
        """Corrupt the columns."""
        changed = self.corruption.apply(self._take(x), drawn)
        given: Any = x
        out: Array = given.clone() if hasattr(x, "detach") else given.copy()
        out[:, list(self.places or ())] = changed
        return out

    def _take(self, x: Any) -> Any:
        if self.places is None:
            raise InputError(
                f"{self.spec} depends on the columns of the data, which must be known first; use "
                "corrupt or evaluate, or for_columns(Columns(…))"
            )
        # numpy's take returns rows in one piece, as compiled code needs them
        return x[:, list(self.places)] if hasattr(x, "detach") else x.take(self.places, axis=1)

    def _add_columns(self, spec: str) -> str:
        call = parse_call(spec)
        return str(replace(call, options={**call.options, "only": join_names(self.names)}))
