"""Findings and records as tables and files: pandas, CSV, Parquet, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from shaketable.core.checks import unknown_name
from shaketable.core.schemas import add_version
from shaketable.core.table_files import write_table
from shaketable.core.writing import write_beside
from shaketable.evaluation.records import Records
from shaketable.findings.results import Results, find

if TYPE_CHECKING:
    import pandas as pd

Content: TypeAlias = Literal["findings", "cells", "points"]

ENDINGS = (".csv", ".csv.gz", ".parquet", ".json")
"""Endings of the files that findings and records can be written to."""

_VALUES = ("mean", "low", "high", "upper", "sd", "method")
_SENTENCES = {"answer", "verdict", "meaning", "reference_words"}


def export(path: str | Path, results: Results | Records, *, content: Content = "findings") -> Path:
    """Write findings or records to a file, and return its path.

    Parameters
    ----------
    path
        ``.csv``, ``.csv.gz``, ``.parquet`` or ``.json``.
    results
        All findings of some records, or the records.
    content
        ``findings``: every value with its interval, as `findings_frame` and in ``.json`` as
        `Results.json` has it. ``cells``: one row per model and corruption. ``points``: one row per
        point of every cell.

    Returns
    -------
    Path
        Path of the file.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> records = st.evaluate(lambda x: x[:, 0] > 0, ([[-1.0], [1.0]], [False, True]), "linf(0.1)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(st.export(Path(folder) / "cells.csv", records, content="cells").name)
    cells.csv
    """
    if content not in get_args(Content):
        raise unknown_name("content", content, get_args(Content))
    path = Path(path)
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
    if ending is None:
        raise unknown_name("ending of an exported file", path.suffix, ENDINGS)
    if isinstance(results, Records):
        results = find(results)
    with write_beside(path, content) as beside:
        if ending == ".json":
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
