"""Scores are the metrics, and their errors those of the cells."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.findings import print_results, score_boards
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Record, Records
from shaketable.findings.mce.scores import Scoreboard
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate


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
    line = f"mCE_Lp of half minus whole, on the same points and noise: {100 * d.value:.2f} ["
    assert line in print_results(capsys, suite_records)
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
