"""Decisions as files: JUnit XML and Markdown, also with hostile names."""

from xml.etree import ElementTree

import pytest

from helpers.pages import EVIL
from helpers.records import make_records
from shaketable.core.errors import InputError
from shaketable.findings.requirements.check import check

HITS = {"clean": [1] * 380 + [0] * 20}


@pytest.fixture
def decisions():
    records = make_records(HITS, model=f"net {EVIL}\x1b[2J | *x*")
    return check(records, ["accuracy >= 80", "accuracy >= 95", "accuracy >= 99"])


def test_junit_has_one_case_per_decision(decisions, tmp_path):
    path = decisions.write_junit(tmp_path / "r.xml")
    (suite,) = ElementTree.parse(path).getroot()
    assert {k: suite.get(k) for k in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    met, open_, not_met = suite
    assert [case.get("name") for case in suite] == [
        f"accuracy >= {limit}% (clean)" for limit in (80, 95, 99)
    ]
    assert "<script>" in met.get("classname")
    assert "\\x1b[2J" in met.get("classname")
    assert met.find("failure") is met.find("error") is None
    assert open_.find("error").get("type") == "inconclusive"
    assert "it is at the limit" in open_.find("error").get("message")
    assert not_met.find("failure").get("message") == str(decisions.decisions[2]).replace(
        "\x1b", "\\x1b"
    ).replace("\u2028", "\\u2028")


def test_control_codes_in_a_requirement_leave_the_xml_well_formed(tmp_path):
    records = make_records(HITS, model="net\x1b[2J")
    path = check(records, "model(net\x1b[2J).accuracy >= 80").write_junit(tmp_path / "r.xml")
    ((case,),) = ElementTree.parse(path).getroot()
    assert case.get("name") == "model(net\\x1b[2J).accuracy >= 80% (clean)"


def test_markdown_is_one_table_that_no_name_can_break(decisions, tmp_path):
    text = decisions.write_markdown(tmp_path / "step_summary").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert "<script>" not in text
    assert "| met |" in rows[2]
    assert "| inconclusive | at the limit |" in rows[3]
    assert text.rstrip().endswith("not met: 1 of 3 requirements met, 1 not met, 1 inconclusive")
    assert "with 95 % confidence all 3 decisions are right" in text


def test_a_file_that_cannot_be_written_is_named(decisions, tmp_path):
    with pytest.raises(InputError, match="JUnit XML cannot be written"):
        decisions.write_junit(tmp_path / "none" / "r.xml")
