"""Results as runs of MLflow: parameters, metrics with intervals, and the page as an artifact."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from shaketable.core.errors import (
    InputError,
    either,
    guard_foreign,
)
from shaketable.core.versions import list_versions
from shaketable.evaluation.records import Record, Records
from shaketable.findings.export import Headline, list_headlines, write_findings
from shaketable.findings.page import write_report
from shaketable.findings.results import Results, find
from shaketable.views.text import join_distinct, make_visible

_LONGEST = 500  # characters of a parameter that every version of MLflow takes
_BATCH = 1000  # metrics that MLflow takes at once
_INSTALL = "pip install 'shaketable[mlflow]'"
_DATABASES = ("sqlite:", "mysql", "postgresql", "mssql")  # begins of addresses


def log_mlflow(
    results: Results | Records,
    *,
    tracking_uri: str | None = None,
    experiment: str = "shaketable",
    run_name: str = "shaketable",
) -> str:
    """Log results to MLflow, and return the ID of the run.

    The run has the settings as parameters, and the page and all values (``findings.csv``,
    ``findings.json``) as artifacts. Metrics are in per cent; the limits of the 95 % interval have
    the same name with ``.low`` and ``.high``. Of several models, each has a run of its own below.

    Parameters
    ----------
    results
        All findings of some records, or the records.
    tracking_uri
        Where to log; by default what MLflow itself is set to.
    experiment, run_name
        Names of the experiment, which is made if there is none, and of the run.

    Returns
    -------
    str
        ID of the run.
    """
    try:
        import mlflow
    except ImportError as error:
        raise InputError(f"MLflow is not installed; {_INSTALL}") from error
    if isinstance(results, Records):
        results = find(results)
    uri = tracking_uri or mlflow.get_tracking_uri()
    _check_database(uri)
    failure = f"MLflow failed: {{error}}; check the tracking URI, which is {uri!r}"
    with guard_foreign(failure), _allow_folders():
        client = mlflow.MlflowClient(uri)
        return _log_runs(client, results, experiment, run_name)


def _check_database(uri: str) -> None:
    """Raise an `InputError` if MLflow would need a database that it has no packages for."""
    if not uri.startswith(_DATABASES):
        return
    try:
        for package in ("sqlalchemy", "alembic"):
            import_module(package)
    except ImportError as error:
        raise InputError(
            f"tracking URI {uri!r} is a database, for which mlflow-skinny alone lacks the packages "
            f"({error.name}); {_INSTALL}, or name a folder or the address of a server by "
            + either("--tracking-uri", "tracking_uri=")
        ) from error


@contextmanager
def _allow_folders() -> Iterator[None]:
    """Context in which MLflow writes to a folder, which it takes as an address, but refuses."""
    name = "MLFLOW_ALLOW_FILE_STORE"
    before = os.environ.get(name)
    os.environ[name] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _log_runs(client: Any, results: Results, experiment: str, run_name: str) -> str:
    by_model: dict[str, list[Headline]] = {}
    for headline in list_headlines(results):
        by_model.setdefault(headline.model, []).append(headline)
    known = client.get_experiment_by_name(experiment)
    where = client.create_experiment(experiment) if known is None else known.experiment_id
    with _start_run(client, where, run_name) as run_id:
        for name, value in _list_params(results.records).items():
            client.log_param(run_id, name, value)
        if len(by_model) == 1:
            _log_model(client, run_id, *by_model.popitem())
        for model, headlines in by_model.items():
            with _start_run(client, where, model, parent=run_id) as child:
                _log_model(client, child, model, headlines)
        with tempfile.TemporaryDirectory() as folder:
            client.log_artifact(run_id, write_report(Path(folder, "report.html"), results))
            for ending in ("csv", "json"):
                client.log_artifact(
                    run_id, write_findings(Path(folder, f"findings.{ending}"), results)
                )
    return run_id


@contextmanager
def _start_run(client: Any, experiment: str, name: str, *, parent: str = "") -> Iterator[str]:
    """Context of a run, which ends as finished or failed; MLflow's active run stays what it is."""
    tags = {"mlflow.parentRunId": parent} if parent else {}
    name = make_visible(name, limit=_LONGEST)
    run_id = str(client.create_run(experiment, run_name=name, tags=tags).info.run_id)
    try:
        yield run_id
    except BaseException:
        client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id)


def _log_model(client: Any, run_id: str, model: str, headlines: Iterable[Headline]) -> None:
    from mlflow.entities import Metric

    client.log_param(run_id, "model", make_visible(model, limit=_LONGEST))
    values: dict[str, float] = {}
    for headline in headlines:
        name = _make_name(f"{headline.metric}/{headline.condition}", values)
        e = headline.value
        values |= {
            f"{name}{end}": 100 * v
            for end, v in (("", e.value), (".low", e.low), (".high", e.high))
        }
    moment = time.time_ns() // 1_000_000
    metrics = [Metric(name, value, moment, 0) for name, value in values.items()]
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH])


def _make_name(text: str, taken: Iterable[str]) -> str:
    """Return a name that MLflow takes and that no other metric has.

    >>> _make_name("accuracy/linf(0.1)", ["accuracy/linf_0.1"])
    'accuracy/linf_0.1_2'
    """
    name = re.sub(r"[^\w.\-/ ]+", "_", text, flags=re.ASCII).strip("_")[:200]
    names = [name, *(f"{name}_{number}" for number in range(2, len(list(taken)) + 3))]
    return next(each for each in names if each not in taken)


def _list_params(records: Records) -> dict[str, str]:
    """Return the settings of the records by name."""
    noisy = [c for c in records if not c.is_clean] or list(records)

    def join(name: str, cells: Iterable[Record]) -> str:
        return make_visible(join_distinct(c.get(name) for c in cells), limit=_LONGEST)

    return {
        "data": join("data", records),
        "fingerprint": join("fingerprint", records),
        "test_points": join("n", records),
        "corruptions": join("corruption", noisy),
        "k": join("k", noisy),
        "draws": join("draws", noisy),
        "bounds": join("bounds", noisy),
        "seed": join("seed", records),
        "shaketable": list_versions()["shaketable"],
    }
