"""Suites are told in the metrics' own numbers, in the terminal, in JSON and in words."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.findings import find_subjects, score_boards
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.store import Store
from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.findings.results import find
from shaketable.separations.record import SeparationRecord
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_brief

DERIVED = "derived from pnorm-cifar for 64 values in a range of 1"


def error(cell: Record) -> float:
    return 1 - float(cell.hits.sum()) / (cell.n * cell.k)


def errors(records: Records, model: str) -> dict[str, float]:
    return {c.corruption: error(c) for c in records.select(model=model)}


def shown(capsys: pytest.CaptureFixture[str], records: Records) -> str:
    find(records).print()
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def boards(suite_records: Records) -> list[Scoreboard]:
    return score_boards(suite_records)


@pytest.fixture(scope="module")
def perfect() -> Records:
    """A model without an error on clean points, under published sizes."""
    y = np.arange(12) % 2
    x = np.broadcast_to(0.45 + 0.1 * y[:, None, None, None], (12, 32, 32, 3)).astype(np.float32)
    data = make_dataset(x, y, bounds=(0, 1), name="flat")
    suites = [suite("pnorm"), suite("ice")]
    return evaluate(lambda x: x[:, 0, 0, 0] > 0.5, data, suites, name="pixel", k=2)


def test_every_suite_has_a_board_with_all_models(boards: list[Scoreboard]) -> None:
    assert [b.suite.name for b in boards] == ["pnorm", "ice"]
    assert [b.labels for b in boards] == [["half", "whole"]] * 2
    assert [b.levels for b in boards] == [10, 1]


def test_scores_are_the_metrics_and_errors_are_counts(
    suite_records: Records, boards: list[Scoreboard]
) -> None:
    for board, metric in zip(boards, (metrics.mce_lp, metrics.ice), strict=True):
        for score in board.scores:
            mine, by_spec = (
                suite_records.select(model=score.label),
                errors(suite_records, score.label),
            )
            assert score.value == metric(replace(mine, suites=(board.suite,)))
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


def test_terminal_shows_a_row_a_norm_and_the_metrics_below(
    capsys: pytest.CaptureFixture[str], suite_records: Records, boards: list[Scoreboard]
) -> None:
    out = shown(capsys, suite_records)
    for score in boards[0].scores:
        title = (
            f"{score.label} on tiles: error in %, suite pnorm (sizes {DERIVED}), 120 test points"
        )
        table = out.partition(title)[2].partition(f"{score.label}: mCE_Lp")[0]
        rows = {row[0]: row[1:] for row in map(str.split, table.splitlines()) if row}
        for ladder in score.ladders:
            cells = [f"{100 * v.error.value:.1f}" for v in ladder.levels]
            expected = [f"{100 * ladder.mean.value:.2f}", *["-"] * (10 - len(cells)), *cells]
            assert rows[ladder.title] == expected
        assert rows["norm"] == ["mean", *map(str, range(1, 11))]
        assert score.value is not None
        assert f"mCE_Lp {format_brief(score.value)}: mean error over 89 corruptions, against" in out
    for score in boards[1].scores:
        assert score.value is not None
        assert f"{score.label}: iCE {format_brief(score.value, signed=True)}: " in out
        table = out.partition(f"{score.label} on tiles: error in %, suite ice (sizes derived")[2]
        for ladder in score.ladders:
            (level,) = ladder.levels
            e, c = level.error, level.change
            numbers = [e.value, e.low, e.high, c.value, c.low, c.high]
            row = re.search(rf"^ {re.escape(level.spec)} .*$", table, re.M)
            assert row is not None
            found = [float(v) for v in re.findall(r"-?\d+\.\d\d\b", row[0].partition(")")[2])]
            assert found == pytest.approx([100 * v for v in numbers], abs=0.0051)


def test_models_are_compared_on_the_same_noise(
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
    line = f"mCE_Lp of half minus whole, on the same points and noise: {100 * d.value:.2f} ["
    assert line in shown(capsys, suite_records)
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


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "it makes 20.00% more errors than on clean points"),
        (-0.3, -0.1, "it makes 20.00% fewer errors than on clean points"),
        (-0.1, 0.3, "no change shown; under 6 noises derived from ones published as imperceptible "
         "it may make up to 10.00% fewer or 30.00% more errors"),
    ],
)  # fmt: skip
def test_ice_claims_no_more_than_its_interval(
    boards: list[Scoreboard], low: float, high: float, words: str
) -> None:
    score = Score("net", boards[1].scores[0].result)
    vars(score)["value"] = Estimate((low + high) / 2, low, high, 0.95, "")
    assert words in score.meaning
    assert "(0 would be as many)" in score.meaning


def test_an_undefined_ice_is_said_plainly(
    capsys: pytest.CaptureFixture[str], perfect: Records
) -> None:
    out = shown(capsys, perfect)
    assert "pixel: iCE undefined: there is no error on clean points to compare with" in out
    assert "-0.00" not in out
    found = find(perfect).json()["suites"]
    assert [s["metric"] is None for s in found] == [False, True]
    assert "no error on clean points" in found[1]["meaning"]


def test_published_sizes_are_not_called_derived(
    capsys: pytest.CaptureFixture[str], perfect: Records
) -> None:
    out = shown(capsys, perfect)
    assert "suite pnorm-cifar (published sizes), 12 test points, 2 draws each" in out
    assert "suite ice-cifar (published sizes)" in out
    assert "derived" not in out
    assert [s["derived"] for s in find(perfect).json()["suites"]] == [None, None]


def test_json_holds_every_cell(suite_records: Records) -> None:
    found = json.loads(json.dumps(find(suite_records).json(), allow_nan=False))
    assert [(s["model"], s["suite"]) for s in found["suites"]] == [
        ("half", "pnorm"), ("whole", "pnorm"), ("half", "ice"), ("whole", "ice"),
    ]  # fmt: skip
    for s in found["suites"]:
        by_spec = errors(suite_records, s["model"])
        cells = {c["corruption"]: c["error"]["mean"] for c in s["cells"]}
        assert cells == pytest.approx({spec: 100 * by_spec[spec] for spec in cells})
        assert len(cells) == {"pnorm": 89, "ice": 6}[s["suite"]]
        assert "64 values in a range of 1" in s["derived"]
        settings = {name: s[name] for name in ("n", "k", "draws", "seed", "bounds")}
        assert settings == {"n": 120, "k": 1, "draws": "ladder", "seed": 0, "bounds": "clip[0, 1]"}
    expected = metrics.mce_lp(suite_records.select(model="half"))
    assert found["suites"][0]["metric"] == {
        "mean": 100 * expected.value, "low": 100 * expected.low, "high": 100 * expected.high,
        "method": expected.method,
    }  # fmt: skip
    assert found["suites"][0]["cells"][-1]["p"] == "inf"
    (difference,) = found["suite_differences"]
    assert (difference["first"], difference["second"]) == ("half", "whole")
    assert [len(m["cells"]) for m in found["models"]] == [1, 1], "clean alone is left"


def test_other_noise_is_told_as_before(capsys: pytest.CaptureFixture[str], tiles: Dataset) -> None:
    def model(x: Any) -> Any:
        return x.mean(axis=(1, 2)) > 0.5

    specs = ["linf(eps_min)", "l2(0.3)"]
    records = evaluate(model, tiles, [suite("pnorm"), *specs], name="net", model_id="net")
    plain = evaluate(model, tiles, specs, name="net", model_id="net")
    out = shown(capsys, records)
    assert out.startswith(shown(capsys, plain)), "and the suite follows"
    assert out.count("no MSCR") == 1, "of the L2 noise"
    assert "MSCR" not in out.partition("suite pnorm")[2]


def test_noise_of_size_eps_min_is_told_in_a_suite_and_as_such(
    capsys: pytest.CaptureFixture[str], suite_records: Records
) -> None:
    known = SeparationRecord(
        suite_records.cells[0].fingerprint, math.inf, 0.08, (0, 1), (0, 1), None, {}, None
    )
    records = replace(suite_records, separations=(known,))
    found = find_subjects(records)
    assert [[s.first.corruption for s in f.noisy] for f in found] == [["linf(0.04)"]] * 2
    out = shown(capsys, records)
    assert out.count("linf(eps_min)") == 2
    assert [len(b.scores[0].result.series) for b in score_boards(records)] == [89, 6]


def test_suites_that_were_not_finished_are_told_cell_by_cell(
    capsys: pytest.CaptureFixture[str], suite_records: Records
) -> None:
    first = suite_records.select(model="half")
    part = replace(first, cells=tuple(c for c in first if c.corruption != "linf(0.15)"))
    pnorm = replace(part, suites=part.suites[:1])
    assert score_boards(pnorm) == []
    assert "linf(0.12)" in shown(capsys, pnorm)
    assert not any(s.left_to_suites for s in find_subjects(pnorm))


def test_a_results_file_tells_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiles: Dataset
) -> None:
    file = tmp_path / "r.sqlite"
    now = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, suite("ice"), name="pixel", store=file)
    with Store(file) as store:
        later = store.records()
    out = shown(capsys, now)
    assert "pixel: iCE" in out
    assert shown(capsys, later) == out
    assert find(later).json() == find(now).json()


def test_models_of_one_name_are_told_apart(suite_records: Records) -> None:
    cells = tuple(replace(c, model="net") for c in suite_records)
    for board in score_boards(replace(suite_records, cells=cells)):
        assert board.labels == ["net #1", "net #2"]
        assert [s.first.recipe for s in board.scores] == ["half", "whole"]
