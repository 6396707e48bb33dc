"""Findings and records as tables, files, model cards and runs of MLflow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
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
)
from shaketable.core.schemas import add_version
from shaketable.core.writing import write_beside, write_table
from shaketable.data.dataset import LabelJson
from shaketable.evaluation.records import Records
from shaketable.findings.inputs.frames import answers_frame, inputs_frame
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mcv.finding import SetVariation
from shaketable.findings.page import describe_suites
from shaketable.findings.provenance import list_settings
from shaketable.findings.results import Found, Results, as_results, find
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Column, Table
from shaketable.views.formats import Markdown
from shaketable.views.terminal import print_blocks, print_lines, render
from shaketable.views.text import make_visible

if TYPE_CHECKING:
    import pandas as pd


Content: TypeAlias = Literal["findings", "tables", "cells", "points", "answers", "inputs"]

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


class ShownNumberJson(TypedDict):
    """A number of a table that is shown; rates are fractions."""

    table: Annotated[str, "Title of the table."]
    row: Annotated[str, "Texts of the row."]
    column: Annotated[str, "Heading of the column."]
    value: float
    low: float | None
    high: float | None
    method: str
    note: str


class TablesJson(TypedDict):
    """All numbers of all tables."""

    tables: list[ShownNumberJson]


AnswerJson = TypedDict(
    "AnswerJson",
    {
        "data": str,
        "model": str,
        "train": str,
        "corruption": str,
        "run": int,
        "row": Annotated[int, "Row of the data."],
        "draw": Annotated[int, "Number of the draw, from 0."],
        "class": LabelJson,
        "answer": Annotated[LabelJson | None, "null for a class that the data lack."],
        "confidence": Annotated[float | None, "Score of the answer; null without scores."],
        "true_score": Annotated[float | None, "Score of the true class."],
        "rank": Annotated[int | None, "Rank of the true class, 1 for the highest score."],
    },
)


class AnswersJson(TypedDict):
    """All answers of all cells."""

    answers: list[AnswerJson]


FlippedInputJson = TypedDict(
    "FlippedInputJson",
    {
        "data": str,
        "model": str,
        "corruption": str,
        "row": Annotated[int, "Row of the data."],
        "class": LabelJson,
        "answer": Annotated[LabelJson | None, "Most frequent wrong answer."],
        "wrong": Annotated[float, "Share of wrong draws, a fraction."],
        "confidence": Annotated[float | None, "Mean confidence of wrong answers."],
        "right_when_clean": bool,
        "smallest_size": Annotated[
            float | None, "Smallest size of its ladder that flips the point; null for none."
        ],
    },
)


class FlippedInputsJson(TypedDict):
    """All points of fitted models under corruptions, the one that is wrong most often first."""

    inputs: list[FlippedInputJson]


class PointsJson(TypedDict):
    """All points of all cells."""

    points: list[CellPointJson]


ExportJson: TypeAlias = Annotated[
    TablesJson | CellsJson | PointsJson | AnswersJson | FlippedInputsJson,
    "File of export with another content than findings, which are as described for report",
]

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
        Of files of data. ``findings``: every value with its interval, in JSON as `Results.json`
        has it. ``tables``: every number of the tables that terminal and page show, with the row and
        column it stands in, and no row left out. ``cells``: one row per model and corruption.
        ``points``: one row per point of every cell. ``answers``: one row per point and draw.
        ``inputs``: one row per point and corruption of fitted models, those that are wrong most
        often first.
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
    if target in ("card", "mlflow") and content != "findings":
        raise InputError(
            f"{either('--content', 'content')} is for csv, parquet and json, got {content!r} for "
            f"{target}; leave it out"
        )
    if task is not None and target != "card":
        raise InputError(f"{either('--task', 'task')} is for a card, got {target}; leave it out")
    results = as_results(results)
    if target == "mlflow":
        from shaketable.findings.mlflow_runs import log_mlflow  # it imports this module

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
    if content == "tables":
        return tables_frame(results)
    if content == "answers":
        return answers_frame(results.records)
    if content == "inputs":
        return inputs_frame(results)
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


def tables_frame(results: Results) -> pd.DataFrame:
    """Return every number of the tables that are shown as one row; see `Table.to_frame`."""
    import pandas as pd  # slow to import

    return pd.concat(
        [block.to_frame() for block in results.blocks() if isinstance(block, Table)],
        ignore_index=True,
    )


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
    columns = Column("setting"), Column("value")
    print_blocks([Table("How it was measured", columns, [*settings.items()], limit=200)])


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
