"""Fitted models of every kind as one type: points in, class codes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shaketable.core.checks import describe_lacks
from shaketable.core.errors import InputError, ModelError, either
from shaketable.core.types import Array, IntArray
from shaketable.data.dataset import Dataset, as_floats
from shaketable.data.readers.maite_data import has_metadata
from shaketable.models.adapted import (
    Adapted,
    Decider,
    Derived,
    code_of_classes,
    may_be_columns,
    name_columns,
    note_preparation,
    restrict,
)
from shaketable.models.answers import (
    Answer,
    ComposedAnswer,
    EstimatorAnswer,
    Labelled,
    get_scorer,
)
from shaketable.models.devices import find_device
from shaketable.models.failures import Memory, report_failures
from shaketable.models.identity import Identified, content_hash, is_module
from shaketable.models.recognising import TableModel, prepare_for, recognise
from shaketable.views.text import to_utf8

if TYPE_CHECKING:
    from torch import Tensor

    from shaketable.data.frames.schema import TableSchema
    from shaketable.models.torch_modules import ModuleAnswer, Sender


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted model that returns class codes of the data; -1 for a class that the data lack."""

    name: str
    answer: Callable[[Any], Any]
    """The model itself: points to labels, or to scores with one column per class."""
    codes: Mapping[Any, int]
    """Class code of every label that the model may return."""
    identity: str | None
    """Hash of the model's content; None if unknown, so that stored results are not reused."""
    device: Any = None
    """Torch device of a module, which also takes tensors there; None for other models."""
    columns: tuple[int, ...] | None = None
    """Class code of every column of scores; None if they are those of the data, in their order."""
    gets_frame: bool = False
    """Whether the model gets a data frame, and not an array."""
    memory: Memory = field(default_factory=Memory)
    computed_on: str | None = None
    """Where a network computes, in words; None for other models."""
    notes: list[str] = field(default_factory=list)
    """What a reader of its results should know; answers may add to it."""
    threshold: Decider | None = None
    """Score from which on one of two classes is answered; None for the model's own answers."""
    restricts: bool = False
    """Whether the answer is the highest of the scores of the data's classes."""
    names: Mapping[Any, Any] = field(default_factory=dict)
    """Class by the model's own label, where that is another one."""
    column_names: Sequence[Any] | None = None
    """Class of every column of scores; None if they are 0, 1, …"""

    def __call__(self, x: Array | Tensor) -> IntArray:
        """Return the class code of every row."""
        return self.start(x)().codes

    def start(self, x: Array | Tensor, *, scored: bool = False) -> Callable[[], Answer]:
        """Start to compute the answers, with scores on request; the function returned waits.

        A GPU works in the meantime; other models have answered by then. uint8 stands for x/255. If
        memory runs out, the model gets half as many points at a time.
        """
        return self.memory.start(partial(self._start, scored=scored), x)

    def count_scores(self, x: Array) -> int | None:
        """Return the number of scores per point; None if the model returns labels."""
        answer = self._ask(x, scored=False)()
        return answer.shape[1] if answer.ndim == 2 and answer.shape[1] > 1 else None

    def _start(self, x: Array | Tensor, *, scored: bool) -> Callable[[], Answer]:
        wait = self._ask(x, scored=scored or self.restricts or self.threshold is not None)
        if self.device is not None:
            return lambda: self._read(wait(), len(x))
        answer = self._read(wait(), len(x))
        return lambda: answer

    def _ask(self, x: Array | Tensor, *, scored: bool) -> Callable[[], Any]:
        """Start to compute what the model itself returns: an array, or `Labelled`."""
        if self.device is not None:
            return self._module.start(x)
        what = (
            "failed on a data frame (frame.to_numpy() is an array)" if self.gets_frame else "failed"
        )
        with report_failures(self.name, what):
            try:
                ask = get_scorer(self.answer) if scored else self.answer
                answer = ask(as_floats(np.asarray(x)))
                answer = answer if isinstance(answer, Labelled) else np.asarray(answer)
            except InputError:
                raise
            except (TypeError, ValueError) as error:
                reason = str(error).partition("\nStack trace:")[0]  # XGBoost adds that of its C++
                raise ModelError(
                    f"model {self.name} refused points of shape {tuple(x.shape[1:])}: {reason}"
                ) from error
        return lambda: answer

    def sender(self) -> Sender | None:
        """Return what sends points to the device of a module; None for other models."""
        return None if self.device is None else self._module.sender()

    @property
    def _module(self) -> ModuleAnswer:
        return cast("ModuleAnswer", self.answer)  # whatever has a device is one

    def _read(self, answer: Any, n: int) -> Answer:
        """Return what the model answered for n points as class codes and scores."""
        if isinstance(answer, Labelled):
            count = answer.scores.shape[1]
            if answer.classes is None:
                columns = self._list_columns(count)
            else:
                columns = tuple(self.codes.get(label, -1) for label in answer.classes)
            codes = self._codes(answer.labels, n)
            fits = len(columns) == count  # else it is not known what they are scores of
            found = Answer(codes, answer.scores, columns) if fits else Answer(codes)
        else:
            codes, scored = self._codes(answer, n), answer.ndim == 2 and answer.shape[1] > 1
            columns = self._list_columns(answer.shape[1]) if scored else ()
            found = Answer(codes, answer if scored else None, columns)
        found = replace(found, others=self._name_others(answer, found.codes))
        found = restrict(found, self.name) if self.restricts else found
        return found if self.threshold is None else self.threshold.decide(found, self.name)

    def _name_others(self, answer: Any, codes: IntArray) -> Array | None:
        """Return the names of the answers that are classes which the data lack."""
        places = np.flatnonzero(codes < 0)
        if not len(places):
            return None
        answer = answer.labels if isinstance(answer, Labelled) else answer
        some = answer[places].reshape(len(places), -1)
        if some.shape[1] == 1:
            labels = [self.names.get(label, label) for label in some[:, 0].tolist()]
        else:
            known = self.column_names or range(some.shape[1])
            labels = [known[column] for column in some.argmax(axis=1)]
        names = np.full(len(codes), "", dtype=object)
        names[places] = [str(label) for label in labels]
        return names.astype(str)

    def _codes(self, answer: Array, n: int) -> IntArray:
        if answer.ndim == 0 or len(answer) != n:
            raise InputError(
                f"model {self.name} must return one answer per point, got shape {answer.shape} "
                f"for {n} points"
            )
        if answer.ndim == 2 and answer.shape[1] == 1:
            answer = answer[:, 0]
        return self._from_labels(answer) if answer.ndim == 1 else self._from_scores(answer)

    def _from_scores(self, scores: Array) -> IntArray:
        columns = self._list_columns(scores.shape[1])
        if scores.ndim != 2 or scores.shape[1] != len(columns):
            raise InputError(
                f"model {self.name} must return labels or one score per class, got shape "
                f"{scores.shape} for {len(columns)} classes; name all classes, in the scores' "
                f"order ({either('--classes', 'adapt(model, classes=[…])')})"
            )
        if np.isnan(scores).any():
            raise InputError(
                f"model {self.name} returned NaN scores; no class can be read off them"
            )
        return np.asarray(np.array(columns, dtype=np.int64)[scores.argmax(axis=1)])

    def _list_columns(self, n: int) -> tuple[int, ...]:
        """Class code of every one of n columns of scores, as far as they are known."""
        classes = [label for label, code in self.codes.items() if code >= 0]
        columns = self.columns or tuple(range(len(set(self.codes.values()) - {-1})))
        if self.columns is None and n > len(columns) and classes == [*columns]:
            columns += (-1,) * (n - len(columns))  # labels 0, 1, … are columns
            if (note := _note_columns(n, classes)) not in self.notes:
                self.notes.append(note)
        return columns

    def _from_labels(self, labels: Array) -> IntArray:
        try:
            distinct, inverse = np.unique(labels, return_inverse=True)
        except TypeError:  # labels of several types have no order
            distinct, inverse = labels, np.arange(len(labels))
        codes = [self.codes.get(label) for label in distinct.tolist()]
        if None in codes:
            unexpected = distinct.tolist()[codes.index(None)]
            known = ", ".join(map(repr, list(self.codes)[:10]))
            remedy = (
                "scores of one column are not labels; return one score per class or the labels"
                if labels.dtype.kind == "f" and len(distinct) > len(self.codes)
                else f"the data's are {known}; if its labels mean these, say so in their order "
                f"({either('--classes', 'adapt(model, classes=[…])')})"
            )
            raise InputError(
                f"model {self.name} must answer with the data's labels, got {unexpected!r}; "
                f"{remedy}"
            )
        return np.array(codes, dtype=np.int64)[inverse.reshape(-1)]


def as_classifier(
    model: Any,
    data: Dataset,
    *,
    name: str | None = None,
    model_id: str | None = None,
    unscale: bool = False,
) -> Classifier:
    """Turn a fitted model of any kind into a `Classifier`.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator, or any callable from points to labels or to scores, with
        one column per class in the order of ``data.classes``. A torch module returns scores; it
        runs in evaluation mode on its own device, and gets images channels first
        (`torch_modules.arrange_images`). An `OnnxModel` gets them as its graph declares. What
        `adapt` returns is one of these, with the meaning of its classes and its preprocessing.
    data
        Data whose classes the model predicts.
    name
        Name in tables and messages; by default that of the function, class or file.
    model_id
        Stable ID, by which stored results of the model are recognised. By default a hash of the
        model's content; functions and what cannot be saved have none.
    unscale
        Whether to undo the scaling of features to [0, 1], for a model trained on raw units. A model
        that brings the scaling of its training data gets features scaled in that way, always.
    """
    model = recognise(model)
    name = to_utf8(name or model_name(model))
    if isinstance(model, Derived):
        inner = as_classifier(model.model, data, name=name, model_id=model_id, unscale=unscale)
        return model.classify(inner, data)
    declared = model if isinstance(model, Adapted) else Adapted(model)
    meanings = None
    if declared.classes is not None:
        meanings = code_of_classes(declared.classes, data.classes, name)
    scaling = declared.scaling
    if scaling is not None:
        unscale = not scaling.is_of(data)
        scaling = scaling if unscale else None
    table = data.table if data.table is not None or _takes_arrays(declared) else data.schema
    table = table if table is None or not unscale else table.raw or table
    answer, device, columns = _make_answer(declared, meanings, data, table, name)
    model_id = _identify(declared) if model_id is None else to_utf8(model_id)
    if model_id is not None:
        model_id += _identify_columns(declared.model, data, table)
    if scaling is not None:
        answer, device = ComposedAnswer(scaling.bind(data, table, name), answer), None
    if table is not None and table.decodes:
        if declared.preprocess is not None:
            raise InputError(
                f"model {name} gets a data frame, which preprocess does not take; put what it does "
                "into the model, such as a pipeline of scikit-learn"
            )
        answer, device = ComposedAnswer(table.decode, answer), None
    if data.scaling is not None and unscale:
        answer, device = ComposedAnswer(data.scaling.undo, answer), None  # scaling takes arrays
        if model_id is not None:
            model_id = f"{model_id} behind {content_hash(data.scaling)}"
    threshold = Decider.make(declared.threshold, data.classes, name)
    if model_id is not None:
        model_id += "" if threshold is None else f" with {threshold}"
        model_id += " among the data's classes" if declared.restrict_classes else ""
    codes = _code_labels(declared.model, meanings, data)
    notes, computed_on = note_preparation(declared, data), find_device(declared)
    classifier = Classifier(
        name,
        answer,
        codes,
        model_id,
        device,
        columns,
        gets_frame=table is not None and table.is_frame,
        computed_on=computed_on,
        notes=notes,
        threshold=threshold,
        restricts=declared.restrict_classes,
        names=declared.classes or {},
        column_names=_name_columns(declared, meanings),
    )
    found = _find_meanings(classifier, declared.model, data) if meanings is None else None
    if found is None:
        return classifier
    declared = replace(declared, classes=found)
    again = as_classifier(declared, data, name=name, model_id="", unscale=unscale)
    notes += _note_meanings(declared, data)
    if data.model_classes is not None and model_id is not None:
        model_id += f" with classes {content_hash(list(data.model_classes))}"
    return replace(again, identity=model_id, notes=notes)


def _find_meanings(classifier: Classifier, model: Any, data: Dataset) -> dict[int, Any] | None:
    """Return what a model's classes 0, 1, … mean if the data say it; None if they are the data's.

    A class-index file says it, or labels that are whole numbers, not all of which occur.
    """
    index = data.model_classes
    if index is None and (is_estimator(model) or not may_be_columns(data.classes)):
        return None
    n = classifier.count_scores(data.rows(slice(0, 1)))
    if index is not None:
        return dict(enumerate(index)) if n in (None, len(index)) else None
    if n is None or n == len(data.classes):
        return None
    return name_columns(data.classes, n, classifier.name)


def _code_labels(
    model: Any, meanings: Mapping[Any, int] | None, data: Dataset
) -> Mapping[Any, int]:
    """Class code of every label that a model may return."""
    codes: dict[Any, int] = {label: code for code, label in enumerate(data.classes)}
    stated = getattr(model, "classes_", None)
    known = [] if stated is None else np.asarray(stated).tolist()
    known += list(data.model_classes or ())
    if set(data.classes) <= set(known):  # the model may know classes these data happen to lack
        codes = dict.fromkeys(known, -1) | codes
    if meanings is None:
        return codes
    # a label that both have means what was declared
    return meanings if set(meanings) & set(codes) else codes | dict(meanings)


def _name_columns(declared: Adapted, meanings: Mapping[Any, int] | None) -> list[Any] | None:
    """Return the class of every column of scores that `_make_answer` arranges; None if unknown."""
    if declared.classes is None or meanings is None:
        return None
    names = list(declared.classes.values())
    order = _order_columns([*meanings.values()]) if is_module(declared.model) else range(len(names))
    return [names[column] for column in order]


def _order_columns(columns: Sequence[int]) -> list[int]:
    """Return columns of scores with those of the data's classes first."""
    return sorted(range(len(columns)), key=lambda i: (columns[i] < 0, columns[i]))


def _note_meanings(declared: Adapted, data: Dataset) -> list[str]:
    """Say how many classes a model knows if these are more than the data have."""
    known, present = len(declared.classes or ()), len(data.classes)
    if data.model_classes is None:
        return [_note_columns(known, data.classes)]
    others = (
        "their scores are left out" if declared.restrict_classes else "answers of them are wrong"
    )
    more = f"{known} classes are known to the model, {known - present} of which the data lack"
    return [f"{more}; {others}"] if known > present else []


def _note_columns(n: int, classes: Sequence[Any]) -> str:
    return (
        f"{n} scores are returned, and the data have {len(classes)} classes; the score in column "
        "j, counted from 0, is taken as that of label j"
    )


def _takes_arrays(declared: Adapted) -> bool:
    """Whether a model gets plain numbers as an array, though the data are a frame.

    Networks do, models behind preprocessing, and those that were fitted on arrays.
    """
    model = declared.model
    if declared.preprocess is not None or is_module(model):
        return True
    known = isinstance(model, Identified) or hasattr(model, "n_features_in_")
    return known and not _list_fitted(model)


def _list_fitted(model: Any) -> list[str]:
    """Names of the columns that a model was fitted on; none if that was an array."""
    columns = [str(feature) for feature in getattr(model, "feature_names_in_", ())]
    # LightGBM's names for the columns of arrays
    return [] if all(c == f"Column_{i}" for i, c in enumerate(columns)) else columns


def _identify_columns(model: Any, data: Dataset, table: TableSchema | None) -> str:
    """Hash of the names of columns if answers depend on them and the data's fingerprint does not.

    The fingerprint of a frame of plain numbers is that of their array, in which columns have no
    names. A model that was fitted on columns in this order gets the same from both.
    """
    names = data.features if table is None else table.flat_names
    if data.table is not None or names is None:
        return ""
    fitted = _list_fitted(model)
    same = [*names] == fitted if fitted else table is None or not table.is_frame
    return "" if same else f" on columns {content_hash(names)}"


def _make_answer(
    declared: Adapted,
    meanings: Mapping[Any, int] | None,
    data: Dataset,
    table: TableSchema | None,
    name: str,
) -> tuple[Callable[[Any], Any], Any, tuple[int, ...] | None]:
    """Return the answer, device and columns of a `Classifier`."""
    model = declared.model
    columns = None if meanings is None else tuple(meanings.values())
    answer: Callable[[Any], Any]
    if is_estimator(model) or isinstance(model, TableModel):
        if not isinstance(model, TableModel):
            _require_fitted(model, name)
        answer = _estimator_answer(model, table, data.features, name)
    elif is_module(model):
        from shaketable.models.torch_modules import ModuleAnswer  # torch

        module, columns = _adapt_module(model, declared, columns)
        answer = ModuleAnswer(name, module)
        return answer, answer.device, columns
    elif callable(model):
        answer = model
    elif hasattr(model, "predict"):
        answer = model.predict
    elif isinstance(model, Derived):
        raise InputError(f"model {name} must not be adapted as a whole; adapt the model inside")
    else:
        raise InputError(
            f"model must be an estimator or a callable, got {type(model).__name__}; "
            "wrap it in a function from points to labels"
        )
    if declared.preprocess is not None:
        answer = ComposedAnswer(declared.preprocess, answer)
    return answer, None, columns


def _identify(declared: Adapted) -> str | None:
    """Return the identity of a model and of what is declared about it; None for a function."""
    model = declared.model
    if isinstance(model, FunctionType | BuiltinFunctionType | partial):
        return None
    identity = model.identity if isinstance(model, Identified) else content_hash(model)
    parts: list[Any] = [declared.classes, declared.preprocess]
    if declared.scaling is not None:
        parts.append(declared.scaling)
    if identity is None or all(part is None for part in parts):
        return identity
    return f"{identity} behind {content_hash(parts)}"


def _adapt_module(
    module: Any, declared: Adapted, columns: tuple[int, ...] | None
) -> tuple[Any, tuple[int, ...] | None]:
    """Return a module behind its preprocessing, with the scores of the data's classes first.

    If it is restricted to these classes, there are no others. The codes of its columns come with
    it.
    """
    preprocess = declared.preprocess
    if preprocess is None and columns is None:
        return module, None
    from shaketable.models.torch_modules import AdaptedModule

    if columns is None:
        return AdaptedModule(module, preprocess, None), None
    order = _order_columns(columns)
    if declared.restrict_classes:
        order = [i for i in order if columns[i] >= 0]
    adapted = AdaptedModule(module, preprocess, order, len(columns))
    return adapted, tuple(columns[i] for i in order)


def is_estimator(model: Any) -> bool:
    """Whether this is a scikit-learn estimator, or behaves like one."""
    return hasattr(model, "predict") and hasattr(model, "get_params")


def _require_fitted(model: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    with report_failures(name):  # it may lack a parameter
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise InputError(
                f"model {name} must be fitted; fit it first, or ask for it "
                f"({either('--fit', 'refit=True')})"
            ) from error


def _estimator_answer(
    model: Any, table: TableSchema | None, features: tuple[str, ...] | None, name: str
) -> Callable[[Any], Any]:
    """Return how a model is asked for flattened points, as a frame if it was fitted on one.

    The frame has the columns in the order of the fit.
    """
    columns = _list_fitted(model)
    if table is not None and (features is not None or table.is_frame):
        features = table.flat_names
    written = {feature.replace(" ", "_"): feature for feature in features or ()}
    if not {*columns} <= {*(features or ())} and len(written) == len(features or ()):
        columns = [written.get(column, column) for column in columns]  # LightGBM has no blanks
    if columns and features is not None and sorted(columns) != sorted(features):
        remedy = "give it the same columns"
        if {*columns} < {*features}:
            remedy = (
                f"leave them out of the data ({either('--column NAME=drop', 'load(…, drop=[…])')})"
            )
        raise InputError(
            f"model {name} must have been fitted on the columns of the data, but "
            f"{describe_lacks('the table', features, 'the model', columns)}; {remedy}"
        )
    prepare = prepare_for(model)

    def arrange(x: Any) -> Any:
        if hasattr(x, "columns"):
            if columns:
                in_order = list(map(str, x.columns)) == columns
                return prepare(x if in_order else x[columns])
            # fitted on an array: a frame would be warned about
            return x.to_numpy() if hasattr(model, "n_features_in_") else x
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        if not columns:
            return flat
        import pandas as pd

        return pd.DataFrame(flat, columns=features or columns)[columns]

    return EstimatorAnswer(model, arrange)


def model_name(model: Any) -> str:
    """Return the name of a model: of its file, its function or its class."""
    if isinstance(model, Adapted):
        return model_name(model.model)
    if isinstance(model, Derived):
        return f"{model_name(model.model)}, {model.title}"
    if isinstance(model, Identified):
        return model.name
    if has_metadata(model):
        return str(model.metadata["id"])
    return getattr(model, "__name__", None) or type(model).__name__
