"""Evaluate fitted models under corruptions; cells that fail are recorded, and the others go on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np

from shaketable.core.errors import InputError, ModelError, ShaketableError, WorkerError, either
from shaketable.core.keys import digest
from shaketable.core.norms import depends_on_distances
from shaketable.core.workers.tasks import Outcome, Task, on_cluster, run_tasks
from shaketable.corruptions import Clean, Corruption
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import By, Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.cells import Cell, Origin, group_by_draws, make_points, measure_groups
from shaketable.evaluation.evaluate_options import EvaluateOptions
from shaketable.evaluation.noise import USUAL_K, Draws, Noise, RuleName, choose_bounds
from shaketable.evaluation.records import (
    AS_GIVEN,
    FailureRecord,
    GroupingRecord,
    Record,
    Records,
    copy_id,
)
from shaketable.evaluation.resolve import Corruptions, list_items, plan_noise
from shaketable.evaluation.sequential import StoppingRule, choose_draws, measure_until
from shaketable.evaluation.store import Store
from shaketable.models.classifier import Classifier, as_classifier, model_name
from shaketable.models.failures import report_failures
from shaketable.models.fitting import fit
from shaketable.views.progress import show_progress
from shaketable.views.text import name_notes


def evaluate(
    model: Any,
    data: Any,
    corruptions: Corruptions,
    *,
    k: int | Literal["auto"] | None = None,
    seed: int = 0,
    store: str | Path | None = None,
    bounds: BoundsLike | RuleName = "declared",
    draws: Draws | None = None,
    device_noise: bool = False,
    name: str | None = None,
    model_id: str | None = None,
    refit: bool = False,
    unscale: bool = False,
    by: By = (),
    until: StoppingRule | None = None,
    record: Literal["answers", "hits"] | None = None,
    progress: bool = False,
) -> Records:
    """Measure a fitted model on clean points and under every corruption.

    Parameters
    ----------
    model
        Fitted estimator, or a callable from points to labels or scores; or several, as a mapping
        from names to them.
    data
        ``(x, y)``, a `Dataset`, or what `load` takes; uint8 images count as x/255, as in
        `make_dataset`. The model is evaluated on the test part, or on all points if there is none
        and the model comes fitted.
    corruptions
        Specs such as ``linf(0.1)``, corruptions, or suites such as ``suite("pnorm-cifar")``: one or
        many. In specs, ``eps_min`` stands for half the class separation of the data, and
        ``0.5*eps_min`` for half of that.
    k
        Noisy copies of every point; by default 10, for a suite what it was published with. With
        `until`, ``"auto"`` chooses the number that needs the fewest answers of the model, from 10
        copies of the first 100 points; of several models, those of the first decide for all.
    seed
        Every model gets the same noise from the same seed, so their results are paired.
    store
        Results file; cells that it contains are not measured again.
    bounds
        (low, high) to clip to, a `Bounds` for another rule, ``"clip"`` or ``"truncate"`` for the
        range of the data with this rule, None for no bounds; by default what the data declare.
    draws
        ``"independent"``: every corruption has its own noise; the default outside suites.
        ``"ladder"``: a point's noise is drawn once per norm and scaled to all sizes; the default
        within suites. It takes a tenth of the time for ten sizes, and the differences between sizes
        have less random error; the distribution at each size is the same. ``"shared"``: in
        addition, all points get the same k offsets; only for reproducing the 2-D study.
    device_noise
        Make noise on the device of a torch module, not on the CPU, where that is possible. This is
        faster for small networks. Noise of p-norms has the same distribution, but other random
        numbers, so results are never paired with those of other models; on uint8 images salt &
        pepper, ``ga``, rotations and noise on single pixels are the same as on the CPU.
    name
        Name of the model in results; by default that of the function, class or file.
    model_id
        Stable ID, by which `store` recognises the model; by default a hash of its content. A
        function has none.
    unscale
        Undo the scaling of the features to [0, 1], for a model that was trained on raw units.
    refit
        Train a copy of the model on the training part first: the data's own, or 80 % of the points
        chosen by `seed`.
    by
        Columns that rows are grouped by, besides their class: names of features, or a mapping from
        names to one value per row. Accuracies are then reported for every group.
    until
        Take points at random until this rule knows enough, such as ``Precision(0.5)`` or
        ``Decided("mscr >= -1")``; without it all points. Intervals hold wherever it stops.
    record
        ``"answers"``, the default: keep what the model answered, per point and draw; cells that
        `store` holds without answers are measured again if this is said. ``"hits"``: keep how many
        answers were right, which takes less space.
    progress
        Show a bar on stderr.

    Returns
    -------
    Records
        One cell per model and corruption, and what is known about the data.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[i / 100] for i in range(100)], [i > 50 for i in range(100)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)")
    >>> [(record.corruption, float(record.accuracy)) for record in records]
    [('clean', 1.0), ('linf(0.1)', 0.949)]
    """
    data = as_dataset(data).grouped(by)
    subjects = [Subject(model, name, model_id, refit)]
    if isinstance(model, Mapping):
        if not model or name is not None or model_id is not None:
            raise InputError(
                "a mapping of models must not be empty, and its keys are their names: leave out "
                "name and model_id"
            )
        subjects = [Subject(each, each_name, None, refit) for each_name, each in model.items()]
    options = EvaluateOptions(
        k=k,
        seed=seed,
        store=store,
        bounds=bounds,
        draws=draws,
        device_noise=device_noise,
        unscale=unscale,
        until=until,
        record=record,
        quiet=not progress,
    )
    return evaluate_each(subjects, data, corruptions, options)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model that is evaluated; its fields are the arguments of `evaluate`."""

    model: Any
    name: str | None
    model_id: str | None
    refit: bool


def evaluate_each(
    subjects: Iterable[Subject],
    data: Dataset,
    corruptions: Corruptions,
    options: EvaluateOptions,
) -> Records:
    """Evaluate models under the same corruptions; see `evaluate`.

    Here, one model is made and measured after the other; on a cluster, all cells of all models are
    measured at the same time, and those that fail do not stop the others. A stopping rule looks at
    one model after the other, so with a rule they are measured here.
    """
    k, until, progress = options.copies, options.until, not options.quiet
    spread = on_cluster() and until is None
    if k == "auto" and until is None:
        raise InputError(
            "k must be a number without a stopping rule, got 'auto'; add "
            f"{either('--precision', 'until=')}"
        )
    with Store(options.store) as results:
        plans: Iterable[_Plan] = (
            _plan_cells(subject, data, corruptions, results, options) for subject in subjects
        )
        records, notes = Records(()), list[tuple[str, str]]()
        again = results.list_unanswered() if options.record == "answers" else set[str]()
        if spread:
            plans = list(plans)
            _measure_on_cluster(results, plans, again, progress=progress)
        for classifier, cells in plans:
            if spread:
                measured = load_measured(results, cells)
            elif until is not None:
                with say_what_is_kept(results):
                    if k == "auto":  # for this model and the next ones, so that they are paired
                        k = choose_draws(classifier, cells, progress=progress)
                    some = [_set_draws(cell, k) for cell in cells]
                    done = measure_until(results, classifier, some, until, again, progress=progress)
                measured = load_records(results, done)
            else:
                measured = _measure_missing(results, classifier, cells, again, progress=progress)
            records = add_model(records, measured, options.store)
            notes += ((classifier.name, note) for note in classifier.notes)
        return replace(records, notes=(*records.notes, *name_notes(notes)))


def _plan_cells(
    subject: Subject,
    data: Dataset,
    corruptions: Corruptions,
    store: Store,
    options: EvaluateOptions,
) -> _Plan:
    """Return a model, trained first if that is asked for, and its cells."""
    model, name, refit = subject.model, subject.name, subject.refit
    seed, k = options.seed, USUAL_K if options.copies == "auto" else options.copies
    if refit:
        train, rows = data.parts(seed=seed)
        model = fit(model, data, train, seed=seed, name=name)
    else:
        rows = np.arange(data.n_train or 0, data.n)
        data.check_test_size(len(rows))
    with report_failures(name or model_name(model)):
        classifier = as_classifier(
            model, data, name=name, model_id=subject.model_id, unscale=options.unscale and not refit
        )
    noise = Noise(
        k=USUAL_K if k is None else k,
        seed=seed,
        draws=options.draws or "independent",
        bounds=choose_bounds(data, options.bounds),
        on_device=options.device_noise,
    )
    if noise.on_device and data.table is not None:
        raise InputError(
            "device_noise is for points that are plain numbers, got a table of several kinds "
            "or with columns chosen; leave it out: noise is then drawn on the CPU"
        )
    if noise.on_device and classifier.device is None:
        raise InputError(
            f"device_noise needs a torch module, and model {classifier.name} is none; leave "
            "it out: noise is then drawn on the CPU"
        )
    drawn: list[tuple[Corruption, Noise]] = [(Clean(), noise)]
    drawn += plan_noise(
        list_items(corruptions),
        data,
        noise,
        store,
        bounds=options.bounds,
        draws=options.draws,
        k=k,
    )
    record_groupings(data, store)
    identity = classifier.identity or f"once {digest(time.time_ns()):016x}"
    origin = Origin(classifier.name, recipe=identity, train=AS_GIVEN)
    points = make_points(data, rows)
    keep = options.record != "hits"
    cells = [Cell(data, points, c, each, origin, identity, keep) for c, each in drawn]
    return classifier, list({cell.key: cell for cell in cells}.values())


_Plan: TypeAlias = tuple[Classifier, list[Cell]]


def _measure_missing(
    store: Store,
    classifier: Classifier,
    cells: Sequence[Cell],
    again: set[str],
    *,
    progress: bool,
) -> Records:
    """Measure the cells that `store` does not contain yet, or `again`; return those of all."""
    known = store.keys() - again
    groups = group_by_draws(cell for cell in cells if cell.key not in known)
    writer = _Writer(store)
    with say_what_is_kept(store):
        try:
            for records in measure_groups(groups, classifier, progress=progress):
                writer.add(records)
        finally:
            writer.flush()
    return load_records(store, cells)


@dataclass(eq=False)
class _Writer:
    """Writes records to the results file about once a second: a transaction takes milliseconds."""

    store: Store
    waiting: list[Record] = field(default_factory=list)
    written: float = -math.inf

    def add(self, records: Sequence[Record]) -> None:
        """Write these records, or keep them for the next time."""
        self.waiting += records
        if time.monotonic() > self.written + 1:
            self.flush()

    def flush(self) -> None:
        """Write the records that wait to the results file."""
        if self.waiting:
            self.store.add(self.waiting)
        self.waiting, self.written = [], time.monotonic()


def _set_draws(cell: Cell, k: int | None) -> Cell:
    """Return a cell with k draws per point; None for those it has."""
    return cell if k is None else replace(cell, noise=replace(cell.noise, k=k))


def _measure_on_cluster(
    store: Store, plans: Sequence[_Plan], again: set[str], *, progress: bool
) -> None:
    """Measure the cells of all models that `store` does not contain yet, or `again`."""
    known = store.keys() - again
    tasks = [
        _Task(classifier, group)
        for classifier, cells in plans
        for group in group_by_draws(cell for cell in cells if cell.key not in known)
    ]
    with say_what_is_kept(store), closing(run_tasks(tasks)) as outcomes:
        keep_outcomes(
            show_progress(outcomes, "evaluating", total=len(tasks), enabled=progress),
            store,
            resumed=any(cell.key in known for _, cells in plans for cell in cells),
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """The cells of one model that share their draws."""

    classifier: Classifier
    cells: Sequence[Cell]

    @property
    def name(self) -> str:
        """Model and corruption."""
        return f"model {self.classifier.name}, {self.cells[0].place}"

    @property
    def shared(self) -> tuple[object, ...]:
        """The data and the model."""
        return self.cells[0].data, self.classifier

    @property
    def uses_gpu(self) -> bool:
        """Whether the model is on one."""
        return getattr(self.classifier.device, "type", "") == "cuda"

    def work(self, report: Callable[[str], None]) -> Measured:
        """Measure the cells."""
        report(self.name)
        (records,) = measure_groups([self.cells], self.classifier)
        return Measured(records)


def add_model(records: Records, measured: Records, store: str | Path | None) -> Records:
    """Return records of several models with those of one more, which has a name of its own.

    If it is the same as an earlier one, such as a version in which nothing changed, the earlier one
    is copied, here and in `store`, so that both names have results.
    """
    names = {cell.key: cell.model for cell in measured}
    copies = {
        cell.key: replace(
            cell,
            key=f"{digest(cell.key, cell.model):016x}{digest(cell.model, cell.key):016x}",
            recipe=copy_id(cell.recipe, cell.model),
            model_id=copy_id(cell.model_id, cell.model),
        )
        for cell in records
        if names.get(cell.key, cell.model) != cell.model
    }
    if copies:
        with Store(store) as results:
            results.add(copies.values())
    return replace(records, cells=tuple(copies.get(c.key, c) for c in records)) + measured


@contextmanager
def say_what_is_kept(store: Store) -> Iterator[None]:
    """Add to errors of models and workers that the same call goes on from the results file."""
    try:
        yield
    except (ModelError, WorkerError) as error:
        if store.in_memory:
            raise
        kept = f"what was measured is in {store.path}, run the same command to go on"
        raise type(error)(f"{error}; {kept}") from error


def load_records(store: Store, cells: Sequence[Cell]) -> Records:
    """Load the records of these cells, which are of one data set, with the names that they give.

    The models have these names in the results file from then on.
    Suites that other calls recorded in the same file are left out unless these cells cover them,
    and so are groups that the data do not have.
    """
    store.rename({cell.origin.recipe: cell.origin.name for cell in cells})
    records = store.records(dict.fromkeys(cell.key for cell in cells))
    specs = {r.corruption for r in records}
    groupings = {g.name for g in cells[0].data.groupings}
    distances = bool(records.separations) or any(map(depends_on_distances, specs))
    return replace(
        records,
        suites=tuple(s for s in records.suites if specs.issuperset(s.specs)),
        notes=tuple(cells[0].data.notes(distances=distances)),
        groupings=tuple(g for g in records.groupings if g.name in groupings),
    )


def load_measured(store: Store, cells: Sequence[Cell]) -> Records:
    """Load the records of those cells that were measured, and why others were not."""
    known, keys = store.keys(), {cell.key for cell in cells}
    done = [cell for cell in cells if cell.key in known]
    failures = tuple(f for f in store.everything().failures if f.key in keys)
    return replace(load_records(store, done) if done else Records(()), failures=failures)


def record_groupings(data: Dataset, store: Store) -> None:
    """Add the groups of the data's rows to the results file."""
    for g in data.groupings:
        store.add_grouping(GroupingRecord(data.fingerprint, g.name, g.labels, g.codes))


_HOPELESS = 3  # tasks that fail before any other has succeeded, after which all are given up


@dataclass(frozen=True)
class Measured:
    """What a task measured, and what it could not."""

    records: list[Record] = field(default_factory=list)
    failures: list[FailureRecord] = field(default_factory=list)

    def fail(self, cell: Cell, error: ShaketableError) -> None:
        """Record the error of a cell, of several that it left out the first."""
        text = " ".join(str(error).split())
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.failures.append(FailureRecord(cell.key, cell.data.fingerprint, text, now))


class CellTask(Task[Measured], Protocol):
    """A task that measures cells."""

    @property
    def cells(self) -> Sequence[Cell]:
        """The cells, at least one."""


def keep_outcomes(outcomes: Iterable[Outcome[Measured]], store: Store, *, resumed: bool) -> None:
    """Write what tasks measured, and why others failed.

    If the first three tasks fail, or all, the error of the first is raised, unless the work is
    `resumed`: then there are results to show.
    """
    failed: list[ShaketableError] = []
    for outcome in outcomes:
        measured = outcome.result or Measured()
        if outcome.error is not None:
            measured.fail(cast("CellTask", outcome.task).cells[0], outcome.error)
        store.add(measured.records)
        for failure in measured.failures:
            store.add_failure(failure)
        resumed = resumed or bool(measured.records)
        failed += [outcome.error] if outcome.error is not None else []
        if not resumed and len(failed) >= _HOPELESS:
            raise failed[0]
    if not resumed and failed:
        raise failed[0]


def check_complete(records: Records) -> None:
    """Raise an error if cells are missing because they failed."""
    if records.failures:
        number = len(records.failures)
        what = "1 failure" if number == 1 else f"{number} failures, the first"
        again = "; run the same command to try again what failed"
        if all(failure.is_lasting for failure in records.failures):
            again = ""
        raise ShaketableError(
            f"results are not complete: {what}: {records.failures[0].error}{again}"
        )
