"""The steps of a fitted scikit-learn model, looked through to its last estimator.

Steps that are known scale each column by itself, so that every feature of the last estimator
follows one column that moves, or none. All that proofs rest on is read off fitted attributes, and
checked on rows of the data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Dataset, as_floats
from shaketable.data.frames.columns import NUMBERS
from shaketable.models.answers import ComposedAnswer, EstimatorAnswer
from shaketable.models.classifier import Classifier, as_classifier, is_estimator
from shaketable.models.feature_scaling import FeatureScaling
from shaketable.models.preparation import PreparedModel, as_numbers, as_texts
from shaketable.models.recognising import TableModel, recognise


@dataclass(frozen=True, eq=False)
class Unfolded:
    """The last estimator of a fitted model, and how its features follow the columns that move."""

    estimator: Any
    codes: IntArray
    """Class code of the data for each of the estimator's classes; -1 for one that they lack."""
    source: IntArray
    """For each of its m features the column of `Region.x` that it follows; -1 for none."""
    scale: FloatArray
    """By how much each feature changes with this column, (m,); 0 if it follows none."""
    size: FloatArray
    """What was added to each feature on the way, absolute and in its own units, (m,): with
    ``abs(scale * x)`` the size of the numbers that were rounded."""
    grain: float
    """Machine epsilon of the coarsest numbers on the way to the estimator."""
    blur: FloatArray
    """By how much values of each column that moves may be rounded on the way, (d,): whole numbers
    become so again where noise leaves them within 1e-9."""
    classifier: Classifier
    """The model, as it is attacked; without an identity."""
    steps: tuple[Any, ...]
    """Fitted transformers before the estimator, in their order."""

    @property
    def slope(self) -> FloatArray:
        """Change of every feature with every column that moves, (m, d)."""
        slope = np.zeros((len(self.source), len(self.blur)))
        follows = np.flatnonzero(self.source >= 0)
        slope[follows, self.source[follows]] = self.scale[follows]
        return slope

    def transform(self, points: Array) -> FloatArray:
        """Features of the estimator, (rows, m), of points as models take them."""
        return _run_steps(self.classifier, self.steps, points)


def unfold(model: Any, data: Dataset, unscale: bool) -> Unfolded | None:
    """Look through the steps of a fitted model; None if any of them is not known.

    Known are pipelines and searches of parameters, transformers of columns, scalers, imputers,
    selectors, encoders of columns that do not move, and the preparation of the built-in models.

    Parameters
    ----------
    model
        Fitted model, as it was given.
    data
        The data it labels.
    unscale
        Whether it takes features as they were before these data were scaled.

    Examples
    --------
    >>> import shaketable as st
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> data = st.make_dataset([[0.0, 4.0], [2.0, 1.0]], ["no", "yes"])
    >>> model = make_pipeline(MaxAbsScaler(), LogisticRegression()).fit(data.x, data.labels)
    >>> found = unfold(model, data, False)
    >>> found.estimator, found.source, found.scale, found.codes
    (LogisticRegression(), array([0, 1]), array([0.5 , 0.25]), array([0, 1]))
    """
    known = recognise(model)
    inner = getattr(known, "model", known)
    if getattr(known, "preprocess", None) is not None or not (
        is_estimator(inner) or isinstance(inner, TableModel)
    ):
        return None
    moved = np.ones(data.d, bool) if data.table is None else data.table.moved
    if data.table is not None and any(
        column.kind not in NUMBERS for column in data.table.columns if column.moved
    ):
        return None  # dates are rounded to their unit
    classifier = as_classifier(model, data, model_id="", unscale=unscale)
    answer: Any = classifier.answer
    while isinstance(answer, ComposedAnswer):
        answer = answer.answer
    if type(answer) is not EstimatorAnswer or answer.model is not inner:
        return None  # such as the vote of a smoothed model
    flow = _probe(classifier, data, moved)
    if flow is None:
        return None
    blur = _find_blur(classifier, data, moved)
    steps, estimator = _list_steps(_reach_estimator(classifier.answer)[0].model)
    for step in steps:
        flow = None if flow is None else _pass_step(step, flow)
    classes = getattr(estimator, "classes_", None)
    if flow is None or classes is None:
        return None
    known_codes = [classifier.codes.get(label, -1) for label in np.asarray(classes).tolist()]
    rows = data.rows(np.unique(np.linspace(0, data.n - 1, _CHECKED).astype(int)))
    grain = max(_find_grain(classifier, steps, rows), _WHOLE_SHARE if blur.any() else 0.0)
    found = Unfolded(estimator, np.array(known_codes), *flow, grain, blur, classifier, tuple(steps))
    return found if _holds(found, rows, moved) else None


_CHECKED = 5  # rows of the data on which the slopes are checked
_WHOLE, _WHOLE_SHARE = 2e-9, 2e-12  # twice the slack within which a number counts as whole


class _Flow(NamedTuple):
    """Which column every feature follows, by how much, and what was added; see `Unfolded`."""

    source: IntArray
    scale: FloatArray
    size: FloatArray

    def take(self, places: Any) -> _Flow:
        return _Flow(*(each[places] for each in self))

    def change(self, factor: Any, added: Any) -> _Flow:
        """Multiply features, and add numbers to them."""
        size = np.where(self.source < 0, 0.0, self.size * np.abs(factor) + np.abs(added))
        return _Flow(self.source, self.scale * factor, size)

    @property
    def moves(self) -> bool:
        return bool((self.source >= 0).any())

    @classmethod
    def still(cls, n: int) -> _Flow:
        return cls(np.full(n, -1), np.zeros(n), np.zeros(n))


def _reach_estimator(answer: Any) -> tuple[EstimatorAnswer, list[Callable[[Any], Any]]]:
    """The answer of the estimator itself, and what is done to points before."""
    before = []
    while isinstance(answer, ComposedAnswer):
        before.append(answer.first)
        answer = answer.answer
    assert isinstance(answer, EstimatorAnswer), "unfold() has tested it"
    return answer, [*before, answer.arrange]


def _arrange(classifier: Classifier, points: Array) -> Any:
    """Points as the whole estimator gets them."""
    x: Any = as_floats(np.asarray(points))
    for change in _reach_estimator(classifier.answer)[1]:
        x = change(x)
    return x


def _run_steps(classifier: Classifier, steps: tuple[Any, ...], points: Array) -> FloatArray:
    x = _arrange(classifier, points)
    for step in steps:
        x = step.transform(x)
    x = x.toarray() if hasattr(x, "toarray") else x
    return np.asarray(_as_array(x), np.float64)


def _as_array(x: Any) -> Array:
    """An array of numbers; columns of a frame that hold none are 0."""
    if not hasattr(x, "columns"):
        return np.asarray(x)
    columns = [x.iloc[:, i] for i in range(x.shape[1])]
    numbers = [
        column.to_numpy(np.float64, na_value=np.nan)
        if getattr(column.dtype, "kind", "O") in "fiub"
        else np.zeros(len(x))
        for column in columns
    ]
    return np.stack(numbers, axis=1)


_STEP, _SHIFT = 2.0**30, 1 / 3  # large, so that differences are exact; never whole numbers


def _probe(classifier: Classifier, data: Dataset, moved: Array) -> _Flow | None:
    """How what the estimator gets follows the columns that move.

    On the way there, columns are put in order, scaled one by one, or decoded. Two large steps tell
    which column a feature follows: they have another ratio in every column.
    """
    d = int(moved.sum())
    flat = np.tile(data.rows(slice(0, 1)).reshape(1, -1).astype(np.float64), (3, 1))
    steps = np.stack([np.zeros(d), np.full(d, _STEP), _STEP * np.arange(1, d + 1)])
    steps[1:] += _SHIFT
    flat[:, moved] = steps
    points = flat.reshape(3, *data.shape)
    if data.table is None:
        points = points.astype(data.rows(slice(0, 0)).dtype)
    x = _arrange(classifier, points)
    start, first, second = _as_array(x).astype(np.float64)
    still = first == start
    with np.errstate(divide="ignore", invalid="ignore"):
        place = ((second - start) / (first - start) * (_STEP + _SHIFT) - _SHIFT) / _STEP - 1
    source = np.where(still | ~np.isfinite(place), 0, place)
    whole = np.rint(source).astype(int)
    if (np.abs(source - whole) > 0.01).any() or (whole < 0).any() or (whole >= d).any():
        return None
    source = np.where(still, -1, whole)
    scale = np.where(still, 0.0, (first - start) / (_STEP + _SHIFT))
    known = np.isfinite(scale).all()
    return _Flow(source, scale, np.where(still, 0.0, np.abs(start))) if known else None


def _find_blur(classifier: Classifier, data: Dataset, moved: Array) -> FloatArray:
    """By how much values of the columns that move may be rounded to whole numbers."""
    first = _reach_estimator(classifier.answer)[1][0]
    scaling = data.scaling
    undone = scaling is not None and getattr(first, "__self__", None) is scaling
    table = data.schema.raw if data.schema is not None and undone else data.schema
    if table is None or not table.is_frame:
        return np.zeros(int(moved.sum()))
    whole = np.array([column.kind == "integer" for column in table.columns])[moved]
    span = scaling.span[moved] if scaling is not None and undone else 1.0
    return np.where(whole, _WHOLE / np.where(span > 0, span, 1), 0.0)


def _find_grain(classifier: Classifier, steps: Sequence[Any], rows: Array) -> float:
    """Machine epsilon of the coarsest numbers between these rows and the estimator."""
    x: Any = rows
    grain = float(np.finfo(x.dtype).eps)
    for change in (*_reach_estimator(classifier.answer)[1], *(step.transform for step in steps)):
        x = change(x)
        types = x.dtypes if hasattr(x, "columns") else [x.dtype]
        known = [getattr(t, "numpy_dtype", t) for t in types]
        floats = [t for t in known if getattr(t, "kind", "") == "f"]
        grain = max(grain, *(float(np.finfo(t).eps) for t in floats), 0.0)
    return grain


def _list_steps(model: Any) -> tuple[list[Any], Any]:
    """Fitted transformers of nested pipelines and searches, and the last estimator."""
    steps: list[Any] = []
    while True:
        name = _name_type(model)
        if name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV"):
            model = model.best_estimator_
        elif name == "Pipeline":
            steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
        else:
            return steps, model


def _name_type(step: Any) -> str:
    """Name of a class of scikit-learn, or of ours that behaves as one; empty for others."""
    cls = type(step)
    if cls is PreparedModel:
        return "Pipeline"
    if cls is FeatureScaling:
        return "FeatureScaling"
    return cls.__name__ if cls.__module__.partition(".")[0] == "sklearn" else ""


def _pass_step(step: Any, flow: _Flow) -> _Flow | None:
    """How what a fitted transformer returns follows the columns; None if it is not known."""
    name = _name_type(step)
    if getattr(step, "n_features_in_", len(flow.source)) != len(flow.source):
        return None
    if name in _SCALES:
        clips = getattr(step, "clip", False) and flow.moves
        return None if clips else flow.change(*_SCALES[name](step))
    if name in _PASSES:
        return _PASSES[name](step, flow)
    selector = sys.modules.get("sklearn.feature_selection")
    if name and selector is not None and isinstance(step, selector.SelectorMixin):
        return flow.take(step.get_support())
    return None


def _read_standard(step: Any) -> tuple[Any, Any]:
    factor = 1.0 if step.scale_ is None else 1 / step.scale_
    return factor, step.mean_ * factor if step.with_mean else 0.0


def _read_robust(step: Any) -> tuple[Any, Any]:
    factor = 1 / step.scale_ if step.with_scaling else 1.0
    return factor, step.center_ * factor if step.with_centering else 0.0


def _read_feature_scaling(step: FeatureScaling) -> tuple[Any, Any]:
    factor = 1 / np.where(step.scaling.span > 0, step.scaling.span, 1)
    return factor, step.scaling.low * factor


_SCALES: Mapping[str, Callable[[Any], tuple[Any, Any]]] = {
    "StandardScaler": _read_standard,
    "MinMaxScaler": lambda step: (step.scale_, step.min_),
    "MaxAbsScaler": lambda step: (1 / step.scale_, 0.0),
    "RobustScaler": _read_robust,
    "FeatureScaling": _read_feature_scaling,
}
"""What features are multiplied by, and what is added then."""


def _pass_pipeline(step: Any, flow: _Flow) -> _Flow | None:
    passed: _Flow | None = flow
    for _, each in step.steps:
        if each not in (None, "passthrough"):
            passed = None if passed is None else _pass_step(each, passed)
    return passed


def _pass_columns(step: Any, flow: _Flow) -> _Flow | None:
    parts: dict[int, _Flow] = {}
    for name, each, _ in step.transformers_:
        piece = step.output_indices_[name]
        if piece.stop == piece.start:
            continue
        part = flow.take(step._transformer_to_input_indices[name])
        passed = part if each == "passthrough" else _pass_step(each, part)
        if passed is None or len(passed.source) != piece.stop - piece.start:
            return None
        parts[piece.start] = passed
    if not parts:
        return None
    return _Flow(*(np.concatenate([parts[i][k] for i in sorted(parts)]) for k in range(3)))


def _pass_imputer(step: Any, flow: _Flow) -> _Flow | None:
    """Gaps are filled; columns without any value may be left out, and columns be added."""
    value = step.missing_values
    if not (isinstance(value, float) and np.isnan(value)) and flow.moves:
        return None  # it replaces a value that could be reached
    if step.add_indicator:
        return None
    kept = np.array([not (isinstance(v, float) and np.isnan(v)) for v in step.statistics_])
    return flow if step.keep_empty_features else flow.take(kept)


def _pass_function(step: Any, flow: _Flow) -> _Flow | None:
    if step.func is None or step.func is as_numbers:
        return flow
    return flow if step.func is as_texts and not flow.moves else None


def _pass_encoder(step: Any, flow: _Flow) -> _Flow | None:
    """Columns that do not move become any number of columns that do not."""
    return None if flow.moves else _Flow.still(len(step.get_feature_names_out()))


_PASSES: Mapping[str, Callable[[Any, _Flow], _Flow | None]] = {
    "Pipeline": _pass_pipeline,
    "ColumnTransformer": _pass_columns,
    "SimpleImputer": _pass_imputer,
    "FunctionTransformer": _pass_function,
    "OneHotEncoder": _pass_encoder,
    "OrdinalEncoder": _pass_encoder,
}


def _holds(found: Unfolded, rows: Array, moved: Array) -> bool:
    """Whether features of rows of the data change as the slopes say, under random steps."""
    rng = np.random.default_rng(0)
    flat = rows.reshape(len(rows), -1)
    gaps = np.isnan(flat[:, moved])
    size = np.nanmax(np.abs(np.where(gaps, 0.0, flat[:, moved])), axis=0, initial=1.0)
    changed = flat.astype(rows.dtype, copy=True)
    changed[:, moved] += (size * rng.uniform(0.1, 1, gaps.shape)).astype(rows.dtype)
    step = np.where(gaps, 0.0, changed[:, moved].astype(np.float64) - flat[:, moved])
    before = found.transform(rows)
    after = found.transform(changed.reshape(rows.shape))
    expected = np.where(found.source < 0, 0.0, step[:, found.source] * found.scale)
    size = np.abs(before) + np.abs(expected) + np.abs(found.scale) * size[found.source]
    off = np.abs(after - before - expected) > 64 * found.grain * (size + found.size)
    same = np.array_equal(np.isnan(before), np.isnan(after)) and not np.isinf(after).any()
    return bool(same and not off.any())  # what is missing stays so
