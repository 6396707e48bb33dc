"""Studies: train noise x test noise x runs, seeded, parallel, and resumed where they stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.norms import as_p, norm_name
from shaketable.core.progress import show_progress
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption, noisy_copies
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.evaluate import (
    Cell,
    Draws,
    Maker,
    Noise,
    bounds_of,
    make_points,
    measure,
    recorded,
    resolve,
    together,
    with_clean,
)
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.store import Store
from shaketable.models.classifier import as_classifier
from shaketable.models.fitting import clone_seeded, fit_arrays
from shaketable.models.identity import content_hash
from shaketable.models.loading import load_model

Epsilon = float | str


def study(
    data: Any,
    models: Any,
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
        Names of built-in models, or unfitted scikit-learn estimators: one, a list, or a mapping
        from names to them.
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

    runs = check_whole("runs", runs, least=1)
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; 1 is one process, -1 one for every core")
    data, p = as_dataset(data), as_p(norm)
    estimators = _estimators(models)
    with Store(store) as opened:
        train = _levels(train_eps, p, data, opened)
        test = _levels([*test_eps, "eps_min"], p, data, opened)
        noise = Noise(k=k, seed=seed, draws=draws, bounds=bounds_of(data, bounds))
        parameters = _told_apart(estimators)
        plan = [
            _task(
                data,
                Maker(name, parameters[name], c.spec),
                estimator=estimator,
                train=c,
                test=with_clean(test),
                noise=noise,
            )
            for noise in (replace(noise, run=run) for run in range(runs))
            for name, estimator in estimators.items()
            for c in train
        ]
        known = opened.keys()
        todo = [task for task in plan if any(cell.key not in known for cell in task.cells)]
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        with _interrupts_spare_workers() if joblib.effective_n_jobs(n_jobs) > 1 else nullcontext():
            results = parallel(joblib.delayed(_Task.work)(task) for task in todo)
        for records in show_progress(
            results, "trained and shaken", total=len(todo), enabled=progress
        ):
            opened.add(records)
        return recorded(opened, [cell for task in plan for cell in task.cells])


@dataclass(frozen=True, eq=False)
class _Task:
    """One model, trained once and tested at every level: the unit that is sent to a worker."""

    estimator: Any
    train: Corruption
    train_rows: IntArray
    cells: tuple[Cell, ...]
    """What it fills; their keys are known before anything is trained."""

    def work(self) -> list[Record]:
        """Train, then shake."""
        first = self.cells[0]
        data, noise = first.data, first.noise
        x, y = data.rows(self.train_rows), data.labels[self.train_rows]
        if not isinstance(self.train, Clean):
            keys = noise.keys(data, self.train, self.train_rows, np.arange(noise.k))
            x = noisy_copies(self.train.bind(noise.bounds), x, keys)
            y = np.repeat(y, noise.k)
        model = fit_arrays(clone_seeded(self.estimator, digest("fit", noise.run, noise.seed)), x, y)
        classifier = as_classifier(model, data, name=first.maker.name)
        return [
            record
            for group in together(self.cells)
            for record in measure(group, classifier, lambda: None)
        ]


def _task(
    data: Dataset,
    maker: Maker,
    *,
    estimator: Any,
    train: Corruption,
    test: Iterable[Corruption],
    noise: Noise,
) -> _Task:
    train_rows, test_rows = data.parts(run=noise.run, seed=noise.seed)
    points = make_points(data, test_rows)
    how = (maker.recipe, noise.k, noise.draws, str(noise.bounds))
    model_id = f"{digest(*how, train.spec, noise.seed, noise.run, points.id):016x}"
    maker = replace(maker, recipe=f"{digest(*how):016x}")
    cells = tuple(Cell(data, points, c, noise, maker, model_id) for c in test)
    return _Task(estimator, train, train_rows, cells)


def _told_apart(estimators: Mapping[str, Any]) -> dict[str, str]:
    """Unfitted parameters and library versions of every model: what all its runs have in common."""
    result: dict[str, str] = {}
    for name, estimator in estimators.items():
        content = content_hash(estimator)
        if content is None:
            raise InputError(
                f"model {name} must have parameters that can be saved, so that its results can be "
                "told apart; move lambdas and open files out of it"
            )
        result[name] = f"{content} {sorted(list_versions().items())}"
    if len(set(result.values())) < len(result):
        raise InputError(f"models must differ, but {', '.join(result)} hold the same one twice")
    return result


@contextmanager
def _interrupts_spare_workers() -> Iterator[None]:
    """Start workers that never hear Ctrl-C: the parent does, at once or right after, and ends them.

    A signal that is blocked stays pending for the parent and is blocked for its children for good.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    with suppress(ImportError, AttributeError):
        # joblib's helper processes unblock the signal when they start, so they start first
        from multiprocessing import resource_tracker

        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _estimators(models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        found = dict(models)
    else:
        listed = [models] if isinstance(models, str) or hasattr(models, "fit") else list(models)
        found = {m if isinstance(m, str) else type(m).__name__: m for m in listed}
    if not found:
        raise InputError("models must name at least one model, got none")
    return {name: load_model(m)[0] if isinstance(m, str) else m for name, m in found.items()}


def _levels(epsilons: Iterable[Epsilon], p: float, data: Dataset, store: Store) -> list[Corruption]:
    """p-norm noise of every size, once each; size 0 is no noise."""
    specs = [f"{norm_name(p)}({epsilon})" for epsilon in epsilons]
    if not specs:
        raise InputError("train_eps and test_eps must name at least one level; 0 is no noise")
    found = resolve(specs, data, store, None)  # no suites, so no bounds
    zero = f"{norm_name(p)}(0)"
    return list({c.spec: Clean() if c.spec == zero else c for c in found}.values())
