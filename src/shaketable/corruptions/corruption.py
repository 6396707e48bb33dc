"""The role that every corruption plays, and the corruption that does nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from shaketable.core.checks import check_real
from shaketable.core.errors import InputError
from shaketable.core.spec import Call
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.images import find_layout
from shaketable.corruptions.registry import declare, list_arguments
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns
from shaketable.data.frames.columns import NUMBERS, Kind

if TYPE_CHECKING:
    from shaketable.corruptions.compose import Sequence
    from shaketable.corruptions.one_of import OneOf
from shaketable.core.threads import run_over_rows
from shaketable.core.types import FloatArray


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
"""See `Traits.made_on`."""


class LevelLaw(NamedTuple):
    """How a corruption changes each of 256 levels, by 32 random bits for every value."""

    table: Array | None = None
    """Alias table of the new level given the old one; None to replace levels by 0 and 255."""
    half: float = 0.0
    """Probability of either end."""
    channels_last: bool = False
    """Whether bits go to the channels of one pixel after the other, however images are stored."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a corruption needs and does, as far as others have to know it."""

    points: Literal["any", "images", "tables"] = "any"
    """What points must be for it."""
    needs_range: bool = False
    """Whether its sizes are relative to the value range of the data."""
    by_row: bool = False
    """Whether keys are row numbers of the test part, counted from 0; nothing is random then."""
    by_column: bool = False
    """Whether it depends on values of other points, such as the means of columns."""
    kinds: tuple[Kind, ...] = NUMBERS
    """Kinds of columns that it changes in a table of several kinds, unless others are named."""
    may_change: tuple[Kind, ...] = ()
    """Kinds of columns that may be named for it beside those; with numbers always dates."""
    on_steps: bool = False
    """Whether results are values that the data can hold, such as the 256 levels of uint8."""
    takes_levels: bool = False
    """Whether `apply` also takes uint8: the levels 0 to 255 of the value range, in and out.

    Level k stands for low + k / 255 * (high - low), and the result is that of these values.
    """
    leaves_gaps: bool = False
    """Whether it makes values missing: NaN is what it means."""
    made_on: MadeOn = "cpu"
    """Where it can be made: on the CPU alone (``cpu``), or where the points are.

    ``any``: for levels, and the same from the same keys everywhere; it is then a `Rotation`, or has
    a `LevelLaw`, its ``level_law``. ``device``: a CUDA device draws other random numbers than the
    CPU, of the same law.
    """
    additive: AddedNoise | None = None
    """Parameters of the noise, if it is added; on a CUDA device one kernel makes and adds it."""

    @property
    def kinds_to_name(self) -> tuple[Kind, ...]:
        """Kinds of columns that may be named for it."""
        dates: tuple[Kind, ...] = ("date",) if self.kinds == NUMBERS else ()
        return (*self.kinds, *dates, *self.may_change)


class Corruption:
    """A change of the inputs: a frozen dataclass whose fields are its parameters.

    The first field is its size, and a field ``bounds`` is for the value range. A subclass must
    define `apply`; `traits` says what it needs and does. What is random is made by `draw` and used
    by `apply`, so that all levels of a ladder can share one draw.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> from shaketable.core.keys import row_keys
    >>> noise = st.parse("linf(0.1)").for_shape((2,)).bind(st.data.Bounds(0, 1))
    >>> noise.write().name, noise.with_members(()) == noise
    ('linf', True)
    >>> x, keys = np.full((3, 2), 0.5), row_keys(0, np.arange(3), np.arange(1))[:, 0]
    >>> bool(abs(noise.apply(x, noise.draw(x, keys)) - x).max() <= 0.1)
    True
    """

    spec_name: ClassVar[str] = ""
    """Its name in specs, set by `declare`; else it is named as ``package.module:Class``."""

    @property
    def spec(self) -> str:
        """Canonical spec string; parses back to an equal corruption."""
        return str(self.write())

    @property
    def ladder(self) -> str:
        """Name that all levels of this corruption share; they differ in size only."""
        call = self.write()
        return str(replace(call, args=call.args[1:])) if _is_sized(call) else str(call)

    @property
    def size(self) -> float:
        """Position on the ladder; what one level draws also serves all levels of smaller size."""
        call = self.write()
        return float(call.args[0]) if _is_sized(call) else 0.0

    @property
    def traits(self) -> Traits:
        """What it needs and does; made of others, what follows from theirs."""
        return _join_traits(self.members)

    @property
    def members(self) -> tuple[Corruption, ...]:
        """The corruptions that it is made of; none for a single one."""
        return ()

    def with_members(self, members: tuple[Corruption, ...]) -> Self:  # noqa: ARG002  (has none)
        """Return the same corruption, made of others.

        Parameters
        ----------
        members
            Corruptions in place of those that it is made of.

        Returns
        -------
        Self
            The corruption made of them.
        """
        return self

    def write(self) -> Call:
        """Return the spec as a call: its size, if it has one, then what else differs.

        Words stand by their place, unless one before them is left out, all else by its name.

        Returns
        -------
        Call
            Name and arguments.
        """
        kind: Any = type(self)
        name = self.spec_name or f"{kind.__module__}:{kind.__qualname__}"
        args: list[Any] = []
        options: dict[str, Any] = {}
        for place, field in enumerate(list_arguments(kind)):
            value = getattr(self, field.name)
            if place and value == field.default:
                continue
            if len(args) == place and (not place or isinstance(value, str)):
                args.append(value)
            else:
                options[field.name] = value
        return Call(name, tuple(args), options)

    def for_shape(self, shape: tuple[int, ...]) -> Self:
        """Fill in what the shape of a point decides, which becomes part of the spec.

        Parameters
        ----------
        shape
            Shape of one point.

        Returns
        -------
        Self
            The corruption for such points.
        """
        if self.members:
            return self.with_members(tuple(member.for_shape(shape) for member in self.members))
        points = self.traits.points
        if points == "tables" and len(shape) != 1:
            raise InputError(
                f"{self.spec} is for tables, got points of shape {shape}; leave it out"
            )
        if points == "images":
            find_layout(shape, self.spec)
        return self

    def for_columns(self, columns: Columns) -> Self:
        """Fill in what the points decide, such as column means, which the spec does not contain.

        Parameters
        ----------
        columns
            What is known about every column.

        Returns
        -------
        Self
            The corruption for these points.

        Examples
        --------
        >>> import shaketable as st
        >>> st.parse("linf(0.1)").for_columns(None).spec
        'linf(0.1)'
        """
        return self.with_members(tuple(member.for_columns(columns) for member in self.members))

    def bind(self, bounds: Bounds | None) -> Self:
        """Fill in the value range, which is recorded separately.

        Parameters
        ----------
        bounds
            Value range; None for none.

        Returns
        -------
        Self
            The corruption that keeps values in this range.
        """
        if self.members:
            return self.with_members(tuple(member.bind(bounds) for member in self.members))
        given: Any = self
        return replace(given, bounds=bounds) if hasattr(given, "bounds") else self

    def draw(self, x: Array, keys: KeyArray) -> Any:  # noqa: ARG002  (of use to most)
        """Draw all random numbers, from one key per row; `x` gives shape and type of the rows.

        The default returns the keys themselves: `apply` then draws what it needs from them.

        Parameters
        ----------
        x
            Rows.
        keys
            One key per row.

        Returns
        -------
        Any
            What `apply` takes.
        """
        return keys

    def apply(self, x: Array, drawn: Any) -> Array:
        """Return a corrupted copy of the rows of `x`; `drawn` is what `draw` returned.

        Parameters
        ----------
        x
            Rows.
        drawn
            What `draw` returned for them.

        Returns
        -------
        Array
            Corrupted rows.
        """
        raise NotImplementedError

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

    __rmul__ = __mul__


def _is_sized(call: Call) -> bool:
    return bool(call.args) and not isinstance(call.args[0], str)


def _join_traits(members: tuple[Corruption, ...]) -> Traits:
    """Return the traits of what is made of these: of a single one, its own."""
    if len(members) <= 1:
        return members[0].traits if members else Traits()
    each = [member.traits for member in members]
    changing = (m.traits.made_on for m in members if not isinstance(m, Clean))
    places: list[MadeOn] = list(dict.fromkeys(changing))
    return Traits(
        needs_range=any(traits.needs_range for traits in each),
        by_column=any(traits.by_column for traits in each),
        on_steps=all(traits.on_steps for traits in each),
        takes_levels=all(traits.takes_levels for traits in each),
        leaves_gaps=any(traits.leaves_gaps for traits in each),
        made_on=places[0] if len(places) == 1 else "cpu",
    )


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
    """A corruption that is made of several others, its parts."""

    parts: tuple[Corruption, ...]

    @property
    def members(self) -> tuple[Corruption, ...]:
        """The parts."""
        return self.parts

    def with_members(self, members: tuple[Corruption, ...]) -> Self:
        """Return the same corruption, made of other parts."""
        given: Any = self
        made: Self = replace(given, parts=members)
        return made

    @cached_property
    def traits(self) -> Traits:
        """What follows from the traits of its parts."""
        return _join_traits(self.parts)


class Wrapper(Corruption):
    """A corruption that differs from the one inside in what its subclass defines, and no more."""

    corruption: Corruption

    @property
    def members(self) -> tuple[Corruption, ...]:
        """The corruption inside."""
        return (self.corruption,)

    def with_members(self, members: tuple[Corruption, ...]) -> Self:
        """Return the same around another corruption."""
        (inner,) = members
        given: Any = self
        return self if inner is self.corruption else replace(given, corruption=inner)

    @property
    def size(self) -> float:
        """As the corruption inside."""
        return self.corruption.size

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return what the corruption inside draws."""
        return self.corruption.draw(x, keys)

    def apply(self, x: Array, drawn: Any) -> Array:
        """Apply the corruption inside."""
        return self.corruption.apply(x, drawn)


def on_arrays(apply: Callable[[Any, Array, Any], Array]) -> Callable[[Any, Array, Any], Array]:
    """Extend an `apply` for arrays to tensors.

    Levels are changed where they are if the corruption can be made there (`Traits.made_on`);
    others are moved to the CPU and back.
    """

    @wraps(apply)
    def applied(self: Any, x: Array, drawn: Any) -> Array:
        if device := device_code(x):
            changed = device.change_levels(self, x, drawn) if self.traits.made_on == "any" else None
            if changed is not None:
                return changed
            return device.through_arrays(
                lambda array, keys: apply(self, array, keys),
                x,
                drawn,
                levels=self.traits.takes_levels,
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
        """Apply `work` to arrays: move `x` to the CPU and the result back; see `Traits`."""


def device_code(x: Any) -> DeviceCode | None:
    """Return the code for torch tensors if `x` is one."""
    if not hasattr(x, "detach"):
        return None
    from shaketable.corruptions.tensors import device  # torch is there, as x is

    return device


@declare("clean", {"clean": "no corruption"})
@dataclass(frozen=True)
class Clean(Corruption):
    """No corruption: the inputs as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> st.corrupt(np.array([[0.5]]), Clean())
    array([[0.5]])
    """

    traits = Traits(on_steps=True, takes_levels=True, made_on="any")

    def draw(self, x: Array, keys: KeyArray) -> None:
        """Nothing is random."""

    def apply(self, x: Array, drawn: None) -> Array:  # noqa: ARG002  (part of the role)
        """Return the rows of `x` as they are."""
        return x


def check_number(corruption: Corruption, name: str, rule: str, *, low: float, high: float) -> None:
    """Make a field a float; `InputError` that states the `rule` unless it is in [low, high]."""
    number = check_real(name, getattr(corruption, name), rule, low=low, high=high)
    object.__setattr__(corruption, name, number)


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


def add_noise(flat: Array, noise: Array, scale: float | FloatArray, bounds: Bounds | None) -> Array:
    """Return ``flat + scale * noise``, clipped to the bounds, in one pass over the values.

    The scale is one number, or one for every row.
    """
    from shaketable.corruptions.compiled.ziggurat import fill_sum  # compiled code, slow to load

    ends = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
    limits = tuple(map(float, ends))  # whole numbers would be compiled for themselves
    out = np.empty_like(noise)
    scales = spread_over_rows(scale, len(flat))
    run_over_rows(fill_sum, scales, np.ascontiguousarray(flat), noise, out, settings=limits)
    return out


def spread_over_rows(scale: float | FloatArray, n: int) -> FloatArray:
    """Return one scale for every row, from one number or as they are."""
    return np.full(n, scale, np.float64) if np.ndim(scale) == 0 else np.asarray(scale, np.float64)
