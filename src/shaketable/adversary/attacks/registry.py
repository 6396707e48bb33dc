"""Attacks: their protocol, when a point counts as found, and attacks by name.

An attack declares itself in the module that defines it, with `declare`. Other packages list theirs
as entry points in the group ``shaketable.attacks``, or users name them as ``package.module:name``.
Either refers to a class or function that returns an `Attack`, or to an attack itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from shaketable.adversary.region import Region
from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.registry import Maker, Registry
from shaketable.core.spec import parse_call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.evaluation.cells import BATCH_ROWS, BATCH_VALUES
from shaketable.models.answers import Answer, are_probabilities, ask_decisions, get_scorer
from shaketable.models.classifier import Classifier


@dataclass(frozen=True, eq=False)
class AttackResult:
    """What an attack found: for every row at most one misclassified point of its region.

    A point that was not found may still exist, so accuracies that rest on it are upper bounds.
    """

    moved: Array
    """Points, (rows, d); ignored where `hit` is false."""
    hit: Array
    """Whether a point was found, one value per row."""
    queries: int
    """Number of points that the model was asked about; a gradient counts as one more."""
    low: FloatArray | None = None
    """For every row a distance up to which no point of the region is misclassified, so that a row
    with epsilon or more withstands for certain; 0 where nothing is proven. None: nothing is."""

    def settles(self, epsilon: float) -> Array:
        """Whether each row is settled: it was hit, or no point of the region is misclassified."""
        return self.hit if self.low is None else self.hit | (self.low >= epsilon)


class Attack(Protocol):
    """A way to search the region; usually a frozen dataclass whose fields are its budget."""

    @property
    def spec(self) -> str:
        """Name and budget, such as ``pgd(steps=20, restarts=1, loss=margin)``."""

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search for misclassified points around these rows of ``region.x``.

        Parameters
        ----------
        model
            Maps points to class codes.
        region
            Where to search.
        rows
            Rows of the region's points, (rows,).
        y
            Their class codes.
        keys
            One random key per row, the only source of randomness: the result of a row then depends
            neither on other rows nor on batches.
        """


def confirm(model: Classifier, region: Region, rows: IntArray, y: IntArray, moved: Array) -> Array:
    """Whether points count as found, one per row, shape (rows,).

    A point counts if, rounded to the numbers that the model takes, it lies in the region and is
    misclassified. So no rounding can pass for a hit.
    """
    rounded = region.round_for_model(rows, moved)
    hit = region.contains(rows, region.extract(rounded))
    if hit.any():
        hit[hit] = model(rounded[hit]) != y[hit]
    return np.asarray(hit)


@dataclass(eq=False)
class LabelQueries:
    """A model that is asked for labels in batches, and the number of points asked about so far."""

    model: Classifier
    region: Region
    count: int = 0

    def are_hits(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Whether points, one per row, lie in the region and are misclassified; see `confirm`."""
        model = self._make_counting()
        hit = np.zeros(len(rows), bool)
        for part in split_rows(np.arange(len(rows)), moved.shape[1]):
            hit[part] = confirm(model, self.region, rows[part], y[part], moved[part])
        return hit

    def are_hits_by_row(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Do the same for k points per row: (rows, k, d) to (rows, k)."""
        n, k, d = moved.shape
        flat = self.are_hits(rows.repeat(k), y.repeat(k), moved.reshape(n * k, d))
        return flat.reshape(n, k)

    def rate(self, rows: IntArray, y: IntArray, moved: FloatArray) -> tuple[Array, FloatArray]:
        """Do the same as `are_hits`, and return margins as well; see `measure_margins`.

        Points outside of the region have a margin of minus infinity, and are not asked about.
        """
        model = self._make_counting()
        hit, margin = np.zeros(len(rows), bool), np.full(len(rows), -np.inf)
        for part in split_rows(np.arange(len(rows)), moved.shape[1]):
            points = self.region.round_for_model(rows[part], moved[part])
            inside = self.region.contains(rows[part], self.region.extract(points))
            if (asked := part[inside]).size:
                answer = model.start(points[inside], scored=True)()
                hit[asked] = answer.codes != y[asked]
                margin[asked] = measure_margins(answer, y[asked], model.name)
        return hit, margin

    def label_all(self) -> IntArray:
        """Class codes that the model gives all evaluated points."""
        if self.region.labels is not None:
            return self.region.labels
        x = self.region.x
        model = self._make_counting()
        parts = split_rows(np.arange(len(x)), x.shape[1])
        return np.concatenate([model(self.region.cast_for_model(part, x[part])) for part in parts])

    def _make_counting(self) -> Classifier:
        """Return the model as one that counts; as any callable, also if it is a torch module."""
        return replace(self.model, answer=_Counted(self), device=None)


@dataclass(frozen=True, eq=False)
class _Counted:
    """A model's answers, counted."""

    queries: LabelQueries

    def __call__(self, x: Array) -> Any:
        """Return what the model answers."""
        self.queries.count += len(x)
        return self.queries.model.answer(x)

    def score(self, x: Array) -> Any:
        """Return what the model answers, with scores if it gives any."""
        self.queries.count += len(x)
        return get_scorer(add_scores(self.queries.model).answer)(x)


_LEAST = 1e-300  # probability below which logarithms are cut off


def measure_margins(answer: Answer, y: IntArray, name: str) -> FloatArray:
    r"""By how much the highest score of another class exceeds that of y, one value per row.

    .. math:: \max_{j \ne y} z_j - z_y

    Of scores that are probabilities, z are logarithms. Raises `InputError` if the answers have no
    scores; `name` is that of the model.

    >>> answer = Answer(np.array([0]), np.array([[0.8, 0.2]]), (0, 1))
    >>> measure_margins(answer, np.array([0]), "coin").round(3)
    array([-1.386])
    """
    if answer.scores is None:
        raise InputError(
            f"model {name} must give scores for an attack that climbs them, and it gives labels "
            "alone; use random or rays"
        )
    scores = np.asarray(answer.scores, np.float64)
    logs = np.log(np.maximum(scores, _LEAST))
    scores = np.where(are_probabilities(scores)[:, None], logs, scores)
    own = np.array(answer.columns) == y[:, None]
    with np.errstate(invalid="ignore"):  # infinite scores
        margin = np.where(own, -np.inf, scores).max(axis=1) - np.where(own, scores, -np.inf).max(1)
    return np.asarray(np.nan_to_num(margin, nan=0.0))


def gives_scores(model: Classifier, region: Region) -> bool:
    """Whether a model gives scores; it is asked about one point."""
    row = np.zeros(1, np.int64)
    points = region.cast_for_model(row, region.x[row])
    return replace(add_scores(model), device=None).start(points, scored=True)().scores is not None


def add_scores(model: Classifier) -> Classifier:
    """Return a model that is scored by its decision function where it has no probabilities."""
    return model if model.sets is not None else replace(model, answer=ask_decisions(model.answer))


def split_rows(rows: IntArray, values: int) -> Iterator[IntArray]:
    """Split rows, of `values` values each, into batches for a model."""
    size = max(1, min(BATCH_VALUES // max(1, values), BATCH_ROWS))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


T = TypeVar("T", bound=type)


def declare(name: str, arguments: str, about: str, *, needs: str = "") -> Callable[[T], T]:
    """Class decorator that declares one of our attacks under a name."""

    def add(cls: T) -> T:
        ATTACKS.add(name, Maker("attack", name, cls, arguments, about, needs))
        return cls

    return add


def describe_attacks() -> dict[str, str]:
    """How every attack is written in a spec, with one line of help."""
    return ATTACKS.describe(lambda _, maker: {maker.usage: maker.about})


def admit_attack(attack: Any, name: str = "") -> Attack:
    """Return an attack that can be run: one of ours as it is, others as a `ForeignAttack`."""
    if type(attack).__module__.startswith("shaketable."):
        return attack  # type: ignore[no-any-return]  # ours follow the protocol
    shown = repr(name) if name else type(attack).__name__
    failure = "its spec cannot be read: {error}; correct its code"
    with guard_foreign(f"attack {shown}: {failure}", but=()):
        spec = getattr(attack, "spec", None)
    if not callable(attack) or not isinstance(spec, str):
        shown = f"{name!r} returned" if name else "got"
        raise InputError(
            f"an attack must be callable and have a spec, a string; {shown} {attack!r}"
        )
    return ForeignAttack(attack, spec)


_FAILURE = "with {error}; correct its code or choose another attack"


@dataclass(frozen=True)
class ForeignAttack:
    """An attack of another package: what it returns is checked, and what it finds confirmed."""

    attack: Attack
    spec: str
    """As the attack itself states it."""

    def covers(self, region: Region) -> str:
        """How closely it claims to have searched a region; empty if it does not say."""
        with guard_foreign(f"attack {self.spec} failed in covers() {_FAILURE}", but=()):
            describe = getattr(self.attack, "covers", None)
            return str(describe(region)) if describe else ""

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Run the attack, and keep the points that `confirm` finds to count."""
        with guard_foreign(f"attack {self.spec} failed {_FAILURE}"):
            result = self.attack(model, region, rows, y, keys)
        wanted = f"an AttackResult for {len(rows)} rows of {region.x.shape[1]} values"
        with guard_foreign(f"attack {self.spec} must return {wanted}: {{text}}", but=()):
            moved = np.array(result.moved, np.float64).reshape(len(rows), region.x.shape[1])
            hit = np.array(result.hit, bool).reshape(len(rows))
            low = None if result.low is None else np.array(result.low, np.float64)
            proven = None if low is None else np.nan_to_num(low, posinf=np.inf).reshape(len(rows))
            queries = int(result.queries)
        claimed = np.flatnonzero(hit)
        hit[claimed] = confirm(model, region, rows[claimed], y[claimed], moved[claimed])
        if proven is not None:
            proven[claimed] = 0.0  # one of the two claims is wrong where the point does not count
        return AttackResult(moved, hit, queries + len(claimed), proven)


ATTACKS: Registry[Maker] = Registry(
    "attack",
    admit=partial(Maker.admit, "attack"),
    homes=tuple(
        f"shaketable.adversary.attacks.{home}"
        for home in ("gradients", "square", "leaves", "random_search", "rays", "cover")
    ),
)
"""All attacks that a spec can name, in the order in which they are listed."""


Attacks: TypeAlias = "str | Attack | Sequence[str | Attack] | None"
"""One or several attacks, as objects or spec strings; None for those that suit the model."""


def parse_attack(spec: str) -> Attack:
    """Attack that a spec string names.

    >>> parse_attack("random(queries=50)").spec
    'random(queries=50)'
    """
    call = parse_call(spec)
    return admit_attack(ATTACKS.get(call.name).create(call), call.name)


def parse_attacks(attacks: Attacks) -> list[Attack] | None:
    """Attacks of a list, of which some may be written as spec strings.

    >>> parse_attacks("random(50)")
    [RandomSearch(queries=50)]
    """
    if attacks is None:
        return None
    if isinstance(attacks, str) or not isinstance(attacks, Sequence):
        attacks = [attacks]
    return [parse_attack(a) if isinstance(a, str) else admit_attack(a) for a in attacks]
