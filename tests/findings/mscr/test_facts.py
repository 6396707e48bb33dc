"""Accuracies, MSCR and risks on the page and in words, against counts by hand."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.pages import read_page
from helpers.records import make_records
from shaketable.evaluation.records import Points, Records
from shaketable.findings.mscr.view import _choose_tone, describe_risk
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.metrics import error_probability
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_bound, format_percent

K, N = 5, 90
CLASSES = ("cat", "dog", "emu", "fox")
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, N)  # no fox
SHARE = np.array([0.99, 0.6, 0.9])[Y]  # dogs are hard
HITS = {"clean": RNG.binomial(1, 0.5 + SHARE / 2), "linf(0.1)": RNG.binomial(K, SHARE)}
HITS["l2(0.3)"] = RNG.binomial(K, SHARE / 2)


def separate(norm, two_r, fingerprint="f"):
    return SeparationRecord(fingerprint, norm, two_r, (0, 1), CLASSES, None, {}, None)


@pytest.fixture(scope="module")
def records() -> Records:
    points = Points("p", CLASSES, np.arange(N), Y)
    made = make_records(HITS, k=K, model="net", sets=())
    cells = tuple(replace(c, points=points) for c in made)
    known = (separate(2.0, 7.0, "other"), separate(2.0, 5.0), separate(np.inf, 0.2))
    return Records(cells, known, ())


def test_risks_are_those_of_the_counts_class_by_class(records):
    error = error_probability(records, corruption="linf(0.1)")
    hits = HITS["linf(0.1)"]
    assert error.overall.value == pytest.approx(1 - hits.mean() / K)
    assert error.overall.high == intervals.error_upper_bound(hits, K).high
    assert error.unseen == ("fox",)
    assert list(error.by_class) == ["cat", "dog", "emu"]
    for code, label in enumerate(CLASSES[:3]):
        own = hits[code == Y]
        assert error.by_class[label].value == pytest.approx(1 - own.mean() / K)
        assert error.by_class[label].high == intervals.error_upper_bound(own, K).high
        assert error.by_class[label].value < error.by_class[label].high
    words = describe_risk(error)
    worst = error.by_class["dog"]
    assert worst.high == max(e.high for e in error.by_class.values())
    assert f"worst class 'dog': below {format_bound(worst.high)}" in words
    assert f"{format_percent(error.overall)}, below {format_bound(error.overall.high)}" in words
    assert "'fox'" in words


def test_the_page_has_the_risks_of_the_counts(records, tmp_path):
    in_one_norm = tuple(c for c in records if c.corruption != "l2(0.3)")
    page = read_page(write_report(tmp_path / "p.html", replace(records, cells=in_one_norm)))
    tables = [name for name in page.tables if name.startswith("probability of a wrong answer of ")]
    assert tables
    hits = HITS["linf(0.1)"]
    rows = {row[0]: tuple(row[1:]) for name in tables for row in page.tables[name]}
    e = intervals.error_upper_bound(hits, K)
    assert rows["linf(eps_min)"] == (str(N), f"{format_percent(e)} below {format_bound(e.high)}")
    bounds = {}
    for code, label in enumerate(CLASSES[:3]):
        e = intervals.error_upper_bound(hits[code == Y], K)
        bound = f"{format_percent(e)} below {format_bound(e.high)}"
        bounds[str(label)] = (e.value, (str((code == Y).sum()), bound))
    (table,) = (rows for name, rows in page.tables.items() if name.startswith("by class"))
    classes = [(row[0], (row[1], row[4])) for row in table[1:]]
    worst_first = sorted(bounds.items(), key=lambda item: -item[1][0])
    assert classes == [(label, cells) for label, (_, cells) in worst_first]
    never = int((hits == K).sum())
    assert 0 < never < N
    assert f"{never} of {N} points were classified correctly in all {K} draws" in page.text


def test_subjects_have_the_separation_of_their_norm_and_data(records):
    subjects = {s.norm: s for s in find(records).groups.subjects}
    assert {norm: s.eps_min for norm, s in subjects.items()} == {"L-inf": 0.1, "L2": 2.5}
    assert [s.at_eps_min for s in subjects["L-inf"].noisy] == [True]
    assert [s.at_eps_min for s in subjects["L2"].noisy] == [False]


def test_series_are_sorted_by_the_size_of_their_noise():
    hits = {"clean": HITS["clean"], "sp(0.1)": HITS["linf(0.1)"]}
    noisy = dict.fromkeys(("linf(0.3)", "linf(0.1)", "linf(0.2)"), HITS["linf(0.1)"])
    made = make_records(hits | noisy, k=K, sets=())
    by_norm = {
        subject.norm: [s.first.corruption for s in subject.all_series]
        for subject in find(Records(made.cells)).groups.subjects
    }
    assert by_norm == {
        "": ["clean", "sp(0.1)"],
        "L-inf": ["clean", "linf(0.1)", "linf(0.2)", "linf(0.3)"],
    }


@pytest.mark.parametrize(
    ("low", "high", "tone"),
    [
        (-0.3, -0.1, "lost"),
        (0.1, 0.3, "kept"),
        (-0.1, 0.1, "open"),
        (0, 0, "kept"),
        (-0.1, 0, "open"),
    ],
)
def test_the_colour_of_a_card_is_that_of_its_interval(low, high, tone):
    assert _choose_tone(Estimate((low + high) / 2, low, high, 0.95, "by hand")) == tone
    assert _choose_tone(None) == "open"
