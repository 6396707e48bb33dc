"""One of several corruptions, drawn for every point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from shaketable.core.checks import HUGE, TINY, check_real
from shaketable.core.errors import InputError
from shaketable.core.spec import add_brackets, format_value
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.compose import as_member
from shaketable.corruptions.corruption import AddedNoise, Compound, Corruption, device_code
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.pnorm import PNormNoise

_BLOCK = 1 << 17  # values


class Share(NamedTuple):
    """The rows that get one part, or parts that are levels of one ladder."""

    number: int
    """Of the part, or the ladder."""
    corruption: Corruption
    """The part; of several the strongest, whose draw serves them all."""
    rows: IntArray
    """Numbers of the rows."""
    keys: KeyArray
    """Their keys for this part."""
    sizes: FloatArray | None
    """Size of the noise in every row; None for a part whose rows are all treated alike."""


class Choices(NamedTuple):
    """Table by which parts are drawn: float64 as bytes, which are fast to compare."""

    edges: bytes
    """Where the interval of one part in (0, 1) ends and that of the next begins."""
    levels: bytes
    """For every part the number of its ladder, and its size."""
    ladders: int
    """Number of ladders."""


@dataclass(frozen=True)
class OneOf(Compound):
    """``a | b``: a or b, drawn for every point; ``3*a | b`` draws a three times as often as b.

    Only the ratio of the weights counts; they are written relative to the smallest, which is 1.
    Parts in brackets count like the others, ``(a | b) | c`` is ``a | b | c``, so all weights must
    be given at one level, and none before such brackets. The choice is drawn from hash(key, -1) and
    part i draws from hash(key, i). Parts that are levels of one ladder of p-norm noise are drawn
    together, in one pass.

    Parameters
    ----------
    parts
        Corruptions of which one is drawn.
    weights
        How often each is drawn, relative to the others; by default equally often.

    Examples
    --------
    >>> from shaketable.corruptions import parse
    >>> (parse("l2(1)") | parse("linf(0.1)") + parse("l0(0.1)")).spec
    'l2(1) | linf(0.1) + l0(0.1)'
    >>> parse("0.5*l2(1) | 1.5*(linf(0.1) + l0(0.1)) | clean").spec
    'l2(1) | 3*(linf(0.1) + l0(0.1)) | 2*clean'
    """

    parts: tuple[Corruption, ...]
    weights: tuple[float, ...] = ()
    """Relative frequencies of the parts; none: all are equally frequent."""

    def __post_init__(self) -> None:
        given = self.weights or (1.0,) * len(self.parts)
        if len(given) != len(self.parts) or len(given) < 2:
            raise InputError(
                f"a | b must have two parts or more, and a weight for each or for none, got "
                f"{len(self.parts)} parts and {len(given)} weights"
            )
        flat: list[tuple[Corruption, float]] = []
        for part, weight in zip(map(as_member, self.parts), given, strict=True):
            number = check_real("weight", weight, "be a positive number", low=TINY, high=HUGE)
            if number != 1 and isinstance(part, OneOf):
                raise _explain_weight(number, part)
            flat += [(each, number) for each in _list_parts(part)]
        least = min(weight for _, weight in flat)
        object.__setattr__(self, "parts", tuple(part for part, _ in flat))
        weights = tuple(float(f"{weight / least:.12g}") for _, weight in flat)
        object.__setattr__(self, "weights", weights)

    @property
    def spec(self) -> str:
        """Canonical spec string: those of the parts with their weights, joined by ``|``."""
        return " | ".join(
            part.spec if w == 1 else f"{format_value(w)}*{add_brackets(part.spec, '+')}"
            for part, w in zip(self.parts, self.weights, strict=True)
        )

    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Apply one part to every row; `drawn` are the keys."""
        if device := device_code(x):
            return device.apply_one_of(self, x, drawn)
        out = np.empty(x.shape, x.dtype)
        for share in self.split(drawn):
            if share.sizes is None:
                out[share.rows] = share.corruption(x[share.rows], share.keys)
                continue
            values = np.broadcast_to(x[:1], (len(share.rows), *x.shape[1:]))  # to be shared out
            given = share.rows, share.keys, share.sizes, values
            run_over_rows(_fill_sized, *given, settings=(share.corruption, x, out))
        return out

    def split(self, keys: KeyArray) -> Iterator[Share]:
        """Yield which rows get which part; every row is in one share.

        Parameters
        ----------
        keys
            One key per row.

        Yields
        ------
        Share
            A part, and the rows that get it.

        Examples
        --------
        >>> import numpy as np
        >>> from shaketable.core.keys import row_keys
        >>> from shaketable.corruptions import parse
        >>> keys = row_keys(0, np.arange(6), np.arange(1))[:, 0]
        >>> [share.rows.tolist() for share in parse("l2(1) | clean").split(keys)]
        [[1, 2, 3], [0, 4, 5]]
        """
        from shaketable.corruptions.compiled.streams import choose_parts  # compiled, slow to load

        part, own = choose_parts(keys, self._plan.edges)
        ladder = self._plan.ladders[part]
        order = np.argsort(ladder, kind="stable")
        own, sizes = own[order], self._plan.sizes[part][order]
        start = 0
        for number, count in enumerate(np.bincount(ladder).tolist()):
            strongest, sized = self._plan.strongest[number]
            if count:
                rows = slice(start, start + count)
                given = order[rows], own[rows], sizes[rows] if sized else None
                yield Share(number, strongest, *given)
            start += count

    @cached_property
    def mixtures(self) -> dict[AddedNoise, tuple[float, ...]]:
        """Noise with a size for every row: what is alike, and the norm of each part, or ladder.

        The norm is 0 for impulses, and -1 for those with other noise. Size and norm of the noise
        that is alike mean nothing.
        """
        found: dict[AddedNoise, list[float]] = {}
        for number, (strongest, sized) in enumerate(self._plan.strongest):
            noise = strongest.traits.additive
            noise = strongest.replaced if isinstance(strongest, Impulse) else noise
            if sized and noise:
                alike = noise._replace(p=0.0, scale=0.0)
                found.setdefault(alike, [-1.0] * len(self._plan.strongest))[number] = noise.p
        return {noise: tuple(norms) for noise, norms in found.items()}

    @cached_property
    def choices(self) -> Choices:
        """Table by which the part of every row is drawn; `fused` keeps a copy on each device."""
        plan = self._plan
        numbers = np.stack([plan.ladders, plan.sizes], axis=1)
        return Choices(plan.edges.tobytes(), numbers.tobytes(), len(plan.strongest))

    @cached_property
    def _plan(self) -> _Plan:
        """What does not depend on the points."""
        members: dict[Any, list[Corruption]] = {}
        names = [
            (part.ladder, part.bounds) if _is_sized(part) else i
            for i, part in enumerate(self.parts)
        ]
        for name, part in zip(names, self.parts, strict=True):
            members.setdefault(name, []).append(part)
        places = {name: place for place, name in enumerate(members)}
        share = np.cumsum(self.weights) / math.fsum(self.weights)
        return _Plan(
            share[:-1],
            np.array([places[name] for name in names]),
            np.array([part.size for part in self.parts]),
            [(best, _is_sized(best)) for best in map(_find_strongest, members.values())],
        )


class _Plan(NamedTuple):
    """How parts are drawn together."""

    edges: FloatArray
    """Where the interval of one part in (0, 1) ends and that of the next begins."""
    ladders: IntArray
    """Number of the ladder of every part."""
    sizes: FloatArray
    """Size of every part."""
    strongest: list[tuple[Corruption, bool]]
    """The strongest part of every ladder, and whether rows have sizes of their own."""


def _find_strongest(parts: list[Corruption]) -> Corruption:
    return max(parts, key=lambda part: part.size)


def _explain_weight(weight: float, several: OneOf) -> InputError:
    """Error to raise for a weight before brackets with several parts."""
    number = format_value(weight)
    each = (f"{number}*{add_brackets(part.spec, '+')}" for part in several.parts)
    return InputError(
        f"a weight is for one part, got {number}*({several.spec}); give every part its own "
        f"weight, as in {' | '.join(each)}"
    )


def _list_parts(part: Corruption) -> tuple[Corruption, ...]:
    """Return the parts of a part, or the part itself; weights inside of it are an error."""
    if not isinstance(part, OneOf):
        return (part,)
    if len(set(part.weights)) > 1:
        raise InputError(
            f"all weights must be given at one level, got ({part.spec}) as a part; write "
            "3*a | b | c without brackets"
        )
    return part.parts


def _is_sized(part: Corruption) -> TypeGuard[Impulse | PNormNoise | Gaussian]:
    """Whether a part can be applied with a size of its own for every row."""
    if isinstance(part, Impulse):
        return True
    return isinstance(part, PNormNoise | Gaussian) and part.traits.additive is not None


def _fill_sized(  # noqa: PLR0917  (it runs over rows)
    rows: IntArray,
    keys: KeyArray,
    sizes: FloatArray,
    values: Array,  # noqa: ARG001  (its size decides how many threads there are)
    corruption: Any,
    x: Array,
    out: Array,
) -> None:
    """Corrupt rows of `x`, each with its size, as many at a time as fit into a cache."""
    step = max(1, _BLOCK // math.prod(x.shape[1:]))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        given = x[rows[block]]
        drawn = corruption.draw(given, keys[block])
        out[rows[block]] = corruption.apply(given, drawn, sizes[block])
