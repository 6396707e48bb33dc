"""The mCV plot and the chart of effects."""

from dataclasses import replace

import pytest
import vl_convert

from helpers.pages import chart_rows
from shaketable.findings.mcv.charts import effects_chart, mcv_plot, table_plot
from shaketable.findings.mcv.variation import Summary, VariationTable
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
    for text in (*MODELS, "I: better and steadier", "IV: worse and less steady", "reference"):
        assert f">{text}<" in svg


def test_names_on_the_plot_do_not_cover_each_other():
    rows = [Summary(f"model {i}", 0.9 - 0.001 * i, 1 + 0.01 * i, 0.5, 1.0, 0.95) for i in range(12)]
    shown = [r for r in chart_rows(table_plot(VariationTable(rows))) if "label" in r]
    step, letter = 0.56 * 13 / 420, (0.11 * 1.33) * 6 / 620  # of the scales, by hand
    for i, a in enumerate(shown):
        for b in shown[:i]:
            if abs(a["cv"] - b["cv"]) < letter * len("model 1"):
                assert abs(a["label"] - b["label"]) >= 0.98 * step


def test_the_axis_of_errors_is_reversed():
    rows = [Summary("a", 2.0, 1.0, 1.0, 3.0), Summary("b", 1.0, 0.8, 0.5, 2.0)]
    table = VariationTable(rows, lower_is_better=True)
    assert table.groups == {"a": "I", "b": "I"}
    spec = table_plot(table).to_dict()
    scales = [layer["encoding"]["y"]["scale"] for layer in spec["layer"]
              if "scale" in layer.get("encoding", {}).get("y", {})]  # fmt: skip
    assert scales
    assert all(scale["reverse"] for scale in scales)


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
    assert not any("text" in row for row in chart_rows(mcv_plot([alone])))


def test_charts_can_be_saved_in_every_format(board, tmp_path):
    for ending in (".html", ".json", ".png", ".pdf"):
        assert save_chart(mcv_plot([board]), tmp_path / f"m{ending}").stat().st_size > 500
