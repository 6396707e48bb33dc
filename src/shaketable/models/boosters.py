"""Boosters of XGBoost and LightGBM, as objects and in files; their wrappers are estimators."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cached_property
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.models.identity import content_hash
from shaketable.models.loading import ModelLoader, declare_loader
from shaketable.models.recognising import TableModel, prepare_for


class BoosterModel(TableModel):
    """A booster as a classifier: scores with one column per class, in the order of its classes."""

    def __init__(self, booster: Any, name: str) -> None:
        self.booster, self.name = booster, name
        objective, self.n_classes = self._describe()
        self.objective = objective.split(" ")[0]
        if self.objective not in self.known:
            raise InputError(
                f"model {name} must be a classifier, got a booster with objective {objective!r}; "
                f"known are {', '.join(self.known)}; else wrap it in a function from points to "
                "labels or scores"
            )

    known: tuple[str, ...] = ()
    """Objectives of classifiers."""

    def _describe(self) -> tuple[str, int]:
        """Return the objective, and the number of classes."""
        raise NotImplementedError

    def _score(self, rows: Any) -> Array:
        """Return what the booster answers."""
        raise NotImplementedError

    def _content(self) -> bytes:
        """Return the booster as it is saved."""
        raise NotImplementedError

    def _visit(self, rng: np.random.Generator) -> None:
        """Have the library write out all trees, and answer rows."""
        raise NotImplementedError

    def visit(self) -> None:
        """Save the booster, write out all its trees, and ask it for rows of many kinds.

        A node that leads out of its tree, or back, ends the process as soon as it is reached.
        """
        self._content()
        self._visit(np.random.default_rng(0))

    @cached_property
    def identity(self) -> str | None:
        """Hash of the booster as it is saved, and of its library's version."""
        package = type(self.booster).__module__.partition(".")[0]
        version = str(getattr(sys.modules[package], "__version__", None))
        return content_hash([package, version, np.frombuffer(self._content(), np.uint8)])

    def predict(self, rows: Any) -> Array:
        """Return scores of every row."""
        answer = np.asarray(self._score(rows))
        if answer.ndim == 2:
            return answer
        if self.objective == "multi:softmax":  # the numbers of the classes
            return np.asarray(answer[:, None] == np.arange(self.n_classes), dtype=np.float64)
        other = -answer if self.objective == "binary:logitraw" else 1 - answer
        return np.stack([other, answer], axis=1)


class XGBoostModel(BoosterModel):
    """An ``xgboost.Booster``."""

    known = (
        "binary:logistic",
        "binary:logitraw",
        "binary:hinge",
        "multi:softprob",
        "multi:softmax",
    )

    @property
    def feature_names_in_(self) -> tuple[str, ...]:  # type: ignore[override]  # read-only here
        """Names of the columns that it was fitted on."""
        return tuple(self.booster.feature_names or ())

    def _describe(self) -> tuple[str, int]:
        learner = json.loads(self.booster.save_config())["learner"]
        count = int(learner["learner_model_param"]["num_class"])
        return learner["objective"]["name"], max(count, 2)

    def _score(self, rows: Any) -> Array:
        from xgboost import DMatrix

        if not self.feature_names_in_ and hasattr(rows, "columns"):
            rows = rows.to_numpy()  # as it was fitted
        rows = prepare_for(self.booster)(rows)
        return np.asarray(self.booster.predict(DMatrix(rows, enable_categorical=True)))

    def _content(self) -> bytes:
        return bytes(self.booster.save_raw("ubj"))

    def _visit(self, rng: np.random.Generator) -> None:
        from xgboost import DMatrix

        with suppress(Exception):  # not all that can be asked can be written out
            self.booster.get_dump()
            self.booster.get_score()
        rows = DMatrix(_draw_rows(rng, self.booster.num_features()))
        self.booster.predict(rows, validate_features=False)


class LightGBMModel(BoosterModel):
    """A ``lightgbm.Booster``."""

    known = ("binary", "multiclass", "multiclassova")

    @property
    def feature_names_in_(self) -> tuple[str, ...]:  # type: ignore[override]  # read-only here
        """Names of the columns that it was fitted on."""
        return tuple(self.booster.feature_name())

    def _describe(self) -> tuple[str, int]:
        header = self.booster.model_to_string(num_iteration=1).split("\n\n")[0]
        facts = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)
        return facts.get("objective", "none"), max(self.booster.num_model_per_iteration(), 2)

    def _score(self, rows: Any) -> Array:
        return np.asarray(self.booster.predict(prepare_for(self.booster)(rows)))

    def _content(self) -> bytes:
        text: str = self.booster.model_to_string()
        return text.partition("\nend of trees")[0].encode()  # parameters of training follow

    def _visit(self, rng: np.random.Generator) -> None:
        with suppress(Exception):  # such as numbers that JSON does not have
            self.booster.dump_model()
        self.booster.predict(_draw_rows(rng, self.booster.num_feature()))


def _draw_rows(rng: np.random.Generator, d: int) -> Array:
    """Return rows of small, large and missing values."""
    rows = rng.normal(size=(256, d)) * 10.0 ** rng.integers(-3, 7, (256, 1))
    return np.where(rng.random(rows.shape) < 0.1, np.nan, rows)


def wrap(model: Any, name: str = "Booster") -> BoosterModel | None:
    """Return a booster of either library as a model; None for other objects, such as estimators."""
    if type(model).__name__ != "Booster":
        return None
    kind = XGBoostModel if type(model).__module__.startswith("xgboost") else LightGBMModel
    return kind(model, name)


def _load_xgboost(path: Path) -> BoosterModel:
    import xgboost

    if path.suffix == ".json" and b'"learner"' not in path.read_bytes()[:4096]:
        raise InputError(f"model file {str(path)!r} must hold a model of XGBoost, saved as JSON")
    return XGBoostModel(xgboost.Booster(model_file=path), path.name)


def _load_lightgbm(path: Path) -> BoosterModel:
    import lightgbm

    _, _, end = path.read_bytes().rpartition(b"\nend of parameters\n")
    if end.strip() and not end.strip().startswith(b"pandas_categorical:"):  # or it is not noticed
        raise InputError(
            f"model file {str(path)!r} must be a whole model of LightGBM; save it again"
        )
    return LightGBMModel(lightgbm.Booster(model_file=path), path.name)


declare_loader(
    ModelLoader(
        (".ubj", ".json"),
        _load_xgboost,
        help="booster of XGBoost, saved with save_model",
        needs="xgboost",
        install="shaketable[boosting]",
        try_model=methodcaller("visit"),
    )
)
declare_loader(
    ModelLoader(
        (".txt",),
        _load_lightgbm,
        help="booster of LightGBM, saved with save_model",
        needs="lightgbm",
        install="shaketable[boosting]",
        try_model=methodcaller("visit"),
    )
)
