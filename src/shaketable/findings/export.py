"""Findings and records as tables, files, model cards and runs of MLflow."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    TypedDict,
    get_args,
)

from shaketable.core.checks import unknown_name
from shaketable.core.errors import (
    InputError,
    either,
    guard_foreign,
)
from shaketable.core.schemas import add_version
from shaketable.core.versions import list_versions
from shaketable.core.writing import write_beside, write_table
from shaketable.data.dataset import LabelJson
from shaketable.evaluation.records import Record, Records
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mcv.finding import SetVariation
from shaketable.findings.page import describe_suites, write_report
from shaketable.findings.provenance import list_settings
from shaketable.findings.results import Found, Results, as_results, find
from shaketable.statistics.estimate import Estimate
from shaketable.views.formats import Markdown
from shaketable.views.terminal import print_lines, print_table, render
from shaketable.views.text import join_distinct, make_visible

if TYPE_CHECKING:
    import pandas as pd


Content: TypeAlias = Literal["findings", "cells", "points"]

Target: TypeAlias = Literal["csv", "parquet", "json", "card", "mlflow"]

ENDINGS: dict[Target, tuple[str, ...]] = {
    "csv": (".csv", ".csv.gz"),
    "parquet": (".parquet",),
    "json": (".json",),
    "card": (".md",),
    "mlflow": (),
}
"""Endings of the files that results can be written to."""


class SettingJson(TypedDict):
    """A cell: one model under one corruption."""

    data: str
    model: str
    train: Annotated[str, "Training noise as a spec; as given for a model that came fitted."]
    corruption: str
    bounds: str
    draws: str
    k: int
    seed: int
    run: int
    key: str


class CellJson(SettingJson):
    """A cell and its accuracy."""

    n: int
    accuracy: Annotated[float, "Share of draws classified correctly, a fraction."]
    seconds: float | None


PointJson = TypedDict(
    "PointJson",
    {
        "row": Annotated[int, "Row of the data."],
        "class": LabelJson,
        "hits": Annotated[int, "Correctly classified draws, 0 to k."],
        "by_*": NotRequired[
            Annotated[str | None, "Group of the row by a column; null for data without it."]
        ],
    },
)


class CellPointJson(SettingJson, PointJson):
    """A point of a cell."""


class CellsJson(TypedDict):
    """All cells."""

    cells: list[CellJson]


class PointsJson(TypedDict):
    """All points of all cells."""

    points: list[CellPointJson]


ExportJson: TypeAlias = Annotated[
    CellsJson | PointsJson,
    "File of export with the content cells or points; findings are as described for report",
]

_LONGEST = 500  # characters of a parameter that every version of MLflow takes
_BATCH = 1000  # metrics that MLflow takes at once
_INSTALL = "pip install 'shaketable[mlflow]'"
_DATABASES = ("sqlite:", "mysql", "postgresql", "mssql")  # begins of addresses
_VALUES = ("mean", "low", "high", "upper", "sd", "method")
_SENTENCES = {"answer", "verdict", "meaning", "reference_words"}


def export(
    results: Found,
    path: str | Path | None = None,
    *,
    to: Target | None = None,
    content: Content = "findings",
    task: str | None = None,
    tracking_uri: str | None = None,
    experiment: str = "shaketable",
    run_name: str = "shaketable",
) -> Path | str:
    """Write results to a table, a JSON file, a section for a model card, or to MLflow.

    Parameters
    ----------
    results
        Findings, records or a results file.
    path
        File to write: ``.csv``, ``.csv.gz``, ``.parquet``, ``.json``, or ``.md`` for a card. A card
        without a path is returned; MLflow takes none.
    to
        ``csv``, ``parquet``, ``json``, ``card`` or ``mlflow``; by default what the path ends in.
    content
        Of tables and JSON. ``findings``: every value with its interval, in JSON as `Results.json`
        has it. ``cells``: one row per model and corruption. ``points``: one row per point of every
        cell.
    task
        Of a card: the task of the models on the Hugging Face Hub, such as
        ``image-classification``; the card then begins with the metrics as YAML (``model-index``).
    tracking_uri, experiment, run_name
        Of MLflow: where to log, by default what MLflow itself is set to; and the names of the
        experiment, which is made if there is none, and of the run.

    Returns
    -------
    Path or str
        The file; the text of a card without a path; the ID of the run in MLflow.

    Examples
    --------
    >>> import shaketable as st
    >>> points = [[0.0], [0.4], [1.0]], [False, False, True]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, points, ["linf(eps_min)"], name="step")
    >>> print(st.export(records, to="card").splitlines()[0])
    ## Robustness
    """
    target = _choose_target(path, to)
    results = as_results(results)
    if target == "mlflow":
        return log_mlflow(
            results, tracking_uri=tracking_uri, experiment=experiment, run_name=run_name
        )
    if target == "card":
        card = make_card(results, task=task)
        if path is None:
            return card
        with write_beside(path, "card") as beside:
            beside.write_text(card, encoding="utf-8")
        return Path(path)
    assert path is not None
    return write_findings(path, results, content=content)


def _choose_target(path: str | Path | None, to: Target | None) -> Target:
    """Return what is written: as asked for, or as the path ends."""
    if to is not None and to not in ENDINGS:
        raise unknown_name("target of export", to, ENDINGS)
    if path is None:
        if to not in ("card", "mlflow"):
            needed = either("-o", "path")
            raise InputError(f"{needed} must name a file, such as results.{to or 'csv'}; add it")
        return to
    found = [target for target, ends in ENDINGS.items() if str(path).lower().endswith(ends)]
    if not found:
        endings = [ending for ends in ENDINGS.values() for ending in ends]
        raise unknown_name("ending of an exported file", Path(path).suffix, endings)
    if to not in (None, found[0]):
        rule = f"end in {', '.join(ENDINGS[to])}" if ENDINGS[to] else "be left out"
        name = either("-o", "path")
        raise InputError(f"{name} must {rule} for {to}, got {str(path)!r}; change one of the two")
    return found[0]


def write_findings(path: str | Path, results: Results, *, content: Content = "findings") -> Path:
    """Write findings or records as a table or as JSON; see `export`."""
    if content not in get_args(Content):
        raise unknown_name("content", content, get_args(Content))
    path = Path(path)
    with write_beside(path, content) as beside:
        if path.name.lower().endswith(ENDINGS["json"]):
            beside.write_text(json.dumps(_make_document(results, content), indent=2))
        else:
            write_table(make_frame(results, content), beside)
    return path


def make_frame(results: Results, content: Content = "findings") -> pd.DataFrame:
    """Return findings, cells or points as a pandas DataFrame; see `export`."""
    if content == "findings":
        return findings_frame(results)
    return results.records.to_frame(points=content == "points")


def findings_frame(results: Results) -> pd.DataFrame:
    """Return every value that has an interval or a bound as one row of a pandas DataFrame.

    ``finding`` and ``quantity`` say what it is: the name of the finding, and the keys that lead to
    it in `Results.json`. Values are in per cent or percentage points, as there.
    """
    import pandas as pd  # slow to import

    rows = [
        {"finding": name, **row}
        for name, finding in results.findings.items()
        for row in _list_values(finding.json(), {}, ())
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    about = [name for name in names if name not in _VALUES]
    frame = pd.DataFrame(rows, columns=[*about, *(name for name in _VALUES if name in names)])
    if "p" in frame:
        frame["p"] = pd.to_numeric(frame["p"])  # JSON has no infinity, so there it is text
    for name in frame:
        types = {type(value) for value in frame[name].dropna()}
        if len({float if kind is int else kind for kind in types}) > 1:
            frame[name] = frame[name].map(str, na_action="ignore")  # files need one type
    return frame.convert_dtypes()


def _list_values(
    node: Any, about: dict[str, Any], keys: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Yield all values below a node of JSON, each with what the nodes above it say about it."""
    if isinstance(node, list):
        for part in node:
            yield from _list_values(part, about, keys)
    if not isinstance(node, dict):
        return
    facts = {
        key: value
        for key, value in node.items()
        if not isinstance(value, dict | list | None) and key not in _SENTENCES
    }
    about = about | {key: value for key, value in facts.items() if key not in _VALUES}
    if "mean" in facts:
        values = {key: facts[key] for key in _VALUES if key in facts}
        yield {"quantity": ".".join(keys), **about, **values}
    for key, part in node.items():
        yield from _list_values(part, about, (*keys, key))


def _make_document(results: Results, content: Content) -> dict[str, Any]:
    if content == "findings":
        return add_version(results.json())
    frame = make_frame(results, content).astype(object)
    return add_version({content: frame.where(frame.notna(), None).to_dict("records")})


@dataclass(frozen=True)
class Headline:
    """One metric of one model."""

    model: str
    """Label of the model."""
    data: str
    metric: str
    """Such as ``accuracy``, ``mscr`` or ``mce_lp``."""
    condition: str
    """``clean``, the name of a corruption, or the name of a suite."""
    value: Estimate

    @property
    def name(self) -> str:
        """The metric and its condition, in words."""
        if self.metric == "mscr":
            return f"MSCR under {self.condition}"
        return f"{self.metric.replace('_', ' ')}, {self.condition}"


def list_headlines(results: Results) -> Iterator[Headline]:
    """Yield the headline metrics of all models.

    Corruptions of scored suites are left out, as the suite has a score, unless they are noise of
    size eps_min.
    """
    groups = results.groups
    in_suites = {
        cell.key
        for result in groups.suite_results
        if result.suite.metric in groups.scored
        for series in result.series
        for cell in series.noisy
    }
    for condition in groups.conditions:
        for model, series in condition.series.items():
            if series.first.key in in_suites and not (condition.is_clean or series.at_eps_min):
                continue
            about = model, series.first.data
            yield Headline(*about, "accuracy", condition.noise, series.accuracy)
            if series.at_eps_min and series.change is not None:
                yield Headline(*about, "mscr", condition.noise, series.change)
    errors, variation = results.findings.get("mce"), results.findings.get("mcv")
    for board in errors.boards if isinstance(errors, SuiteErrors) else ():
        for score in board.scores:
            if score.value is not None:
                suite = board.suite
                yield Headline(score.label, score.first.data, suite.metric, suite.name, score.value)
    for sets in variation.boards if isinstance(variation, SetVariation) else ():
        for entry in sets.entries:
            about, suite_name = (entry.label, sets.data), sets.suite.name
            yield Headline(*about, "mean_accuracy", suite_name, entry.stability.mean)
            yield Headline(*about, "cv", suite_name, entry.stability.cv)


def make_card(results: Results | Records, *, task: str | None = None) -> str:
    """Return a section for a model card, as Markdown.

    It has all tables and sentences with their intervals, notes, and how they were measured.

    Parameters
    ----------
    results
        All findings of some records, or the records.
    task
        Task of the models on the Hugging Face Hub, such as ``image-classification``. If it is
        given, the text begins with the metrics as YAML for the head of a model card
        (``model-index``).

    Returns
    -------
    str
        Markdown text.
    """
    if isinstance(results, Records):
        results = find(results)
    head = "" if task is None else make_model_index(results, task)
    return f"{head}## Robustness\n\n{render(lambda: _print_section(results), Markdown())}"


def make_model_index(results: Results, task: str) -> str:
    """Return the metrics of all fitted models as the YAML head of a model card, in per cent.

    Every metric has its 95 % interval among its arguments.
    """
    metrics: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for headline in list_headlines(results):
        by_data = metrics.setdefault(headline.model, {})
        by_data.setdefault(headline.data, []).append(_make_metric(headline))
    index = [
        {
            "name": model,
            "results": [
                {
                    "task": {"type": task},
                    "dataset": {"type": data, "name": data},
                    "metrics": entries,
                }
                for data, entries in by_data.items()
            ],
        }
        for model, by_data in metrics.items()
    ]
    lines = ["---", *_write_yaml({"model-index": index}), "---", "", ""]
    return "\n".join(lines)


def _print_section(results: Results) -> None:
    tool = f"shaketable {version('shaketable')}"
    print_lines(
        f"Measured with {tool}: accuracy under random noise and other corruptions, with 95 % "
        "intervals. MSCR is the change of the accuracy under noise of size eps_min, relative to "
        "the clean accuracy; eps_min is half the distance between the closest two points of "
        "different classes."
    )
    results.print()
    settings = list_settings(results.records, describe_suites(results))
    print_table("How it was measured", ["setting", "value"], list(settings.items()))


def _make_metric(headline: Headline) -> dict[str, Any]:
    value, low, high = (
        round(100 * v, 4) for v in (headline.value.value, headline.value.low, headline.value.high)
    )
    arguments = {"condition": headline.condition, "low": low, "high": high}
    return {"type": headline.metric, "name": headline.name, "value": value, "args": arguments}


def _write_yaml(value: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Write dictionaries, lists of dictionaries, texts and numbers as lines of YAML."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield f"{indent}{key}:"
            yield from _write_yaml(part, f"{indent}  ")
        elif isinstance(part, list):
            yield f"{indent}{key}:"
            for entry in part:
                first, *rest = _write_yaml(entry)
                yield f"{indent}- {first}"
                yield from (f"{indent}  {line}" for line in rest)
        else:
            shown = make_visible(part) if isinstance(part, str) else part
            yield f"{indent}{key}: {json.dumps(shown, ensure_ascii=False)}"


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
