"""Make a results file again, and say whether it agrees."""

from __future__ import annotations

import platform
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from shaketable.activities import evaluate, study
from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.importing import trust_only
from shaketable.core.options import list_options, make_options, read_settings
from shaketable.core.writing import write_beside
from shaketable.data.files import as_dataset
from shaketable.evaluation.command_records import CommandRecord, find_changes
from shaketable.evaluation.evaluate_options import EvaluateOptions, StudyOptions
from shaketable.evaluation.records import AS_GIVEN, Record, Records, original_id
from shaketable.evaluation.rerun import Rerun, compare_cells, find_devices
from shaketable.evaluation.store import Store
from shaketable.evaluation.store_guards import store_without_cells
from shaketable.training.hardening.search import names_training_part

_ACTIVITIES: dict[str, tuple[Any, type[Any]]] = {
    "study": (study, StudyOptions),
    "evaluate": (evaluate, EvaluateOptions),
}


def rerun(
    store: str | Path,
    *,
    data: Any = None,
    models: Any = None,
    out: str | Path | None = None,
    cells: int | None = None,
    trust: bool = False,
    n_jobs: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> Rerun:
    """Make a results file of `study` or ``shaketable evaluate`` again, and compare the two.

    Parameters
    ----------
    store
        Results file; it stays as it is.
    data, models
        Data and models that were given to `study` as objects, which a file cannot hold; or where
        the data are now. They must be those of then: their fingerprints are compared.
    out
        Results file to write, which must not exist; by default none is kept.
    cells
        Make only so many cells again, drawn at random; of a study the trainings they belong to.
    trust
        Whether modules that the file names are imported, and model files that may hold code loaded.
    n_jobs, progress
        As in `study`. Where work runs is never taken from the file, nor where files are written.
    device
        Where networks compute; by default on the GPU if there is one.

    Returns
    -------
    Rerun
        ``agrees`` says whether it agrees: all counts are identical or, with other versions of
        libraries or on another platform, differ no more than chance explains. `InputError` is
        raised before any work if the data or the models are gone or others.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shaketable as st
    >>> options = {"train_eps": [0], "test_eps": [0.1], "runs": 1, "k": 1, "n_jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = st.study("iris", "1nn", **options, store=Path(folder) / "study.sqlite")
    ...     print(st.rerun(Path(folder) / "study.sqlite", n_jobs=1).changes)
    ()
    """
    commands, records = read_commands(str(store))
    given = nullcontext() if trust else trust_only(_list_texts(models))
    if any(names_training_part(cell.data) for cell in records):
        raise InputError(
            f"results file {str(store)!r} holds results of harden, which rerun cannot make again; "
            "run harden again, with a new --store"
        )
    if out is not None and Path(out).exists():
        raise InputError(f"results file {str(out)!r} exists already; name a new file")
    made = {
        (original_id(recipe), command.fingerprint, command.seed)
        for command in commands
        for recipe in command.recipes
    }
    then = [cell for cell in records if _find_origin(cell) in made]
    again = then if cells is None else _draw_cells(then, commands, cells)
    with given, TemporaryDirectory(prefix="shaketable-") as folder:
        target = str(Path(folder, "again.sqlite"))
        flags = {
            "store": target,
            "trust": trust,
            "jobs": n_jobs,
            "device": device,
            "quiet": not progress,
        }
        inputs = [
            _prepare(command, str(store), flags, data=data, models=models) for command in commands
        ]
        if cells is not None:
            _copy_others(records, again, target)
        for command, (options, each) in zip(commands, inputs, strict=True):
            _ACTIVITIES[command.command][0].measure(options, each)
        made_again = read_commands(target)[1]
        changes, missing = compare_cells(again, made_again)
        if out is not None:
            with write_beside(out, "results file") as beside:
                copyfile(target, beside)
    return Rerun(
        store=str(store),
        commands=commands,
        cells=len(again),
        changes=changes,
        missing=missing,
        others=len(records) - len(then),
        failures=tuple(failure.error for failure in records.failures),
        sampled=cells is not None,
        versions={
            name: change
            for command in commands
            for name, change in find_changes(command.versions).items()
        }
        | find_devices(then, made_again),
        platform=(commands[-1].platform, platform.platform()),
    )


def read_commands(path: str) -> tuple[tuple[CommandRecord, ...], Records]:
    """Commands, at least one, and all cells of a results file."""
    with Store(path, must_exist=True) as file:
        commands = tuple(command for command in file.commands() if command.recipes)
        records = file.everything()
    if not commands and not records:
        raise store_without_cells(path)
    if not commands:
        raise InputError(
            f"results file {path!r} must say how it was made to be made again, but does not: it "
            "was made by an earlier version or by st.evaluate; run study or evaluate with it again"
        )
    return commands, records


def _find_origin(cell: Record) -> tuple[str, str, int]:
    """By what a cell is attributed to a command."""
    return original_id(cell.recipe), cell.fingerprint, cell.setting.seed


def _prepare(
    command: CommandRecord, path: str, flags: Mapping[str, Any], *, data: Any, models: Any
) -> tuple[Any, Any]:
    """Load data and models of a command; `InputError` if they are gone or not those of then."""
    given = {"data": data, "model": models}
    for key, what in command.lacks.items():
        if given.get(key) is None:
            name = "models" if key == "model" else key
            remedy = f"pass shaketable.rerun(store, {name}=…)" if key in given else "measure again"
            raise InputError(
                f"results file {path!r} cannot be made again by itself: it does not hold {name}, "
                f"which came from Python ({what}); {remedy}"
            )
    if command.command not in _ACTIVITIES:
        raise InputError(
            f"results file {path!r} was made by {command.command!r}, which rerun does not know; "
            "update shaketable, or measure again"
        )
    activity, kind = _ACTIVITIES[command.command]
    known = list_options(kind)
    kept = {k: v for k, v in command.settings.items() if k not in known or known[k].kept}
    values = read_settings(kind, kept, where=f"results file {path!r}") | dict(flags)
    if activity is study and not values.keys() & {"network", "recipe"}:
        values["device"] = None  # that of other commands in the file
    objects: dict[str, Any] = {}
    if isinstance(data, str | Path):
        values["data"] = str(data)
    elif data is not None:
        objects["data"] = as_dataset(data)
    if models is not None and activity is study:
        objects["models"] = models
    options = make_options(kind, values)
    with _name_file(path):
        inputs = activity.read_inputs(options, **objects)
    now = inputs.data.fingerprint
    if now != command.fingerprint:
        raise InputError(
            f"results file {path!r} was made with other data: the fingerprint of "
            f"{inputs.data.name} was {command.fingerprint} then and is {now} now; restore the data "
            "of then, or measure again"
        )
    with _name_file(path):
        identities = {} if find_changes(command.versions) else activity.identify(options, inputs)
    for name, identity in identities.items():
        if original_id(command.models.get(name, "")) != identity:
            raise InputError(
                f"results file {path!r} was made with another model {name}: its content or "
                "parameters are not those of then; restore the model of then, or measure again"
            )
    return options, inputs


@contextmanager
def _name_file(path: str) -> Iterator[None]:
    """Let an error say that it keeps this results file from being made again."""
    try:
        yield
    except InputError as error:
        raise InputError(f"results file {path!r} cannot be made again: {error}") from error


def _list_texts(value: Any) -> list[str]:
    """All texts among the models that were given."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [text for item in value for text in _list_texts(item)]
    return [value] if isinstance(value, str) else []


def _draw_cells(cells: Sequence[Record], commands: Sequence[CommandRecord], n: int) -> list[Record]:
    """Return cells that are made again: n at random, and all others of their trainings."""
    check_whole("cells", n, least=1)
    for command in commands:
        for name, (then, now) in find_changes(command.versions).items():
            raise InputError(
                f"cells must be left out, as {name} was {then} then and is {now} now: with other "
                "versions all cells are made again"
            )
    drawn = random.SystemRandom().sample(cells, min(n, len(cells)))
    keys = {cell.key for cell in drawn}
    trained = {cell.model_id for cell in drawn if cell.train != AS_GIVEN}
    return [cell for cell in cells if cell.key in keys or cell.model_id in trained]


def _copy_others(records: Records, again: Sequence[Record], path: str) -> None:
    """Write a results file with all cells but those that are made again."""
    without = {cell.key for cell in again}
    with Store(path) as file:
        file.add(cell for cell in records if cell.key not in without)
        for separation in records.separations:
            file.add_separation(separation)
