"""What is required, as a finding: decisions of all models, from commands that a file keeps."""

import json

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command
from helpers.records import make_records
from shaketable.core.errors import InputError, StoreError
from shaketable.evaluation.command_records import make_command_record
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.check import check
from shaketable.findings.requirements.finding import decide, find, list_kept
from shaketable.findings.requirements.requirement import parse_requirements
from shaketable.views.blocks import Table

HITS = {"clean": np.repeat([1, 0], [380, 20]), "linf(0.1)": np.repeat([1, 0], [360, 40])}


def keep(*required, **settings):
    return make_command_record(
        "evaluate",
        {"data": "d", "require": [*required], **settings},
        {},
        (),
        fingerprint="f",
        models={},
        recipes=(),
        seed=0,
    )


def records_with(*commands):
    models = (make_records(HITS, sets=(), model=name).cells for name in ("a", "b"))
    return Records(sum(models, ()), commands=commands)


def test_decisions_are_those_of_check_and_are_found_by_model():
    records = records_with(keep("accuracy >= 90", "difference(a, b).accuracy >= -9"))
    found = st.find(records).findings["requirements"]
    wanted = check(records, ["accuracy >= 90", "difference(a, b).accuracy >= -9"])
    assert found.check.json() == wanted.json() == st.find(records).json()["check"]
    assert [d.requirement.text for d in found.of("a")] == ["accuracy >= 90%"]
    assert found.of("a")[0].estimate.confidence == pytest.approx(1 - 0.05 / 3)


def test_without_a_requirement_there_is_no_finding():
    assert find(RecordGroups(records_with())) is None
    assert "check" not in st.find(records_with()).json()


def test_a_requirement_that_was_not_measured_does_not_hide_the_others():
    records = records_with(keep("accuracy >= 90", "error[fog(5)] <= 9"))
    found = st.find(records).findings["requirements"]
    assert found.check.json() == check(records, "accuracy >= 90").json()
    (undecided,) = found.json()["undecided_requirements"]
    assert undecided["requirement"] == "error[fog(5)] <= 9%"
    assert "needs fog(5) on record" in undecided["reason"]


def test_a_requirement_that_was_not_measured_is_counted_where_all_others_are_met():
    records = records_with(keep("accuracy >= 50", "error[fog(5)] <= 9"))
    (board,) = (
        b for b in st.find(records).blocks() if isinstance(b, Table) and "verdict" in b.title
    )
    for row in board.rows:
        entry = row[-1]
        assert (entry.value, entry.note, entry.tone) == ("1 of 1 met", "1 not measured", "open")
    assert st.dossier(records).outcome == "met: 2 of 2 requirements met; 1 not measured"


def test_requirements_of_several_commands_count_once_with_the_first_time():
    first, second = keep("accuracy >= 90"), keep("accuracy >= 90%", "error <= 9", confidence=99)
    kept = list_kept(records_with(second, first))
    assert [*kept] == ["accuracy >= 90%", "error <= 9%"]
    assert kept["accuracy >= 90%"] == min(first.created, second.created)
    assert find(RecordGroups(records_with(first, second))).check.confidence == 0.99


def test_asked_requirements_take_the_place_of_those_that_are_kept():
    groups = RecordGroups(records_with(keep("accuracy >= 90")))
    found = decide(groups, parse_requirements("error <= 9"))
    assert [d.requirement.text for d in found.check.decisions] == ["error <= 9%"] * 2


def test_what_a_requirement_is_about_must_be_known():
    found = decide(RecordGroups(records_with()), parse_requirements("model(c).accuracy >= 1"))
    (error,) = found.errors.values()
    assert isinstance(error, InputError)
    assert found.check is None


def test_files_of_requirements_are_kept_as_sentences(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text('require = ["accuracy >= 1", "mscr >= -100"]')
    argv = ["evaluate", "--data", "bands(n=60)", "--model", "1nn", "--quiet"]
    run_command(capsys, *argv, "--store", "r.sqlite", "--require", "r.toml")
    (tmp_path / "r.toml").unlink()
    code, out, err = run_command(capsys, "report", "r.sqlite", "--json")
    assert code == 0, err
    assert len(json.loads(out)["check"]["requirements"]) == 2


def test_what_check_asked_for_stands_on_the_page_and_rerun_leaves_it_alone(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    argv = ["evaluate", "--data", "bands(n=60)", "--model", "1nn", "--quiet"]
    run_command(capsys, *argv, "--store", "r.sqlite")
    check_argv = ["check", "r.sqlite", "--require", "accuracy >= 1", "--confidence", "99"]
    assert run_command(capsys, *check_argv)[0] == 0
    code, out, err = run_command(capsys, "report", "r.sqlite", "--json")
    assert code == 0, err
    assert json.loads(out)["check"]["confidence"] == 99
    code, _, err = run_command(capsys, "rerun", "r.sqlite")
    assert code == 0, err


def test_check_reads_a_file_that_cannot_be_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["evaluate", "--data", "bands(n=60)", "--model", "1nn", "--quiet"]
    run_command(capsys, *argv, "--store", "r.sqlite")

    def refuse(*_, **__):
        raise StoreError("it is read-only")

    monkeypatch.setattr(Store, "add_command", refuse)
    code, out, err = run_command(capsys, "check", "r.sqlite", "--require", "accuracy >= 1")
    assert (code, "1 of 1 requirement met" in out) == (0, True)
    assert "the requirements are not kept: it is read-only" in err


def test_other_findings_are_told_of_decisions():
    class Listener:
        heard = ()

        def decide(self, decisions, undecided):
            told = Listener()
            told.heard = tuple(decisions)
            return told

    results = st.find(records_with())
    found = decide(results.groups, parse_requirements("error <= 9"))
    told = results.with_findings(listener=Listener(), requirements=found).findings["listener"]
    assert told.heard == found.check.decisions
