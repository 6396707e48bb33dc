"""Models of MLflow's python_function flavour, as objects and in folders."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError
from shaketable.models.identity import Identified, content_hash
from shaketable.models.loading import ModelLoader, declare_loader
from shaketable.models.recognising import TableModel


class PyfuncModel(TableModel):
    """A model of MLflow that takes tables; the columns are those of its signature."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name
        schema = model.metadata.get_input_schema()
        self._tensor = schema is not None and schema.is_tensor_spec()
        self._dtype = schema.inputs[0].type if self._tensor else None
        if self._tensor and len(schema.inputs) != 1:
            raise InputError(
                f"model {name} must take one tensor, got {len(schema.inputs)}; wrap it in a "
                "function from points to labels or scores"
            )
        if schema is not None and schema.has_input_names() and not self._tensor:
            self.feature_names_in_ = tuple(schema.input_names())

    @cached_property
    def identity(self) -> str | None:
        """Hash of the ID that MLflow gave the model when it was saved."""
        uuid = self.model.metadata.model_uuid
        return None if uuid is None else content_hash(["mlflow", uuid])

    def predict(self, rows: Any) -> Any:
        """Return labels or scores of every row."""
        if self._dtype is not None:
            rows = rows.astype(self._dtype)
        return self.model.predict(rows)


class PyfuncTensorModel(Identified):
    """A model of MLflow that takes tensors, such as images, in their own shape."""

    def __init__(self, inner: PyfuncModel) -> None:
        self.inner, self.name = inner, inner.name

    @property
    def identity(self) -> str | None:
        """Hash of the ID that MLflow gave the model when it was saved."""
        return self.inner.identity

    def __call__(self, x: Any) -> Any:
        """Return labels or scores of every point."""
        return self.inner.predict(x)


def wrap(model: Any, name: str = "PyFuncModel") -> Identified | None:
    """Return a loaded model of MLflow as a model; None for other objects."""
    if type(model).__name__ != "PyFuncModel":
        return None
    found = PyfuncModel(model, name)
    return PyfuncTensorModel(found) if found._tensor else found


def load_folder(path: Path) -> Any:
    """Return the model in the folder of an MLmodel file; this runs the code in the folder."""
    import mlflow.pyfunc

    return wrap(mlflow.pyfunc.load_model(str(path.parent)), path.parent.name)


declare_loader(
    ModelLoader(
        ("MLmodel",),
        load_folder,
        help="folder of a model of MLflow",
        needs="mlflow",
        install="shaketable[mlflow]",
        safer="an .onnx file",
    )
)
