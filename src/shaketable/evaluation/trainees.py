"""Models that a study trains: scikit-learn estimators, and models that train themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from shaketable.core.checks import check_copies
from shaketable.core.errors import InputError, either
from shaketable.core.keys import digest
from shaketable.core.types import IntArray
from shaketable.core.writing import write_beside
from shaketable.corruptions import Clean, Corruption
from shaketable.corruptions.corruption import noisy_copies
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Noise, apply_rule, choose_bounds
from shaketable.models.adapted import Adapted, note_preparation
from shaketable.models.classifier import is_estimator, model_name
from shaketable.models.fitting import choose_targets, clone_seeded, fit_arrays
from shaketable.models.loading import load_model
from shaketable.views.text import name_notes

_LONGEST = 100  # bytes of a name in the names of files, which some disks limit to 143


class TrainedModel(Protocol):
    """What `SelfTraining.train_on` returns."""

    @property
    def model(self) -> Any:
        """The model as `evaluate` takes it."""

    def save(self, path: Path) -> None:
        """Write it to a ``.pt`` file."""


class SelfTraining(Protocol):
    """A model that trains itself with noise, such as a network with its recipe.

    It may also have ``rule``, how it keeps noise in the value range, ``notes`` for readers of its
    results, and ``for_data(data)``, which returns it with what the data decide.
    """

    @property
    def identity(self) -> str:
        """Hash of all that the trained model depends on, besides data, noise and seed."""

    def name_noise(self, noise: str, data: Dataset, bounds: Bounds | None) -> str:
        """Return the canonical spec of training noise on these data.

        Noise, or data, that the model cannot be trained with is an `InputError`.
        """

    def train_on(
        self,
        data: Dataset,
        rows: IntArray,
        *,
        noise: str,
        bounds: Bounds | None,
        seed: int,
        checkpoint: Path | None = None,
        place: int = 0,
    ) -> TrainedModel:
        """Train on rows of the data.

        A file `checkpoint` keeps what is done; it is no longer needed afterwards. `place` is a
        number of the task, by which several GPUs share the work.
        """


@dataclass(frozen=True)
class TrainingNoise:
    """Noise that a model is trained with."""

    spec: str
    corruption: Corruption | None
    """None if the model trains itself."""


@dataclass(frozen=True)
class ModelFiles:
    """Where a study keeps models, and the checkpoints of those in training."""

    folder: str | Path | None
    """Folder of trained models; None if they are not kept."""
    store: str | Path | None
    """Results file, which checkpoints lie beside; None for no checkpoints."""

    def find_checkpoint(self, model_id: str) -> Path | None:
        """Return the file of a checkpoint; its folder is made with the first one.

        There is none on a worker that does not have the folder of the results file.
        """
        folder = self._checkpoints
        if folder is None or not folder.parent.is_dir():
            return None
        return folder / f"{model_id}.pt"

    def remove_folder(self) -> None:
        """Remove the folder of checkpoints if it is empty; call it when no task runs any more."""
        if self._checkpoints is not None:
            with suppress(OSError):  # there is none, or trainings go on from what it holds
                self._checkpoints.rmdir()

    @property
    def _checkpoints(self) -> Path | None:
        """Folder of checkpoints."""
        if self.store is None:
            return None
        return Path(f"{self.store}.training")

    def find_model(self, model: Any, name: str, run: int, model_id: str) -> Path | None:
        """Return the file of a model, trained or not, in a run; None if models are not kept.

        Its name has a part of the model's ID, so that no other training has the same file.
        """
        if self.folder is None:
            return None
        stem = f"{make_file_name(name)},_run_{run},_{model_id[:8]}"
        return Path(self.folder) / f"{stem}{choose_ending(model)}"


def make_file_name(name: str) -> str:
    """Return a name in signs that all file systems take; of one that is too long, the start.

    >>> make_file_name("rf(l2(1) | sp(0.1))")
    'rf(l2(1)___sp(0.1))'
    """
    safe = "".join(sign if sign.isalnum() or sign in "-_.,()=+" else "_" for sign in name)
    return safe.encode()[:_LONGEST].decode(errors="ignore")


def choose_ending(model: Any) -> str:
    """Return the ending of the file of a model, trained or not."""
    return ".pt" if trains_itself(model) or hasattr(model, "save") else ".joblib"


def save_model(trained: Any, path: str | Path) -> None:
    """Write a model that `train_model` returned to a file, as ``evaluate --model`` takes it."""
    if hasattr(trained, "save"):
        trained.save(Path(path))
        return
    import joblib  # 0.1 s

    with write_beside(Path(path), "model") as beside:
        joblib.dump(trained, beside)


def trains_itself(model: Any) -> bool:
    """Whether a model has the role `SelfTraining`."""
    return hasattr(model, "train_on") and hasattr(model, "name_noise")


def check_trainable(name: str, model: Any) -> None:
    """Raise `InputError` for a model that a study cannot train."""
    inner = model.model if isinstance(model, Adapted) else model
    if not trains_itself(inner) and not (is_estimator(inner) and hasattr(inner, "fit")):
        raise InputError(
            f"model {name} cannot be trained here: it is no scikit-learn estimator; wrap it in "
            f"one, name a network, with or without weights to start from ("
            f"{either('--network SPEC@FILE.pt', 'training.UntrainedNetwork')}), or train it first "
            "and use evaluate"
        )


def load_trainees(models: Any, data: Dataset, *, trust: bool) -> dict[str, Any]:
    """Models to train by name, from what users give as `models`, for these data."""
    if isinstance(models, Mapping):
        named = {name: _fit_to_data(model, data) for name, model in models.items()}
    else:
        given = [models] if _is_one_model(models) else list(models)
        listed = [_fit_to_data(model, data) for model in given]
        named = {}
        for model in listed:
            name = model if isinstance(model, str) else model_name(model)
            if named.setdefault(name, model) is not model and not isinstance(model, str):
                raise InputError(
                    f"models must have names of their own, but two are called {name!r}; give a "
                    "mapping from names to models"
                )
    if not named:
        raise InputError("models must name at least one model, got none")
    loaded = {
        name: load_model(m, trust=trust, data=data)[0] if isinstance(m, str) else m
        for name, m in named.items()
    }
    for name, model in loaded.items():
        check_trainable(name, model)
    return loaded


def _fit_to_data(model: Any, data: Dataset) -> Any:
    """Return a model with what the data decide, such as the recipe of a network."""
    return model.for_data(data) if trains_itself(model) and hasattr(model, "for_data") else model


def list_notes(trainees: Mapping[str, Any], data: Dataset) -> list[str]:
    """What a reader of the models' results should know, each once.

    Networks bring notes, and built-in models may prepare a table.
    """
    networks = filter(trains_itself, trainees.values())
    own = dict.fromkeys(note for network in networks for note in getattr(network, "notes", ()))
    prepared = ((name, t) for name, t in trainees.items() if not trains_itself(t))
    return [
        *own,
        *name_notes((name, note) for name, t in prepared for note in note_preparation(t, data)),
    ]


def choose_training_bounds(
    data: Dataset, bounds: BoundsLike | Literal["declared"], trainees: Iterable[Any]
) -> Bounds | None:
    """Bounds of training noise, and of test noise of the same sizes.

    Networks whose recipes say how noise is kept in range (``rule``) decide it for all models, so
    that these get the same noise; unless `bounds` say it.
    """
    limits = choose_bounds(data, bounds)
    networks = filter(trains_itself, trainees)
    rules: list[Any] = sorted({getattr(network, "rule", "clip") for network in networks})
    chosen = {apply_rule(limits, rule, given=bounds) for rule in rules}
    if len(chosen) > 1:
        raise InputError(
            f"recipes of the networks must keep noise in range by the same rule, got {rules[0]} "
            f"and {rules[1]}; choose one ({either('--bounds', 'bounds=Bounds(low, high, rule)')}), "
            "or study them one by one"
        )
    return chosen.pop() if chosen else limits


def _is_one_model(models: Any) -> bool:
    """Whether this is a single model; some, such as ``nn.Sequential``, can be iterated."""
    if isinstance(models, str) or callable(models) or not isinstance(models, Iterable):
        return True
    return hasattr(models, "fit") or hasattr(models, "predict")


def train_model(
    model: Any,
    training: TrainingNoise,
    data: Dataset,
    rows: IntArray,
    noise: Noise,
    *,
    name: str,
    checkpoint: Path | None,
    place: int,
) -> Any:
    """Return a copy of a model, trained with noise on rows of the data."""
    seed = digest("fit", noise.run, noise.seed)
    if training.corruption is None:
        return model.train_on(
            data,
            rows,
            noise=training.spec,
            bounds=noise.bounds,
            seed=seed,
            checkpoint=checkpoint,
            place=place,
        )
    copy = clone_seeded(model, seed, name=name)
    x, y = data.rows(rows), choose_targets(copy, data, rows)
    if not isinstance(training.corruption, Clean):
        check_copies(noise.k, len(rows), data.d)
        keys = noise.keys(data, training.corruption, rows, np.arange(noise.k))
        x = noisy_copies(training.corruption.bind(noise.bounds), x, keys)
        y = np.repeat(y, noise.k, axis=0)
    return fit_arrays(copy, data.decode(x), y, name=name)
