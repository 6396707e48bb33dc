"""Studies: training noise x test noise x runs; seeded, parallel, resumed where they stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.norms import as_p, norm_name
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption, noisy_copies
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.cells import (
    Cell,
    Origin,
    group_by_draws,
    locate_errors,
    make_points,
    measure_groups,
)
from shaketable.evaluation.evaluate import load_records, say_what_is_kept
from shaketable.evaluation.noise import Draws, Noise, choose_bounds
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.resolve import resolve_and_record
from shaketable.evaluation.store import Store
from shaketable.evaluation.workers import run_tasks
from shaketable.models.adapted import Adapted
from shaketable.models.classifier import as_classifier, is_estimator, model_name
from shaketable.models.fitting import clone_seeded, fit_arrays
from shaketable.models.identity import content_hash
from shaketable.models.loading import load_model
from shaketable.views.progress import show_progress

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
    trust: bool = False,
    progress: bool = False,
) -> Records:
    """Train every model with every training noise and evaluate it under every test noise.

    This is repeated `runs` times. Each run draws a new 80/20 split (unless the data have a fixed
    one), new training noise, new randomness of the model and new test noise (Siedel et al. 2022,
    Algorithm 1). Clean accuracy and accuracy at eps_min are always measured, as MSCR needs them.

    Parameters
    ----------
    data
        ``(x, y)``, a `Dataset`, or what `load` takes; uint8 images count as x/255.
    models
        Names of built-in models, or unfitted scikit-learn estimators, `adapt`-ed or not: one, a
        list, or a mapping from names to them.
    norm
        Norm of the separation, the training noise and the test noise.
    train_eps, test_eps
        Sizes of the noise; ``"eps_min"`` stands for half the class separation, 0 for no noise.
    k
        Noisy copies of every point, in training and test alike.
    runs, seed
        Number of runs, and the seed of all of them.
    draws
        ``"independent"``: every point has its own noise. ``"shared"``: all points of a run, in
        training and test, get the same k offsets; only for reproducing the published Table 2.
    bounds
        As in `evaluate`, for training and test noise.
    store
        Results file. If a study is killed, the same call continues where it stopped.
    n_jobs
        Number of processes, as in joblib; a surrounding ``joblib.parallel_config`` applies.
    trust
        Whether model files that may hold code, such as ``.joblib``, are loaded.
    progress
        Show a bar on stderr.
    """
    runs = check_whole("runs", runs, least=1)
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; 1 is one process, -1 one for every core")
    data, p = as_dataset(data), as_p(norm)
    estimators = _load_estimators(models, trust=trust)
    with Store(store) as results:
        train_levels = _resolve_levels(train_eps, p, data, results)
        test_levels = _resolve_levels([*test_eps, "eps_min"], p, data, results)
        noise = Noise(k=k, seed=seed, draws=draws, bounds=choose_bounds(data, bounds))
        identities = _identify(estimators)
        plan = [
            _plan_task(
                data,
                Origin(name, identities[name], train.spec),
                estimator=estimator,
                train=train,
                test=_add_clean(test_levels),
                noise=replace(noise, run=run),
            )
            for run in range(runs)
            for name, estimator in estimators.items()
            for train in train_levels
        ]
        known = results.keys()
        todo = [task for task in plan if any(cell.key not in known for cell in task.cells)]
        with say_what_is_kept(results), closing(run_tasks(todo, n_jobs)) as finished:
            for records in show_progress(
                finished, "training and testing", total=len(todo), enabled=progress
            ):
                results.add(records)
        return load_records(results, [cell for task in plan for cell in task.cells])


@dataclass(frozen=True, eq=False)
class _Task:
    """One model, trained once and tested at every level: the unit of work of a process."""

    estimator: Any
    train: Corruption
    train_rows: IntArray
    cells: tuple[Cell, ...]
    """The cells that it measures; their keys are known before training."""

    def work(self, report: Callable[[str], None]) -> list[Record]:
        """Train the model and measure its cells; `report` is called with what is being done."""
        first = self.cells[0]
        name, place = first.origin.name, f"training with {self.train.spec}, run {first.noise.run}"
        report(f"model {name}, {place}")
        data, noise = first.data, first.noise
        x, y = data.rows(self.train_rows), data.labels[self.train_rows]
        if not isinstance(self.train, Clean):
            keys = noise.keys(data, self.train, self.train_rows, np.arange(noise.k))
            x = noisy_copies(self.train.bind(noise.bounds), x, keys)
            y = np.repeat(y, noise.k)
        with locate_errors(place):
            copy = clone_seeded(self.estimator, digest("fit", noise.run, noise.seed), name=name)
            model = fit_arrays(copy, data.decode(x), y, name=name)
        classifier = as_classifier(model, data, name=name)
        done: list[Record] = []
        for group in group_by_draws(self.cells):
            report(f"model {name}, {group[0].place}")
            for records in measure_groups([group], classifier):
                done += records
        return done


def _plan_task(
    data: Dataset,
    origin: Origin,
    *,
    estimator: Any,
    train: Corruption,
    test: Iterable[Corruption],
    noise: Noise,
) -> _Task:
    """Plan the training of a model in one run, with the cells that it fills."""
    train_rows, test_rows = data.parts(run=noise.run, seed=noise.seed)
    points = make_points(data, test_rows)
    settings = (origin.recipe, noise.k, noise.draws, str(noise.bounds))
    model_id = f"{digest(*settings, train.spec, noise.seed, noise.run, points.id):016x}"
    origin = replace(origin, recipe=f"{digest(*settings):016x}")
    cells = tuple(Cell(data, points, c, noise, origin, model_id) for c in test)
    return _Task(estimator, train, train_rows, cells)


def _identify(estimators: Mapping[str, Any]) -> dict[str, str]:
    """Unfitted parameters of every model, and versions of the libraries, as texts to hash."""
    identities: dict[str, str] = {}
    for name, estimator in estimators.items():
        content = content_hash(estimator)
        if content is None:
            raise InputError(
                f"model {name} must have parameters that can be saved, so that its results can be "
                "recognised; move lambdas and open files out of it"
            )
        identities[name] = f"{content} {sorted(list_versions().items())}"
    if len(set(identities.values())) < len(identities):
        names = ", ".join(identities)
        raise InputError(f"models must differ, but two of {names} are the same; leave one out")
    return identities


def _load_estimators(models: Any, *, trust: bool) -> dict[str, Any]:
    """Estimators by name, from what users give as `models`."""
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        listed = [models] if _is_one_model(models) else list(models)
        named = {m if isinstance(m, str) else model_name(m): m for m in listed}
    if not named:
        raise InputError("models must name at least one model, got none")
    loaded = {
        name: load_model(m, trust=trust)[0] if isinstance(m, str) else m
        for name, m in named.items()
    }
    for name, adapted in loaded.items():
        model = adapted.model if isinstance(adapted, Adapted) else adapted
        if not is_estimator(model) or not hasattr(model, "fit"):
            raise InputError(
                f"model {name} cannot be trained here: it is no scikit-learn estimator; wrap it in "
                "one, or train it first and use evaluate"
            )
    return loaded


def _is_one_model(models: Any) -> bool:
    """Whether this is a single model; some, such as ``nn.Sequential``, can be iterated."""
    if isinstance(models, str) or callable(models) or not isinstance(models, Iterable):
        return True
    return hasattr(models, "fit") or hasattr(models, "predict")


def _resolve_levels(
    epsilons: Iterable[Epsilon], p: float, data: Dataset, store: Store
) -> list[Corruption]:
    """p-norm noise of every size, each size once; `Clean` for size 0."""
    specs = [f"{norm_name(p)}({epsilon})" for epsilon in epsilons]
    if not specs:
        raise InputError("train_eps and test_eps must name at least one level; 0 is no noise")
    levels = resolve_and_record(specs, data, None, store)  # no suites, so no bounds
    zero = f"{norm_name(p)}(0)"
    return list({c.spec: Clean() if c.spec == zero else c for c in levels}.values())


def _add_clean(corruptions: Iterable[Corruption]) -> list[Corruption]:
    """Put `Clean` first, then every other corruption once."""
    return list({c.spec: c for c in (Clean(), *corruptions)}.values())
