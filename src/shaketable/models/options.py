"""Options of every activity that loads models, or trains networks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, ModelError, describe_error
from shaketable.core.options import (
    COMMON,
    LIST,
    REPEATED,
    RUNNING,
    SEVERAL,
    option,
    split_words,
    switch,
)
from shaketable.core.spec import Value, parse_call

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

_GROUP = "models"
TRAINED = "estimator to train: built-in, package.module:attribute or file.joblib"
"""What models can be where they are trained."""

_HOW = (
    "; repeat it to compare models. A module that is named is imported. NAME is the model's name "
    "in results (default: as given)"
)


def device_option() -> Any:
    """Field for where networks compute."""
    return option(
        "where networks compute, such as cuda, cuda:1 or cpu (default: on the GPU if there is one)",
        metavar="NAME",
        group=RUNNING,
        kept=False,
        example="cpu",
    )


def embedding_option(what: str) -> Any:
    """Field for the embedding in which distances are taken; `what` says which ones."""
    return option(
        f"{what} are those of vectors: package.module:name of a function from points to vectors, a "
        "transformer or a network; or MODEL@LAYER, a layer of a torch network, such as "
        "net.pt@features",
        metavar="EMBEDDING",
        group=_GROUP,
        example="mypackage.nets:embed",
    )


def parse_threshold(text: str) -> tuple[str, float]:
    """Read ``yes=0.3``.

    >>> parse_threshold("yes=0.3")
    ('yes', 0.3)
    """
    label, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not label or not 0 < value < 1:
        raise InputError(f"must be CLASS=SCORE, a score between 0 and 1, got {text!r}")
    return label.strip(), value


@dataclass(frozen=True)
class ModelOptions:
    """Which models, and what they expect."""

    model: tuple[str, ...] = option(
        "file.joblib, file.skops, file.pt, file.pt2, file.onnx, file.ubj, file.json, file.txt, "
        "folder of MLflow, package.module:attribute, package.module:network@weights.pt or "
        f"built-in{_HOW}",
        (),
        form=REPEATED,
        metavar="[NAME=]MODEL",
        group=COMMON,
    )
    trust: bool = switch(
        "load model files that may hold code (.joblib, .pkl, .pt of a whole module, .pt2, folders "
        "of MLflow), and import modules that only a file names: it runs",
        group=_GROUP,
        in_files=False,
    )
    classes: tuple[str, ...] | None = option(
        "labels of the data in the order of the models' classes, such as no,yes for a model that "
        "answers 0 and 1; or 1=no,2=yes with its own labels",
        read=split_words,
        form=LIST,
        metavar="LIST",
        group=_GROUP,
        example=["no", "yes"],
    )
    preprocess: tuple[str, ...] = option(
        "what the models expect to be done to images: size=224 resample=bicubic crop=224 "
        "order=bgr scale=255 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 layout=first",
        (),
        form=SEVERAL,
        metavar="OPTION",
        group=_GROUP,
    )
    threshold: tuple[str, float] | None = option(
        "for two classes and models that give scores: the class that is answered if its score is "
        "at least so large, such as yes=0.3; else the other one is",
        read=parse_threshold,
        metavar="CLASS=SCORE",
        group=_GROUP,
        write=lambda value: f"{value[0]}={value[1]:g}",
        example="yes=0.3",
    )
    restrict_classes: bool = switch(
        "of models that know more classes than the data have, the answer is the highest of the "
        "scores of the data's classes, as is usual for ImageNet-A and ImageNet-R (default: other "
        "answers are wrong)",
        group=_GROUP,
    )
    fit: bool = switch("train the models on the training part first", group=_GROUP)
    device: str | None = device_option()

    def named(self) -> dict[str, str]:
        r"""Models by name, at least one; a model without a name of its own is named as it is given.

        ``NAME=MODEL`` names a model. What stands before the first ``=`` outside brackets is its
        name, unless it contains one of ``/ \ : @``: then the ``=`` is part of a path or of
        ``package.module:attribute@file``.
        """
        if not self.model:
            raise InputError("--model must name a model; see shaketable list models")
        models: dict[str, str] = {}
        for text in self.model:
            name, model = _split_name(text)
            if models.setdefault(name, model) != model:
                raise InputError(
                    f"--model {name}={model}: the name {name!r} is taken by {models[name]!r}; "
                    "choose another name"
                )
        return models

    def load(
        self, source: str, data: Dataset | None = None, *, place: bool = True
    ) -> tuple[Any, bool]:
        """Load a model with what is declared of it; and return whether it is still to be fitted.

        `data` are those that it will get; without them a network is refused whose form they decide,
        and a built-in model has no preparation. A fitted network is put on the device, unless
        `place` is false: then it stays where it is.
        """
        from shaketable.models.adapted import adapt, parse_classes
        from shaketable.models.loading import load_model
        from shaketable.models.preprocess import Preprocess

        preprocess = Preprocess.parse(self.preprocess) if self.preprocess else None
        shape = None if data is None else data.shape
        if shape is not None and preprocess is not None:
            shape = preprocess.change_shape(shape)
        model, unfitted = load_model(source, trust=self.trust, shape=shape, data=data)
        declared: dict[str, Any] = {
            "classes": parse_classes(self.classes) if self.classes else None,
            "preprocess": preprocess,
            "threshold": self.threshold,
            "restrict_classes": self.restrict_classes,
        }
        if any(value is not None and value is not False for value in declared.values()):
            model = adapt(model, **declared)
        if place:
            from shaketable.models.devices import place_model

            model = place_model(model, self.device)
        return model, unfitted


def _split_name(text: str) -> tuple[str, str]:
    """Split ``NAME=MODEL`` into name and model."""
    starts = (text[:i] for i, sign in enumerate(text) if sign == "=")
    name = next((start for start in starts if start.count("(") == start.count(")")), None)
    if name is None or any(mark in name for mark in "/\\:@"):
        return text, text
    model = text[len(name) + 1 :]
    if Path(text).exists():
        raise InputError(
            f"--model {text!r} could name a model or be a file of that name; for the file write "
            f"./{text}"
        )
    if not name.strip() or not model.strip():
        raise InputError(f"--model must be MODEL or NAME=MODEL, got {text!r}; add what is missing")
    return name.strip(), model.strip()


@contextmanager
def run_model(name: str) -> Iterator[None]:
    """Context for code of a model: what it prints stays out of results, and it cannot exit."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        raise ModelError(f"model {name} failed: {describe_error(error)}; correct it") from error


def note_devices(asked: str | None, devices: Mapping[str, str | None]) -> list[str]:
    """Say where networks computed, from the device of every model; None for one that is none."""
    names: dict[str, list[str]] = {}
    for name, device in devices.items():
        if device is not None:
            names.setdefault(device, []).append(name)
    notes = [f"computed on {device}: {', '.join(models)}" for device, models in names.items()]
    if asked is not None and not notes:
        notes.append("--device changed nothing: no model is a network")
    return notes


_READERS: Mapping[str, str] = {
    "epochs": "a whole number",
    "batch": "a whole number",
    "rate": "a number",
    "shift": "yes or no",
    "precision": "auto, float32 or bfloat16",
}


@dataclass(frozen=True)
class RecipeChoice:
    """A recipe by name, with other values than its own."""

    name: str | None = None
    """None: chosen by the data."""
    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None
    shift: bool | None = None
    precision: Any = "auto"

    @classmethod
    def parse(cls, text: str) -> RecipeChoice:
        """Parse ``fast`` or ``fast(epochs=3)``.

        >>> RecipeChoice.parse("auto(epochs=3, shift=no)")
        RecipeChoice(name=None, epochs=3, batch=None, rate=None, shift=False, precision='auto')
        """
        call = parse_call(text)
        if call.args:
            raise InputError(f"must read {call.name}(epochs=3, …), got {text!r}")
        values: dict[str, Any] = {}
        for key, value in call.options.items():
            if key not in _READERS:
                raise unknown_name("option of a recipe:", key, _READERS)
            values[key] = _read_recipe_value(key, value)
        return cls(None if call.name == "auto" else call.name, **values)

    def __str__(self) -> str:
        given = {key: getattr(self, key) for key in _READERS}
        words = [
            f"{key}={({True: 'yes', False: 'no'}[value]) if key == 'shift' else value}"
            for key, value in given.items()
            if value is not None and (key, value) != ("precision", "auto")
        ]
        return f"{self.name or 'auto'}" + (f"({', '.join(words)})" if words else "")


def _read_recipe_value(key: str, value: Value) -> Any:
    """Read an option of a recipe."""
    if key == "shift" and value in ("yes", "no"):
        return value == "yes"
    if key == "precision" and value in ("auto", "float32", "bfloat16"):
        return value
    if key == "rate" and isinstance(value, float):
        return value
    if key in ("epochs", "batch") and isinstance(value, float) and value.is_integer():
        return int(value)
    raise InputError(f"{key} must be {_READERS[key]}, got {value!r}")


@dataclass(frozen=True)
class NetworkOptions:
    """Which networks are trained, and how."""

    network: tuple[str, ...] = option(
        "such as resnet9, or resnet9@FILE.pt with weights to start from; see shaketable list "
        "networks; in a study it may be repeated",
        (),
        form=REPEATED,
        metavar="SPEC[@FILE.pt]",
        group=COMMON,
        example="resnet9",
    )
    recipe: RecipeChoice | None = option(
        "how to train, such as fast or 'fast(epochs=10, batch=128, rate=0.1, shift=no)'; see "
        "shaketable list recipes (default: auto: fast for images, else points). shift=no: images "
        "are not mirrored and cropped; rate: highest learning rate",
        read=RecipeChoice.parse,
        metavar="NAME[(OPTION=VALUE, …)]",
        group=COMMON,
        write=str,
        example="fast(epochs=10)",
    )

    @property
    def named(self) -> bool:
        """Whether a network is to be trained."""
        return bool(self.network or self.recipe)

    def list_specs(self) -> list[str | None]:
        """Specs of the networks; None for that of the recipe."""
        return [*self.network] or ([None] if self.recipe else [])

    def get_one(self) -> str | None:
        """Spec of the only network, if any."""
        if len(self.network) > 1:
            raise InputError(
                f"--network must name one network, got {len(self.network)}; leave one out"
            )
        return self.network[0] if self.network else None


def split_weights(spec: str | None) -> tuple[str | None, str | None]:
    """Split ``NETWORK@FILE.pt`` into the spec of a network and the file of its weights.

    >>> split_weights("resnet9(width=8)@w.pt")
    ('resnet9(width=8)', 'w.pt')
    """
    network, _, weights = (spec or "").partition("@")
    return network or None, weights or None
