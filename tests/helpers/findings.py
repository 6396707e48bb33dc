"""Parts of the findings of records, as tests look at them."""

from functools import cache

import pytest

from shaketable.evaluation.records import Records
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mce.scores import Scoreboard
from shaketable.findings.mcv.finding import MCVBoard, make_boards
from shaketable.findings.results import Results, find
from shaketable.findings.subjects import Subject


@cache
def find_once(records: Records) -> Results:
    """Findings of records that tests share; their estimates are computed once for all."""
    return find(records)


def score_boards(records: Records) -> list[Scoreboard]:
    """Boards of all suites that are scored by their mean error."""
    finding = find_once(records).findings.get("mce")
    return list(finding.boards) if isinstance(finding, SuiteErrors) else []


def variation_boards(records: Records, *, reference: str = "", suite: str = "") -> list[MCVBoard]:
    """Boards of all suites of sets, or of one suite."""
    return make_boards(RecordGroups(records, reference=reference), suite=suite)


def find_subjects(records: Records) -> list[Subject]:
    """Every model in every setting."""
    return find_once(records).groups.subjects


def print_results(capsys: pytest.CaptureFixture[str], records: Records) -> str:
    """Print all findings, and return what stdout has received."""
    find_once(records).print()
    return capsys.readouterr().out
