"""Studies: training noise x test noise x runs; seeded, parallel, resumed where they stopped.

Models are scikit-learn estimators, which are trained on noisy copies of the points, or models that
train themselves with noise, such as networks (`SelfTraining`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from shaketable.core.workers.tasks import run_tasks
from shaketable.core.writing import make_folder
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.command_records import (
    describe_call,
    make_command_record,
)
from shaketable.evaluation.evaluate import keep_outcomes, load_measured, say_what_is_kept
from shaketable.evaluation.noise import Draws, RuleName
from shaketable.evaluation.options import Epsilon, StudyOptions
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import (
    Corruptions,
)
from shaketable.evaluation.sequential import StoppingRule, add_runs
from shaketable.evaluation.store import Store
from shaketable.evaluation.study_plan import (
    Task,
    identify_trainees,
    plan_study,
)
from shaketable.evaluation.trainees import (
    ModelFiles,
    list_notes,
    load_trainees,
)
from shaketable.models.options import ModelOptions
from shaketable.views.progress import show_progress


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
        if not results.in_memory:
            cells = [cell for task in plan for cell in task.cells]
            results.add_command(
                make_command_record(
                    "study",
                    settings,
                    lacks,
                    fingerprint=data.fingerprint,
                    models=identify_trainees(trainees),
                    recipes=(cell.origin.recipe for cell in cells),
                    seed=cells[0].noise.seed,
                )
            )

        trained_again: list[Task] = []

        def carry_out(runs: int) -> Records:
            """Carry out the first runs, as far as they are not on record."""
            tasks = [task for task in plan if task.run < runs]
            known = results.keys()
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
    return replace(records, notes=(*records.notes, *notes))


def _note_files(trained_again: Sequence[Task], folder: str | Path | None) -> list[str]:
    """Say that models were trained whose results are not new."""
    if not trained_again:
        return []
    why = f"because their files were not in {folder}"
    return [f"models trained again, {why}: {len(trained_again)}; their results are on record"]


def _make_absolute(path: str | Path | None) -> Path | None:
    """Return a path as workers in other folders need it."""
    return None if path is None else Path(path).absolute()
