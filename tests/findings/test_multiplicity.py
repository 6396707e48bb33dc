"""Claims that are judged together: each of these would be shown alone, and is not among several.

Numbers of lost points are searched for, so that they follow the intervals.
"""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import shaketable as st
from helpers.records import make_records
from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.evaluation.records import GroupingRecord, Points, Records
from shaketable.findings.results import find
from shaketable.findings.subgroups.finding import Subgroups
from shaketable.findings.subgroups.numbers import Breakdown, split_by_class
from shaketable.statistics import intervals
from shaketable.statistics.difference import excludes_zero
from shaketable.statistics.groups import count_by_group, differences_from_others

N, K = 200, 4


def lose(count, first=0):
    """Hits of points that are right in all draws but so many, from the first on."""
    hits = np.full(N, K)
    hits[first : first + count] = 0
    return hits


def search(judged, estimate):
    """Smallest number whose estimate is shown alone, which must not be shown among `judged`."""
    for count in range(1, N):
        value = estimate(count)
        if excludes_zero(value):
            assert not excludes_zero(value.again(confidence=1 - 0.05 / judged))
            return count
    raise AssertionError("no number is shown")


def lost(count):
    return intervals.mean_difference(np.full(N, K), lose(count), K)


def feature(number):
    return f'jitter(0.5, only="f{number}")'


def find_losses(hits, **more):
    specs = tuple(hits)
    records = make_records(
        {"clean": np.ones(N, int), **hits}, k=K, metric=METRIC, sets=specs, **more
    )
    return records


@pytest.mark.parametrize(("features", "models"), [(1, 1), (9, 1), (3, 3)])
def test_losses_by_feature_of_all_models(features, models):
    judged = features * models
    count = search(9, lost)
    records = Records(())
    for model in range(models):
        hits = {feature(i): lose(count, first=10 * i) for i in range(features)}
        records += find_losses(hits, model=f"m{model}")
    entries = find(records).json()["feature_losses"]
    shown = [f["loss"]["shown"] for entry in entries for f in entry["features"]]
    assert shown == [judged == 1] * judged
    assert all(f["loss"]["low"] > 0 for entry in entries for f in entry["features"])


@pytest.mark.parametrize("others", [1, 8])
def test_the_most_fragile_feature_among_others(others):
    count = search(8, lost)
    hits = {feature(0): lose(80 + count), **{feature(i + 1): lose(80) for i in range(others)}}
    (entry,) = find(find_losses(hits)).json()["feature_losses"]
    assert len(entry["most_fragile"]) == (1 if others == 1 else 9)
    assert entry["most_fragile"][0] == "f0"


@pytest.mark.parametrize("models", [2, 3, 4])
def test_means_over_corruptions_of_all_pairs(models):
    def mean(count, names=2):
        records = Records(())
        for i in range(names):
            hits = dict.fromkeys(("linf(0.1)", "l2(0.1)"), lose(count if i else 0))
            records += make_records({"clean": np.ones(N, int), **hits}, k=K, model=f"m{i}")
        return find(replace(records, suites=())).findings["comparison"].pairs

    count = search(3, lambda count: mean(count)[0].mean)
    pairs = mean(count, models)
    assert len(pairs) == math.comb(models, 2)
    for pair in pairs:
        differ = "m0" in (pair.first, pair.second)
        assert excludes_zero(pair.mean) == differ
        assert pair.mean_shown == (differ and models == 2)


GROUPS = 5


def split(hits, models=1, corruptions=1):
    """Finding of models by five groups, of which the first has other hits."""
    codes = np.arange(N) % GROUPS
    points = Points("p", ("a", "b"), np.arange(N), np.arange(N) // 7 % 2)
    records = Records(())
    for i in range(models):
        noisy = {f"linf({j / 10:g})": hits for j in range(1, 1 + corruptions)}
        records += make_records({"clean": hits // K, **noisy}, k=K, model=f"m{i}")
    cells = tuple(replace(cell, points=points) for cell in records)
    grouping = GroupingRecord("f", "town", tuple("ABCDE"), codes)
    found = find(replace(records, cells=cells, suites=(), groupings=(grouping,)))
    finding = found.findings["subgroups"]
    assert isinstance(finding, Subgroups)
    board = next(board for board in finding.boards if board.by == "town")
    return board, [e for e in found.json()["groups"] if e["by"] == "town"]


@pytest.mark.parametrize(("models", "corruptions"), [(1, 1), (2, 1), (2, 3)])
def test_gaps_of_groups_over_models_and_corruptions(models, corruptions):
    def hits(count):
        """The first group loses so many of its points, on clean points and under noise."""
        values = np.full(N, K)
        values[np.arange(N) % 10 == 1] = 0  # some losses in other groups
        values[np.arange(N)[np.arange(N) % GROUPS == 0][:count]] = 0
        return values

    def gap(count, confidence=0.95):
        counts = count_by_group(hits(count), K, np.arange(N) % GROUPS, GROUPS)
        return next(iter(differences_from_others(counts, confidence=confidence)))

    judged = {True: GROUPS * models, False: GROUPS * models * corruptions}
    count = next(c for c in range(1, N) if gap(c).value < 0 and excludes_zero(gap(c)))
    board, entries = split(hits(count), models, corruptions)
    for model in board.models:
        assert model.clean.judged == judged[True]
        assert {b.judged for b in model.corrupted} == {judged[False]}
    for entry in entries:
        (group,) = [g for g in entry["groups"] if g["group"] == "A"]
        alone = group["difference_from_others"]
        assert alone["high"] < 0
        strict = gap(count, 1 - 0.05 / judged[entry["corruption"] == "clean"])
        assert not excludes_zero(strict)
        assert not alone["shown"]


def test_gaps_of_groups_where_a_rule_stopped():
    order = Points("order", ("a", "b"), np.arange(2 * N), np.arange(2 * N) % 2)
    cell = replace(make_records({"clean": lose(0) // K}).cells[0], points=order.first(N))
    assert cell.points.stopped == "points"

    def break_down(count, judged):
        hits = (lose(10, first=100) + lose(2 * count) > K).astype(int)  # those of class a
        hits[1 : 2 * count : 2] = 1
        own = replace(cell, hits=hits)
        return Breakdown(own, "clean", False, split_by_class(own.points), judged).find("a")

    count = search(8, lambda count: break_down(count, 1).gap)
    assert break_down(count, 1).shown
    assert not break_down(count, 8).shown


def test_a_rule_waits_for_every_model_and_every_requirement():
    def make(right, noisy, model):
        clean = np.arange(N) < right
        return make_records({"clean": clean, "linf(0.1)": noisy}, k=K, model=model)

    good = make(190, lose(20), "good")
    few = make(5, K - lose(5), "few")
    both = replace(good + few, suites=())
    precise = st.Precision(60, of="relative_loss")
    assert math.isfinite(precise.forecast(replace(good, suites=())))
    assert precise.forecast(both) == math.inf, "a ratio of 5 right answers"
    decided, open_ = "accuracy >= 50", "accuracy >= 94"
    good = replace(good, suites=())
    assert st.Decided([decided]).forecast(good) == 1
    assert st.Decided([open_]).forecast(good) > 1
    for order in ((decided, open_), (open_, decided)):
        assert st.Decided(order).forecast(good) > 1
    unsure = make(150, lose(50), "unsure")
    wide, narrow = (st.Precision(1.0).forecast(replace(r, suites=())) for r in (unsure, good))
    assert wide > narrow > 1
    for order in (good + unsure, unsure + good):
        assert st.Precision(1.0).forecast(replace(order, suites=())) == wide


def test_pairs_are_counted_once():
    names = "abcd"
    records = Records(())
    for i, name in enumerate(names):
        records += make_records({"clean": np.ones(N, int), "linf(0.1)": lose(i)}, k=K, model=name)
    pairs = find(replace(records, suites=())).findings["comparison"].pairs
    assert [(p.first, p.second) for p in pairs] == list(combinations(names, 2))
    assert {gap.judged for pair in pairs for gap in pair.gaps} == {6}
