"""Registered requirements and the times of the cells that decide them."""

from dataclasses import replace

import pytest

from shaketable.evaluation.registrations import make_registration
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.check import check
from shaketable.findings.requirements.finding import find


@pytest.fixture
def records(noise_records):
    """Clean points measured in January, others in March; requirements registered in February."""
    cells = [
        replace(cell, created="2020-01" if cell.is_clean else "2020-03") for cell in noise_records
    ]
    text = "require = ['mscr >= -90%', 'error[linf(0.03)] <= 99%', 'error[sp(0.1)] <= 50%']"
    registrations = (make_registration(1, text, "2020-02"),)
    return replace(noise_records, cells=tuple(cells), registrations=registrations)


def test_the_first_of_all_cells_that_decide_counts(records):
    texts = ["mscr >= -90%", "error[linf(0.03)] <= 99%", "accuracy >= 1%"]
    decisions = {d.requirement.text: d for d in check(records, texts).decisions}
    assert decisions["mscr >= -90%"].measured == "2020-01"  # it needs clean points, too
    assert decisions["mscr >= -90%"].is_older
    assert decisions["accuracy >= 1%"].registered == ""
    assert not decisions["accuracy >= 1%"].is_older


def test_the_page_decides_registered_requirements_and_says_which_it_cannot(records):
    found = find(RecordGroups(records))
    assert {d.requirement.text for d in found.check.decisions} == {
        "mscr >= -90%",
        "error[linf(0.03)] <= 99%",
    }
    assert [*found.errors] == ["error[sp(0.1)] <= 50%"]


def test_an_unknown_time_of_measurement_claims_nothing(records):
    cells = tuple(replace(cell, created="") for cell in records)
    decided = check(replace(records, cells=cells), "mscr >= -90%")
    assert not any(d.is_older for d in decided.decisions)
    assert "before they were measured" not in str(decided.blocks())
