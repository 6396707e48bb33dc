"""Every figure shows the numbers of the metrics, and says in words what it shows."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.pages import chart_rows
from helpers.plugin import install_plugin
from helpers.records import make_records
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings import figures
from shaketable.findings.figures.models import _make_arrow, draw_errors, find_pairs
from shaketable.findings.figures.plane import make_outline
from shaketable.findings.figures.registry import FIGURES
from shaketable.findings.mce.scores import Score
from shaketable.findings.results import find
from shaketable.models.builtin import builtin
from shaketable.models.networks.files import TrainedNetwork
from shaketable.views.drawing import horizontal_rule
from shaketable.views.scatter import Frame


def read_words(chart):
    """Title and description of a figure, as one text."""
    spec = chart.to_dict()
    return " ".join([*spec["title"]["text"], *spec["title"]["subtitle"]]), spec["description"]


@pytest.mark.parametrize("name", ["tradeoff", "models", "optima", "convergence"])
def test_figures_of_a_study_say_what_they_show(name: str, study_records: Records) -> None:
    chart = figures.draw(name, study_records)
    assert len(chart_rows(chart)) > 5
    words, description = read_words(chart)
    assert words == description
    assert "95 % interval" in words or name == "optima"


def test_tradeoff_shades_what_is_better_than_the_baseline(study_records: Records) -> None:
    rows = chart_rows(figures.draw_tradeoff(study_records))
    at_eps_min = [s for s in metrics.series(study_records) if s.at_eps_min]
    points = [r for r in rows if "clean_low" in r]
    for series, row in zip(at_eps_min, points, strict=True):
        clean = series.on_clean.accuracy
        assert (row["clean_low"], row["clean_high"]) == (100 * clean.low, 100 * clean.high)
        assert (row["low"], row["high"]) == (
            100 * series.relative_loss.low,
            100 * series.relative_loss.high,
        )
    corners = [(r["x"], r["y"]) for r in rows if "x2" in r]
    plain = [(p["clean"], p["value"]) for p in points if p["train"] == "0"]
    assert corners == plain


def test_tradeoff_of_models_has_a_baseline_of_choice(noise_records: Records) -> None:
    rows = chart_rows(figures.draw_tradeoff(noise_records, reference="1nn"))
    assert {r["model"]: r["shape"] for r in rows if "shape" in r} == {
        "svm": "circle",
        "1nn": "square",
    }
    with pytest.raises(InputError, match="unknown reference 'knn'; did you mean '1nn'"):
        figures.draw_tradeoff(noise_records, reference="knn")


def test_differences_of_two_models_are_paired(study_records: Records) -> None:
    rows = [r for r in chart_rows(figures.draw_models(study_records)) if "shown" in r]
    assert len(rows) == 3 * 3
    row = next(r for r in rows if (r["train_epsilon"], r["epsilon"]) == (0, 0.03))
    chosen = [study_records.select(model=m, train="clean") for m in ("logistic", "1nn")]
    expected = metrics.accuracy_difference(*chosen, corruption="linf(0.03)")
    assert (row["value"], row["low"]) == (100 * expected.value, 100 * expected.low)
    assert row["label"].endswith("*") == (expected.low > 0 or expected.high < 0)


def test_optima_are_counted_on_both_sides_of_the_diagonal(study_records: Records) -> None:
    records = study_records.select(model="1nn")
    words, _ = read_words(figures.draw_optima(records))
    stronger, sizes, weaker, unknown = map(int, re.findall(r"\b\d\b", words)[:4])
    ((_, optima),) = find(records).findings["study"].optima.items()
    positions = [optimum.position for optimum in optima]
    assert (stronger, weaker) == (positions.count("above"), positions.count("below"))
    assert stronger + weaker + unknown == sizes == 3, words


def test_the_effect_of_k_is_drawn_for_one_corruption(norm_records: Records) -> None:
    chart = figures.draw_copies(norm_records, corruption="l2(0.03)")
    rows = [r for r in chart_rows(chart) if "sd" in r]
    plain = [r for r in rows if r["model"].startswith("1nn(clean)")]
    runs = [c.accuracy for c in norm_records.select(train="clean", corruption="l2(0.03)", k=2)]
    assert sorted({r["k"] for r in plain}) == [1, 2]
    assert plain[-1]["sd"] == pytest.approx(100 * np.std(runs, ddof=1))
    assert "standard deviation" in json.dumps(chart.to_dict()), "a panel shows it"
    with pytest.raises(InputError, match=r"got 'none' of l2\(0.03\); linf\(0.03\)"):
        figures.draw_copies(norm_records)
    one_k = norm_records.select(k=2) + norm_records.select(corruption="clean")
    with pytest.raises(InputError, match="several k"):
        figures.draw_copies(one_k, corruption="l2(0.03)")


@pytest.mark.parametrize("metric", ["accuracy[linf(0.03)]", "mscr"])
def test_convergence_ends_at_the_metric_of_all_runs(metric: str, study_records: Records) -> None:
    rows = chart_rows(figures.draw_convergence(study_records, metric=metric))
    last = [r["value"] for r in rows if r.get("runs") == 3]
    wanted = [
        s.relative_loss if metric == "mscr" else s.accuracy
        for s in metrics.series(study_records)
        if (s.at_eps_min if metric == "mscr" else s.first.epsilon == 0.03)
    ]
    assert sorted(last) == sorted(100 * e.value for e in wanted)


def test_convergence_needs_runs_and_a_metric(
    study_records: Records, suite_records: Records
) -> None:
    with pytest.raises(InputError, match="unknown metric 'mscx'; did you mean 'mscr'"):
        figures.draw_convergence(study_records, metric="mscx")
    with pytest.raises(InputError, match="two runs or more"):
        figures.draw_convergence(suite_records, metric="mce_lp")


def test_transfer_is_relative_to_the_best_model_under_each_corruption(
    norm_records: Records,
) -> None:
    series = find(norm_records).groups.series
    rows = {(r["train"], r["noise"]): r for r in chart_rows(figures.draw_transfer(norm_records))}
    assert {train for train, _ in rows} == {"no noise", "L2", "L-inf"}
    expected = []
    for k in (1, 2):
        under = norm_records.select(corruption="linf(0.03)", k=k)
        mean = {
            train: np.mean([c.accuracy for c in under.select(train=train)])
            for train in ("clean", "l2(0.03)", "linf(0.03)")
        }
        expected.append(100 * mean["clean"] / max(mean.values()))
    assert rows["no noise", "L-inf"]["value"] == pytest.approx(np.mean(expected))
    limits = [
        100 * s.accuracy.low / max(o.accuracy.value for o in others)
        for k in (1, 2)
        for others in [[s for s in series if s.first.corruption == "linf(0.03)" and s.first.k == k]]
        for s in others
        if s.first.train == "clean"
    ]
    assert rows["no noise", "L-inf"]["low"] == pytest.approx(np.mean(limits))
    with pytest.raises(InputError, match="two norms or more"):
        figures.draw_transfer(norm_records.select(train="clean"))


def test_no_model_of_a_transfer_exceeds_the_best_which_has_100() -> None:
    right = {"clean": (90, 60), "l2(0.1)": (80, 70), "linf(0.1)": (45, 50)}
    cells = [
        replace(cell, train=train)
        for train, (under_l2, under_linf) in right.items()
        for cell in make_records(
            {"clean": np.ones(100), "l2(0.1)": np.arange(100) < under_l2}
            | {"linf(0.1)": np.arange(100) < under_linf},
            model=f"net({train})",
        )
    ]
    chart = figures.draw_transfer(Records(tuple(cells)))
    values = {(r["train"], r["noise"]): (r["value"], r["best"]) for r in chart_rows(chart)}
    assert values == {
        ("no noise", "L2"): (100, True),
        ("L2", "L2"): (pytest.approx(100 * 80 / 90), False),
        ("L-inf", "L2"): (50, False),
        ("no noise", "L-inf"): (pytest.approx(100 * 60 / 70), False),
        ("L2", "L-inf"): (100, True),
        ("L-inf", "L-inf"): (pytest.approx(100 * 50 / 70), False),
    }
    assert "Training without noise is better for 1 of 2." in read_words(chart)[0]


def test_errors_are_those_of_the_suite_and_arrows_join_what_is_named(
    suite_records: Records,
) -> None:
    chart = draw_errors(suite_records, arrows=[("half", "whole")])
    rows = chart_rows(chart)
    (score, *_) = find(suite_records).findings["mce"].boards[0].scores
    row = next(r for r in rows if r.get("model") == "half")
    assert (row["clean"], row["value"]) == (100 * score.clean.value, 100 * score.mean.value)
    (arrow,) = [r for r in rows if "angle" in r]
    assert isinstance(arrow["better"], bool)
    assert " of 1 arrows" in read_words(chart)[0]
    with pytest.raises(InputError, match="unknown model of an arrow 'hlf'"):
        draw_errors(suite_records, arrows=[("hlf", "whole")])
    with pytest.raises(InputError, match="unknown metric 'mce_lq'"):
        draw_errors(suite_records, metric="mce_lq")


def test_arrows_lead_from_simpler_training(suite_records: Records) -> None:
    (score, *_) = find(suite_records).findings["mce"].boards[0].scores

    def retrain(train: str) -> Score:
        series = score.result.series
        cell = replace(series[0].first, model=f"net({train})", train=train)
        first = replace(series[0], noisy=(cell,))
        return Score(cell.model, replace(score.result, series=(first, *series[1:])))

    trains = ["clean", "C1", "augmix", "augmix + C1"]
    assert find_pairs([retrain(train) for train in trains]) == [
        ("net(clean)", "net(C1)"),
        ("net(clean)", "net(augmix)"),
        ("net(augmix)", "net(augmix + C1)"),
    ]


def test_an_arrow_points_to_its_end() -> None:
    frame = Frame((0, 10), (0, 10), 100, 100)
    start, end = {"clean": 2, "value": 8}, {"clean": 8, "value": 2}
    arrow = _make_arrow(start, end, frame)
    assert arrow["angle"] == 135  # a triangle points up at 0, so this is right and down
    assert arrow["better"] is False
    assert math.hypot(arrow["x"] - 2, arrow["y"] - 8) == pytest.approx(0.9)
    assert _make_arrow(end, {"clean": 7, "value": 1}, frame)["better"] is True


def test_learning_curves_are_averaged_over_trainings() -> None:
    def train(noise, *held_out):
        curve = [{"epoch": i + 1, "accuracy": 0.5, "held_out": h} for i, h in enumerate(held_out)]
        info = {"noise": noise, "curve": curve}
        return TrainedNetwork(None, "mlp(width=8)", (2,), 2, info=info)  # type: ignore[arg-type]

    same = train("clean", 0.5, 0.6), train("clean", 0.7, 0.8)
    chart = figures.draw_learning(*same, train("C1", 0.6, 0.9))
    rows = [r for r in chart_rows(chart) if r["part"].startswith("held-out")]
    assert [(r["epoch"], r["value"], r["low"], r["high"]) for r in rows][:2] == [
        (1, pytest.approx(60), 50, 70),
        (2, pytest.approx(70), 60, 80),
    ]
    said = "After 2 epochs, accuracy on held-out points is 70.0 % to 90.0 % for 2 networks; "
    assert said + "all trainings of mlp(width=8)(C1) end above" in read_words(chart)[0]
    overlapping = figures.draw_learning(*same, train("C1", 0.6, 0.75))
    assert "for 2 networks; their order may be chance" in read_words(overlapping)[0]
    with pytest.raises(InputError, match="learning curves"):
        figures.draw_learning(train("clean"))


def test_learning_curves_of_other_files_are_refused_without_calling_them_damaged(
    norm_records: Records, tmp_path: Path
) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.add(norm_records)
    with pytest.raises(InputError, match=r"must be a file of a network, .*keep_models=.*r\.sqlite"):
        figures.draw_learning(tmp_path / "r.sqlite")
    (tmp_path / "net.pt").write_bytes(b"PK cut short")
    with pytest.raises(InputError, match=r"net.pt' is damaged"):
        figures.draw_learning(tmp_path / "net.pt")
    with pytest.raises(InputError, match="none.pt' does not exist"):
        figures.draw_learning(tmp_path / "none.pt")


def test_the_plane_shows_the_copies_that_evaluate_measures(data: Dataset) -> None:
    model = builtin("1nn")
    chart = figures.draw_plane(model, data, corruption="linf(0.05)", k=3, refit=True, name="m")
    records = evaluate(model, data, "linf(0.05)", k=3, refit=True)
    clean, noisy = (record.accuracy for record in records)
    words, _ = read_words(chart)
    assert f"on 40 points is {100 * clean:.1f} %, with noise {100 * noisy:.1f} %" in words
    assert "m classifies" in words
    rows = chart_rows(chart)
    assert len({r["ball"] for r in rows if "ball" in r}) == 40
    with pytest.raises(InputError, match="two features"):
        figures.draw_plane(model, "iris", refit=True)


@pytest.mark.parametrize("p", [0.5, 1, 2, math.inf])
def test_outlines_of_balls_have_norm_one(p: float) -> None:
    outline = np.abs(make_outline(p))
    norm = outline.max(axis=1) if math.isinf(p) else (outline**p).sum(axis=1)
    np.testing.assert_allclose(norm, 1)
    np.testing.assert_allclose(outline[0], outline[-1], atol=1e-12)


def test_figures_of_other_packages(monkeypatch, tmp_path, study_records: Records) -> None:
    install_plugin(
        monkeypatch,
        tmp_path,
        FIGURES,
        name="plots",
        source='''
from shaketable.views.drawing import horizontal_rule
def draw_cells(results):
    """Number of cells as a line."""
    return horizontal_rule(len(results.records))
''',
        entry_points={"cells": "plots:draw_cells", "ruin": "plots:__name__"},
    )
    chart = figures.draw("cells", study_records)
    assert chart.to_dict()["datasets"] == horizontal_rule(len(study_records)).to_dict()["datasets"]
    with pytest.raises(InputError, match="must be a function of Results"):
        figures.draw("ruin", study_records)


def test_k_is_compared_in_the_runs_that_all_have(norm_records: Records) -> None:
    fewer = Records(
        tuple(c for c in norm_records if c.k == 1 or c.corruption == "clean" or c.run == 0),
        norm_records.separations,
    )
    chart = figures.draw_copies(fewer, corruption="linf(0.03)")
    assert {row["runs"] for row in chart_rows(chart)} == {1}
    with pytest.raises(InputError, match="several k in the same runs"):
        figures.draw_copies(norm_records.select(k=1), corruption="linf(0.03)")


def test_every_figure_says_what_it_shows():
    for name in FIGURES:
        about = FIGURES.get(name).about
        assert about == FIGURES.get(name).make.__doc__.strip().splitlines()[0], name
