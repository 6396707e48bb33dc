"""The plan of a study: every training, and the cells that it fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from shaketable.core.checks import check_copies, check_whole
from shaketable.core.errors import InputError, ShaketableError, UndefinedError, either
from shaketable.core.keys import digest
from shaketable.core.norms import as_p, norm_name
from shaketable.core.spec import display_name, split_calls
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.data.dataset import Dataset
from shaketable.data.frames.schema import NO_NUMBERS
from shaketable.evaluation.cells import (
    Cell,
    Origin,
    group_by_draws,
    locate_errors,
    make_points,
    measure_groups,
)
from shaketable.evaluation.evaluate import Measured
from shaketable.evaluation.noise import USUAL_K, Noise, choose_bounds
from shaketable.evaluation.options import Epsilon, StudyOptions
from shaketable.evaluation.resolve import (
    check_range,
    list_items,
    plan_noise,
    resolve,
    resolve_and_record,
)
from shaketable.evaluation.store import Store
from shaketable.evaluation.trainees import (
    ModelFiles,
    TrainingNoise,
    choose_training_bounds,
    save_model,
    train_model,
    trains_itself,
)
from shaketable.models.classifier import as_classifier
from shaketable.models.feature_scaling import attach_scaling
from shaketable.models.identity import content_hash
from shaketable.separations.opponents import is_moving


def plan_study(
    data: Dataset,
    trainees: Mapping[str, Any],
    results: Store,
    options: StudyOptions,
    *,
    files: ModelFiles | None = None,
) -> list[Task]:
    """Return all trainings of a study; separations and suites are added to `results`."""
    runs, p = check_whole("runs", options.most_runs, least=1), as_p(options.norm)
    seed, draws, bounds, k = options.seed, options.draws, options.bounds, options.copies
    if k == "auto":
        raise InputError(
            "k of a study must be a number, as models are trained with so many noisy copies; auto "
            "is for evaluate"
        )
    others = [*list_items(options.corruptions), *options.list_suites()]
    test_eps = options.test_eps
    if test_eps is not None or not others:
        test_eps = (*(test_eps or ()), "eps_min")
    named = Noise(
        k=USUAL_K if k is None else k, seed=seed, draws=draws, bounds=choose_bounds(data, bounds)
    )
    noise = replace(named, bounds=choose_training_bounds(data, bounds, trainees.values()))
    levels = _resolve_levels(test_eps, p, data, results) if test_eps else []
    tests = [(corruption, noise) for corruption in (Clean(), *levels)]
    tests += plan_noise(others, data, named, results, bounds=bounds, k=k)  # as in `evaluate`
    regimes: list[Any] = (
        _resolve_levels(options.train_eps, p, data, results)
        if options.train is None
        else list(options.train)
    )
    for name, trainee in trainees.items():
        if not trains_itself(trainee):
            _refuse_networks_only(name, regimes)
    trainings = {
        name: resolve_training(trainee, regimes, data, noise) for name, trainee in trainees.items()
    }
    identities = _identify(trainees)
    files = files or ModelFiles(None, None)
    plan: list[Task] = []
    for run, name in product(range(runs), trainees):
        for training in trainings[name]:
            origin = Origin(name, identities[name], training.spec)
            train_rows, cells = _plan_cells(
                data,
                origin,
                replace(noise, run=run),
                tests,
                by_name=options.train is not None,
                sequential=options.until is not None,
            )
            task = Task(trainees[name], training, train_rows, cells, files, place=len(plan))
            plan.append(task)
    return plan


@dataclass(frozen=True, eq=False)
class Task:
    """One model, trained once and tested at every level: the unit of work of a process."""

    trainee: Any
    training: TrainingNoise
    train_rows: IntArray
    cells: tuple[Cell, ...]
    """The cells that it measures; their keys are known before training."""
    files: ModelFiles
    place: int
    """Its number among all tasks."""

    @property
    def run(self) -> int:
        """Number of its run."""
        return self.cells[0].noise.run

    @property
    def name(self) -> str:
        """Model, training noise and run."""
        return f"model {self.cells[0].origin.name}, {self._place}"

    @property
    def model_file(self) -> Path | None:
        """Where the trained model is kept; None if it is not."""
        name, noise = self.cells[0].origin.name, display_name(self.training.spec)
        if not name.endswith(f"({noise})"):
            name = f"{name}, {noise}"
        return self.files.find_model(self.trainee, name, self.run, self.cells[0].model_id)

    @property
    def lacks_file(self) -> bool:
        """Whether the trained model is to be kept and is not."""
        return self.model_file is not None and not self.model_file.exists()

    @property
    def _place(self) -> str:
        return f"training with {self.training.spec}, run {self.cells[0].noise.run}"

    @property
    def shared(self) -> tuple[object, ...]:
        """The data and the model, which many tasks have."""
        return self.cells[0].data, self.trainee

    @property
    def uses_gpu(self) -> bool:
        """Whether it trains a network, and not on the CPU."""
        device = str(getattr(self.trainee, "device", None) or "cuda")
        return self.training.corruption is None and not device.startswith("cpu")

    def work(self, report: Callable[[str], None]) -> Measured:
        """Train the model and measure its cells; `report` is called with what is being done."""
        first = self.cells[0]
        name = first.origin.name
        report(self.name)
        checkpoint = None
        if self.training.corruption is None:
            checkpoint = self.files.find_checkpoint(first.model_id)
        with locate_errors(self._place, self.training.corruption):
            trained = train_model(
                self.trainee,
                self.training,
                first.data,
                self.train_rows,
                first.noise,
                name=name,
                checkpoint=checkpoint,
                place=self.place,
            )
        if self.model_file is not None:
            self.model_file.parent.mkdir(parents=True, exist_ok=True)
            save_model(attach_scaling(trained, first.data), self.model_file)
        model = trained.model if self.training.corruption is None else trained
        classifier = as_classifier(model, first.data, name=name)
        done = Measured()
        for group in group_by_draws(self.cells):
            report(f"model {name}, {group[0].place}")
            try:
                for records in measure_groups([group], classifier):
                    done.records.extend(records)
            except ShaketableError as error:
                if not done.records:  # on clean points: nothing can be measured
                    raise
                done.fail(group[0], error)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        return done


def _plan_cells(
    data: Dataset,
    origin: Origin,
    noise: Noise,
    tests: Iterable[tuple[Corruption, Noise]],
    *,
    by_name: bool,
    sequential: bool,
) -> tuple[IntArray, tuple[Cell, ...]]:
    """Return the rows that a model is trained on in one run, and the cells that it fills.

    With `by_name`, every training noise makes a model of its own name. If the study is
    `sequential`, its points say that a stopping rule chose the number of runs.
    """
    train_rows, test_rows = data.parts(run=noise.run, seed=noise.seed)
    points = make_points(data, test_rows)
    points = points.of_stopped_runs() if sequential else points
    settings: tuple[str | int, ...] = (
        origin.recipe,
        noise.k,
        noise.draws,
        str(noise.bounds),
    )
    # models may go by the names of columns, which the fingerprint of plain numbers does not hold
    names = data.schema.flat_names if data.schema is not None and data.table is None else ()
    model_id = f"{digest(*settings, origin.train, noise.seed, noise.run, points.id, *names):016x}"
    if by_name:
        settings = (*settings, origin.train)
        origin = replace(origin, name=f"{origin.name}({display_name(origin.train)})")
    origin = replace(origin, recipe=f"{digest(*settings):016x}")
    cells: dict[str, Cell] = {}
    for corruption, own in tests:
        cell = Cell(data, points, corruption, replace(own, run=noise.run), origin, model_id)
        cells.setdefault(cell.key, cell)  # the first one has the noise of training
    return train_rows, tuple(cells.values())


def resolve_training(
    trainee: Any, regimes: Iterable[str | Corruption], data: Dataset, noise: Noise
) -> list[TrainingNoise]:
    """Return the training noise of a model, each once.

    What cannot be trained with on these data is an error now, before anything is trained.
    """
    if trains_itself(trainee):
        specs = (regime if isinstance(regime, str) else regime.spec for regime in regimes)
        named = (trainee.name_noise(spec, data, noise.bounds) for spec in specs)
        return [TrainingNoise(spec, None) for spec in dict.fromkeys(named)]
    resolved = resolve(regimes, data, noise.bounds).corruptions
    for corruption in resolved:
        check_range(corruption, noise.bounds)
        if not isinstance(corruption, Clean):
            check_copies(noise.k, len(data.parts(run=noise.run, seed=noise.seed)[0]), data.d)
    return [TrainingNoise(spec, c) for spec, c in {c.spec: c for c in resolved}.items()]


def _refuse_networks_only(name: str, regimes: Iterable[Any]) -> None:
    """Raise `InputError` if training noise for networks is to train an estimator of this name."""
    for spec in (regime for regime in regimes if isinstance(regime, str)):
        for call in split_calls(spec):
            noise = call.partition("(")[0].strip()
            if not noise.isidentifier():
                continue  # a norm, a reference, or an error of its own
            try:
                CORRUPTIONS.get(noise)
            except InputError as error:
                raise InputError(
                    f"model {name} cannot be trained with {spec}, as augmentations and adversaries "
                    f"are for networks; {error}"
                ) from error


def identify_trainees(trainees: Mapping[str, Any]) -> dict[str, str]:
    """Hash of every model before training, by name; other versions of libraries change it."""
    return {name: f"{digest(text):016x}" for name, text in _identify(trainees).items()}


def _identify(trainees: Mapping[str, Any]) -> dict[str, str]:
    """Unfitted parameters of every model, and versions of the libraries, as texts to hash."""
    identities: dict[str, str] = {}
    for name, trainee in trainees.items():
        content = trainee.identity if trains_itself(trainee) else content_hash(trainee)
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


def _resolve_levels(
    epsilons: Iterable[Epsilon], p: float, data: Dataset, store: Store
) -> list[Corruption]:
    """p-norm noise of every size, each size once; `Clean` for size 0."""
    specs = [f"{norm_name(p)}({epsilon})" for epsilon in epsilons]
    if not specs:
        raise InputError("train_eps and test_eps must name at least one level; 0 is no noise")
    if not is_moving(data):
        raise UndefinedError(
            f"{NO_NUMBERS}; give {either('--corruptions', 'corruptions=')} such as swap(0.1) and "
            f"missing(0.1), and train on them or on clean points ({either('--train', 'train=')})"
        )
    levels = resolve_and_record(specs, data, None, store)  # no suites, so no bounds
    zero = f"{norm_name(p)}(0)"
    return list({c.spec: Clean() if c.spec == zero else c for c in levels}.values())
