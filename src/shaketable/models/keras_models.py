"""Models of Keras 3 with any backend: they take channels last, and batches as arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.types import Array
from shaketable.models.identity import Identified, content_hash


class KerasModel(Identified):
    """A Keras model that returns scores, asked with ``predict_on_batch``."""

    def __init__(self, model: Any) -> None:
        self.model, self.name = model, str(model.name)

    @cached_property
    def identity(self) -> str | None:
        """Hash of the configuration and the weights."""
        return content_hash(["keras", self.model.to_json(), self.model.get_weights()])

    def __call__(self, x: Array) -> Array:
        """Return the scores of every point."""
        return np.asarray(self.model.predict_on_batch(np.asarray(x, np.float32)))


def wrap(model: Any) -> KerasModel | None:
    """Return a Keras model as a model; None for other objects, such as layers."""
    return KerasModel(model) if hasattr(model, "predict_on_batch") else None
