"""Tables of scores as figures: mean against variation, and one metric against another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shaketable.core.errors import InputError, either
from shaketable.findings.correlation.finding import AskedCorrelations, find_asked_correlations
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.mcv.finding import ScoreVariation, SetVariation, find_asked_variation
from shaketable.findings.mcv.score_files import ENDINGS, read_scores
from shaketable.findings.mcv.variation import Variation, VariationTable
from shaketable.findings.results import Found, as_records
from shaketable.views.terminal import print_notes


def find_variation(
    found: Found,
    *,
    reference: str = "",
    suite: str = "",
    names: str | None = None,
    clean: str | None = None,
    conditions: Sequence[str] | None = None,
    lower_is_better: bool = False,
) -> SetVariation | ScoreVariation:
    """Mean score against its variation over conditions, of results or of any table of scores.

    Parameters
    ----------
    found
        Findings, records or a results file of models under a suite of sets; or a table of scores,
        ``.csv`` or ``.parquet``, as `read_scores` takes it.
    reference
        Label of the model that the others are compared with; see `VariationTable`.
    suite
        Suite of a results file; by default all whose metric is mCV.
    names, clean, conditions
        Columns of a table: the models' names, the clean condition, and all conditions.
    lower_is_better
        Whether the scores of a table are errors, such as RMSE.
    """
    file = Path(found) if isinstance(found, str | Path) else None
    is_table = file is not None and file.name.lower().endswith(ENDINGS)
    of_tables = {
        "names": names,
        "clean": clean,
        "conditions": conditions,
        "lower_is_better": lower_is_better,
    }
    for option, given in ({"suite": suite} if is_table else of_tables).items():
        if given:
            kind = "a results file" if is_table else "a table of scores, .csv or .parquet"
            flag = either(f"--{option.replace('_', '-')}", option)
            raise InputError(f"{flag} is for {kind}, got {str(found)!r}; leave it out")
    if file is None or not is_table:
        return find_asked_variation(as_records(found), reference=reference, suite=suite)
    rows = read_scores(file, model=names, clean=clean, conditions=conditions)
    table = VariationTable(rows, reference=reference, lower_is_better=lower_is_better)
    columns = list(rows[0].scores) if isinstance(rows[0], Variation) else []
    if len(columns) == 1:
        raise InputError(f"scores must be of two conditions or more, got {columns[0]}; add columns")
    if rows[0].clean is None and any(row.label.lower() == "clean" for row in rows):
        note = "a row is called clean, and no column is; rows must be models, columns conditions"
        print_notes([note])
    title = (
        f"{file.name}: scores over {len(columns)} conditions"
        if columns
        else f"{file.name}: summaries"
    )
    return ScoreVariation(table, title, tuple(columns))


FIGURES.add("mcv", FigureKind(find_variation, has_numbers=True))


def find_correlations(found: Found, *, metric: str = "mscr,mce") -> AskedCorrelations:
    """One metric against another, one dot per model, with their correlation.

    Parameters
    ----------
    found
        Findings, records or a results file of four models or more on the same data.
    metric
        Two metrics with a comma between them, such as ``mscr,error``.
    """
    return find_asked_correlations(as_records(found), metric)


FIGURES.add("correlation", FigureKind(find_correlations, has_numbers=True))
