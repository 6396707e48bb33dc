"""Models over the sets of a suite: boards, plots, tables, the page, and the command."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import vl_convert

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.findings import variation_boards
from helpers.pages import read_page
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.findings.mcv.charts import effects_chart, mcv_plot, table_plot
from shaketable.findings.mcv.variation import Summary, VariationTable
from shaketable.views.drawing import save_chart

pytestmark = pytest.mark.usefixtures("own_directory")

MODELS = ("logistic", "rf", "1nn")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("mcv") / "s.sqlite"
    data = st.load("shapes(n=300)")
    for name in MODELS:
        from shaketable.models.loading import load_model

        model, _ = load_model(name)
        st.evaluate(model, data, st.suite("two-factor"), store=path, name=name, refit=True)
    return path


@pytest.fixture(scope="module")
def records(store):
    with st.Store(store) as opened:
        return opened.records()


@pytest.fixture(scope="module")
def board(records):
    (found,) = variation_boards(records, reference="rf")
    return found


def rows_of(chart):
    spec = chart.to_dict()
    vl_convert.vegalite_to_vega(spec)
    return [row for rows in spec["datasets"].values() for row in rows]


def test_a_board_has_the_numbers_of_the_cells(records, board):
    assert [entry.label for entry in board.entries] == list(MODELS)
    for entry in board.entries:
        cells = {c.corruption: c.accuracy for c in records if c.model == entry.label}
        assert len(cells) == 69
        scores = np.array(list(cells.values()))
        assert entry.stability.mean.value == pytest.approx(scores.mean())
        assert entry.stability.cv.value == pytest.approx(scores.std() / scores.mean())
        assert entry.variation.least == scores.min()
        assert entry.variation.most == scores.max()
        assert entry.stability.clean.value == cells["clean"]
        by_name = {display_name(spec): value for spec, value in cells.items()}
        assert dict(entry.variation.scores) == pytest.approx(by_name)


def test_groups_are_told_against_the_reference(records, board):
    means = {e.label: (e.stability.mean.value, e.stability.cv.value) for e in board.entries}
    for entry in board.entries:
        better, steadier = (
            means[entry.label][0] >= means["rf"][0], means[entry.label][1] <= means["rf"][1]
        )  # fmt: skip
        expected = ("I" if steadier else "II") if better else ("III" if steadier else "IV")
        assert entry.group == expected
        if entry.label == "rf":
            assert entry.mean_change is None
        else:
            gap = means[entry.label][0] - means["rf"][0], means[entry.label][1] - means["rf"][1]
            assert (entry.mean_change.value, entry.cv_change.value) == pytest.approx(gap)
    (other,) = variation_boards(records)
    assert other.table.reference == "logistic"
    with pytest.raises(InputError, match="unknown reference 'mlp'"):
        variation_boards(records, reference="mlp")


def test_words_claim_what_intervals_show(board):
    for entry in board.entries:
        for change, shown, word in (
            (entry.mean_change, ("more accurate", "less accurate"), "mean"),
            (entry.cv_change, ("less steady", "steadier"), "CV"),
        ):
            if change is None:
                continue
            chance = f"{word}: the difference may be chance" in entry.words
            chance |= entry.words == "mean and CV: the difference may be chance"
            assert chance == (change.low <= 0 <= change.high)
            assert (shown[0] in entry.words) == (change.low > 0)
            assert (shown[1] in entry.words) == (change.high < 0)


def test_a_model_that_is_never_right_is_left_out(records):
    wrong = [replace(c, model="dud", model_id="dud", recipe="dud", hits=0 * c.hits, key=f"d{c.key}")
             for c in records if c.model == "rf"]  # fmt: skip
    (found,) = variation_boards(records + replace(records, cells=tuple(wrong)))
    assert found.left_out == ("dud",)
    assert list(found.results) == list(MODELS)


def test_any_suite_can_be_asked_for(tmp_path):
    data = st.load("shapes(n=60)")
    model = lambda x: np.array(data.classes)[np.rint(x.sum(axis=(1, 2, 3))).astype(int) % 2]  # noqa: E731
    found = st.evaluate(model, data, st.suite("ice"), model_id="m")
    assert variation_boards(found) == []
    (only,) = variation_boards(found, suite="ice-cifar")
    assert len(only.entries[0].variation.scores) == 6


def test_the_plot_shows_every_model_with_bar_ring_and_names(board):
    rows = [r for r in rows_of(mcv_plot([board])) if "cv_low" in r]
    assert [r["model"] for r in rows] == list(MODELS)
    for row, entry in zip(rows, board.entries, strict=True):
        v = entry.variation
        assert row["cv"] == v.cv
        ends = 100 * v.mean, 100 * v.least, 100 * v.most, 100 * v.clean
        assert (row["mean"], row["low"], row["high"], row["clean"]) == ends
        assert (row["lowest"], row["highest"], row["group"]) == (v.lowest, v.highest, entry.group)
    at = {name: [r["at"] for r in rows_of(mcv_plot([board])) if "at" in r] for name in "x"}["x"]
    rf = next(r for r in rows if r["model"] == "rf")
    assert sorted(at) == sorted([rf["cv"], rf["mean"]])
    svg = vl_convert.vegalite_to_svg(mcv_plot([board]).to_dict())
    for text in (*MODELS, "I: better and steadier", "IV: worse and less steady", "reference"):
        assert f">{text}<" in svg


def test_names_on_the_plot_do_not_cover_each_other():
    rows = [Summary(f"model {i}", 0.9 - 0.001 * i, 1 + 0.01 * i, 0.5, 1.0, 0.95) for i in range(12)]
    shown = [r for r in rows_of(table_plot(VariationTable(rows))) if "label" in r]
    step, letter = 0.56 * 13 / 420, (0.11 * 1.33) * 6 / 620  # of the scales, by hand
    for i, a in enumerate(shown):
        for b in shown[:i]:
            if abs(a["cv"] - b["cv"]) < letter * len("model 1"):
                assert abs(a["label"] - b["label"]) >= 0.98 * step


def test_errors_are_better_below_on_the_plot():
    rows = [Summary("a", 2.0, 1.0, 1.0, 3.0), Summary("b", 1.0, 0.5, 0.5, 2.0)]
    table = VariationTable(rows, lower_is_better=True)
    assert table.groups == {"a": "I", "b": "I"}
    spec = table_plot(table).to_dict()
    scales = [layer["encoding"]["y"]["scale"] for layer in spec["layer"]
              if "scale" in layer.get("encoding", {}).get("y", {})]  # fmt: skip
    assert scales
    assert all(scale["reverse"] for scale in scales)


def test_effects_are_drawn_with_their_intervals(board):
    rows = [r for r in rows_of(effects_chart([board])) if "noise" in r]
    found = {(r["model"], r["noise"]): (r["value"], r["low"], r["high"]) for r in rows}
    for entry in board.entries:
        for main in entry.effects.main:
            for one in (main, *main.levels):
                e = one.value
                expected = tuple(100 * v for v in (e.value, e.low, e.high))
                assert found[entry.label, one.factor] == expected
    assert len(found) == 3 * (3 + 3 + 3 + 4)


def test_intervals_of_the_cv_are_drawn(board):
    rows = [r for r in rows_of(mcv_plot([board])) if "cv_low" in r]
    for row, entry in zip(rows, board.entries, strict=True):
        cv = entry.stability.cv
        assert (row["cv_low"], row["cv_high"]) == (100 * cv.low, 100 * cv.high)
    alone = replace(board, table=VariationTable(board.table.rows[:1]),
                    results={"logistic": board.results["logistic"]})  # fmt: skip
    assert not any("text" in row for row in rows_of(mcv_plot([alone])))


def test_the_page_has_plot_tables_and_words(records, board, tmp_path):
    page = read_page(st.write_report(tmp_path / "p.html", records, reference="rf"))
    text = " ".join(page.text.split())
    assert "suite two-factor on shapes(n=300)" in text
    assert "reference: rf, as chosen" in text
    for entry in board.entries:
        for sentence in entry.sentences:
            assert " ".join(sentence.split()) in text
        assert f"{100 * entry.variation.least:.2f}%{entry.variation.lowest}" in text
    assert "GA0.15SP0.2" in text
    assert any("better and steadier" in json.dumps(spec) for spec in page.specs)


def test_the_command_reads_results_files(store, capsys, tmp_path):
    code, out, err = run_command(
        capsys, "mcv", store, "--reference", "rf", "-o", tmp_path / "m.svg"
    )
    assert code == 0, err
    assert "reference: rf, as chosen" in out
    assert "accuracy over 69 sets of suite two-factor" in out
    assert "correlations over 3 models" in out
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    found = run_json(capsys, "mcv", store)["mcv"][0]
    assert (found["suite"], found["sets"], found["reference"]) == ("two-factor", 69, "logistic")
    assert {m["label"] for m in found["models"]} == set(MODELS)
    assert found["models"][0]["effects"]["words"]
    assert run_json(capsys, "score", store, "--reference", "1nn")["mcv"][0]["reference"] == "1nn"
    assert "on record with --suite: two-factor" in run_failing(
        capsys, "mcv", store, "--suite", "pnorm"
    )
    assert "is for a table of scores" in run_failing(capsys, "mcv", store, "--clean", "x")
    assert "unknown reference" in run_failing(capsys, "mcv", store, "--reference", "x")


def test_the_command_reads_tables_of_any_task(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("name,Clean,rain,fog\na,1.0,2.0,3.0\nb,1.5,1.6,1.7\n")
    found = run_json(capsys, "mcv", "t.csv", "--lower-is-better", "--reference", "a")
    assert found["lower_is_better"]
    assert [(m["label"], m["group"], m["clean"]) for m in found["models"]] == [
        ("a", "I", 1.0), ("b", "I", 1.5)
    ]  # fmt: skip
    code, out, _ = run_command(capsys, "mcv", "t.csv", "-o", "t.html")
    assert code == 0
    assert "t.csv: scores over 3 conditions" in out
    assert (tmp_path / "t.html").stat().st_size > 1000
    assert "is for a results file" in run_failing(capsys, "mcv", "t.csv", "--suite", "x")
    assert "does not exist" in run_failing(capsys, "mcv", "no.sqlite")
    assert "no.csv" in run_failing(capsys, "mcv", "no.csv")
    assert "must end in" in run_failing(capsys, "mcv", "t.csv", "-o", "t.doc")


def test_a_grid_from_the_command_line(capsys):
    arguments = ("evaluate", "--data", "iris", "--model", "rf", "--quiet",
                 "--grid", "jitter(0.5), jitter(1)", "missing(0.2)",
                 "--store", "g.sqlite")  # fmt: skip
    (found,) = run_json(capsys, *arguments)["mcv"]
    assert (found["suite"], found["sets"]) == ("jitter x missing", 8)
    kinds = {m["factor"] for m in found["models"][0]["effects"]["main"]}
    assert kinds == {"jitter", "missing"}
    (given,) = run_json(capsys, *arguments[:-2], "--orders", "given")["mcv"]
    assert given["sets"] == 6
    assert given["models"][0]["effects"]["orders"] == []
    assert "two factors or more" in run_failing(capsys, *arguments[:6], "--grid", "jitter(1)")
    assert "unknown corruption" in run_failing(
        capsys, *arguments[:6], "--grid", "jiter(1)", "sp(0.1)"
    )
    error = run_failing(
        capsys, "evaluate", "--data", "iris", "--model", "rf", "--suite", "two-factor"
    )
    assert "for tables use 'two-factor-table'" in error
    assert "goes with --grid" in run_failing(capsys, *arguments[:6], "--orders", "given")
    both = run_json(capsys, *arguments, "--grid", "scaling(1.1) as SC", "missing(0.3) as MI")["mcv"]
    assert [board["suite"] for board in both] == ["jitter x missing", "scaling x missing"]
    assert list(both[1]["models"][0]["sets"]) == ["clean", "MI", "SC", "SCMI", "MISC"]


def test_charts_can_be_saved_in_every_format(board, tmp_path):
    for ending in (".html", ".json", ".png", ".pdf"):
        assert save_chart(mcv_plot([board]), tmp_path / f"m{ending}").stat().st_size > 500


def test_tables_of_three_columns_and_chosen_conditions(capsys, tmp_path):
    (tmp_path / "long.csv").write_text(
        "model,condition,score\nb,clean,0.9\nb,fog,0.5\na,clean,0.8\na,fog,0.7\n"
    )
    found = run_json(capsys, "mcv", "long.csv")
    assert [(m["label"], m["scores"]) for m in found["models"]] == [
        ("b", {"clean": 0.9, "fog": 0.5}), ("a", {"clean": 0.8, "fog": 0.7})
    ]  # fmt: skip
    (tmp_path / "twice.csv").write_text("m,c,s\na,clean,1\na,clean,2\na,fog,1\n")
    assert "every pair once" in run_failing(capsys, "mcv", "twice.csv")
    (tmp_path / "wide.csv").write_text("model,params,clean,fog\na,1e6,0.9,0.8\nb,2e6,0.9,0.7\n")
    (first, _) = run_json(capsys, "mcv", "wide.csv", "--conditions", "clean,fog")["models"]
    assert list(first["scores"]) == ["clean", "fog"]
    assert "unknown condition" in run_failing(
        capsys, "mcv", "wide.csv", "--conditions", "clean,rain"
    )
    assert "two conditions or more" in run_failing(
        capsys, "mcv", "wide.csv", "--conditions", "clean"
    )
    (tmp_path / "turned.csv").write_text("condition,a,b\nclean,0.9,0.8\nfog,0.5,0.7\n")
    assert "rows must be models" in run_command(capsys, "mcv", "turned.csv")[2]


def test_a_reader_that_has_seen_enough_stops_no_work(store, tmp_path):
    command = f"{sys.executable} -m shaketable mcv {store} -o late.svg | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert (tmp_path / "late.svg").exists()
