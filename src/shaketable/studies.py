"""Studies: train noise x test noise x runs, seeded, parallel, and resumed where they stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shaketable.corruptions import BoundsLike, Clean, Corruption, as_bounds, noisy_copies
from shaketable.data import Dataset
from shaketable.errors import InputError
from shaketable.evaluation import (
    Cell,
    Draws,
    Maker,
    Noise,
    make_points,
    resolve,
    versions,
    with_clean,
)
from shaketable.files import as_dataset
from shaketable.identity import content_hash
from shaketable.keys import digest
from shaketable.models import BUILTIN, as_classifier, builtin, fit_arrays, load_model, seeded
from shaketable.norms import as_p, norm_name
from shaketable.progress import bar
from shaketable.records import Record, Records
from shaketable.store import Store

Epsilon = float | str


def study(
    data: Any,
    models: str | Iterable[str] | Mapping[str, Any],
    *,
    norm: str | float = "inf",
    train_eps: Iterable[Epsilon] = (0, "eps_min"),
    test_eps: Iterable[Epsilon] = (0, "eps_min"),
    k: int = 10,
    runs: int = 10,
    seed: int = 0,
    draws: Draws = "independent",
    bounds: BoundsLike | Literal["declared"] = "declared",
    store: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Records:
    """Train every model with every training noise, shake it with every test noise, `runs` times.

    A run draws a new 80/20 split (unless the data have a fixed one), new training noise, new
    randomness of the model and new test noise (Siedel et al. 2022, Algorithm 1). Clean accuracy
    and eps_min are always measured, so MSCR can be told.

    Parameters
    ----------
    data
        ``(x, y)``, a `Dataset`, or what `load` takes.
    models
        Names of built-in models, or a mapping from names to unfitted scikit-learn estimators.
    norm
        Norm of separation, training and test noise.
    train_eps, test_eps
        Sizes of the noise; ``"eps_min"`` stands for half the class separation.
    k
        Noisy copies of every point, in training and test alike.
    runs, seed
        How many runs, and what they all follow from.
    draws
        ``"shared"``: all points of a run, in training and test, get the same k offsets. The
        published Table 2 was made so; leave it alone otherwise.
    bounds
        As in `evaluate`, for training and test noise.
    store
        Results file. Killed at any moment, the same call goes on where it stopped.
    n_jobs
        Processes, as joblib counts them; a surrounding ``joblib.parallel_config`` decides where.
    progress
        Show a bar on stderr.
    """
    import joblib  # 0.1 s

    if runs < 1:
        raise InputError(f"runs must be at least 1, got {runs!r}")
    data, p = as_dataset(data), as_p(norm)
    estimators = _estimators(models)
    with Store(store) as opened:
        train = _levels(train_eps, p, data, opened)
        test = _levels([*test_eps, "eps_min"], p, data, opened)
        noise = Noise(
            k=k, seed=seed, draws=draws,
            bounds=data.bounds if bounds == "declared" else as_bounds(bounds),
        )  # fmt: skip
        tasks = [
            _Task(data, name, estimator, c, tuple(with_clean(test)), replace(noise, run=run))
            for run in range(runs)
            for name, estimator in estimators.items()
            for c in train
        ]
        keys = [cell.key for task in tasks for cell in task.cells()]
        known = opened.keys()
        todo = [t for t in tasks if any(cell.key not in known for cell in t.cells())]
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results = parallel(joblib.delayed(_Task.work)(task) for task in todo)
        for records in bar(results, "trained and shaken", total=len(todo), enabled=progress):
            opened.add(records)
        return opened.records(keys)


@dataclass(frozen=True, eq=False)
class _Task:
    """One model, trained once and tested at every level: the unit that is sent to a worker."""

    data: Dataset
    name: str
    estimator: Any
    train: Corruption
    test: tuple[Corruption, ...]
    noise: Noise

    def cells(self) -> Iterator[Cell]:
        """Cells this task fills; their keys are known before anything is trained."""
        _, rows = self.data.parts(run=self.noise.run, seed=self.noise.seed)
        points = make_points(self.data, rows)
        noise = self.noise
        parts = (self._parameters(), noise.k, noise.draws, str(noise.bounds))
        maker = Maker(self.name, f"{digest(*parts):016x}", self.train.spec)
        model_id = f"{digest(*parts, self.train.spec, noise.seed, noise.run, points.id):016x}"
        return (Cell(self.data, points, c, noise, maker, model_id) for c in self.test)

    def work(self) -> list[Record]:
        """Train, then shake."""
        rows, _ = self.data.parts(run=self.noise.run, seed=self.noise.seed)
        x, y = self.data.rows(rows), self.data.labels[rows]
        if not isinstance(self.train, Clean):
            keys = self.noise.keys(self.data, self.train, rows, np.arange(self.noise.k))
            x = noisy_copies(self.train.bind(self.noise.bounds), x, keys)
            y = np.repeat(y, self.noise.k)
        model = seeded(self.estimator, digest("fit", self.noise.run, self.noise.seed))
        try:
            fit_arrays(model, x, y)
        except ValueError as error:
            raise InputError(
                f"model {self.name} could not be trained in run {self.noise.run}: {error}"
            ) from error
        classifier = as_classifier(model, self.data, name=self.name, scaled=True)
        return [cell.measure(classifier) for cell in self.cells()]

    def _parameters(self) -> str:
        """Unfitted parameters and library versions: what the models of all runs have in common."""
        content = content_hash(self.estimator)
        if content is None:
            raise InputError(
                f"model {self.name} must have parameters that can be saved, so that its results "
                "can be told apart; move lambdas and open files out of it"
            )
        return f"{content} {sorted(versions().items())}"


def _estimators(models: str | Iterable[str] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(models, Mapping):
        return dict(models)
    names = [models] if isinstance(models, str) else list(models)
    return {name: builtin(name) if name in BUILTIN else load_model(name)[0] for name in names}


def _levels(epsilons: Iterable[Epsilon], p: float, data: Dataset, store: Store) -> list[Corruption]:
    """p-norm noise of every size, once each; size 0 is no noise."""
    specs = [f"{norm_name(p)}({epsilon})" for epsilon in epsilons]
    if not specs:
        raise InputError("train_eps and test_eps must name at least one level; 0 is no noise")
    found = resolve(specs, data, store)
    zero = f"{norm_name(p)}(0)"
    return list({c.spec: Clean() if c.spec == zero else c for c in found}.values())
