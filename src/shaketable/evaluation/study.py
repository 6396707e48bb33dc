"""Studies: training noise x test noise x runs; seeded, parallel, resumed where they stopped.

Models are scikit-learn estimators, which are trained on noisy copies of the points, or models that
train themselves with noise, such as networks (`SelfTraining`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypedDict

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError, ShaketableError
from shaketable.core.keys import digest
from shaketable.core.norms import as_p, norm_name
from shaketable.core.spec import display_name
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import run_tasks
from shaketable.corruptions import Clean, Corruption
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
from shaketable.evaluation.command_records import (
    CommandRecord,
    describe_call,
    make_command_record,
)
from shaketable.evaluation.evaluate import load_measured, say_what_is_kept
from shaketable.evaluation.failures import Measured, keep_outcomes
from shaketable.evaluation.noise import Draws, Noise, choose_bounds
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import (
    Corruptions,
    list_items,
    plan_noise,
    resolve,
    resolve_and_record,
)
from shaketable.evaluation.sequential import StoppingRule, add_runs
from shaketable.evaluation.store import Store
from shaketable.evaluation.trainees import (
    ModelFiles,
    TrainingNoise,
    check_trainable,
    train_model,
    trains_itself,
)
from shaketable.models.classifier import as_classifier, model_name
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
    test_eps: Iterable[Epsilon] | None = None,
    train: Iterable[str] | None = None,
    corruptions: Corruptions = (),
    k: int = 10,
    runs: int = 10,
    seed: int = 0,
    draws: Draws = "independent",
    bounds: BoundsLike | Literal["declared"] = "declared",
    store: str | Path | None = None,
    keep_models: str | Path | None = None,
    n_jobs: int | None = None,
    trust: bool = False,
    until: StoppingRule | None = None,
    progress: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Records:
    """Train every model with every training noise and evaluate it under every test noise.

    This is repeated `runs` times. Each run draws a new 80/20 split (unless the data have a fixed
    one), new training noise, new randomness of the model and new test noise (Siedel et al. 2022,
    Algorithm 1). Clean accuracy is always measured, and accuracy at eps_min, which MSCR needs,
    unless other corruptions are named and `test_eps` is not.

    Parameters
    ----------
    data
        ``(x, y)``, a `Dataset`, or what `load` takes; uint8 images count as x/255.
    models
        Names of built-in models, unfitted scikit-learn estimators, `adapt`-ed or not, or networks
        to be trained (`training.UntrainedNetwork`): one, a list, or a mapping from names to them.
    norm
        Norm of the separation, the training noise and the test noise.
    train_eps, test_eps
        Sizes of the noise; ``"eps_min"`` stands for half the class separation, ``"0.5*eps_min"``
        for half of that, 0 for no noise.
    train
        Training noise as specs, instead of `train_eps`: ``clean``, ``C1``, ``l2(1) | sp(0.1)``; for
        networks also with augmentations, as in ``trivialaugment + C1``, and adversaries. Results
        have one model per regime, such as ``resnet9(C1)``.
    corruptions
        Test noise beside `test_eps`: specs, corruptions and suites, as in `evaluate`.
    k
        Noisy copies of every point, in training and test alike; suites have what they were
        published with. Networks get one new copy per epoch.
    runs, seed
        Number of runs, and the seed of all of them.
    draws
        ``"independent"``: every point has its own noise. ``"shared"``: all points of a run, in
        training and test, get the same k offsets; only for reproducing the published Table 2.
    bounds
        As in `evaluate`, for training and test noise.
    store
        Results file. If a study is killed, the same call continues where it stopped; a network
        within its training.
    keep_models
        Folder to which every trained model is written.
    n_jobs
        Number of processes, as in joblib; a surrounding ``joblib.parallel_config`` applies. Within
        ``with cluster(…)``, the workers of the cluster are used instead.
    trust
        Whether model files that may hold code, such as ``.joblib``, are loaded.
    until
        Add runs until this rule knows enough, such as ``Precision(0.5, of="mscr")``, but not more
        than `runs`. Intervals hold wherever it stops.
    progress
        Show a bar on stderr.
    settings
        What a study file would say for all other arguments; the results file keeps it, so that
        `rerun` can make it again. By default it is made from them, as far as they are texts and
        numbers.

    Models that fail do not stop the others: the records that are returned have the rest, and the
    errors in ``failures``; the same call tries again what failed. If the first three trainings
    fail, the study stops with the error of the first.
    """
    given = dict(locals())  # all arguments
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; 1 is one process, -1 one for every core")
    data = as_dataset(data)
    trainees = load_trainees(models, trust=trust)
    with Store(store) as results:
        plan = plan_study(
            data,
            trainees,
            results,
            norm=norm,
            train_eps=train_eps,
            test_eps=test_eps,
            train=train,
            corruptions=corruptions,
            k=k,
            runs=runs,
            seed=seed,
            draws=draws,
            bounds=bounds,
            sequential=until is not None,
            files=ModelFiles(_make_absolute(keep_models), _make_absolute(store)),
        )
        if not results.in_memory:
            results.add_command(_describe_command(given, trainees, plan))

        def carry_out(runs: int) -> Records:
            """Carry out the first runs, as far as they are not on record."""
            tasks = [task for task in plan if task.run < runs]
            known = results.keys()
            todo = [task for task in tasks if any(cell.key not in known for cell in task.cells)]
            every = [cell for task in tasks for cell in task.cells]
            with say_what_is_kept(results), closing(run_tasks(todo, n_jobs)) as outcomes:
                keep_outcomes(
                    show_progress(
                        outcomes, "training and testing", total=len(todo), enabled=progress
                    ),
                    results,
                    resumed=any(cell.key in known for cell in every),
                )
            return load_measured(results, every)

        return carry_out(runs) if until is None else add_runs(carry_out, runs, until)


class StudyOptions(TypedDict, total=False):
    """Arguments of `study` that results depend on."""

    norm: str | float
    train_eps: Iterable[Epsilon]
    test_eps: Iterable[Epsilon] | None
    train: Iterable[str] | None
    corruptions: Corruptions
    k: int
    runs: int
    seed: int
    draws: Draws
    bounds: BoundsLike | Literal["declared"]


def plan_study(
    data: Dataset,
    trainees: Mapping[str, Any],
    results: Store,
    *,
    norm: str | float = "inf",
    train_eps: Iterable[Epsilon] = (0, "eps_min"),
    test_eps: Iterable[Epsilon] | None = None,
    train: Iterable[str] | None = None,
    corruptions: Corruptions = (),
    k: int = 10,
    runs: int = 10,
    seed: int = 0,
    draws: Draws = "independent",
    bounds: BoundsLike | Literal["declared"] = "declared",
    sequential: bool = False,
    files: ModelFiles | None = None,
) -> list[Task]:
    """Return all trainings of a study; separations and suites are added to `results`."""
    runs, p = check_whole("runs", runs, least=1), as_p(norm)
    others = list_items(corruptions)
    if test_eps is not None or not others:
        test_eps = (*(test_eps or ()), "eps_min")
    noise = Noise(k=k, seed=seed, draws=draws, bounds=choose_bounds(data, bounds))
    levels = _resolve_levels(test_eps, p, data, results) if test_eps else []
    tests = [(corruption, noise) for corruption in (Clean(), *levels)]
    tests += plan_noise(others, data, noise, results, bounds=bounds, draws=None)
    regimes = _resolve_levels(train_eps, p, data, results) if train is None else list(train)
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
                by_name=train is not None,
                sequential=sequential,
            )
            task = Task(trainees[name], training, train_rows, cells, files, place=len(plan))
            plan.append(task)
    return plan


def _describe_command(
    arguments: Mapping[str, Any], trainees: Mapping[str, Any], plan: Sequence[Task]
) -> CommandRecord:
    """Record of a call of `study`, whose settings are given or follow from its arguments."""
    settings: Mapping[str, Any] | None = arguments["settings"]
    lacks: dict[str, str] = {}
    if settings is None:
        settings, lacks = describe_call(study, arguments)
    cells = [cell for task in plan for cell in task.cells]
    return make_command_record(
        "study",
        settings,
        lacks,
        fingerprint=cells[0].data.fingerprint,
        models=identify_trainees(trainees),
        recipes=(cell.origin.recipe for cell in cells),
        seed=cells[0].noise.seed,
    )


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
        name, run = first.origin.name, first.noise.run
        report(self.name)
        checkpoint = None
        if self.training.corruption is None:
            checkpoint = self.files.find_checkpoint(first.model_id)
        with locate_errors(self._place):
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
        self.files.keep(trained, f"{name}, {self.training.spec}, run {run}")
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
        self.files.forget_checkpoint(checkpoint)
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
    model_id = f"{digest(*settings, origin.train, noise.seed, noise.run, points.id):016x}"
    if by_name:
        settings = (*settings, origin.train)
        origin = replace(origin, name=f"{origin.name}({display_name(origin.train)})")
    origin = replace(origin, recipe=f"{digest(*settings):016x}")
    cells = (Cell(data, points, c, replace(n, run=noise.run), origin, model_id) for c, n in tests)
    return train_rows, tuple({cell.key: cell for cell in cells}.values())


def _make_absolute(path: str | Path | None) -> Path | None:
    """Return a path as workers in other folders need it."""
    return None if path is None or str(path) == ":memory:" else Path(path).absolute()


def resolve_training(
    trainee: Any, regimes: Iterable[str | Corruption], data: Dataset, noise: Noise
) -> list[TrainingNoise]:
    """Return the training noise of a model, each once."""
    if trains_itself(trainee):
        specs = (regime if isinstance(regime, str) else regime.spec for regime in regimes)
        named = (trainee.name_noise(spec, data, noise.bounds) for spec in specs)
        return [TrainingNoise(spec, None) for spec in dict.fromkeys(named)]
    resolved = resolve(regimes, data, noise.bounds).corruptions
    return [TrainingNoise(spec, c) for spec, c in {c.spec: c for c in resolved}.items()]


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


def load_trainees(models: Any, *, trust: bool) -> dict[str, Any]:
    """Models to train by name, from what users give as `models`."""
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
    for name, model in loaded.items():
        check_trainable(name, model)
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
