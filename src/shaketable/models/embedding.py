"""Embeddings: maps from points to vectors, whose distances count in place of those of the points.

A function, a fitted transformer of scikit-learn, a network, or one layer of a torch network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.arrays import find_not_finite, split_rows
from shaketable.core.errors import InputError, ModelError, either, guard_foreign
from shaketable.core.importing import import_object, is_reference
from shaketable.core.types import Array
from shaketable.data.arrays import to_host
from shaketable.data.dataset import Dataset, as_floats
from shaketable.models.adapted import Adapted
from shaketable.models.answers import ComposedAnswer
from shaketable.models.classifier import identify, make_arranger, model_name, takes_arrays
from shaketable.models.identity import is_module
from shaketable.models.loading import LOADERS, load_model
from shaketable.models.recognising import recognise

_WEIGHTS = (".safetensors", ".bin")  # of files that are no models, but that stand behind an @


@dataclass(frozen=True, eq=False)
class Embedding:
    """A map from points to vectors, in which distances are taken.

    Parameters
    ----------
    model
        A function from points, one per row, to vectors; a fitted estimator with ``transform``; or a
        torch network, whose output or one of whose layers is the vector.
    layer
        Name of a submodule of a torch network, as in ``network.named_modules()``: its output,
        flattened, is the vector.
    id
        Stable ID, by which kept results of a function are recognised. Estimators and networks are
        recognised by a hash of their content.
    name
        Name in results; by default that of the function, class or file, with the layer.

    Examples
    --------
    >>> import shaketable as st
    >>> double = st.models.Embedding(lambda x: 2 * x, name="double")
    >>> st.separation([[0.0], [1.0]], ["a", "b"], embedding=double).two_r
    2.0
    """

    model: Any
    layer: str | None = None
    id: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        given = recognise(self.model)
        name = self.name or model_name(given) + (f"@{self.layer}" if self.layer else "")
        object.__setattr__(self, "model", given)
        object.__setattr__(self, "name", name)

    @property
    def identity(self) -> str | None:
        """Hash of the content, or the `id`; None for a function without one."""
        if self.id is not None:
            return f"id {self.id}"
        found = identify(_declare(self.model))
        return None if found is None or self.layer is None else f"{found} layer {self.layer}"

    def bind(self, data: Dataset, *, unscale: bool = False) -> PlacedEmbedding:
        """Return the map for rows of these data, as `Dataset.rows` gives them.

        Parameters
        ----------
        data
            Data whose points are embedded.
        unscale
            Whether to undo the scaling of features to [0, 1] first.

        Returns
        -------
        PlacedEmbedding
            Function from rows to vectors.

        Examples
        --------
        >>> import shaketable as st
        >>> data = st.make_dataset([[1.0], [3.0]], ["a", "b"])
        >>> st.models.Embedding(lambda x: 2 * x).bind(data)(data.rows(slice(None))).tolist()
        [[2.0], [6.0]]
        """
        declared = _declare(self.model)
        table = data.table if data.table is not None or takes_arrays(declared) else data.schema
        scaling = declared.scaling
        if scaling is not None:
            unscale = not scaling.is_of(data)
            scaling = scaling if unscale else None
        table = table if table is None or not unscale else table.raw or table
        ask = self._make_map(declared, data, table)
        if scaling is not None:
            ask = ComposedAnswer(scaling.bind(data, table, self.name), ask)
        if table is not None and table.decodes:
            ask = ComposedAnswer(table.decode, ask)
        if data.scaling is not None and unscale:
            ask = ComposedAnswer(data.scaling.undo, ask)
        return PlacedEmbedding(self.name, self.identity, ask)

    def embed(self, data: Dataset, *, unscale: bool = False) -> Dataset:
        """Return the data with the vectors in place of the points.

        Parameters
        ----------
        data
            Data whose points are embedded.
        unscale
            Whether to undo the scaling of features to [0, 1] first.

        Returns
        -------
        Dataset
            The same rows, classes and parts.

        Examples
        --------
        >>> import shaketable as st
        >>> data = st.make_dataset([[1.0], [3.0]], ["a", "b"])
        >>> st.models.Embedding(lambda x: 2 * x).embed(data).x.tolist()
        [[2.0], [6.0]]
        """
        place = self.bind(data, unscale=unscale)
        parts = [place(as_floats(block)) for block in split_rows(data.x)]
        if len({part.shape[1] for part in parts}) > 1:
            raise InputError(
                f"embedding {self.name} must return vectors of one length, got several; correct it"
            )
        return replace(
            data,
            x=np.concatenate(parts),
            bounds=None,
            features=None,
            schema=None,
            scaling=None,
        )

    def _make_map(self, declared: Adapted, data: Dataset, table: Any) -> Callable[[Any], Any]:
        """Return the function, transformer or network, behind its preprocessing."""
        model, preprocess = declared.model, declared.preprocess
        if is_module(model):
            from shaketable.models.torch_layers import LayerAnswer  # torch

            return LayerAnswer.of(self.name, model, self.layer, preprocess)
        if self.layer is not None:
            raise InputError(
                f"embedding {self.name} must be a torch network to have layers, got "
                f"{type(model).__name__}; export the network up to that layer, or load it in torch"
            )
        if hasattr(model, "transform"):
            arrange = make_arranger(model, table, data.features, self.name)
            ask: Callable[[Any], Any] = ComposedAnswer(arrange, model.transform)
        elif callable(model):
            ask = model
        else:
            raise InputError(
                f"embedding {self.name} must be a function from points to vectors, an estimator "
                f"with transform, or a torch network, got {type(model).__name__}; wrap it in a "
                "function"
            )
        return ask if preprocess is None else ComposedAnswer(preprocess, ask)


@dataclass(frozen=True, eq=False)
class PlacedEmbedding:
    """An embedding of the points of some data: rows as models take them, to vectors."""

    name: str
    identity: str | None
    """None if results must not be kept."""
    ask: Callable[[Any], Any]

    @property
    def title(self) -> str:
        """Name, and what identifies it."""
        return self.name if self.identity is None else f"{self.name} ({self.identity})"

    def __call__(self, rows: Array) -> Array:
        """Return one vector per row, in float32 or float64."""
        with guard_foreign(f"embedding {self.name} failed: {{error}}; correct it", ModelError):
            answer = to_host(self.ask(rows))
            answer = np.asarray(answer.toarray() if hasattr(answer, "toarray") else answer)
        if answer.ndim == 0 or len(answer) != len(rows) or answer.dtype.kind not in "biuf":
            raise InputError(
                f"embedding {self.name} must return one vector of numbers per point, got "
                f"{answer.dtype} of shape {answer.shape} for {len(rows)} points; correct it"
            )
        single = answer.dtype.kind == "f" and answer.dtype.itemsize <= 4
        vectors = answer.reshape(len(rows), -1).astype(np.float32 if single else np.float64)
        if not vectors.shape[1]:
            raise InputError(f"embedding {self.name} must return vectors, got none; correct it")
        if len(vectors) and (where := find_not_finite(vectors)):
            raise InputError(
                f"embedding {self.name} must return finite vectors, got {where}; correct it"
            )
        return vectors


def as_embedding(given: Any) -> Embedding:
    """Return an `Embedding` of a function, an estimator or a network.

    >>> as_embedding(abs).name
    'abs'
    """
    return given if isinstance(given, Embedding) else Embedding(given)


def note_embedding(name: str) -> str:
    """Say in which units distances are.

    >>> note_embedding("net.pt@features")
    'distances are those of the points embedded by net.pt@features, in its units'
    """
    return f"distances are those of the points embedded by {name}, in its units"


def load_embedding(text: str, *, trust: bool = False, data: Dataset | None = None) -> Embedding:
    """Return the embedding that a text names.

    Parameters
    ----------
    text
        ``package.module:name`` of a function, a transformer or a network; or what `load_model`
        takes, a transformer or a network; both with ``@layer`` for a layer of a torch network.
    trust
        Whether files may be loaded that may hold code.
    data
        Data that will be embedded; a network of ours with weights is made for their shape.
    """
    source, _, layer = text.rpartition("@")
    if not source or Path(text).exists() or _is_file(layer):
        source, layer = text, ""
    if is_reference(source):
        model = import_object("embedding", source)
        if isinstance(model, type):
            raise InputError(
                f"embedding {source!r} is a class; name an object of it, made in a module as in "
                f"embed = {source.partition(':')[2]}(…)"
            )
    else:
        shape = None if data is None else data.shape
        model, unfitted = load_model(source, trust=trust, shape=shape)
        if unfitted:
            raise InputError(
                f"embedding {text!r} must be fitted; name a file, or "
                f"package.module:name ({either('--embedding', 'embedding=')})"
            )
    from shaketable.models.devices import place_model

    return Embedding(place_model(model), layer or None, name=text)


def _is_file(text: str) -> bool:
    """Whether what stands behind an ``@`` is a file of weights, and no layer."""
    ending = Path(text).suffix.lower()
    return Path(text).exists() or ending in LOADERS or ending in _WEIGHTS


def _declare(model: Any) -> Adapted:
    return model if isinstance(model, Adapted) else Adapted(model)
