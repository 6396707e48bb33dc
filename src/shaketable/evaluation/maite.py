"""Data, models and corruptions of ours as MAITE's protocols for image classification describe them.

The protocols are met by structure; the package ``maite`` is not needed. In the other direction,
`evaluate` and `load` take data sets and models of MAITE as they are.

>>> import numpy as np
>>> from shaketable import make_dataset
>>> images = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
>>> data = make_dataset(images, ["cat", "dog"] * 10, name="pets")
>>> image, target, about = MaiteDataset(data)[1]
>>> image.shape, target, about
((3, 8, 8), array([0., 1.]), {'id': 1})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.types import Array, FloatArray
from shaketable.corruptions import Corruption
from shaketable.data.arrays import to_host
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset, as_floats
from shaketable.data.readers.maite_data import read_loader
from shaketable.evaluation.noise import Noise, choose_range
from shaketable.evaluation.resolve import resolve
from shaketable.models.classifier import as_classifier
from shaketable.models.maite_models import put_channels_first, restore_layout
from shaketable.statistics.intervals import mean_share

__all__ = [
    "MaiteAccuracy",
    "MaiteCorruption",
    "MaiteDataset",
    "MaiteLoader",
    "MaiteModel",
    "read_loader",
]

Batch: TypeAlias = "tuple[Sequence[Any], Sequence[Any], Sequence[Any]]"


class MaiteDataset:
    """Images of a data set, channels first, as models of ours see them; uint8 as x/255.

    The test part, if the data have one; the ``id`` of an image is its row in the data.

    Parameters
    ----------
    data
        Images with their classes.

    Examples
    --------
    >>> import shaketable as st
    >>> pets = MaiteDataset(st.make_dataset(np.zeros((2, 8, 8, 3), np.uint8), ["cat", "dog"]))
    >>> pets.get_input(0).shape, pets.get_target(1), pets.get_metadata(1)
    ((3, 8, 8), array([0., 1.]), {'id': 1})
    """

    def __init__(self, data: Dataset) -> None:
        put_channels_first(data.x[:1])  # refuses what are no images
        self.data = data
        self.metadata: dict[str, Any] = {"id": data.name, "index2label": _name_classes(data)}
        self._rows = np.arange(data.n_train or 0, data.n)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, ind: int, /) -> tuple[Array, FloatArray, dict[str, int]]:
        return self.get_input(ind), self.get_target(ind), self.get_metadata(ind)

    def get_input(self, index: int, /) -> Array:
        """Return an image.

        Parameters
        ----------
        index
            Number of the image.

        Returns
        -------
        Array
            The image, channels first.
        """
        row = int(self._rows[index])
        return np.asarray(put_channels_first(self.data.rows(slice(row, row + 1)))[0])

    def get_target(self, index: int, /) -> FloatArray:
        """Return the class of an image, one-hot.

        Parameters
        ----------
        index
            Number of the image.

        Returns
        -------
        FloatArray
            One number per class.
        """
        return np.asarray(np.eye(len(self.data.classes))[self.data.y[self._rows[index]]])

    def get_metadata(self, index: int, /) -> dict[str, int]:
        """Return the row of an image in the data, as its ``id``.

        Parameters
        ----------
        index
            Number of the image.

        Returns
        -------
        dict[str, int]
            The ``id``.
        """
        return {"id": int(self._rows[index])}


class MaiteLoader:
    """Batches of a data set of MAITE, in its order.

    Parameters
    ----------
    dataset
        Data set of MAITE.
    batch_size
        Number of images per batch.

    Examples
    --------
    >>> import shaketable as st
    >>> data = st.make_dataset(np.zeros((3, 8, 8, 3), np.uint8), ["cat", "dog", "dog"])
    >>> loader = MaiteLoader(MaiteDataset(data), batch_size=2)
    >>> [len(images) for images, targets, about in loader]
    [2, 1]
    """

    def __init__(self, dataset: Any, *, batch_size: int = 64) -> None:
        self.dataset = dataset
        self.batch_size = check_whole("batch_size", batch_size, least=1)

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, len(self.dataset), self.batch_size):
            places = range(start, min(len(self.dataset), start + self.batch_size))
            images, targets, metadata = zip(*(self.dataset[i] for i in places), strict=True)
            yield list(images), list(targets), list(metadata)


class MaiteModel:
    """A fitted model of any kind; its answers are 1 for the class and 0 for the others.

    Parameters
    ----------
    model
        Fitted model, as `evaluate` takes it.
    data
        Data that it is for.
    name
        Name of the model; by default its own.

    Examples
    --------
    >>> import shaketable as st
    >>> data = st.make_dataset(np.zeros((2, 8, 8, 3), np.uint8), [0, 1])
    >>> model = MaiteModel(lambda x: x.mean(axis=(1, 2, 3)) > 0.5, data, name="bright")
    >>> model([np.ones((3, 8, 8))])[0]
    array([0., 1.])
    """

    def __init__(self, model: Any, data: Dataset, *, name: str | None = None) -> None:
        self.classifier = as_classifier(model, data, name=name)
        self.metadata: dict[str, Any] = {
            "id": self.classifier.name,
            "index2label": _name_classes(data),
        }
        self._shape, self._n = data.shape, len(data.classes)

    def __call__(self, batch_input: Sequence[Any], /) -> list[FloatArray]:
        """Return one score per class for every image; all are 0 for a class the data lack."""
        codes = self.classifier(restore_layout(_stack(batch_input), self._shape))
        scores = np.vstack([np.eye(self._n), np.zeros(self._n)])  # code -1 is the last
        return list(scores[codes])


class MaiteCorruption:
    """A corruption as an augmentation: the noise of an image depends on its ``id`` alone.

    With the ``id`` of `MaiteDataset` it is the first draw of `evaluate` with the same seed, so that
    both measure the same accuracy.

    Parameters
    ----------
    corruption
        Spec such as ``linf(0.1)`` or ``fog(3)``, or a corruption.
    data
        Data that decide eps_min, the severities for the size of images, and the range of values.
    seed, bounds
        As in `evaluate`.

    Examples
    --------
    >>> import shaketable as st
    >>> data = st.make_dataset(np.zeros((2, 8, 8, 3), np.uint8), ["cat", "dog"])
    >>> images, targets, about = MaiteCorruption("linf(0.1)", data)(
    ...     next(iter(MaiteLoader(MaiteDataset(data)))))
    >>> len(images)
    2
    """

    def __init__(
        self,
        corruption: str | Corruption,
        data: Dataset,
        *,
        seed: int = 0,
        bounds: BoundsLike | Literal["declared"] = "declared",
    ) -> None:
        limits = choose_range(data, bounds)
        (resolved,) = resolve([corruption], data, limits).corruptions
        if resolved.traits.by_row:
            raise InputError(f"{resolved.spec} is read from files of images; load those instead")
        self.data, self.corruption, self._bound = data, resolved, resolved.bind(limits)
        self.noise = Noise(k=1, seed=seed, bounds=limits)
        self.metadata: dict[str, Any] = {"id": resolved.spec}

    def __call__(self, batch: Batch, /) -> tuple[list[Array], list[Any], list[Any]]:
        """Return a batch with corrupted images, and targets and metadata as they are."""
        images, targets, metadata = batch
        rows = np.array([_number(about["id"]) for about in metadata], dtype=np.uint64)
        keys = self.noise.keys(self.data, self.corruption, rows.view(np.int64), np.arange(1))[:, 0]
        noisy = self._bound(restore_layout(_stack(images), self.data.shape), keys)
        return list(put_channels_first(noisy)), list(targets), list(metadata)


class MaiteAccuracy:
    """Share of images classified correctly, with its 95 % interval, as fractions.

    Examples
    --------
    >>> accuracy = MaiteAccuracy()
    >>> accuracy.update([[0.9, 0.1], [0.2, 0.8]], [[1, 0], [1, 0]], [{"id": 0}, {"id": 1}])
    >>> accuracy.compute()["accuracy"]
    0.5
    >>> accuracy.reset()
    """

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {"id": "accuracy"}
        self._hits: list[bool] = []

    def reset(self) -> None:
        """Forget all answers."""
        self._hits.clear()

    def update(
        self,
        pred_batch: Sequence[Any],
        target_batch: Sequence[Any],
        metadata_batch: Sequence[Any],  # noqa: ARG002  (of the protocol)
        /,
    ) -> None:
        """Add the scores and the classes of a batch.

        Parameters
        ----------
        pred_batch
            Scores per class of every image.
        target_batch
            Classes, one-hot.
        metadata_batch
            Is not used.
        """
        for scores, target in zip(pred_batch, target_batch, strict=True):
            given, true = np.asarray(to_host(scores)), np.asarray(to_host(target))
            self._hits.append(bool(given.any() and given.argmax() == true.argmax()))

    def compute(self) -> Mapping[str, float]:
        """Return the accuracy and the limits of its interval.

        Returns
        -------
        Mapping[str, float]
            ``accuracy``, ``low`` and ``high``.
        """
        if not self._hits:
            raise InputError("accuracy needs at least one answer; call update first")
        e = mean_share(np.array(self._hits, dtype=np.int64), 1)
        return {"accuracy": e.value, "low": e.low, "high": e.high}


def _name_classes(data: Dataset) -> dict[int, str]:
    return {code: str(label) for code, label in enumerate(data.classes)}


def _stack(images: Sequence[Any]) -> Array:
    return as_floats(np.stack([np.asarray(to_host(image)) for image in images]))


def _number(identifier: int | str) -> int:
    """Return a whole number for the ``id`` of an image: a row of the data, or a hash of a text."""
    if isinstance(identifier, str) or identifier < 0:
        return digest("id", identifier)
    return int(identifier)
