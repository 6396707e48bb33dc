"""The role that every corruption plays, and the corruption that does nothing."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns
from shaketable.data.frames.columns import NUMBERS, Kind

if TYPE_CHECKING:
    from shaketable.corruptions.compose import Sequence
    from shaketable.corruptions.one_of import OneOf


class AddedNoise(NamedTuple):
    """Parameters of noise that is added to every value, which is then clipped to [low, high]."""

    p: float
    """Order of the norm; 2 for Gaussian noise."""
    kind: str
    """``ball``, ``surface``, ``vertices`` or ``gaussian``."""
    scale: float = 1.0
    shift: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def within(self, bounds: Bounds | None) -> AddedNoise:
        """Return the same noise, clipped to the bounds."""
        return self if bounds is None else self._replace(low=bounds.low, high=bounds.high)


MadeOn: TypeAlias = Literal["cpu", "any", "device"]
"""See `Corruption.made_on`."""


class LevelLaw(NamedTuple):
    """How a corruption changes each of 256 levels, by 32 random bits for every value."""

    table: Array | None = None
    """Alias table of the new level given the old one; None to replace levels by 0 and 255."""
    half: float = 0.0
    """Probability of either end."""
    channels_last: bool = False
    """Whether bits go to the channels of one pixel after the other, however images are stored."""


class Corruption(Protocol):
    """A change of the inputs: a frozen dataclass whose fields are its parameters.

    `draw` makes what is random, `apply` uses it, so that all levels of a ladder can share one draw.
    A subclass must define `spec`, `ladder`, `size`, `bind` and `apply`; the rest has defaults.
    """

    @property
    def spec(self) -> str:
        """Canonical spec string; parses back to an equal corruption."""

    @property
    def ladder(self) -> str:
        """Name that all levels of this corruption share; they differ in size only."""

    @property
    def size(self) -> float:
        """Position on the ladder; what one level draws also serves all levels of smaller size."""

    @property
    def by_row(self) -> bool:
        """Whether keys are row numbers of the test part, counted from 0; nothing is random then."""
        return False

    @property
    def on_steps(self) -> bool:
        """Whether results are values that the data can hold, such as the 256 levels of uint8."""
        return False

    @property
    def takes_levels(self) -> bool:
        """Whether `apply` also takes uint8: the levels 0 to 255 of the value range, in and out.

        Level k stands for low + k / 255 * (high - low), and the result is that of these values.
        """
        return False

    @property
    def additive(self) -> AddedNoise | None:
        """Parameters of the added noise; None if the corruption is not additive.

        On a CUDA device additive noise is made and added by one kernel.
        """
        return None

    @property
    def made_on(self) -> MadeOn:
        """Where it can be made: on the CPU alone (``cpu``), or where the points are.

        ``any``: for levels, and the same from the same keys everywhere. ``device``: a CUDA device
        draws other random numbers than the CPU, of the same law.
        """
        return "cpu"

    @property
    def level_law(self) -> LevelLaw | None:
        """How single levels change; None if it does not change them independently."""
        return None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of columns that it changes in a table of several kinds, unless others are named."""
        return NUMBERS

    @property
    def kinds_to_name(self) -> tuple[Kind, ...]:
        """Kinds of columns that may be named for it."""
        return (*NUMBERS, "date") if self.kinds == NUMBERS else self.kinds

    @property
    def leaves_gaps(self) -> bool:
        """Whether it makes values missing: NaN is what it means."""
        return False

    @property
    def by_column(self) -> bool:
        """Whether it depends on values of other points, such as the means of columns."""
        return type(self).for_columns is not Corruption.for_columns

    @property
    def stages(self) -> tuple[Corruption, ...]:
        """Corruptions that are applied one after the other; empty for a single corruption."""
        return ()

    def for_shape(self, shape: tuple[int, ...]) -> Corruption:  # noqa: ARG002  (of use to some)
        """Fill in what the shape of a point decides, which becomes part of the spec."""
        return self

    def for_frame(self) -> Corruption:
        """Fill in what it means on a data frame of plain numbers, which becomes part of the spec.

        There it may mean something else than on an array of the same numbers.
        """
        return self

    def for_columns(self, columns: Columns) -> Corruption:  # noqa: ARG002  (of use to some)
        """Fill in what the points decide, such as column means, which the spec does not contain."""
        return self

    def bind(self, bounds: Bounds | None) -> Corruption:
        """Fill in the value range, which is recorded separately."""

    def draw(self, x: Array, keys: KeyArray) -> Any:  # noqa: ARG002  (of use to most)
        """Draw all random numbers, from one key per row; `x` gives shape and type of the rows.

        The default returns the keys themselves: `apply` then draws what it needs from them.
        """
        return keys

    def apply(self, x: Array, drawn: Any) -> Array:
        """Return a corrupted copy of the rows of `x`; `drawn` is what `draw` returned."""

    def __call__(self, x: Array, keys: KeyArray, out: Array | None = None) -> Array:
        """Return a corrupted copy of the rows of `x`, a function of `x` and of one key per row.

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

    def __add__(self, other: str | Corruption) -> Sequence:
        """Return the sequence of this corruption and then the other, which may be a spec."""
        from shaketable.corruptions.compose import Sequence  # these build on this module
        from shaketable.corruptions.parse import as_corruption

        return Sequence((self, as_corruption(other)))

    def __or__(self, other: str | Corruption) -> OneOf:
        """Return the corruption that draws this one or the other, maybe a spec, for every point."""
        from shaketable.corruptions.one_of import OneOf  # these build on this module
        from shaketable.corruptions.parse import as_corruption

        return OneOf((self, as_corruption(other)))

    def __mul__(self, weight: object) -> Corruption:
        """Raise `InputError`: weights are for specs."""
        raise InputError(
            f"weights must be written in a spec, got {weight!r} times {self.spec}; write "
            "parse('3*a | b')"
        )

    def __rmul__(self, weight: object) -> Corruption:
        """Raise `InputError`, as `__mul__`."""
        return self * weight


class Alone(Corruption):
    """A corruption that is alone on its ladder: no other one is another level of it."""

    @property
    def ladder(self) -> str:
        """Its spec."""
        return self.spec

    @property
    def size(self) -> float:
        """0, as there is one level."""
        return 0.0


class Compound(Alone):
    """A corruption that is made of others, its members."""

    @property
    @abstractmethod
    def members(self) -> tuple[Corruption, ...]:
        """The corruptions that it is made of."""

    @abstractmethod
    def with_members(self, members: tuple[Corruption, ...]) -> Corruption:
        """Return the same corruption, made of others."""

    @property
    def on_steps(self) -> bool:
        """Whether the results of every member are values that the data can hold."""
        return all(member.on_steps for member in self.members)

    @property
    def takes_levels(self) -> bool:
        """Whether every member takes levels."""
        return all(member.takes_levels for member in self.members)

    @property
    def made_on(self) -> MadeOn:
        """As all members that change anything, if these agree; else on the CPU."""
        places = {member.made_on for member in self.members if not isinstance(member, Clean)}
        return places.pop() if len(places) == 1 else "cpu"

    @property
    def leaves_gaps(self) -> bool:
        """Whether a member makes values missing."""
        return any(member.leaves_gaps for member in self.members)

    @property
    def by_column(self) -> bool:
        """Whether a member depends on values of other points."""
        return any(member.by_column for member in self.members)

    def for_shape(self, shape: tuple[int, ...]) -> Corruption:
        """Return the same corruption with every member for this shape."""
        return self.with_members(tuple(member.for_shape(shape) for member in self.members))

    def for_frame(self) -> Corruption:
        """Return the same corruption with every member for a data frame."""
        return self.with_members(tuple(member.for_frame() for member in self.members))

    def for_columns(self, columns: Columns) -> Corruption:
        """Return the same corruption with every member for these columns."""
        return self.with_members(tuple(member.for_columns(columns) for member in self.members))

    def bind(self, bounds: Bounds | None) -> Corruption:
        """Return the same corruption with every member in these bounds."""
        return self.with_members(tuple(member.bind(bounds) for member in self.members))


class Wrapper(Corruption):
    """A corruption that differs from the one inside in what its subclass defines, and no more."""

    corruption: Corruption

    @property
    def by_row(self) -> bool:
        """As the corruption inside."""
        return self.corruption.by_row

    @property
    def on_steps(self) -> bool:
        """As the corruption inside."""
        return self.corruption.on_steps

    @property
    def takes_levels(self) -> bool:
        """As the corruption inside."""
        return self.corruption.takes_levels

    @property
    def made_on(self) -> MadeOn:
        """As the corruption inside."""
        return self.corruption.made_on

    @property
    def level_law(self) -> LevelLaw | None:
        """As the corruption inside."""
        return self.corruption.level_law

    @property
    def additive(self) -> AddedNoise | None:
        """As the corruption inside."""
        return self.corruption.additive

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """As the corruption inside."""
        return self.corruption.kinds

    @property
    def kinds_to_name(self) -> tuple[Kind, ...]:
        """As the corruption inside."""
        return self.corruption.kinds_to_name

    @property
    def leaves_gaps(self) -> bool:
        """As the corruption inside."""
        return self.corruption.leaves_gaps

    @property
    def by_column(self) -> bool:
        """As the corruption inside."""
        return self.corruption.by_column

    @property
    def stages(self) -> tuple[Corruption, ...]:
        """As the corruption inside."""
        return self.corruption.stages


def on_arrays(apply: Callable[[Any, Array, Any], Array]) -> Callable[[Any, Array, Any], Array]:
    """Extend an `apply` for arrays to tensors.

    Levels are changed where they are if the corruption can be made there (`Corruption.made_on`);
    others are moved to the CPU and back.
    """

    @wraps(apply)
    def applied(self: Any, x: Array, drawn: Any) -> Array:
        if device := device_code(x):
            changed = device.change_levels(self, x, drawn) if self.made_on == "any" else None
            if changed is not None:
                return changed
            return device.through_arrays(
                lambda array, keys: apply(self, array, keys), x, drawn, levels=self.takes_levels
            )
        return apply(self, x, drawn)

    return applied


class DeviceCode(Protocol):
    """What the module `tensors.device` does with tensors; they pass for arrays here."""

    def call(self, corruption: Corruption, x: Array, keys: KeyArray, out: Array | None) -> Array:
        """See `Corruption.__call__`."""

    def draw_noise(
        self, corruption: Corruption, x: Array, keys: KeyArray, p: float, kind: str
    ) -> Any:
        """Draw noise of size 1 for `Corruption.draw`."""

    def draw_places(self, corruption: Corruption, x: Array, keys: KeyArray, hits: int) -> Any:
        """Draw places of values, and a number in (0, 1) for each, for `Corruption.draw`."""

    def add_noise(self, corruption: Corruption, x: Array, drawn: Any, sizes: Any = None) -> Array:
        """Apply an additive corruption, or one of its ladder with a size for every row."""

    def apply_one_of(self, corruption: OneOf, x: Array, keys: KeyArray) -> Array:
        """Apply one part to every row."""

    def apply_flat(
        self, corruption: Corruption, x: Array, drawn: Any, work: Callable[[Any, Any], Any]
    ) -> Array:
        """Apply a corruption that does `work` on tensors, flat rows of float32 or float64."""

    def change_levels(self, corruption: Corruption, x: Array, keys: KeyArray) -> Array | None:
        """Apply a corruption to levels on a device; None if `x` is something else."""

    def through_arrays(
        self, work: Callable[[Array, Any], Array], x: Array, drawn: Any, *, levels: bool = False
    ) -> Array:
        """Apply `work` to arrays: move `x` to the CPU and the result back; see `takes_levels`."""


def device_code(x: Any) -> DeviceCode | None:
    """Return the code for torch tensors if `x` is one."""
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
    takes_levels = True
    made_on = "any"

    def bind(self, bounds: Bounds | None) -> Clean:  # noqa: ARG002  (part of the role)
        """Return itself; there is nothing to fill in."""
        return self

    def draw(self, x: Array, keys: KeyArray) -> None:
        """Nothing is random."""

    def apply(self, x: Array, drawn: None) -> Array:  # noqa: ARG002  (part of the role)
        """Return the rows of `x` as they are."""
        return x


declare("clean", Clean, arguments=(), forms={"clean": "no corruption"})


def noisy_copies(corruption: Corruption, x: Array, keys: KeyArray) -> Array:
    """Corrupted copies of every point, shape (points * copies, ...).

    Parameters
    ----------
    corruption
        What to do to them.
    x
        Points, one per row.
    keys
        One key per copy, shape (points, copies).
    """
    return corruption(np.repeat(x, keys.shape[1], axis=0), keys.reshape(-1))
