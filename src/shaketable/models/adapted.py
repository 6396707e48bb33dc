"""What only the user knows about a model: the meaning of its classes, and its preprocessing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array
from shaketable.models.answers import Answer, are_probabilities, as_probabilities
from shaketable.models.preprocess import Preprocess

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.models.classifier import Classifier
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
    threshold: tuple[Any, float] | None = None
    """One of two classes, and the score from which on it is the answer."""
    restrict_classes: bool = False
    """Whether the answer is the highest of the scores of the data's classes."""

    def encode_labels(self, labels: Array) -> Any:
        """Return labels of the data as the classes of the model, to train it."""
        if self.classes is None:
            return labels
        known = {label: key for key, label in self.classes.items()}
        by_text = {str(label): key for label, key in known.items()}
        return np.array([known.get(y, by_text.get(str(y), y)) for y in labels.tolist()])


class Derived(ABC):
    """A model that asks another one, such as the vote over noisy copies of a point.

    A frozen dataclass; every function that takes models takes it.
    """

    model: Any
    """The other model; it may still have to be fitted."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What it makes of the other model; its name is that of the other with this."""

    @abstractmethod
    def classify(self, inner: Classifier, data: Dataset) -> Classifier:
        """Return the model for these data, given the other one."""


@dataclass(frozen=True)
class Decider:
    """Answers one of two classes if its score is at least a threshold, else the other."""

    code: int
    threshold: float

    @classmethod
    def make(
        cls, threshold: tuple[Any, float] | None, classes: Sequence[Any], name: str
    ) -> Decider | None:
        """Return what decides between the classes of the data; None without a threshold."""
        if threshold is None:
            return None
        label, value = threshold
        known = {str(each): code for code, each in enumerate(classes)}
        if len(classes) != 2:
            raise InputError(
                f"a threshold is for data of two classes, got {len(classes)}; leave it out"
            )
        if str(label) not in known:
            raise unknown_name(f"class in the threshold of model {name}:", str(label), known)
        return cls(known[str(label)], value)

    def decide(self, answer: Answer, name: str) -> Answer:
        """Return answers with the classes that the threshold decides for."""
        if answer.scores is None or self.code not in answer.columns:
            raise InputError(
                f"model {name} must give scores for a threshold, and it gives labels alone; leave "
                f"out {either('--threshold', 'threshold=')}, or give a model with predict_proba"
            )
        score = as_probabilities(answer.scores)[:, answer.columns.index(self.code)]
        codes = np.where(score >= self.threshold, self.code, 1 - self.code)
        return replace(answer, codes=codes, others=None)


def restrict(answer: Answer, name: str) -> Answer:
    """Return answers among the classes of the data: that of the highest of their scores.

    >>> scores = np.array([[0.5, 0.1, 0.4]])
    >>> answer = restrict(Answer(np.array([-1]), scores, (-1, 0, 1)), "net")
    >>> answer.codes, as_probabilities(answer.scores).round(2)
    (array([1]), array([[0.2, 0.8]]))
    """
    if answer.scores is None:
        raise InputError(
            f"model {name} must give scores to be restricted to the data's classes, and it gives "
            f"labels alone; leave out {either('--restrict-classes', 'restrict_classes=')}"
        )
    kept = [i for i, code in enumerate(answer.columns) if code >= 0]
    if len(kept) == len(answer.columns):
        return answer
    scores = np.asarray(answer.scores)
    with np.errstate(divide="ignore", invalid="ignore"):  # the softmax of logarithms is the share
        scores = np.where(are_probabilities(scores)[:, None], np.log(scores), scores)[:, kept]
    columns = tuple(answer.columns[i] for i in kept)
    return Answer(np.array(columns)[scores.argmax(axis=1)], scores, columns)


def adapt(
    model: Any,
    *,
    classes: Classes | None = None,
    preprocess: Preprocess | None = None,
    threshold: tuple[Any, float] | None = None,
    restrict_classes: bool = False,
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
    threshold
        For two classes and a model that gives scores, such as ``("yes", 0.3)``: this class is the
        answer if its score is at least so large, else the other one.
    restrict_classes
        For a model with scores of more classes than the data have: whether the answer is the
        highest of the scores of the data's classes, as is usual for ImageNet-A and ImageNet-R. By
        default an answer that is none of the data's classes is wrong.

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
    if threshold is not None and not 0 < threshold[1] < 1:
        raise InputError(f"threshold must lie between 0 and 1, got {threshold[1]!r}")
    scaling = None
    if isinstance(model, Adapted):
        restrict_classes = restrict_classes or model.restrict_classes
        model, classes, preprocess, scaling, threshold = (
            model.model,
            model.classes if classes is None else classes,
            model.preprocess if preprocess is None else preprocess,
            model.scaling,
            model.threshold if threshold is None else threshold,
        )
    declared = Adapted(model, None, preprocess, scaling, threshold, restrict_classes)
    if classes is None:
        return declared
    meanings = dict(classes) if isinstance(classes, Mapping) else dict(enumerate(classes))
    if isinstance(classes, str) or len(meanings) < 2:
        raise InputError(f"classes must be two labels or more, got {classes!r}")
    texts = [str(label) for label in meanings.values()]
    if len({*texts}) < len(texts):
        raise InputError(f"classes must differ, got {', '.join(texts)}")
    return replace(declared, classes=meanings)


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
