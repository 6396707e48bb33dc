"""Sequential evaluation: points, or runs of a study, are added until a stopping rule knows enough.

Points are taken in a random order that the data and the seed determine, so the first n of them are
a simple random sample, the same for every model. Findings compute intervals that hold wherever it
stops (`shaketable.statistics.sequences`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.evaluation.answers import join_answers
from shaketable.evaluation.cells import Cell, group_by_draws, make_points, measure_groups
from shaketable.evaluation.records import Points, Record, Records
from shaketable.evaluation.store import Store
from shaketable.models.classifier import Classifier
from shaketable.statistics.draws import recommend_draws, split_variance

FIRST_LOOK = {"points": 100, "runs": 6}
"""Sizes of the smallest samples that are looked at."""

_STEP = 1.1  # from look to look at least; a look after every point would cost more than it saves
_LEAP = 4.0  # from look to look at most, whatever the forecast is


class StoppingRule(Protocol):
    """Says when enough is known."""

    def forecast(self, records: Records) -> float:
        """Return how many times the points, or runs, would be enough if they showed the same.

        1 if they are enough; infinity if no number would be.
        """


def list_looks(most: int, first: int) -> list[int]:
    """Return the sizes that may be looked at, the last one `most`.

    >>> list_looks(200, 100)
    [100, 110, 121, 133, 146, 161, 177, 195, 200]
    """
    looks = []
    size = first
    while size < most:
        looks.append(size)
        size = max(size + 1, round(size * _STEP))
    return [*looks, most]


def choose_look(looks: Sequence[int], size: int, times: float) -> int:
    """Return the next size to look at, given how many times the present one would be enough.

    >>> choose_look([100, 110, 121, 133, 146, 161], 100, times=1.5)
    146
    """
    later = [look for look in looks if look > size]
    return max((look for look in later if look <= size * min(times, _LEAP)), default=later[0])


def measure_until(
    store: Store,
    classifier: Classifier,
    cells: Sequence[Cell],
    rule: StoppingRule,
    again: Collection[str] = (),
    *,
    progress: bool,
) -> list[Cell]:
    """Measure one model on ever more of the points, and return the cells of the last look.

    `cells` are those of all points. What `store` holds already is continued, but for the keys
    `again`, and every look is kept there in place of the one before it.
    """
    order = _shuffle(cells[0])
    looks = list_looks(len(order.rows), FIRST_LOOK["points"])
    kept: Sequence[Record | None] = _find_kept(store.keys() - {*again}, store, cells, order, looks)
    size = max([looks[0], *(record.n for record in kept if record is not None)])
    before, written = store.keys(), set[str]()
    while True:
        current = [replace(cell, points=order.first(size)) for cell in cells]
        kept = records = _continue(current, kept, classifier, progress=progress)
        store.add(records, instead_of=written - before)
        keys = [record.key for record in records]
        if size == looks[-1] or (times := rule.forecast(store.records(keys))) <= 1:
            return current
        written, size = set(keys), choose_look(looks, size, times)


def add_runs(carry_out: Callable[[int], Records], most: int, rule: StoppingRule) -> Records:
    """Carry out ever more runs of a study, and return the records of all.

    `carry_out` does so many runs, as far as they are not done yet, and returns their records.
    """
    looks = list_looks(most, FIRST_LOOK["runs"])
    size = looks[0]
    while True:
        records = carry_out(size)
        if size == looks[-1] or (times := rule.forecast(records)) <= 1:
            return records
        size = choose_look(looks, size, times)


def choose_draws(classifier: Classifier, cells: Sequence[Cell], *, progress: bool) -> int:
    """Return the draws per point that are cheapest, from the first points with the cells' draws."""
    with Store() as aside:
        measure_until(aside, classifier, cells, _FirstLook(), progress=progress)
        return recommend_k(aside.records().cells) or 1


class _FirstLook:
    """Stops at the first look."""

    def forecast(self, _: Records) -> float:
        return 1.0


def recommend_k(cells: Sequence[Record]) -> int | None:
    """Return the draws per point that would have been cheapest; None if k = 1 does not tell.

    It is the largest number that any of the corruptions asks for. What a new point costs besides
    its draws is its clean answer, which all corruptions share.
    """
    drawn = [cell for cell in cells if cell.k > 1]
    return max(
        (recommend_draws(*split_variance(c.hits, c.k), cost=1 / len(drawn)) for c in drawn),
        default=None,
    )


def _shuffle(cell: Cell) -> Points:
    """Return the points of a cell in random order."""
    rows = cell.points.rows
    key = digest("order", SCHEME, cell.data.fingerprint, cell.noise.seed)
    places = np.argsort(row_keys(key, rows, np.arange(1))[:, 0], kind="stable")
    return make_points(cell.data, rows[places])


def _find_kept(
    known: set[str], store: Store, cells: Sequence[Cell], order: Points, looks: Sequence[int]
) -> list[Record | None]:
    """Return the record of every cell with the most points, of the `known` keys in the file."""
    parts = [order.first(n) for n in reversed(looks)]
    keys = [
        next((key for part in parts if (key := replace(c, points=part).key) in known), "")
        for c in cells
    ]
    by_key = {record.key: record for record in store.records(dict.fromkeys(filter(None, keys)))}
    return [by_key.get(key) for key in keys]


def _continue(
    cells: Sequence[Cell],
    kept: Sequence[Record | None],
    classifier: Classifier,
    *,
    progress: bool,
) -> list[Record]:
    """Measure the points of the cells that their records do not hold yet."""
    places: dict[str, int] = {}
    rest: list[list[Cell]] = []
    for n in sorted({0 if record is None else record.n for record in kept}):
        parts = [
            (i, replace(cell, points=make_points(cell.data, cell.points.rows[n:])))
            for i, (cell, record) in enumerate(zip(cells, kept, strict=True))
            if n == (0 if record is None else record.n) < len(cell.points.rows)
        ]
        places |= {cell.key: i for i, cell in parts}
        rest += group_by_draws(cell for _, cell in parts)
    result = list(kept)
    for records in measure_groups(rest, classifier, progress=progress):
        for record in records:
            i = places[record.key]
            result[i] = _join(cells[i], kept[i], record)
    return [record for record in result if record is not None]


def _join(cell: Cell, before: Record | None, after: Record) -> Record:
    """Return the record of a cell from those of its first points and of the others."""
    parts = [after] if before is None else [before, after]
    return cell.record(
        hits=np.concatenate([part.hits for part in parts]),
        predictions=np.concatenate(
            [part.hits if part.predictions is None else part.predictions for part in parts]
        ),
        answers=join_answers([part.answers for part in parts]),
        versions=after.versions,
        seconds=sum(part.seconds for part in parts),
    )
