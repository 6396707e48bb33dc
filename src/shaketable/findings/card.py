"""A section for a model card: the findings as Markdown, and Hugging Face's model index as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from shaketable.evaluation.records import Records
from shaketable.findings.headlines import Headline, list_headlines
from shaketable.findings.page import describe_suites
from shaketable.findings.provenance import list_settings
from shaketable.findings.results import Results, find
from shaketable.views.blocks import Column, Table
from shaketable.views.formats import Markdown
from shaketable.views.terminal import print_blocks, print_lines, render
from shaketable.views.text import make_visible


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
