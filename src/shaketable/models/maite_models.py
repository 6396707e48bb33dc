"""Models as MAITE's protocol for image classification describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.types import Array
from shaketable.data.arrays import to_host
from shaketable.data.readers.maite_data import has_metadata, list_names
from shaketable.models.adapted import Adapted, adapt
from shaketable.models.identity import Identified, content_hash


class MaiteAnswer(Identified):
    """A model of MAITE as a callable: an array of images in, an array of scores out."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = str(model.metadata["id"])

    @property
    def identity(self) -> str | None:
        """Hash of the content of the model; None if it is not known."""
        return content_hash(self.model)

    def __call__(self, x: Array) -> Array:
        """Return one row of scores per image; the model gets a list of images, channels first."""
        answers = self.model(list(put_channels_first(x)))
        return np.stack([np.asarray(to_host(answer), dtype=np.float64) for answer in answers])


def wrap(model: Any) -> Adapted | None:
    """Return a model of MAITE with the classes that it names; None for other objects."""
    if not callable(model) or isinstance(model, type) or not has_metadata(model):
        return None
    named = model.metadata.get("index2label") or {}
    return adapt(MaiteAnswer(model), classes=list_names(model.metadata, len(named)) or None)


def put_channels_first(x: Array) -> Array:
    """Return a view of images as (n, channels, height, width).

    >>> put_channels_first(np.zeros((5, 32, 40, 3))).shape
    (5, 3, 32, 40)
    """
    if x.ndim == 3:
        return x[:, None]
    if x.ndim != 4:
        raise InputError(
            f"MAITE's protocols here are for images, height x width x channels, got points of "
            f"shape {x.shape[1:]}"
        )
    return np.moveaxis(x, -1, 1) if find_channels(x.shape[1:]) == "last" else x


def restore_layout(images: Array, shape: tuple[int, ...]) -> Array:
    """Undo `put_channels_first` for points of this shape."""
    if len(shape) == 2:
        return images[:, 0]
    return np.moveaxis(images, 1, -1) if find_channels(shape) == "last" else images
