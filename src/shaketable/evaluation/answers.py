"""What a model answered, per point and draw: the class, and what its scores say about it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shaketable.core.errors import InputError
from shaketable.core.types import Array, BoolArray, FloatArray, IntArray
from shaketable.models.answers import Answer, as_probabilities

MOST_SCORES = 10
"""Classes up to which all scores are kept."""

_PROBE = 1 << 14  # bytes that tell whether compressing them all is worth its time

_IN_MEMORY = 16
"""Cells whose answers are held unpacked, those that were used last; others are unpacked again."""

Scores = NDArray[np.float32]

_NAMES = "others"
"""Array that holds the names of answers that the data lack."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one cell, kept compressed; arrays have the shape (points, draws).

    Scores are probabilities: of models that return others, their softmax. If the classes of the
    model are those of the data and at most `MOST_SCORES`, all scores are kept, 4 bytes each, and
    one byte for the class; else 14 bytes or a few more: the class, confidence, score and rank of
    the true class, sum of squares. Models that return labels have 1 byte per answer, with more than
    127 classes 2. zlib makes it less.

    Examples
    --------
    >>> codes, scores = np.array([[0], [1]]), np.array([[[0.75, 0.25]], [[0.5, 0.5]]])
    >>> answers = Answers.make(np.array([0, 1]), codes, scores)
    >>> answers.predicted.tolist(), answers.confidence.tolist(), answers.rank.tolist()
    ([[0], [1]], [[0.75], [0.5]], [[1], [1]])
    >>> answers.disagrees.tolist()  # of equal scores, that of the answer counts first
    [[False], [False]]
    """

    y: IntArray
    """True class codes of the points."""
    packed: bytes

    @classmethod
    def make(
        cls,
        y: IntArray,
        codes: IntArray,
        scores: Array | None = None,
        others: Sequence[str] = (),
    ) -> Answers:
        """Return answers from class codes and, if all are kept, scores (points, draws, classes)."""
        arrays: dict[str, Array] = {"predicted": _shrink(codes), **_write_names(others)}
        if scores is not None:
            arrays["scores"] = scores.astype(np.float32)
        return cls(y, _pack(arrays))

    @classmethod
    def summarise(
        cls, y: IntArray, codes: IntArray, summary: ScoreSummary, others: Sequence[str] = ()
    ) -> Answers:
        """Return answers with what is kept of the scores of many classes."""
        arrays = {"predicted": _shrink(codes), **vars(summary), "rank": _shrink(summary.rank)}
        return cls(y, _pack({**arrays, **_write_names(others)}))

    @classmethod
    def join(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers at the points of several parts, one after the other."""
        names = parts[0]._arrays.keys() - {_NAMES}
        if any(part._arrays.keys() - {_NAMES} != names for part in parts):  # one without scores
            names = {"predicted"}
        arrays = {name: np.concatenate([part._arrays[name] for part in parts]) for name in names}
        others = list(dict.fromkeys(name for part in parts for name in part.others))
        codes = [_renumber(part.exact, part.others, others) for part in parts]
        arrays |= {"predicted": _shrink(np.concatenate(codes)), **_write_names(others)}
        return cls(np.concatenate([part.y for part in parts]), _pack(arrays))

    def first(self, n: int) -> Answers:
        """Return the answers at the first n points."""
        return self.choose(np.s_[:n])

    def choose(self, rows: BoolArray | slice) -> Answers:
        """Return the answers at some points."""
        arrays = {n: each if n == _NAMES else each[rows] for n, each in self._arrays.items()}
        return Answers(self.y[rows], _pack(arrays))

    def agrees_with(self, other: Answers) -> bool:
        """Whether the answers are the same."""
        return bool(np.array_equal(self.predicted, other.predicted))

    @property
    def _arrays(self) -> dict[str, Any]:
        try:
            arrays = _unpack(self.packed)
            _check_arrays(arrays, len(self.y))
            return arrays
        except (ValueError, TypeError, KeyError, OverflowError, zlib.error) as error:
            raise InputError(
                "answers of a record are damaged; measure it again, or take an undamaged copy"
            ) from error

    @property
    def predicted(self) -> IntArray:
        """Class codes; -1 for a class that the data lack."""
        predicted: IntArray = np.maximum(self._arrays["predicted"], -1)
        return predicted

    @property
    def exact(self) -> IntArray:
        """Class codes; -1, -2 and so on for the classes `others`."""
        exact: IntArray = self._arrays["predicted"]
        return exact

    @property
    def others(self) -> list[str]:
        """Names of the answers that are classes which the data lack."""
        return _read_names(self._arrays)

    def name(self, code: int, classes: Sequence[Any]) -> Any:
        """Return the class of one of the `exact` codes, given those of the data.

        >>> Answers.make(np.array([0]), np.array([[-1]]), others=["fox"]).name(-1, ["cat", "dog"])
        'fox'
        """
        if code >= 0:
            return classes[code]
        return self.others[-1 - code] if -code <= len(self.others) else "another class"

    @property
    def has_scores(self) -> bool:
        """Whether the model gave scores."""
        return len(self._arrays.keys() - {_NAMES}) > 1

    @property
    def scores(self) -> Scores | None:
        """All scores, (points, draws, classes); None if there are none or too many classes."""
        return self._arrays.get("scores")

    @property
    def confidence(self) -> Scores:
        """Score of the class that was answered."""
        return self._summary.confidence

    @property
    def true_score(self) -> Scores:
        """Score of the true class."""
        return self._summary.true_score

    @property
    def rank(self) -> IntArray:
        """Rank of the true class among all classes of the model; 1 for the highest score.

        Of equal scores, that of the class that was answered comes first, then the first column.
        """
        return self._summary.rank

    @property
    def squares(self) -> Scores:
        """Sum of the squares of all scores."""
        return self._summary.squares

    @property
    def disagrees(self) -> BoolArray:
        """Whether another class has a higher score than the one that was answered."""
        return self._summary.disagrees

    @property
    def _summary(self) -> ScoreSummary:
        """What the scores say; the model must have given scores."""
        return _summarise(self)


@dataclass(frozen=True, eq=False)
class ScoreSummary:
    """What is kept of the scores of answers if there are too many classes to keep all."""

    confidence: Scores
    true_score: Scores
    rank: IntArray
    squares: Scores
    disagrees: BoolArray

    def reshape(self, *shape: int) -> ScoreSummary:
        """Return the same in another shape."""
        return ScoreSummary(**{name: each.reshape(shape) for name, each in vars(self).items()})


@lru_cache(maxsize=_IN_MEMORY)
def _summarise(answers: Answers) -> ScoreSummary:
    if answers.scores is None:
        names = ("confidence", "true_score", "rank", "squares", "disagrees")
        return ScoreSummary(**{name: answers._arrays[name] for name in names})
    n, k = answers.predicted.shape
    flat = answers.scores.reshape(n * k, -1)
    summary = summarise_scores(flat, answers.predicted.reshape(-1), np.repeat(answers.y, k))
    return replace(summary, rank=_shrink(summary.rank)).reshape(n, k)


def summarise_scores(
    scores: Array, columns: IntArray, true_columns: IntArray, others: Sequence[int] = ()
) -> ScoreSummary:
    """Return what the scores of answers, one row each, say about the class that was answered.

    `columns` are the columns of the classes that were answered, -1 for a class that the data lack:
    its confidence is the highest score in the columns of such classes, `others`, or of all if
    there are none. `true_columns` are those of the true classes.

    >>> summary = summarise_scores(np.array([[0.5, 0.3, 0.2]]), np.array([0]), np.array([2]))
    >>> summary.rank.tolist(), summary.disagrees.tolist()
    ([3], [False])
    """
    rows, most = np.arange(len(scores)), scores.max(axis=1)
    chosen = columns
    if (columns < 0).any():
        best = np.asarray(others)[scores[:, others].argmax(axis=1)] if len(others) else None
        chosen = np.where(columns < 0, scores.argmax(axis=1) if best is None else best, columns)
    confidence, true = scores[rows, chosen], scores[rows, true_columns]
    level = scores == true[:, None]
    earlier = (level & (np.arange(scores.shape[1]) < true_columns[:, None])).sum(axis=1)
    # the answer comes first among equal scores
    earlier += (confidence == true) & (chosen > true_columns)
    earlier[chosen == true_columns] = 0
    return ScoreSummary(
        confidence.astype(np.float32),
        true.astype(np.float32),
        1 + (scores > true[:, None]).sum(axis=1) + earlier,
        np.square(scores, dtype=np.float64).sum(axis=1).astype(np.float32),
        confidence < most,
    )


class AnswerBuffer:
    """Gathers the answers of a cell batch by batch."""

    def __init__(self, y: IntArray, k: int, classes: int) -> None:
        self.y, self.codes, self.classes = y, np.zeros((len(y), k), np.int64), classes
        self.scores: Scores | None = None
        self.summary: ScoreSummary | None = None
        self.has_scores = True
        self.others: dict[str, int] = {}
        """Codes below 0 of the answers that the data lack, by name."""

    def add(self, answer: Answer, batch: slice, draws: range) -> None:
        """Add the answers at some points in some draws."""
        at, shape = (batch, slice(draws.start, draws.stop)), (-1, len(draws))
        self.codes[at] = self._number(answer).reshape(shape)
        if answer.scores is None:
            self.has_scores = False  # nothing is known of these, so nothing of all
        if not self.has_scores:
            return
        probabilities, columns = _add_missing(answer, self.classes)
        if len(columns) <= MOST_SCORES and sorted(columns) == [*range(len(columns))]:
            if self.scores is None:
                self.scores = np.zeros((*self.codes.shape, len(columns)), np.float32)
            ordered = probabilities[:, np.argsort(columns)]
            self.scores[at] = ordered.reshape(*shape, len(columns))
            return
        places = np.full(max(columns) + 2, -1)  # the last one is that of -1
        places[columns] = range(len(columns))
        places[-1] = -1
        true = places[np.repeat(self.y[batch], len(draws))]
        others = np.flatnonzero(np.array(columns) < 0)
        found = summarise_scores(probabilities, places[answer.codes], true, others.tolist())
        part = found.reshape(*shape)
        if self.summary is None:
            self.summary = ScoreSummary(
                **{n: np.zeros(self.codes.shape, each.dtype) for n, each in vars(part).items()}
            )
        for name, each in vars(part).items():
            getattr(self.summary, name)[at] = each

    def _number(self, answer: Answer) -> IntArray:
        """Return class codes, with a code for every class that the data lack."""
        if answer.others is None:
            return answer.codes
        codes, places = answer.codes.copy(), answer.others != ""
        names, inverse = np.unique(answer.others[places], return_inverse=True)
        numbers = [self.others.setdefault(str(n), -1 - len(self.others)) for n in names]
        codes[places] = np.array(numbers, dtype=np.int64)[inverse]
        return codes

    def pack(self) -> Answers:
        """Return all answers; without scores if the model did not give them at all points."""
        others = [*self.others]
        if not self.has_scores:
            return Answers.make(self.y, self.codes, others=others)
        if self.summary is not None:
            return Answers.summarise(self.y, self.codes, self.summary, others)
        return Answers.make(self.y, self.codes, self.scores, others)


def _add_missing(answer: Answer, classes: int) -> tuple[FloatArray, list[int]]:
    """Return probabilities with a column of zeros for every class that the model does not know."""
    assert answer.scores is not None
    probabilities, columns = as_probabilities(answer.scores), list(answer.columns)
    missing = sorted({*range(classes)} - {*columns})
    zeros = np.zeros((len(probabilities), len(missing)))
    return np.hstack([probabilities, zeros]) if missing else probabilities, columns + missing


def join_answers(parts: Sequence[Answers | None]) -> Answers | None:
    """Return the answers of several parts of the points; None if they are not known of all."""
    known = [part for part in parts if part is not None]
    return Answers.join(known) if len(known) == len(parts) else None


def _shrink(values: IntArray) -> Array:
    """Return integers in the smallest signed type that holds them."""
    most = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    return values.astype(np.min_scalar_type(-most - 1))


def _pack(arrays: Mapping[str, Array]) -> bytes:
    """Return arrays compressed, with a line that says what they are; bytes of equal rank together.

    Bytes of equal rank are alike, such as the exponents of floats, and compress better so. Those
    that hardly do, such as the last digits, stay as they are: compressing them takes the longest.
    """
    head = [[name, each.dtype.str, each.shape] for name, each in arrays.items()]
    planes = [
        plane.tobytes()
        for each in arrays.values()
        for plane in np.ascontiguousarray(each).reshape(-1, 1).view(np.uint8).T
    ]
    return json.dumps(head).encode() + b"\n" + b"".join(map(_compress, planes))


def _compress(plane: bytes) -> bytes:
    """Return bytes compressed, or as they are if that would save little of their first ones."""
    some = plane[:_PROBE]
    saves = len(zlib.compress(some, 1)) < 0.95 * len(some)
    return zlib.compress(plane, 1 if saves else 0)


_SUMMARY = {"confidence", "true_score", "rank", "squares", "disagrees"}
"""Names of the arrays of a `ScoreSummary`."""


def _check_arrays(arrays: Mapping[str, Array], n: int) -> None:
    """Raise a `ValueError` for arrays that are not the answers at n points."""
    shape = arrays["predicted"].shape
    scores = {name: each for name, each in arrays.items() if name not in ("predicted", _NAMES)}
    fits = all(each.shape[:2] == shape and each.ndim <= 3 for each in scores.values())
    if len(shape) != 2 or shape[0] != n or not fits:
        raise ValueError("not the answers at these points")
    lowest = int(arrays["predicted"].min(initial=0))
    if scores.keys() not in (set(), {"scores"}, _SUMMARY) or -lowest > max(
        1, len(_read_names(arrays))
    ):
        raise ValueError("not what is kept of answers")


def _renumber(codes: IntArray, names: Sequence[str], others: Sequence[str]) -> IntArray:
    """Return exact codes where the classes that the data lack have places among `others`.

    >>> _renumber(np.array([0, -1, -2]), ["cat", "dog"], ["cow", "dog", "cat"]).tolist()
    [0, -3, -2]
    """
    result = codes.astype(np.int64)
    for place, name in enumerate(names):
        result[codes == -1 - place] = -1 - others.index(name)
    return result


def _write_names(names: Sequence[str]) -> dict[str, Array]:
    """Return names as an array of bytes; nothing for none."""
    text = json.dumps([*names]).encode()
    return {_NAMES: np.frombuffer(text, np.uint8)} if names else {}


def _read_names(arrays: Mapping[str, Array]) -> list[str]:
    names = arrays.get(_NAMES)
    return [] if names is None else [str(name) for name in json.loads(names.tobytes())]


@lru_cache(maxsize=_IN_MEMORY)
def _unpack(packed: bytes) -> dict[str, Any]:
    line, _, rest = packed.partition(b"\n")
    arrays = dict[str, Any]()
    for name, kind, shape in json.loads(line):
        dtype, count = np.dtype(kind), int(np.prod(shape))
        array = np.empty((count, dtype.itemsize), np.uint8)
        for i in range(dtype.itemsize):
            reader = zlib.decompressobj()
            array[:, i] = np.frombuffer(reader.decompress(rest), np.uint8, count)
            if not reader.eof:
                raise ValueError("the end is missing")
            rest = reader.unused_data
        arrays[name] = array.view(dtype).reshape(shape)
    if rest:
        raise ValueError("there is more than was written")
    return arrays
