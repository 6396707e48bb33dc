"""Sentences about suites."""

import pytest

from helpers.findings import find_once, print_results
from shaketable.evaluation.records import Records
from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.statistics.estimate import Estimate


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


def test_an_undefined_ice_is_stated(capsys: pytest.CaptureFixture[str], perfect: Records) -> None:
    out = print_results(capsys, perfect)
    assert "pixel: no iCE\n  there is no error on clean points to compare with" in out
    assert "-0.00" not in out
    suites = find_once(perfect).json()["suites"]
    assert [s["metric"] is None for s in suites] == [False, True]
    assert "no error on clean points" in suites[1]["meaning"]
