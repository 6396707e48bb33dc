"""Arithmetic from the printed Table III: what holds, and what a changed number does."""

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from helpers.table_iii import NETWORKS, ROWS, trained_on
from shaketable.findings.mcv import variation
from shaketable.reproductions.claims import find_worst
from shaketable.reproductions.numbers import Numbers
from shaketable.reproductions.papers.twofactor.factor_scores import (
    ARITHMETIC,
    read_scores,
    tabulate_print,
)


@pytest.fixture(autouse=True)
def _forget():
    read_scores.cache_clear()
    yield
    read_scores.cache_clear()


def judge():
    numbers = Numbers(tabulate_print()).by_name
    return numbers, [claim.judge(numbers) for claim in ARITHMETIC]


def test_the_rows_are_read_as_printed():
    read = [(r.label, r.mean, r.cv, r.least, r.most, r.clean) for r in read_scores().table.rows]
    assert read == [(r.label, r.mean, r.cv, r.least, r.most, r.clean) for _, _, r in ROWS]


def test_averages_are_those_of_the_rows():
    numbers, judgements = judge()
    assert find_worst(judgements) == "holds", judgements
    for kind, words in (("clean", "clean"), ("single", "single factor"), ("two", "two factors")):
        for column, name in (("CV", "cv"), ("mean", "mean"), ("min", "least"), ("max", "most")):
            value = np.mean([getattr(row, name) for row in trained_on(kind)])
            assert numbers[f"average: {words} / {column}"].value == pytest.approx(value)
    assert numbers["images: images of a test set"].value == 5000


def test_only_four_means_would_fall_below():
    numbers, _ = judge()
    below = [name for name, n in numbers.items() if name.startswith("above") and n.value < 0]
    sets = ("GA0.1", "GA0.1SP0.1", "SP0.1", "SP0.1GA0.1")
    assert below == [f"above: ResNet50({each}) / had print divided by n - 1" for each in sets]


def test_correlations_are_those_of_scipy():
    numbers = st.reproduce("twofactor-table2").numbers.by_name
    columns = {"CV": "cv", "mean": "mean", "clean": "clean"}
    values = {name: [getattr(row, key) for _, _, row in ROWS] for name, key in columns.items()}
    for name in ("CV and mean", "CV and clean", "mean and clean"):
        pair = [values[each] for each in name.split(" and ")]
        for column, f in (("Spearman", stats.spearmanr), ("Pearson", stats.pearsonr)):
            ours = numbers[f"correlation: {name} / {column}"].value
            assert ours == pytest.approx(f(*pair).statistic)
            printed = float(numbers[f"correlation: {name} / {column}"].printed.slip)
            assert numbers[f"misprint: {name} / {column}"].value == pytest.approx(
                abs(ours - printed)
            )


def test_every_network_has_its_group():
    found = st.reproduce("twofactor-mcv")
    assert found.exit_code == 0, found.judgements
    groups = {
        name.removeprefix("group: "): number.value
        for name, number in found.numbers.by_name.items()
        if name.startswith("group: ")
    }
    assert len(groups) == 24
    counts = [
        [list(groups.values())[8 * i : 8 * i + 8].count(g) for g in (1, 2, 3, 4)] for i in range(3)
    ]
    assert dict(zip(NETWORKS, counts, strict=True)) == {
        "AlexNet": [6, 2, 0, 0],
        "ResNet50": [0, 0, 6, 2],
        "VGG-19": [1, 0, 7, 0],
    }


@pytest.mark.parametrize(
    ("name", "thing", "change"),
    [
        (
            "twofactor-table2",
            "correlation",
            lambda f: lambda x, y: f(x, np.sqrt(y) + np.arange(len(y))),
        ),
        ("twofactor-mcv", "group", lambda f: lambda mean, cv, at, **o: f(cv, mean, at, **o)),
    ],
)
def test_a_changed_function_fails(monkeypatch, name, thing, change):
    assert st.reproduce(name).exit_code == 0
    read_scores.cache_clear()
    monkeypatch.setattr(variation, thing, change(getattr(variation, thing)))
    assert st.reproduce(name).exit_code == 1


def test_a_changed_mean_fails(monkeypatch):
    mean = variation.mean
    monkeypatch.setattr(variation, "mean", lambda values: mean(values) * 12 / 11)
    assert find_worst(judge()[1]) == "fails"
