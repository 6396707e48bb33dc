"""Charts of studies show the metrics' numbers."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.drawn import WIDTHS, draw_block
from helpers.findings import find_subjects
from helpers.pages import chart_rows
from helpers.records import make_records
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.results import find
from shaketable.findings.study.charts import draw_convergence, matrix_chart, tradeoff_chart
from shaketable.separations.separation import SeparationRecord
from shaketable.views.blocks import Chart


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


SIZES = (0, 0.0010137, 0.0020137, 0.004013, 0.0050137, 0.0070137, 0.010137, 0.050137, 0.10137)


def make_grid() -> Records:
    """A study of nine sizes in training and test, one of them eps_min, with long numbers."""
    cells = [
        replace(
            cell,
            key=f"{train} {cell.key}",
            model_id=f"{train} {run}",
            train=f"linf({train})" if train else "clean",
        )
        for train in SIZES
        for run in range(3)
        for cell in make_records(
            {"clean": np.ones(50)}
            | {f"linf({e})": np.arange(50) < 49 - 100 * e + run for e in SIZES[1:]},
            model="net",
            run=run,
        )
    ]
    separation = SeparationRecord(
        fingerprint="f",
        norm=np.inf,
        two_r=2 * SIZES[3],
        pair=(0, 1),
        classes=(0, 1),
        by_class=None,
        by_part={},
        nearest=None,
    )
    return Records(tuple(cells), (separation,))


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_nine_sizes_do_not_collide(width: int) -> None:
    found = find(make_grid())
    charts = [b for b in found.findings["study"].blocks() if isinstance(b, Chart)]
    assert len(charts) == 4
    for chart in charts:
        for scene in draw_block(chart, width):
            assert (scene.find_overlaps(), scene.find_cut()) == ([], [])
    (matrix,) = draw_block(charts[0], width)
    assert matrix.width == pytest.approx(max(width, charts[0].min_width), abs=15)
    marks = [t.text for t in matrix.texts if t.role == "mark"]
    assert marks.count("eps_min") == 1, "above its column"
    labels = [t.text for t in matrix.texts if t.role == "axis-label"]
    assert labels.count("0.004013") == 2
    assert labels.count("eps_min") == 1, "in a line of its own beside its row"


def test_convergence_has_a_panel_for_every_training_noise_on_one_scale() -> None:
    (subject,) = find_subjects(make_grid())
    panels = [panel.to_dict() for panel in draw_convergence(subject)]
    assert len(panels) == len(SIZES)
    for panel in panels:
        assert {
            r["train"] for rows in panel["datasets"].values() for r in rows if "train" in r
        } == {panel["title"]}
    scales = [layer["encoding"]["y"]["scale"] for p in panels for layer in p["layer"]]
    assert all(scale == scales[0] for scale in scales)
