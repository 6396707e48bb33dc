"""Errata: complete entries, and those that touch a number stand on its page."""

import shlex
from dataclasses import replace

import pytest

import shaketable as st
from helpers.commands import run_command, run_json
from helpers.pages import read_page
from helpers.records import make_records
from shaketable.cli.commands import COMMANDS, GROUPS
from shaketable.cli.parser import parse_args
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.errata.errata import list_touching, load_errata, name_subjects
from shaketable.findings.figures.registry import FIGURES
from shaketable.findings.finding import FINDINGS
from shaketable.findings.page import write_report

HITS = {"clean": [1, 1, 0, 1], "linf(0.1)": [1, 0, 0, 1]}


@pytest.mark.parametrize("erratum", load_errata().values(), ids=lambda e: e.id)
def test_an_entry_says_all_that_it_must(erratum):
    assert all((erratum.paper, erratum.place, erratum.printed, erratum.right, erratum.see))
    program, command, *words = shlex.split(erratum.command)
    assert (program, command in COMMANDS) == ("shaketable", True)
    if "--help" not in words:
        args = parse_args([command, *words], COMMANDS, GROUPS)
        if command == "figure":
            assert args.name in FIGURES
    for subject in erratum.touches:
        kind, _, name = subject.partition(":")
        assert kind in ("finding", "suite", "data", "training", "constraint")
        assert name
        if kind == "finding":
            assert name in FINDINGS


def records_of(suite="", data="by hand"):
    made = make_records(HITS, sets=())
    cells = tuple(replace(cell, data=data) for cell in made)
    suites = (SuiteRecord("f", suite, "", "", tuple(HITS)),) if suite else ()
    return Records(cells, (), suites)


@pytest.mark.parametrize(
    ("suite", "wanted"),
    [
        ("two-factor", "twofactor-minimum"),
        ("two-factor-train", "twofactor-imnoise"),
        ("ice-tiny", "pnorm-ice-brackets"),
        ("pnorm-tiny", "pnorm-table5"),
        ("mscr-cifar", "mscr-truncated"),
    ],
)
def test_suites_are_touched(suite, wanted):
    assert wanted in [e.id for e in list_touching(records_of(suite), ())]
    assert list_touching(records_of("common-19"), ()) == []


def test_data_findings_and_trainings_are_touched():
    assert "genuine-ties" in [e.id for e in list_touching(records_of(data="CIFAR-10"), ())]
    assert "mscr-division" in [e.id for e in list_touching(records_of(), ["study"])]
    assert list_touching(records_of(), ["mscr"]) == []
    assert "finding:study" in name_subjects(records_of(), ["study"])


def test_a_page_has_those_that_touch_it_and_no_others(tmp_path):
    found = st.find(records_of("ice-cifar"))
    page = read_page(write_report(tmp_path / "r.html", found))
    rows = page.tables["slips in print and in published code"][1:]
    assert [row[0] for row in rows] == ["Eq. 4, iCE Siedel et al. (2024), p-norm corruptions"]
    plain = read_page(write_report(tmp_path / "p.html", st.find(records_of())))
    assert "slips in print and in published code" not in plain.tables


def test_they_are_listed(capsys):
    listed = run_json(capsys, "list", "errata")
    assert listed.keys() == load_errata().keys()
    assert "85.38" in listed["twofactor-minimum"]
    assert "twofactor-minimum" in run_command(capsys, "list", "errata")[1]
