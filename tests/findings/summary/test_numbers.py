"""Verdicts follow intervals, and from the interval that the data give."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from helpers.records import make_records
from shaketable import metrics
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce.scores import make_boards as make_suite_boards
from shaketable.findings.summary.numbers import MARGIN, Board, decide, make_boards
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics.estimate import Estimate

N, K = 1200, 4
SEPARATION = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)


def lose(number: int, k: int = K) -> np.ndarray:
    """Points that are always right, but for some that are always wrong."""
    return np.where(np.arange(N) < number, 0, k)


def take(records: Records, separated: bool = True) -> list[Board]:
    known = (SEPARATION,) if separated else ()
    return make_boards(RecordGroups(replace(records, separations=known), frozenset({"mce"})))


def make(model: str, lost: dict[str, int], metric: str = "", sets: tuple[str, ...] = ()) -> Records:
    hits = {spec: lose(number) for spec, number in lost.items()}
    hits["clean"] = lose(4, 1)
    return of_two_classes(
        make_records(hits, k=K, model=model, metric=metric, sets=sets or tuple(lost))
    )


def of_two_classes(records: Records) -> Records:
    """The same records with points of two classes."""
    points = replace(records.cells[0].points, y=np.arange(N) % 2)
    return replace(records, cells=tuple(replace(cell, points=points) for cell in records.cells))


def make_estimate(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.95, "by hand")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.2, -0.001, "loses accuracy"),
        (-0.2, 0.0, "inconclusive"),
        (-MARGIN, 0.1, "inconclusive"),
        (-MARGIN + 1e-9, 0.0, "robust as far as shown"),
        (0.1, 0.2, "robust as far as shown"),
        (0.0, 0.0, "robust as far as shown"),
        (-0.01, -0.001, "loses accuracy"),
    ],
)
def test_the_verdict_follows_the_interval_alone(low: float, high: float, verdict: str) -> None:
    assert decide(make_estimate(low, high)) == verdict
    assert decide(None) == "inconclusive"


def test_at_eps_min_the_mscr_decides() -> None:
    records = make("good", {"linf(0.1)": 4}) + make("bad", {"linf(0.1)": 60})
    (board,) = take(records)
    assert board.basis.name == "eps_min"
    assert [(line.label, line.verdict) for line in board.lines] == [
        ("good", "robust as far as shown"),
        ("bad", "loses accuracy"),
    ]
    for line in board.lines:
        of_model = replace(records, separations=(SEPARATION,)).select(model=line.label)
        assert line.value == metrics.mscr(of_model)
        assert line.worst is not None
        assert line.worst.series is line.series, "there is one corruption only"
    assert [line.label for line in board.ordered] == ["good", "bad"]


def test_without_eps_min_the_worst_noise_decides() -> None:
    records = make("net", {"linf(0.1)": 4, "linf(0.5)": 300, "fog(2)": 10, "fog(1)": 5})
    (board,) = take(records, separated=False)
    (line,) = board.lines
    assert (board.basis.name, line.under, line.candidates) == ("worst", "linf(0.5)", 4)
    assert line.change is not None
    assert line.change.value == pytest.approx(4 / N - 0.25)
    assert line.change.confidence == pytest.approx(1 - 0.05 / 4), "of four noises"
    assert line.verdict == "loses accuracy"
    assert line.worst is not None
    assert (line.worst.noise, line.worst.error.value) == ("linf(0.5)", 0.25)
    assert not line.worst.is_beyond_eps_min, "it is not known"


def test_several_noises_share_the_error_probability() -> None:
    """A loss that one noise alone shows is not shown as the worst of many."""

    def change(lost: int, kinds: int) -> str:
        specs = ["linf(0.1)", "l2(0.1)", "sp(0.1)", "fog(1)", "snow(1)", "jitter(0.1)"][:kinds]
        (board,) = take(make("net", dict.fromkeys(specs, lost)), separated=False)
        return board.lines[0].verdict

    least = next(lost for lost in range(5, N) if change(lost, 1) == "loses accuracy")
    assert change(least, 6) != "loses accuracy"
    assert change(60, 6) == "loses accuracy"


def test_suites_are_judged_by_their_own_metric_against_clean_points() -> None:
    sets = ("fog(1)", "fog(2)", "snow(1)", "snow(2)")
    lost = dict(zip(sets, (10, 40, 5, 60), strict=True))
    records = make("net", lost, "mce", sets)
    (board,) = take(records)
    (line,) = board.lines
    (score,) = make_suite_boards(RecordGroups(records, frozenset({"mce"})))[0].scores
    assert (board.basis.name, board.basis.suite, board.basis.heading) == ("suite", "by-hand", "mCE")
    assert line.value == score.value
    assert line.change is not None
    assert line.change.value == pytest.approx(1 - line.value.value - line.clean.accuracy.value)
    assert line.verdict == "loses accuracy"
    assert line.worst is not None
    assert (line.worst.noise, line.worst.place) == ("snow(2)", "suite")
    bounds = [metrics.error_probability(records, corruption=spec).overall.high for spec in sets]
    assert line.worst.error.high == max(bounds)


def test_a_model_has_a_line_at_eps_min_and_one_per_suite() -> None:
    sets = ("fog(1)", "fog(2)")
    records = make("net", {"linf(0.1)": 4, "fog(1)": 10, "fog(2)": 40}, "mce", sets)
    suites = (*records.suites, SuiteRecord("f", "more", "mce", "", ("fog(1)", "linf(0.1)")))
    boards = take(replace(records, suites=suites))
    assert [(b.basis.name, b.basis.suite) for b in boards] == [
        ("eps_min", ""),
        ("suite", "by-hand"),
        ("suite", "more"),
    ]
    assert [len(b.lines) for b in boards] == [1, 1, 1]


def test_a_model_that_guesses_is_not_called_robust() -> None:
    rng = np.random.default_rng(0)
    hits = {"clean": rng.integers(0, 2, N), "linf(0.1)": np.full(N, K)}
    records = make_records(hits, k=K, metric="")
    (board,) = take(of_two_classes(records))
    assert decide(board.lines[0].change) == "robust as far as shown"
    assert board.lines[0].is_guessing
    assert board.lines[0].verdict == "inconclusive"


def test_a_model_without_right_answers_has_an_undefined_verdict() -> None:
    records = make_records({"clean": np.zeros(N, int), "linf(0.1)": lose(10)}, k=K, metric="")
    (board,) = take(records)
    assert board.lines[0].change is None
    assert board.lines[0].verdict == "inconclusive"


def test_every_training_noise_of_a_study_has_a_line(study_records: Records) -> None:
    boards = make_boards(RecordGroups(study_records))
    labels = [line.label for board in boards for line in board.lines]
    assert len(labels) == len(set(labels)) == 6
    changes = [line.change for board in boards for line in board.ordered if line.change]
    assert all(a.value >= b.value for a, b in pairwise(changes))


def test_a_loss_that_is_not_excluded_under_any_noise_is_not_called_robust() -> None:
    """The smallest mean under one noise says nothing about a wide interval under another."""
    moved = np.where(np.arange(N) < 200, 0, K)  # 200 points lost, 201 others gained
    clean = np.where(np.arange(N) < 401, (np.arange(N) < 200).astype(int), 1)
    hits = {"clean": clean, "fog(1)": clean * K, "jitter(0.5)": moved}
    hits["swap(0.1)"] = np.where(np.arange(N) == N - 1, 0, clean * K)  # one more point is lost
    records = make_records(hits, k=K, model="net", metric="", sets=tuple(hits)[1:])
    (board,) = take(of_two_classes(records), separated=False)
    (line,) = board.lines
    assert line.change is not None
    assert line.under == "jitter(0.5)"
    assert line.change.value > 0 > -MARGIN > line.change.low
    assert line.verdict == "inconclusive"
