"""The mCV plot and the chart of effects."""

from dataclasses import replace

import numpy as np
import pytest
import vl_convert

from helpers.drawn import WIDTHS, draw_block
from helpers.pages import chart_rows
from shaketable.findings.mcv.charts import effects_chart, mcv_plot, table_plot
from shaketable.findings.mcv.variation import Summary, VariationTable
from shaketable.views.blocks import Chart
from shaketable.views.drawing import save_chart

pytestmark = pytest.mark.usefixtures("own_directory")

MODELS = ("logistic", "rf", "1nn")


def test_the_plot_shows_every_model_with_range_clean_accuracy_and_name(board):
    rows = [r for r in chart_rows(mcv_plot([board])) if "cv_low" in r]
    assert [r["model"] for r in rows] == list(MODELS)
    for row, entry in zip(rows, board.entries, strict=True):
        v = entry.variation
        assert row["cv"] == v.cv
        ends = 100 * v.mean, 100 * v.least, 100 * v.most, 100 * v.clean
        assert (row["mean"], row["low"], row["high"], row["clean"]) == ends
        assert (row["lowest"], row["highest"], row["group"]) == (v.lowest, v.highest, entry.group)
    at = {name: [r["at"] for r in chart_rows(mcv_plot([board])) if "at" in r] for name in "x"}["x"]
    rf = next(r for r in rows if r["model"] == "rf")
    assert sorted(at) == sorted([rf["cv"], rf["mean"]])
    svg = vl_convert.vegalite_to_svg(mcv_plot([board]).to_dict())
    for text in (*MODELS, "I: better", "and steadier", "IV: worse and", "reference"):
        assert f">{text}<" in svg


@pytest.mark.parametrize("width", WIDTHS)
def test_names_on_the_plot_do_not_cover_each_other(width):
    """27 models, most of them close together: points have numbers, the legend has the names."""
    rng = np.random.default_rng(0)
    rows = [
        Summary(f"wideresnet-28-10(augmix{i})", 90 + m, cv, 60 + m, 95 + m, 96.0)
        for i, (m, cv) in enumerate(zip(rng.normal(0, 2, 27), rng.gamma(4, 0.4, 27), strict=True))
    ]
    (scene,) = draw_block(Chart(lambda: table_plot(VariationTable(rows)), ""), width)
    legend = [t.text for t in scene.texts if t.role == "legend-label"]
    assert legend == [f"{i + 1}  wideresnet-28-10(augmix{i})" for i in range(27)]
    marks = [t.text for t in scene.texts if t.role == "mark"]
    assert {str(i + 1) for i in range(27)} < set(marks)
    assert scene.find_cut() == []
    assert scene.find_overlaps() == []


def test_the_axis_of_errors_is_reversed():
    rows = [Summary("a", 2.0, 1.0, 1.0, 3.0), Summary("b", 1.0, 0.8, 0.5, 2.0)]
    table = VariationTable(rows, lower_is_better=True)
    assert table.groups == {"a": "I", "b": "I"}
    spec = table_plot(table).to_dict()
    scales = [layer["encoding"]["y"]["scale"] for layer in spec["layer"]
              if "scale" in layer.get("encoding", {}).get("y", {})]  # fmt: skip
    assert scales
    assert all(scale["domain"][0] > scale["domain"][1] for scale in scales)


def test_effects_are_drawn_with_their_intervals(board):
    rows = [r for r in chart_rows(effects_chart(board)) if "noise" in r]
    intervals = {(r["model"], r["noise"]): (r["value"], r["low"], r["high"]) for r in rows}
    for entry in board.entries:
        for main in entry.effects.main:
            for effect in (main, *main.levels):
                e = effect.value
                expected = tuple(100 * v for v in (e.value, e.low, e.high))
                assert intervals[entry.label, effect.factor] == expected
    assert len(intervals) == 3 * (3 + 3 + 3 + 4)


def test_intervals_of_the_cv_are_drawn(board):
    rows = [r for r in chart_rows(mcv_plot([board])) if "cv_low" in r]
    for row, entry in zip(rows, board.entries, strict=True):
        cv = entry.stability.cv
        assert (row["cv_low"], row["cv_high"]) == (100 * cv.low, 100 * cv.high)
    alone = replace(board, table=VariationTable(board.table.rows[:1]),
                    results={"logistic": board.results["logistic"]})  # fmt: skip
    texts = [row["text"] for row in chart_rows(mcv_plot([alone])) if "text" in row]
    assert texts == ["logistic"], "no reference and no groups"


def test_charts_can_be_saved_in_every_format(board, tmp_path):
    for ending in (".html", ".json", ".png", ".pdf"):
        assert save_chart(mcv_plot([board]), tmp_path / f"m{ending}").stat().st_size > 500
