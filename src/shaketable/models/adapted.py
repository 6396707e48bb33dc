"""What only the user knows about a model: the meaning of its classes, and its preprocessing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError, either
from shaketable.core.types import Array
from shaketable.models.preprocess import Preprocess

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.models.feature_scaling import FeatureScaling

Classes = Mapping[Any, Any] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model with what `adapt` declares about it; every function that takes models takes it."""

    model: Any
    classes: Mapping[Any, Any] | None = None
    """Label of the data of every class of the model, in the order of the model's scores."""
    preprocess: Preprocess | None = None
    scaling: FeatureScaling | None = None
    """How features were scaled in its training; it then takes them in their own units."""

    def encode_labels(self, labels: Array) -> Any:
        """Return labels of the data as the classes of the model, to train it."""
        if self.classes is None:
            return labels
        known = {label: key for key, label in self.classes.items()}
        by_text = {str(label): key for label, key in known.items()}
        import numpy as np

        return np.array([known.get(y, by_text.get(str(y), y)) for y in labels.tolist()])


def adapt(
    model: Any, *, classes: Classes | None = None, preprocess: Preprocess | None = None
) -> Adapted:
    """Declare what a model's classes mean, and what it expects to be done to its input.

    Parameters
    ----------
    model
        Any model that `evaluate` takes; one that is still to be fitted, too.
    classes
        The labels of the data in the order of the model's classes: label 0 of the model, or its
        first score, is the first of them. For other labels a mapping from the model's labels to
        those of the data.
    preprocess
        What is done to the points before the model gets them.

    Returns
    -------
    Adapted
        The model with its declaration; `evaluate` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> model = st.adapt(lambda x: (x[:, 0] > 0.5).astype(int), classes=["no", "yes"])
    >>> records = st.evaluate(model, ([[0.0], [1.0]], ["no", "yes"]), "linf(0.1)")
    >>> [record.accuracy for record in records]
    [1.0, 1.0]
    """
    if preprocess is not None and not isinstance(preprocess, Preprocess):
        raise InputError(f"preprocess must be a Preprocess, got {type(preprocess).__name__}")
    scaling = None
    if isinstance(model, Adapted):
        model, classes, preprocess, scaling = (
            model.model,
            model.classes if classes is None else classes,
            model.preprocess if preprocess is None else preprocess,
            model.scaling,
        )
    if classes is None:
        return Adapted(model, None, preprocess, scaling)
    meanings = dict(classes) if isinstance(classes, Mapping) else dict(enumerate(classes))
    if isinstance(classes, str) or len(meanings) < 2:
        raise InputError(f"classes must be two labels or more, got {classes!r}")
    texts = [str(label) for label in meanings.values()]
    if len({*texts}) < len(texts):
        raise InputError(f"classes must differ, got {', '.join(texts)}")
    return Adapted(model, meanings, preprocess, scaling)


def may_be_columns(classes: Sequence[Any]) -> bool:
    """Whether labels are whole numbers from 0 on, not all of which occur.

    >>> may_be_columns((3, 17)), may_be_columns((0, 1)), may_be_columns(("no", "yes"))
    (True, False, False)
    """
    whole = all((type(label) is int and label >= 0) or _is_written(label) for label in classes)
    return whole and list(classes) != list(range(len(classes)))


def name_columns(classes: Sequence[Any], n: int, name: str) -> dict[int, int]:
    """Return what columns of n scores mean: labels from 0 on; `name` is the model's.

    Raises `InputError` if a label of the data is none of them.
    """
    odd = [label for label in classes if not int(label) < n]
    if odd:
        raise InputError(
            f"model {name} must return labels or one score per class, got {n} scores for "
            f"{len(classes)} classes; they would be those of labels 0 to {n - 1}, but the data "
            f"have label {odd[0]!r}; name all classes, in the scores' order "
            f"({either('--classes', 'adapt(model, classes=[…])')})"
        )
    return {column: column for column in range(n)}


def _is_written(label: Any) -> bool:
    """Whether this is a whole number as text, such as the name of a folder."""
    return isinstance(label, str) and label.isdecimal() and str(int(label)) == label


def note_preparation(model: Any, data: Dataset) -> list[str]:
    """Say in a sentence how a built-in model prepares a table; nothing of other models and data."""
    model = model.model if isinstance(model, Adapted) else model
    prepares = hasattr(type(model), "describe_preparation")  # scikit-learn is slow to import
    words = model.describe_preparation(data) if prepares else ""
    return [f"as preparation, {words}"] if words else []


def parse_classes(words: Iterable[str]) -> Classes:
    """Read ``no``, ``yes``, …; or ``0=no``, ``1=yes``, …, with the labels of the model.

    >>> parse_classes(["no", "yes"]), parse_classes(["-1=no", "1=yes"])
    (['no', 'yes'], {-1: 'no', 1: 'yes'})
    """
    words = list(words)
    if not all("=" in word for word in words):
        return words
    pairs = [word.split("=", 1) for word in words]
    return {_as_number(key.strip()): label.strip() for key, label in pairs}


def code_of_classes(
    classes: Mapping[Any, Any], data_classes: Sequence[Any], name: str
) -> dict[Any, int]:
    """Return the class code of the data for every class of the model; -1 if the data lack it."""
    codes: dict[Any, int] = {label: code for code, label in enumerate(data_classes)}
    by_text = {str(label): code for label, code in codes.items()}
    found = {key: codes.get(label, by_text.get(str(label), -1)) for key, label in classes.items()}
    if missing := set(codes.values()) - set(found.values()):
        given = ", ".join(map(str, list(classes.values())[:10]))
        raise InputError(
            f"classes of model {name} must name all classes of the data, got {given} without "
            f"{str(data_classes[min(missing)])!r}; name them in the order of the model's classes"
        )
    return found


def _as_number(text: str) -> Any:
    """Return a label of a model: a whole number if it reads so, else the text."""
    try:
        return int(text)
    except ValueError:
        return text
