"""Answers, and inputs that flip, as data frames for export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.types import Array, IntArray
from shaketable.evaluation.records import Record, Records
from shaketable.findings.inputs.finding import FlippedInputs
from shaketable.findings.inputs.numbers import Flips

if TYPE_CHECKING:
    import pandas as pd

    from shaketable.findings.results import Results


def answers_frame(records: Records) -> pd.DataFrame:
    """Return one row per point and draw of every cell whose answers were kept."""
    import pandas as pd  # slow to import

    frames = [_list_answers(cell) for cell in records if cell.answers is not None]
    if not frames:
        raise InputError(
            "content answers needs answers on record, got hits alone; evaluate with "
            + either("--record answers", "record='answers'")
        )
    return pd.concat([_fit_labels(frame) for frame in frames], ignore_index=True)


def _list_answers(cell: Record) -> pd.DataFrame:
    import pandas as pd  # slow to import

    answers, points, k = cell.answers, cell.points, cell.k
    assert answers is not None
    facts = {name: cell.get(name) for name in ("data", "model", "train", "corruption", "run")}
    scores: dict[str, Any] = dict.fromkeys(("confidence", "true_score", "rank"))
    if answers.has_scores:
        scores = {name: getattr(answers, name).reshape(-1) for name in scores}
    columns = {
        "row": np.repeat(points.rows, k),
        "draw": np.tile(np.arange(k), cell.n),
        "class": _name_classes(cell, np.repeat(points.y, k)),
        "answer": _name_answers(cell, answers.exact.reshape(-1)),
        **scores,
    }
    frame = pd.DataFrame({**dict.fromkeys(facts), **columns}).assign(**facts)
    return frame.astype({"confidence": "Float64", "true_score": "Float64", "rank": "Int64"})


def inputs_frame(results: Results) -> pd.DataFrame:
    """Return one row per point of every fitted model under every corruption."""
    import pandas as pd  # slow to import

    found = results.findings.get("inputs")
    if not isinstance(found, FlippedInputs):
        raise InputError(
            "content inputs needs a fitted model under a corruption, got none; evaluate one"
        )
    smallest = {
        level.cell.key: ladder.smallest for _, ladder in found.ladders for level in ladder.levels
    }
    listed = [flips for _, flips in found.flips] + [each.flips for each in found.features]
    frames = [_list_inputs(flips, smallest.get(flips.cell.key)) for flips in listed]
    return pd.concat([_fit_labels(frame) for frame in frames], ignore_index=True)


def _list_inputs(flips: Flips, smallest: Array | None) -> pd.DataFrame:
    import pandas as pd  # slow to import

    cell, n = flips.cell, flips.cell.n
    order = np.lexsort((cell.points.rows, flips.true_score, -flips.wrong))
    none, confidence = np.full(n, np.nan), flips.wrong_confidence
    sizes = none if smallest is None else np.where(np.isinf(smallest), np.nan, smallest)
    answers: Any = np.full(n, None)
    if cell.answers is not None:
        answers = np.where(flips.wrong > 0, _name_answers(cell, flips.wrong_answers), None)
    frame = pd.DataFrame(
        {
            "data": cell.data,
            "model": cell.model,
            "corruption": cell.corruption,
            "row": cell.points.rows,
            "class": _name_classes(cell, cell.points.y),
            "answer": answers,
            "wrong": flips.wrong,
            "confidence": none if confidence is None else confidence,
            "right_when_clean": flips.right_clean,
            "smallest_size": sizes,
        }
    )
    return frame.astype({"confidence": "Float64", "smallest_size": "Float64"}).iloc[order]


def _name_classes(cell: Record, codes: IntArray) -> Any:
    """Return labels of classes."""
    return np.array([*cell.points.classes], dtype=object)[codes]


def _name_answers(cell: Record, codes: IntArray) -> Any:
    """Return the answers of exact codes, which may be classes that the data lack."""
    answers, classes = cell.answers, cell.points.classes
    assert answers is not None
    names = np.empty(len(codes), dtype=object)
    for code in np.unique(codes):
        names[codes == code] = answers.name(int(code), classes)
    return names


def _fit_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose labels have one type, as files need it."""
    kinds = {type(label) for name in ("class", "answer") for label in frame[name].dropna()}
    if len(kinds) > 1:
        for name in ("class", "answer"):
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame
