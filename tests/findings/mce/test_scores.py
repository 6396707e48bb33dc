"""Scores are the metrics, and their errors those of the cells."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.findings import print_results, score_boards
from helpers.pages import read_page
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import Suite, suite
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.store import Store
from shaketable.findings.mce.scores import TITLES, Scoreboard
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_interval, format_percent


def error(cell: Record) -> float:
    return 1 - float(cell.hits.sum()) / (cell.n * cell.k)


def errors(records: Records, model: str) -> dict[str, float]:
    return {c.corruption: error(c) for c in records.select(model=model)}


def test_every_suite_has_a_board_with_all_models(boards: list[Scoreboard]) -> None:
    assert [b.suite.name for b in boards] == ["pnorm", "ice"]
    assert [b.labels for b in boards] == [["half", "whole"]] * 2
    assert [b.levels for b in boards] == [10, 1]


def test_scores_are_the_metrics_and_errors_are_counts(
    suite_records: Records, boards: list[Scoreboard]
) -> None:
    for board, metric in zip(boards, (metrics.mce_lp, metrics.ice), strict=True):
        for score in board.scores:
            selected, by_spec = (
                suite_records.select(model=score.label),
                errors(suite_records, score.label),
            )
            assert score.value == metric(replace(selected, suites=(board.suite,)))
            assert score.clean.value == pytest.approx(by_spec["clean"])
            assert score.mean.value == pytest.approx(
                np.mean([by_spec[s] for s in board.suite.specs])
            )
            for ladder in score.ladders:
                mean = np.mean([by_spec[level.spec] for level in ladder.levels])
                assert ladder.mean.value == pytest.approx(mean)
                assert ladder.mean.low < mean < ladder.mean.high
                change = metrics.error_change(ladder.result)
                assert change.value == pytest.approx(mean - by_spec["clean"])
                for level in ladder.levels:
                    assert level.error.value == pytest.approx(by_spec[level.spec])
                    grown = by_spec[level.spec] - by_spec["clean"]
                    assert level.change.value == pytest.approx(grown)
                    assert level.change.low < grown < level.change.high
    assert score.worst.mean.value == max(ladder.mean.value for ladder in score.ladders)


def test_levels_count_down_from_the_strongest(boards: list[Scoreboard]) -> None:
    by_norm = {part.title: [v.number for v in part.levels] for part in boards[0].scores[0].ladders}
    assert by_norm.pop("L0") == list(range(2, 11)), "a share of .005 is no value of 64"
    assert list(by_norm) == ["L0.5", "L1", "L2", "L5", "L10", "L50", "L200", "L-inf"]
    assert set(map(tuple, by_norm.values())) == {tuple(range(1, 11))}
    for part in boards[0].scores[0].ladders:
        sizes = [level.size for level in part.levels]
        assert sizes == sorted(sizes)


def test_models_are_compared_under_the_same_noise(
    capsys: pytest.CaptureFixture[str], suite_records: Records, tiles: Dataset
) -> None:
    first, second = (
        replace(suite_records.select(model=m), suites=suite_records.suites[:1])
        for m in ("half", "whole")
    )
    d, back = metrics.mce_lp_difference(first, second), metrics.mce_lp_difference(second, first)
    assert d.value == pytest.approx(metrics.mce_lp(first).value - metrics.mce_lp(second).value)
    assert (back.low, back.high) == pytest.approx((-d.high, -d.low))
    apart = max(metrics.mce_lp(r).high - metrics.mce_lp(r).low for r in (first, second))
    assert 0 < d.high - d.low < 1.5 * apart
    lines = [" ".join(line.split()) for line in print_results(capsys, suite_records).splitlines()]
    assert any(line.startswith(f"half whole {100 * d.value:+.2f} [") for line in lines)
    other = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, suite("pnorm"), seed=1, name="pixel")
    with pytest.raises(InputError, match="the same suite on the same points"):
        metrics.mce_lp_difference(first, other)
    (board,) = score_boards(first + other)
    assert board.labels == ["half, seed 0", "pixel, seed 1"]
    assert board.differences == []


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.01, 0.03, "b makes fewer errors"),
        (-0.03, -0.01, "a makes fewer errors"),
        (-0.01, 0.03, "the difference may be chance"),
    ],
)
def test_differences_claim_no_more_than_their_interval(low: float, high: float, words: str) -> None:
    gap = Estimate((low + high) / 2, low, high, 0.95, "")
    assert Difference("a", "b", gap, "makes fewer errors", lower_is_better=True).words == words


def test_models_of_the_same_name_are_numbered(suite_records: Records) -> None:
    cells = tuple(replace(c, model="net") for c in suite_records)
    for board in score_boards(replace(suite_records, cells=cells)):
        assert board.labels == ["net #1", "net #2"]
        assert [s.first.recipe for s in board.scores] == ["half", "whole"]


SHAPES = build("shapes(n=20)").classes
MODELS = {
    "dark": lambda x: np.array(SHAPES)[(10 * x.mean(axis=(1, 2, 3))).astype(int) % 10],
    "bright": lambda x: np.array(SHAPES)[(10 * x.max(axis=(1, 2, 3))).astype(int) % 10],
}


@pytest.fixture(scope="module")
def of_all_19(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results file of two models under common-19 alone."""
    path = tmp_path_factory.mktemp("common") / "s.sqlite"
    shapes = build("shapes(n=20)")
    for name in ("dark", "bright"):
        evaluate(MODELS[name], shapes, suite("common-19"), store=path, name=name, model_id=name)
    return path


def test_parts_of_the_19_common_corruptions_have_their_scores_without_another_run(
    of_all_19: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with Store(of_all_19) as store:
        records = store.records()
    shapes = build("shapes(n=20)")
    results = find(records)
    found = results.json()
    by_suite = {(s["model"], s["suite"]): s for s in found["suites"]}
    assert len(by_suite) == len(found["suites"]) == 6
    results.print()
    out = capsys.readouterr().out
    text = " ".join(read_page(write_report(tmp_path / "p.html", results)).text.split())
    for name, metric in (("common-15", "mce_15"), ("common-xn", "mce_xn")):
        compute, parts = getattr(metrics, metric), {}
        for model in MODELS:
            parts[model] = part = compute(records.select(model=model))
            assert f"75 corruptions of suite {name}, part of common-19" in part.method
            assert part.value != metrics.mce(records.select(model=model)).value
            assert by_suite[model, name]["metric"]["mean"] == 100 * part.value
            value = f"{format_percent(part)} (95 % interval {format_interval(part)})"
            shown = f"{TITLES[metric]} {value}: mean error over the 75 corruptions"
            assert f"\n  {shown} of {name}, part of common-19\n" in out
            assert shown[1:] in text
        alone = evaluate(MODELS["dark"], shapes, suite(name), name="dark")
        assert replace(compute(alone), method="") == replace(parts["dark"], method="")
        (whole,), entry = find(alone).json()["suites"], by_suite["dark", name]
        assert (entry["part_of"], whole["part_of"]) == ("common-19", None)
        for key in ("metric_name", "clean", "cells", "ladders", "n", "k"):
            assert entry[key] == whole[key]
        (gap,) = [d for d in found["suite_differences"] if d["suite"] == name]
        expected = 100 * (parts["dark"].value - parts["bright"].value)
        assert gap["mean"] == pytest.approx(expected)
        assert f"difference in {TITLES[metric]}" in text


def test_a_part_that_was_evaluated_as_a_suite_is_not_shown_twice(of_all_19: Path) -> None:
    shapes = build("shapes(n=20)")
    with Store(of_all_19) as store:
        records = store.records()
    records += evaluate(
        MODELS["dark"], shapes, suite("common-15"), name="dark", model_id="dark", store=of_all_19
    )
    boards = score_boards(records.select(model="dark"))
    names = [board.suite.name for board in boards]
    assert sorted(names) == ["common-15", "common-19"]
    assert [p.suite.name for b in boards for p in b.parts] == ["common-xn"]


def test_a_suite_with_some_of_the_kinds_has_no_parts() -> None:
    few = Suite("few", "some kinds", ("fog(1)", "fog(2)", "gaussian_noise(1)"), "mce", k=1)
    records = evaluate(MODELS["dark"], build("shapes(n=20)"), few, name="dark")
    (board,) = score_boards(records)
    assert board.parts == ()
    with pytest.raises(InputError, match="mce_15 needs exactly one model under one whole suite"):
        metrics.mce_15(records)
