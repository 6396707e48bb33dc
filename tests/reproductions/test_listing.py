"""What can be reproduced: names, needs, and what was last measured."""

import json
import re
from pathlib import Path

import pytest

from helpers.commands import check_schema, run_command, run_json
from shaketable.reproductions import listing
from shaketable.reproductions.listing import list_reproductions, load_measured
from shaketable.reproductions.registry import FORMS, REPRODUCTIONS

MEASURED = sorted(Path(listing.__file__).parent.joinpath("measured").glob("*.json"))

pytestmark = pytest.mark.usefixtures("own_directory")


def put(monkeypatch, name, form, verdicts):
    """Put a measurement in place of all that the package has."""
    claims = [{"claim": "c", "verdict": v, "why": ""} for v in verdicts]
    worst = next((v for v in ("fails", "inconclusive") if v in verdicts), "holds")
    found = {
        "name": name,
        "form": form,
        "verdict": worst,
        "claims": claims,
        "settings": {"Date": "2026-01-02", "Machine": "a machine", "Time": "3 s"},
    }
    monkeypatch.setattr(listing, "load_measured", lambda: {(name, form): found})


def test_all_names_are_listed(capsys):
    code, out, err = run_command(capsys, "reproduce")
    assert code == 0, err
    listed = run_json(capsys, "reproduce")["reproductions"]
    assert {*listed} == {*REPRODUCTIONS}
    assert all(name in out for name in listed)
    assert listed["pnorm-table6"]["source"].endswith("Table 6")
    assert "shaketable reproduce NAME" in " ".join(out.split())


def test_forms_come_with_claims_and_deviations():
    for name, each in list_reproductions().items():
        forms = REPRODUCTIONS.get(name).forms
        assert [*each["forms"]] == [*forms]
        assert {*forms} <= {*FORMS}
        for form_name, form in each["forms"].items():
            assert form["claims"] == [claim.text for claim in forms[form_name].claims]
            assert form["deviations"] == [*forms[form_name].deviations]


@pytest.mark.parametrize(
    ("verdicts", "worst", "held"),
    [
        (["holds", "holds"], "holds", "2 of 2 hold"),
        (["holds", "fails", "inconclusive"], "fails", "1 of 3 hold"),
        (["inconclusive"], "inconclusive", "0 of 1 hold"),
    ],
)
def test_the_last_measurement_is_shown(capsys, monkeypatch, verdicts, worst, held):
    put(monkeypatch, "pnorm-table6", "full", verdicts)
    form = run_json(capsys, "reproduce")["reproductions"]["pnorm-table6"]["forms"]["full"]
    assert form["measured"] == {
        "verdict": worst,
        "claims": held,
        "date": "2026-01-02",
        "machine": "a machine",
        "time": "3 s",
    }
    out = run_command(capsys, "reproduce")[1]
    (line,) = (line for line in out.splitlines() if "pnorm-table6" in line)
    assert worst in line


def test_what_was_never_measured_says_so(capsys, throw_away):
    throw_away(name="pnorm-made-up", forms=("full", "gpu"))
    forms = run_json(capsys, "reproduce")["reproductions"]["pnorm-made-up"]["forms"]
    assert [form["measured"] for form in forms.values()] == [None, None]
    (line,) = (s for s in run_command(capsys, "reproduce")[1].splitlines() if "pnorm-made-up" in s)
    assert re.search(r"full +nothing +no time +not yet", line)


def test_measurements_are_of_names_and_forms_that_there_are():
    for (name, form), found in load_measured().items():
        assert form in REPRODUCTIONS.get(name).forms
        declared = [claim.text for claim in REPRODUCTIONS.get(name).forms[form].claims]
        measured = [claim["claim"] for claim in found["claims"]]
        assert {*measured} <= {*declared}, (
            f"{name} was measured with other claims; measure it again"
        )
        assert "/" not in json.dumps(found["settings"]["Command"])


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_measurements_are_as_the_schema_says(path):
    check_schema("reproduce", json.loads(path.read_text(encoding="utf-8")))


def test_measurements_are_checked():
    assert MEASURED
    found = json.loads(MEASURED[0].read_text(encoding="utf-8"))
    del found["verdict"]
    with pytest.raises(AssertionError):
        check_schema("reproduce", found)
