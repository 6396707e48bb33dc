"""Corruptions that are classes of other packages: they are checked when found and when applied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.corruption import Corruption, Traits, Wrapper
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns

_VALUES: dict[str, tuple[type, str]] = {
    "spec": (str, "a str"),
    "ladder": (str, "a str"),
    "size": (Real, "a number"),
    "traits": (Traits, "a Traits"),
}
_FAILURE = "failed with {error}; correct the class"
ONE_AT_A_TIME = threading.RLock()
"""Held while other people's code runs, which need not be made for several threads."""


def admit_corruption(corruption: Corruption) -> Corruption:
    """Return a corruption that can be used: ours as it is, others as a `ForeignCorruption`.

    Raises `InputError` if the class leaves out a member that every corruption must define.
    """
    kind = type(corruption)
    if kind.__module__.startswith("shaketable."):
        return corruption
    name = f"{kind.__module__}:{kind.__qualname__}"
    for member, (wanted, what) in _VALUES.items():
        with guard_foreign(f"corruption {name}: {member} {_FAILURE}", but=()):
            value = getattr(corruption, member)
        if not isinstance(value, wanted):
            raise InputError(
                f"corruption {name} must define {member}, {what}, got {value!r}; see "
                "shaketable.corruptions.Corruption"
            )
    if kind.apply is Corruption.apply:
        raise InputError(
            f"corruption {name} must define the method apply; see shaketable.corruptions.Corruption"
        )
    return ForeignCorruption(corruption)


@dataclass(frozen=True, eq=False)
class ForeignCorruption(Wrapper):
    """A corruption of another package: what its methods return is checked.

    It equals the corruption itself, and does the same.
    """

    corruption: Corruption

    def __eq__(self, other: object) -> bool:
        return self.corruption == (
            other.corruption if isinstance(other, ForeignCorruption) else other
        )

    def __hash__(self) -> int:
        return hash(self.corruption)

    @property
    def spec(self) -> str:
        """As the corruption itself states it."""
        return self.corruption.spec

    @property
    def ladder(self) -> str:
        """As the corruption itself states it."""
        return self.corruption.ladder

    @property
    def traits(self) -> Traits:
        """As the corruption itself states it; one that is asked for columns depends on them."""
        asks = type(self.corruption).for_columns is not Corruption.for_columns
        given = self.corruption.traits
        return replace(given, by_column=given.by_column or asks)

    def for_shape(self, shape: tuple[int, ...]) -> ForeignCorruption:
        """Return the same corruption for this shape."""
        return self._change("for_shape", self.corruption.for_shape, shape)

    def for_columns(self, columns: Columns) -> ForeignCorruption:
        """Return the same corruption for these columns."""
        return self._change("for_columns", self.corruption.for_columns, columns)

    def bind(self, bounds: Bounds | None) -> ForeignCorruption:
        """Return the same corruption in these bounds."""
        return self._change("bind", self.corruption.bind, bounds)

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return what the corruption draws."""
        return self._call("draw", self.corruption.draw, x, keys)

    def apply(self, x: Array, drawn: Any) -> Array:
        """Apply the corruption; a result of another shape or with new NaN is an error."""
        finite = _is_finite(x)
        result = self._call("apply", self.corruption.apply, x, drawn)
        checked: Array = check_result(self.spec, result, x, finite)
        return checked

    def _change(self, method: str, change: Callable[[Any], Any], value: Any) -> ForeignCorruption:
        changed = self._call(method, change, value)
        if not isinstance(changed, Corruption):
            raise InputError(
                f"{method} of corruption {self.spec} must return a corruption, got {changed!r}; "
                "return self if nothing changes"
            )
        return self if changed is self.corruption else replace(self, corruption=changed)

    def _call(self, method: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a method; what it raises is an error of one line."""
        with guard_foreign(f"corruption {self.spec}: {method} {_FAILURE}"), ONE_AT_A_TIME:
            return function(*args)


def check_result(spec: str, result: Any, given: Any, finite: Any) -> Any:
    """Return the result of a corruption, an array or a tensor like `given`; raise if it is not.

    Parameters
    ----------
    spec
        Of the corruption, for messages.
    result
        What it returned.
    given
        The point or points that it was given.
    finite
        Which values of `given` are finite, found before the call; of the result they must be too.
    """
    values = result if hasattr(given, "detach") and hasattr(result, "detach") else _array(result)
    shape = tuple(np.shape(given))
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiu":
        raise InputError(
            f"corruption {spec} must return an array of real numbers of shape {shape}, got "
            f"{type(result).__name__}; return the corrupted copy"
        )
    if tuple(values.shape) != shape:
        raise InputError(
            f"corruption {spec} must return an array of shape {shape}, as it was given, got shape "
            f"{tuple(values.shape)}"
        )
    if hasattr(given, "detach") and values is not result:
        raise InputError(f"corruption {spec} must return a tensor, as it was given, got an array")
    if not (_is_finite(values) | ~finite).all():
        raise InputError(
            f"corruption {spec} returned values that are not finite (NaN or infinity); check it "
            "for divisions by 0 and overflow"
        )
    return values


def _array(result: Any) -> Array:
    try:
        return np.asarray(result)
    except ValueError:  # lists of several lengths
        return np.empty(0, object)


def _is_finite(values: Any) -> Any:
    return values.isfinite() if hasattr(values, "detach") else np.isfinite(values)
