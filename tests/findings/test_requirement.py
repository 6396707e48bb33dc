"""Requirements on MSCR: outcomes, labels, and errors."""

from typing import Any

import numpy as np
import pytest

from helpers.records import make_records
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Records
from shaketable.findings.mscr.finding import Robustness
from shaketable.findings.requirement import Verdict, check_defined, check_min_mscr
from shaketable.findings.results import find
from shaketable.separations.record import SeparationRecord
from shaketable.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.005, 0.01, "met"),
        (-0.01, 0.01, "met"),
        (-0.05, -0.011, "not met"),
        (-0.05, -0.01, "inconclusive"),
        (-0.05, 0.01, "inconclusive"),
    ],
)
def test_the_outcome_follows_the_interval(low: float, high: float, outcome: str) -> None:
    verdict = Verdict("net", Estimate((low + high) / 2, low, high, 0.95, ""), least=-0.01)
    assert verdict.outcome == outcome
    assert str(verdict).startswith(f"requirement MSCR >= -1.00% {outcome}: net has ")
    assert str(verdict).endswith(f"95 % interval {low:+.2%} to {high:+.2%}")


def robustness_of(clean: Any, noisy: Any, **settings: Any) -> Robustness:
    """Finding of one model under noise of size eps_min, from its hits."""
    records = make_records({"clean": clean, "linf(0.1)": noisy}, sets=(), **settings)
    separation = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
    return find(Records(records.cells, (separation,))).robustness


def test_every_mscr_is_compared_with_the_required_one() -> None:
    finding = robustness_of(np.ones(400, int), np.arange(400) % 10 > 0)
    (series,) = finding.subjects[0].at_eps_min
    for least, outcome in ((-0.2, "met"), (-0.1, "inconclusive"), (-0.01, "not met")):
        (verdict,) = check_min_mscr(finding, least)
        assert (verdict.label, verdict.outcome, verdict.least) == ("net", outcome, least)
        assert verdict.mscr is series.relative_loss
        assert verdict.mscr.value == pytest.approx(-0.1)


def test_a_study_has_one_verdict_per_training_noise(study_records: Records) -> None:
    finding = find(study_records).robustness
    verdicts = check_min_mscr(finding, -0.5)
    series = [(subject, s) for subject in finding.subjects for s in subject.at_eps_min]
    assert len(verdicts) == len(series) == 2 * 3
    for verdict, (subject, s) in zip(verdicts, series, strict=True):
        assert verdict.label == f"{subject.label}, training noise {subject.train_level(s)},"
        assert verdict.mscr is s.relative_loss


def test_without_noise_of_size_eps_min_nothing_can_be_required(noise_records: Records) -> None:
    finding = find(noise_records.select(corruption="clean")).robustness
    with pytest.raises(InputError, match="--min-mscr needs noise of size eps_min"):
        check_min_mscr(finding, 0.0)
    check_defined(finding)


def test_models_that_classify_no_clean_point_correctly_are_named() -> None:
    finding = robustness_of(np.zeros(30, int), np.ones(30, int), model="liar")
    with pytest.raises(UndefinedError, match="MSCR is undefined for liar: a clean accuracy of 0"):
        check_defined(finding)
    check_defined(robustness_of(np.ones(30, int), np.zeros(30, int)))
