"""What a search of `blocks` has found so far, kept every few seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from shaketable.core.blocks import split_rows
from shaketable.core.keys import digest
from shaketable.core.parts import keep_arrays, load_arrays
from shaketable.core.types import Array, IntArray
from shaketable.core.versions import list_versions
from shaketable.separations.search.question import Question

_PAUSE = 5  # seconds between two times that something is kept

Block = tuple[int, int]
"""First position, and the one after the last."""

Task = tuple[Block, Block, bool]
"""Two blocks, and whether to compare the tiles that come first or the others."""


class KeptSearch:
    """The place of one search among what is kept; without a place for it nothing is done.

    Results only ever get lower, and the same in any order, so a search may go on from what another
    process kept.
    """

    def __init__(self, question: Question, order: IntArray) -> None:
        self._parts = question.keep
        self._key = "" if question.keep is None else _identify(question, order)
        self._last = time.monotonic()

    def restore(self, arrays: Mapping[str, Array]) -> set[Task]:
        """Fill the arrays of a search with what is kept, and return the tasks that are done."""
        kept = None if self._parts is None else load_arrays(self._parts, self._key)
        if kept is None:
            return set()
        for name, values in arrays.items():
            values[...] = kept[name]
        return {((a, b), (c, d), bool(touching)) for a, b, c, d, touching in kept["done"].tolist()}

    def keep(self, arrays: Mapping[str, Array], done: set[Task], *, last: bool = False) -> None:
        """Keep the arrays and the tasks that are done; if it is not the last time, now and then."""
        if self._parts is None or (not last and time.monotonic() < self._last + _PAUSE):
            return
        rows = [(*a, *b, int(touching)) for a, b, touching in sorted(done)]
        keep_arrays(self._parts, self._key, {**arrays, "done": np.array(rows, np.int64)})
        self._last = time.monotonic()


def _identify(question: Question, order: IntArray) -> str:
    """Hash of all that a search depends on; `order` are the rows as blocks divide them."""
    codes = (question.group, question.class_codes, question.part_codes, question.asked, order)
    asks = (question.classes, question.parts, question.nearest_of)
    setting: tuple[str | int, ...] = (
        "search",
        str(sorted(list_versions().items())),
        repr((question.x.shape, question.x.dtype.str, question.p, question.closest)),
        repr([asked is None for asked in asks]),
        *(digest(values.tobytes()) for values in (*codes, *split_rows(question.x))),
    )
    return f"{digest(*setting):016x}{digest('second half', *setting):016x}"
