"""The role every corruption plays, and the one that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shaketable.core.types import Array, KeyArray
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns

if TYPE_CHECKING:
    from shaketable.corruptions.compose import Sequence


class Corruption(Protocol):
    """A frozen dataclass whose fields are its parameters.

    What is random is drawn apart from its use, so that the levels of a ladder can share a draw.
    """

    @property
    def spec(self) -> str:
        """Canonical spec string; parses back to an equal corruption."""

    @property
    def ladder(self) -> str:
        """Name shared by all levels of this corruption, which differ in size alone."""

    @property
    def size(self) -> float:
        """Where it stands on its ladder: what it draws serves all smaller levels too."""

    @property
    def by_row(self) -> bool:
        """Whether keys are rows of the test part, counted from its first: nothing is random."""
        return False

    @property
    def on_steps(self) -> bool:
        """Whether results are values that the data can hold, such as the 256 levels of uint8."""
        return False

    def for_shape(self, shape: tuple[int, ...]) -> Corruption:  # noqa: ARG002  (of use to some)
        """Fill in what the shape of a point decides, which becomes part of the spec."""
        return self

    def for_columns(self, columns: Columns) -> Corruption:  # noqa: ARG002  (of use to some)
        """Fill in what the points decide, such as column means; these are not told in the spec."""
        return self

    def bind(self, bounds: Bounds | None) -> Corruption:
        """Fill in the value range, which is recorded apart."""

    def draw(self, x: Array, keys: KeyArray) -> Any:  # noqa: ARG002  (of use to most)
        """All that is random, one key a row; of `x` only the shape of a row and the type count.

        By default the keys themselves: what is random is then made where it is used.
        """
        return keys

    def apply(self, x: Array, drawn: Any) -> Array:
        """Corrupted copy of the rows of `x`; nothing is random, and what was drawn is kept."""

    def __call__(self, x: Array, keys: KeyArray, out: Array | None = None) -> Array:
        """Corrupted copy of the rows of `x`: one key a row, nothing else random.

        It is written to `out` if that is given, which may be `x`. Torch tensors stay on their
        device.
        """
        if device := device_code(x):
            return device.call(self, x, keys, out)
        noisy = self.apply(x, self.draw(x, keys))
        if out is None:
            return noisy
        out[...] = noisy
        return out

    def __add__(self, other: Corruption) -> Sequence:
        """Return first this one, then the other."""
        from shaketable.corruptions.compose import Sequence  # it stands on this module

        return Sequence((self, other))


def on_arrays(apply: Callable[[Any, Array, Any], Array]) -> Callable[[Any, Array, Any], Array]:
    """Turn an `apply` for arrays into one for tensors too, which are taken to the CPU and back."""

    @wraps(apply)
    def applied(self: Any, x: Array, drawn: Any) -> Array:
        if not hasattr(x, "detach"):
            return apply(self, x, drawn)
        from shaketable.corruptions.tensors.device import through_arrays  # torch is there, as x is

        moved: Array = through_arrays(lambda array, keys: apply(self, array, keys), x, drawn)
        return moved

    return applied


class DeviceCode(Protocol):
    """What the module `device` does with tensors; here they pass for arrays."""

    def call(self, corruption: Corruption, x: Array, keys: KeyArray, out: Array | None) -> Array:
        """See `Corruption.__call__`."""

    def draw(self, corruption: Corruption, x: Array, keys: KeyArray) -> Any:
        """See `Corruption.draw`."""

    def apply(self, corruption: Corruption, x: Array, drawn: Any) -> Array:
        """See `Corruption.apply`."""


def device_code(x: Any) -> DeviceCode | None:
    """Code for torch tensors, if `x` is one."""
    if not hasattr(x, "detach"):
        return None
    from shaketable.corruptions.tensors import device  # torch is there, as x is

    return device


@dataclass(frozen=True)
class Clean(Corruption):
    """No corruption: the inputs as they are."""

    spec = "clean"
    ladder = "clean"
    size = 0.0
    on_steps = True

    def bind(self, bounds: Bounds | None) -> Clean:  # noqa: ARG002  (part of the role)
        """Nothing to fill in."""
        return self

    def draw(self, x: Array, keys: KeyArray) -> None:
        """Nothing is random."""

    def apply(self, x: Array, drawn: None) -> Array:  # noqa: ARG002  (part of the role)
        """Return the rows of `x` as they are."""
        return x


def noisy_copies(corruption: Corruption, x: Array, keys: KeyArray) -> Array:
    """Corrupted copies of every row, as many as it has keys: shape (rows * copies, ...).

    Parameters
    ----------
    corruption
        What to do to them.
    x
        Points, one a row.
    keys
        One row of keys a point, shape (rows, copies).
    """
    return corruption(np.repeat(x, keys.shape[1], axis=0), keys.reshape(-1))
