"""Studies: means and deviations over runs, in JSON and in the terminal, against counts by hand."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.records import make_records
from shaketable.evaluation.records import Records
from shaketable.findings.results import find
from shaketable.findings.series import group_series
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics import intervals
from shaketable.views.blocks import Table

K, N, RUNS = 3, 40, 4
TRAINED = {"clean": 0.8, "linf(0.05)": 0.9}
TESTED = ("linf(0.1)", "linf(0.2)")


def draw(train, run):
    rng = np.random.default_rng([run, len(train)])
    p = TRAINED[train]
    hits = {"clean": rng.binomial(1, p, N)}
    return hits | {s: rng.binomial(K, p - 0.1 * i, N) for i, s in enumerate(TESTED, start=1)}


HITS = {(train, run): draw(train, run) for train in TRAINED for run in range(RUNS)}


@pytest.fixture(scope="module")
def records():
    """Two training noises in four runs, the strong noise and the last run first."""
    cells = []
    for train in reversed(TRAINED):
        for run in reversed(range(RUNS)):
            of_run = make_records(HITS[train, run], k=K, run=run, model="net", sets=())
            cells += [
                replace(c, train=train, key=f"{c.key} {train}", model_id=f"{c.model_id} {train}")
                for c in of_run
            ]
    known = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
    return Records(tuple(cells), (known,), ())


def test_series_have_their_runs_in_order_and_their_own_clean_cells(records):
    for series in group_series(records):
        assert [c.run for c in series.noisy] == [*range(RUNS)]
        assert [c.run for c in series.clean] == [*range(RUNS)]
        train, spec = series.first.train, series.first.corruption
        k = 1 if spec == "clean" else K
        right = [HITS[train, run][spec].mean() / k for run in range(RUNS)]
        before = [HITS[train, run]["clean"].mean() for run in range(RUNS)]
        np.testing.assert_allclose(series.accuracies, right)
        losses = np.divide(right, before) - 1
        np.testing.assert_allclose(series.relative_losses, losses)
        part = series.take_runs(2)
        np.testing.assert_allclose(part.relative_losses, losses[:2])


def test_json_has_means_and_deviations_over_runs(records):
    found = find(records).json()
    assert (found["norm"], found["eps_min"], found["k"]) == ("inf", 0.1, K)
    order = [(c["train_eps"], c["test_eps"]) for c in found["cells"]]
    assert order == [(train, test) for train in (0, 0.05) for test in (0, 0.1, 0.2)]
    for cell in found["cells"]:
        train = "clean" if cell["train_eps"] == 0 else "linf(0.05)"
        spec = {0: "clean", 0.1: "linf(0.1)", 0.2: "linf(0.2)"}[cell["test_eps"]]
        k = 1 if spec == "clean" else K
        hits = [HITS[train, run][spec] for run in range(RUNS)]
        shares = np.array([100 * h.mean() / k for h in hits])
        expected = intervals.mean_share_over_runs(hits, k)
        assert cell["mean"] == pytest.approx(shares.mean())
        assert cell["sd"] == pytest.approx(
            np.sqrt(((shares - shares.mean()) ** 2).sum() / (RUNS - 1))
        )
        assert (cell["low"], cell["high"]) == pytest.approx(
            (100 * expected.low, 100 * expected.high)
        )
        assert cell["low"] < cell["mean"] < cell["high"]
        assert (cell["runs"], cell["k"]) == (RUNS, k)
    assert [m["train_eps"] for m in found["mscr"]] == [0, 0.05]
    for entry in found["mscr"]:
        train = "clean" if entry["train_eps"] == 0 else "linf(0.05)"
        changes = np.array(
            [
                100 * (HITS[train, r]["linf(0.1)"].mean() / K / HITS[train, r]["clean"].mean() - 1)
                for r in range(RUNS)
            ]
        )
        assert entry["mean"] == pytest.approx(changes.mean())
        assert entry["sd"] == pytest.approx(changes.std(ddof=1))
        assert entry["low"] < entry["mean"] < entry["high"]
        assert "test_eps" not in entry


def test_the_best_of_every_row_is_marked(records):
    matrix = next(b for b in find(records).findings["study"].blocks() if isinstance(b, Table))
    rows = {row[0].split()[0]: row[1:] for row in matrix.rows}
    for test, spec in (("0", "clean"), ("eps_min", "linf(0.1)"), ("0.2", "linf(0.2)")):
        k = 1 if spec == "clean" else K
        means = [
            np.mean([100 * HITS[train, run][spec].mean() / k for run in range(RUNS)])
            for train in TRAINED
        ]
        assert [entry.shown for entry in rows[test]] == [m == max(means) for m in means]


def test_the_clean_series_of_a_training_noise_has_all_runs(records):
    few = tuple(c for c in records if not (c.corruption == "linf(0.2)" and c.run > 1))
    (subject,) = find(replace(records, cells=few)).groups.subjects
    assert [s.runs for s in subject.clean] == [RUNS, RUNS]
    assert sorted({s.runs for s in subject.noisy}) == [2, RUNS]
