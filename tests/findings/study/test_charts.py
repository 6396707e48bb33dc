"""Charts of studies show the metrics' numbers."""

import numpy as np
import pytest

from helpers.findings import find_subjects
from helpers.pages import chart_rows
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.study.charts import draw_convergence, matrix_chart, tradeoff_chart


def test_matrix_holds_every_cell_its_diagonal_and_the_best_of_each_row(
    study_records: Records,
) -> None:
    rows = [
        r for r in chart_rows(matrix_chart(find_subjects(study_records))) if r.get("model") == "1nn"
    ]
    assert len(rows) == 3 * 3
    assert sum(r["diagonal"] for r in rows) == 2
    for noise in {r["noise"] for r in rows}:
        same = [r for r in rows if r["noise"] == noise]
        assert {r["value"] for r in same if r["best"]} == {max(r["value"] for r in same)}


def test_tradeoff_shows_clean_accuracy_against_mscr(study_records: Records) -> None:
    rows = [r for r in chart_rows(tradeoff_chart(find_subjects(study_records))) if "clean" in r]
    at_eps_min = [s for s in metrics.series(study_records) if s.at_eps_min]
    assert [r["value"] for r in rows] == [100 * metrics.mscr(s).value for s in at_eps_min]
    clean = [np.mean([c.accuracy for c in s.clean]) for s in at_eps_min]
    np.testing.assert_allclose([r["clean"] for r in rows], 100 * np.array(clean))


def test_convergence_ends_at_the_mean_of_all_runs(study_records: Records) -> None:
    panels = [p for s in find_subjects(study_records) for p in draw_convergence(s)]
    rows = [r for panel in panels for r in chart_rows(panel) if "runs" in r]
    last = [r["value"] for r in rows if r["runs"] == 3]
    assert last == [
        100 * metrics.mscr(s).value for s in metrics.series(study_records) if s.at_eps_min
    ]


def test_without_a_study_there_is_nothing_to_draw(noise_records: Records) -> None:
    for draw in (matrix_chart, tradeoff_chart):
        with pytest.raises(InputError, match="nothing to draw"):
            draw([s for s in find_subjects(noise_records) if s.is_study])
