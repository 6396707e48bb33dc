"""Studies: training noise x test noise x runs; seeded, parallel, resumed where they stopped.

Models are scikit-learn estimators, which are trained on noisy copies of the points, or models that
train themselves with noise, such as networks (`SelfTraining`). A plan lists every training, and the
cells that it fills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from shaketable.core.checks import check_copies, check_whole
from shaketable.core.errors import InputError, ShaketableError, UndefinedError, either
from shaketable.core.keys import digest
from shaketable.core.norms import as_p, norm_name
from shaketable.core.options import write_words
from shaketable.core.spec import display_name, split_calls
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import run_tasks
from shaketable.core.writing import make_folder
from shaketable.corruptions import Clean, Corruption
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.data.frames.schema import NO_NUMBERS
from shaketable.evaluation.cells import (
    Cell,
    Origin,
    group_by_draws,
    locate_errors,
    make_points,
    measure_groups,
)
from shaketable.evaluation.command_records import (
    describe_call,
    make_command_record,
)
from shaketable.evaluation.evaluate import Measured, keep_outcomes, load_measured, say_what_is_kept
from shaketable.evaluation.evaluate_options import Epsilon, StudyOptions
from shaketable.evaluation.noise import USUAL_K, Draws, Noise, RuleName, choose_bounds
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import (
    Corruptions,
    check_range,
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
    choose_training_bounds,
    list_notes,
    load_trainees,
    save_model,
    train_model,
    trains_itself,
)
from shaketable.models.classifier import as_classifier
from shaketable.models.feature_scaling import attach_scaling
from shaketable.models.identity import content_hash
from shaketable.models.options import ModelOptions
from shaketable.separations.opponents import is_moving
from shaketable.views.progress import show_progress


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
                keeps_answers=options.record == "answers",
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
    keeps_answers: bool,
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
        of_run = replace(own, run=noise.run)
        cell = Cell(data, points, corruption, of_run, origin, model_id, keeps_answers)
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


def study(
    data: Any,
    models: Any,
    *,
    norm: str | float = "inf",
    train_eps: Iterable[Epsilon] = (0, "eps_min"),
    test_eps: Iterable[Epsilon] | None = None,
    train: Iterable[str] | None = None,
    corruptions: Corruptions = (),
    k: int | None = None,
    runs: int = 10,
    seed: int = 0,
    draws: Draws = "independent",
    bounds: BoundsLike | RuleName = "declared",
    store: str | Path | None = None,
    keep_models: str | Path | None = None,
    n_jobs: int | None = None,
    trust: bool = False,
    until: StoppingRule | None = None,
    record: Literal["answers", "hits"] | None = None,
    progress: bool = False,
) -> Records:
    """Train every model with every training noise and evaluate it under every test noise.

    This is repeated `runs` times. Each run draws a new 80/20 split (unless the data have a fixed
    one), new training noise, new randomness of the model and new test noise (Siedel et al. 2022,
    Algorithm 1). Clean accuracy is always measured, and accuracy at eps_min, which MSCR needs,
    unless other corruptions are named and `test_eps` is not.

    Models that fail do not stop the others: the records that are returned have the rest, and the
    errors in ``failures``; the same call tries again what failed. If the first three trainings
    fail, the study stops with the error of the first.

    The results file keeps the call, as far as its arguments are texts and numbers, so that `rerun`
    can make it again.

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
        Noisy copies of every point, in training and test alike; by default 10, and for suites the
        number they were published with. Networks get one new copy per epoch.
    runs, seed
        Number of runs, and the seed of all of them.
    draws
        ``"independent"``: every point has its own noise. ``"shared"``: all points of a run, in
        training and test, get the same k offsets; only for reproducing the published Table 2.
    bounds
        As in `evaluate`, for training and test noise. Where it does not say how noise is kept in
        range, training noise and `test_eps` follow the recipe of networks.
    store
        Results file. If a study is killed, the same call continues where it stopped; a network
        within its training.
    keep_models
        Folder to which every trained model is written, to a file with its name, training noise, run
        and part of its ID. Those whose results are on record, but whose file is not there, are
        trained again.
    n_jobs
        Number of processes, as in joblib; a surrounding ``joblib.parallel_config`` applies. Within
        ``with cluster(…)``, the workers of the cluster are used instead.
    trust
        Whether model files that may hold code, such as ``.joblib``, are loaded.
    until
        Add runs until this rule knows enough, such as ``Precision(0.5, of="mscr")``, but not more
        than `runs`. Intervals hold wherever it stops.
    record
        ``"hits"``, the default: keep how many answers were right. ``"answers"``: keep the answers,
        as `evaluate` does.
    progress
        Show a bar on stderr.

    Returns
    -------
    Records
        One cell per model, training noise, test noise and run.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train_eps": [0], "test_eps": ["eps_min"], "k": 1, "n_jobs": 1}
    >>> records = st.study("iris", "1nn", **options, runs=2)
    >>> len(records), sorted({record.run for record in records})
    (4, [0, 1])
    """
    options = StudyOptions(
        models=ModelOptions(trust=trust),
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
        store=store,
        keep_models=keep_models,
        jobs=n_jobs,
        until=until,
        record=record,
        quiet=not progress,
    )
    described = describe_call(data, models, options)
    data = as_dataset(data)
    return run_study(data, load_trainees(models, data, trust=trust), options, *described)


def run_study(
    data: Dataset,
    trainees: Mapping[str, Any],
    options: StudyOptions,
    settings: Mapping[str, Any],
    lacks: Mapping[str, str],
) -> Records:
    """Carry out a study; the results file keeps `settings` and what they lack (`CommandRecord`)."""
    store, keep_models, until = options.store, options.keep_models, options.until
    if keep_models is not None:
        make_folder(keep_models, "keep_models")
    files = ModelFiles(_make_absolute(keep_models), _make_absolute(store))
    with Store(store) as results:
        plan = plan_study(data, trainees, results, options, files=files)
        cells = [cell for task in plan for cell in task.cells]
        command = make_command_record(
            "study",
            settings,
            lacks,
            write_words(StudyOptions, settings),
            fingerprint=data.fingerprint,
            models=identify_trainees(trainees),
            recipes=(cell.origin.recipe for cell in cells),
            seed=cells[0].noise.seed,
        )
        results.add_command(command)

        trained_again: list[Task] = []

        def carry_out(runs: int) -> Records:
            """Carry out the first runs, as far as they are not on record."""
            tasks = [task for task in plan if task.run < runs]
            known = results.keys()
            known -= results.list_unanswered() if options.record == "answers" else set()
            todo = [task for task in tasks if any(cell.key not in known for cell in task.cells)]
            done = (task for task in tasks if all(cell.key in known for cell in task.cells))
            again = [replace(task, cells=task.cells[:1]) for task in done if task.lacks_file]
            trained_again.extend(again)
            todo += again  # and tested on clean points alone
            every = [cell for task in tasks for cell in task.cells]
            with say_what_is_kept(results), closing(run_tasks(todo, options.jobs)) as outcomes:
                keep_outcomes(
                    show_progress(
                        outcomes, "training and testing", total=len(todo), enabled=not options.quiet
                    ),
                    results,
                    resumed=any(cell.key in known for cell in every),
                )
            return load_measured(results, every)

        try:
            most = options.most_runs
            records = carry_out(most) if until is None else add_runs(carry_out, most, until)
        finally:
            files.remove_folder()
    notes = [*list_notes(trainees, data), *_note_files(trained_again, keep_models)]
    return replace(records, notes=(*records.notes, *notes), commands=(command,))


def _note_files(trained_again: Sequence[Task], folder: str | Path | None) -> list[str]:
    """Say that models were trained whose results are not new."""
    if not trained_again:
        return []
    why = f"because their files were not in {folder}"
    return [f"models trained again, {why}: {len(trained_again)}; their results are on record"]


def _make_absolute(path: str | Path | None) -> Path | None:
    """Return a path as workers in other folders need it."""
    return None if path is None else Path(path).absolute()
