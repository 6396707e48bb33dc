"""Row optima: which training noises may be the best, and where they lie against the diagonal."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.findings import find_subjects, print_results
from helpers.records import make_records
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Records
from shaketable.findings.results import find
from shaketable.findings.study.numbers import RowOptimum, list_optima
from shaketable.findings.study.view import describe_optima

N, RUNS = 400, 6


def make(shares: dict[float, dict[float, float]]) -> Records:
    """Records of a study: shares of right answers by training noise and then by test noise.

    Points have a fixed order of difficulty, so that differences are nearly exact.
    """
    cells = []
    for train, tests in shares.items():
        for run in range(RUNS):
            rng = np.random.default_rng(run)

            def hit(share: float, rng: np.random.Generator = rng) -> IntArray:
                flips = rng.random(N) < 0.02
                return ((np.arange(N) < share * N) ^ flips).astype(np.int64)

            hits = {f"linf({t})" if t else "clean": hit(share) for t, share in tests.items()}
            spec = f"linf({train})" if train else "clean"
            cells += [
                replace(c, key=f"{c.key} {train}", train=spec, model_id=f"{train} {run}")
                for c in make_records(hits, run=run)
            ]
    return Records(tuple(cells))


def list_rows(records: Records) -> list[RowOptimum]:
    (subject,) = find_subjects(records)
    return list_optima(subject)


SHARES = {
    0.0: {0.0: 0.8, 0.1: 0.7, 0.2: 0.4, 0.4: 0.3},
    0.1: {0.0: 0.9, 0.1: 0.801, 0.2: 0.7, 0.4: 0.35},
    0.2: {0.0: 0.6, 0.1: 0.8, 0.2: 0.6, 0.4: 0.37},
}


def test_optima_lie_below_on_or_above_the_diagonal(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list_rows(make(SHARES))
    assert [o.test_eps for o in rows] == [0, 0.1, 0.2, 0.4]
    assert [o.position for o in rows] == ["above", "on", "below", None]
    assert {o.judged for o in rows} == {8}
    sizes = [[s.first.train_epsilon for s in o.candidates] for o in rows]
    assert sizes[:3] == [[0.1], [0.1, 0.2], [0.1]]
    gain = rows[2].over_diagonal
    assert gain is not None
    assert gain.low > 0
    words = describe_optima(rows)
    assert "below the diagonal for test noise 0.2 (less noise in training than in test);" in words
    assert "for all 4 test noises" in words
    assert words in print_results(capsys, make(SHARES))


def test_noise_of_the_same_size_in_another_norm_is_not_the_diagonal() -> None:
    records = make(SHARES)
    cells = (replace(c, train=c.train.replace("linf", "l2")) for c in records)
    rows = list_rows(replace(records, cells=tuple(cells)))
    assert [o.position for o in rows] == ["above", None, None, None]


def test_an_optimum_may_be_on_either_side() -> None:
    shares = {train: {0.0: 0.9, 0.1: v} for train, v in ((0.0, 0.8), (0.1, 0.5), (0.2, 0.8))}
    (clean, row) = list_rows(make(shares))
    assert row.position == "off"
    assert clean.position == "on"
    assert len(clean.candidates) == 3


def test_the_true_best_is_kept_in_nearly_all_rows() -> None:
    """Three equal training noises: each is the best, so none should be missing."""
    rng, missing = np.random.default_rng(0), 0
    for _ in range(20):
        shares = {t: {0.0: 0.8, 0.1: 0.7} for t in (0.0, 0.1, 0.2)}
        cells = [
            replace(c, hits=rng.binomial(1, 0.8 if c.corruption == "clean" else 0.7, 60))
            for c in (c for c in make(shares) if c.run < 4)
        ]
        missing += any(len(o.candidates) < 3 for o in list_rows(Records(tuple(cells))))
    assert missing <= 4, "5 % of 20 are 1; 5 or more have a probability of 0.3 %"


def test_json_has_one_entry_per_row(study_records: Records) -> None:
    found = find(study_records).json()["row_optima"]
    assert {entry["model"] for entry in found} == set(study_records.models)
    assert all(entry["best"] in entry["may_be_best"] for entry in found)
