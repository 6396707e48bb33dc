"""The 1-nearest-neighbour classifier, with all ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from shaketable.core.arrays import Parts, check_fits_memory
from shaketable.core.errors import InputError, either
from shaketable.core.norms import as_p
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.arrays import find_device
from shaketable.data.files import DataLike, as_dataset
from shaketable.models.embedding import as_embedding, note_embedding
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import pairs_within, search


class RangeJson(TypedDict):
    """Lowest and highest value, in per cent."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class OneNN:
    """Nearest training points of every test point, and the accuracy of their labels.

    Several training points can be equally near, most often in the L-inf norm on whole numbers. An
    accuracy is therefore a range: from all undecided test points wrong to all of them right.

    Examples
    --------
    >>> import shaketable as st
    >>> result = st.one_nn(([[0.0], [4.0]], ["a", "b"]), ([[1.0], [3.0]], ["a", "b"]))
    >>> result.accuracy, result.neighbours(0)
    ((1.0, 1.0), array([0]))
    """

    p: float
    distance: FloatArray
    """Distance of every test point to its nearest training points."""
    test: IntArray
    """Rows of the test points."""
    pairs: IntArray
    """All nearest neighbours: (index into `test`, row of the training point)."""
    winner: IntArray
    """Class code with the most nearest neighbours; of several the lowest."""
    neighbour_count: IntArray
    """Number of training points that are nearest to each test point."""
    winner_count: IntArray
    """Number of classes with as many nearest neighbours as the winner."""
    classes: tuple[Any, ...]
    y: IntArray
    """True class codes of the test points."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the data, such as that uint8 counts as x/255."""
    embedding: str = ""
    """Name of the embedding that distances are taken in; empty for those of the points."""

    @property
    def labels(self) -> Array:
        """Label with the most nearest neighbours; of several such labels the first."""
        same = len({type(label) for label in self.classes}) == 1
        classes = np.array(self.classes, dtype=None if same else object)
        return np.asarray(classes[self.winner])

    @property
    def accuracy(self) -> tuple[float, float]:
        """Share of right labels, with all points of several nearest neighbours wrong, or right."""
        return self._range(self.neighbour_count > 1)

    @property
    def majority_accuracy(self) -> tuple[float, float]:
        """Share of right labels by majority, with all points of tied majorities wrong, or right."""
        return self._range(self.winner_count > 1)

    def neighbours(self, i: int) -> IntArray:
        """Rows of all training points nearest to test point `i`.

        Parameters
        ----------
        i
            Number of the test point.

        Returns
        -------
        IntArray
            Row numbers.
        """
        return np.sort(self.pairs[self.pairs[:, 0] == i, 1])

    def _range(self, undecided: Array) -> tuple[float, float]:
        right = self.winner == self.y
        return float((right & ~undecided).mean()), float((right | undecided).mean())


def one_nn(
    data: DataLike,
    test: DataLike | None = None,
    *,
    norm: str | float = 2,
    seed: int = 0,
    embedding: Any = None,
    device: str | None = None,
    keep: Parts | None = None,
    progress: bool = False,
) -> OneNN:
    """Label test points by their nearest training points, exactly.

    uint8 is compared in whole numbers; floats in float64, where rounding can break ties.

    Parameters
    ----------
    data, test
        Training and test points, as in `assess`; or `data` alone, which is split as in
        `Dataset.parts`. uint8 images count as x/255, as in `make_dataset`; all else is taken in
        its own units.
    norm
        ``"inf"``, 1, 2, or any other positive order.
    seed
        Seed of the split, if the data have no fixed one.
    embedding
        Map from points to vectors whose distances count, as in `separation`.
    device
        Torch device to search on, as in `separation`.
    keep
        Where a long search keeps what it has found so far, as in `separation`.
    progress
        Show a progress bar; searches of k-d trees have none.

    Returns
    -------
    OneNN
        Nearest points, labels and accuracy.

    Examples
    --------
    >>> train = np.array([[0.0], [2.0], [9.0]]), np.array(["a", "b", "b"])
    >>> result = one_nn(train, (np.array([[1.0], [8.0]]), np.array(["a", "b"])))
    >>> result.neighbours(0), result.accuracy, result.labels.tolist()
    (array([0, 1]), (0.5, 1.0), ['a', 'b'])
    """
    p = as_p(norm)
    device = device or find_device(data[0] if isinstance(data, tuple) and data else data)
    data = as_dataset(data, test=test)
    given, name = data, ""
    # The split is that of the points, whatever the vectors are.
    train_rows, test_rows = data.parts(seed=seed)
    if embedding is not None:
        embedding = as_embedding(embedding)
        data, name = embedding.embed(data), embedding.name
    if data.table is not None:
        raise InputError(
            "1-NN compares points that are plain numbers, all of which count, got a table of "
            "several kinds, with missing values or with columns chosen; leave columns of text out ("
            f"{either('--non-numeric drop', 'non_numeric=')}), fill gaps, and choose no columns"
        )
    check_fits_memory(data.x, "1-NN", f"take fewer with {either('--points N', 'data.sample(N)')}")
    x = np.ascontiguousarray(data.x.reshape(data.n, -1))
    role = np.zeros(data.n, np.int64)
    role[train_rows] = 1
    question = Question(
        x, role, p, nearest_of=role == 0, progress=progress, device=device, keep=keep
    )
    answer = search(question)
    pairs = pairs_within(question, answer.nearest)
    place = np.empty(data.n, np.int64)
    place[test_rows] = np.arange(len(test_rows))
    pairs[:, 0] = place[pairs[:, 0]]
    # votes by (test point, class), without a table of all classes
    ballot, votes = np.unique(
        pairs[:, 0] * len(data.classes) + data.y[pairs[:, 1]], return_counts=True
    )
    voter, candidate = np.divmod(ballot, len(data.classes))
    most = np.zeros(len(test_rows), np.int64)
    np.maximum.at(most, voter, votes)
    winning = votes == most[voter]
    winner = np.full(len(test_rows), len(data.classes))
    np.minimum.at(winner, voter[winning], candidate[winning])
    return OneNN(
        p=p,
        distance=answer.distance(answer.nearest[test_rows]) / data.unit,
        test=test_rows,
        pairs=pairs,
        winner=winner,
        neighbour_count=np.bincount(pairs[:, 0], minlength=len(test_rows)),
        winner_count=np.bincount(voter[winning], minlength=len(test_rows)),
        classes=data.classes,
        y=data.y[test_rows],
        notes=(*given.notes(distances=not name), *([note_embedding(name)] if name else [])),
        embedding=name,
    )
