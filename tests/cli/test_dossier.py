"""The dossier on the command line: facts, requirements registered before and after, evidence."""

import json
import sqlite3
import tomllib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from helpers.commands import check_schema, run_command, run_failing, run_json
from shaketable.evaluation.store import Store
from shaketable.findings.dossier.facts import FACTS
from shaketable.findings.dossier.view import AFTER, BEFORE, EVIDENCE

pytestmark = pytest.mark.usefixtures("own_directory")

EARLIER, LATER = (
    (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds") for days in (-1, 1)
)
ONE, TWO = 'require = ["accuracy >= 50%"]', 'require = ["accuracy >= 40%", "mscr >= -90%"]'


@pytest.fixture
def store(capsys):
    """Results file of a command."""
    argv = ["evaluate", "--data", "bands(n=300)", "--model", "1nn", "--quiet", "--k", "2"]
    from shaketable.cli.main import main

    assert main([*argv, "--store", "r.sqlite"]) == 0
    capsys.readouterr()
    return "r.sqlite"


def register(store, *registrations):
    with Store(store) as file:
        for text, time in registrations:
            file.register(text, created=time)


def run_dossier(capsys, *argv):
    return run_json(capsys, "dossier", *argv)


def list_missing(result):
    return {missing["section"] for missing in result["missing"]}


def test_a_new_file_of_facts_parses_and_its_dossier_misses_every_fact(capsys, store):
    code, out, _ = run_command(capsys, "dossier", "init")
    assert code == 0
    assert "facts.toml is written" in out
    content = tomllib.loads(Path("facts.toml").read_text())
    asked = {(fact.section, fact.key) for fact in FACTS if fact.key}
    assert {(section, key) for section, keys in content.items() for key in keys} == asked
    result = run_dossier(capsys, store, "--facts", "facts.toml")
    missing = [m["what"] for m in result["missing"] if m["section"] == "facts"]
    assert missing == [*(fact.place for fact in FACTS if fact.key), "[reasons] linf"]
    assert result == {**run_dossier(capsys, store), "created": result["created"]}
    assert "exists already" in run_failing(capsys, "dossier", "init")


def test_examples_of_the_new_file_are_values_that_it_takes(capsys, store):
    run_command(capsys, "dossier", "init", "f.toml")
    text = Path("f.toml").read_text()
    for fact in FACTS:
        if fact.kind == "table":
            text = text.replace(
                *(
                    "\n# ".join(["", *fact.example.splitlines()]),
                    "\n".join(["", *fact.example.splitlines()]),
                )
            )
        else:
            empty = "[]" if fact.kind == "texts" else '""'
            given = f"{empty[0]}{json.dumps(fact.example)}{empty[1]}".replace('""', '"')
            before = f"such as {given}\n{fact.key} = "
            assert before + empty in text
            text = text.replace(before + empty, before + given)
    Path("f.toml").write_text(text)
    result = run_dossier(capsys, store, "--facts", "f.toml")
    assert "facts" not in list_missing(result)
    values = {(f["section"], f["key"]): f["value"] for f in result["facts"]}
    assert values["people", "responsible"] == ["A. Person, product safety"]
    assert values["domain", "ranges"] == {
        "brightness": "300 to 2000",
        "labels": "printed, handwritten",
    }
    (noise,) = result["perturbations"]
    assert values["reasons", ""] == {"linf": noise["reason"]}
    assert noise["levels"] == ["eps_min = 0.01"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[sytem]\nname = 'x'",
            "unknown section in facts file 'f.toml': 'sytem'; did you mean 'sys",
        ),
        (
            "[system]\nnme = 'x'",
            "unknown key in [system] of facts file 'f.toml': 'nme'; did you me",
        ),
        ("[system]\nversion = 1.2", "[system] version must be a text, got 1.2; write it in quotes"),
        ("system = 1", "system must be a section"),
        ("[domain.ranges]\nage = [9, 1]", "age must be [low, high] with low <= high"),
        ("[people]\nresponsible = [1]", "[people] responsible must be a text, got 1"),
        ("[reasons]\nlinv = 'x'", "unknown perturbation in [reasons] of f.toml: 'linv'; did you m"),
        ("[system]\nname = 'x'\nname = 'y'", "name is given twice"),
        ("[system", "cannot be read"),
    ],
)
def test_wrong_facts_are_refused_in_one_line(capsys, store, text, message):
    Path("f.toml").write_text(text)
    assert message in run_failing(capsys, "dossier", store, "--facts", "f.toml")


def test_every_section_is_on_the_page_and_says_what_it_lacks(capsys, store):
    code, _, _ = run_command(capsys, "dossier", store, "-o", "d.html")
    assert code == 0
    page = Path("d.html").read_text()
    for place in (
        "system",
        "domain",
        "claims",
        "registered",
        "independence",
        "data",
        "perturbations",
        "verdict",
        "risk",
        "groups",
        "worst-case",
        "features",
        "accuracy",
        *AFTER,
        "method",
    ):
        assert f'id="{place}"' in page, place
    assert set(EVIDENCE) <= {*BEFORE, "risk", "groups", "features", "worst-case", "missing"}
    result = run_dossier(capsys, store)
    for missing in result["missing"]:
        assert missing["what"].split(";")[0] in page
        if missing["section"] != "facts":
            assert missing["remedy"].startswith("shaketable ")


def test_evidence_that_is_given_is_no_longer_missing(capsys, store):
    lacking = {"registered", "independence", "repeat", "worst-case", "groups", "features", "facts"}
    assert list_missing(run_dossier(capsys, store)) == lacking
    _, out, _ = run_command(capsys, "rerun", store, "--json")
    Path("rerun.json").write_text(out)
    register(store, (ONE, EARLIER))
    attack = ["adversary", "--data", "bands(n=300)", "--model", "1nn", "--points", 10, "--quiet"]
    assert run_command(capsys, *attack, "--eps", "eps_min", "--store", store)[0] == 0
    result = run_dossier(capsys, store, "--rerun", "rerun.json", "--data", "bands(n=300)")
    assert list_missing(result) == {"groups", "features", "facts"}
    assert "worst-case" in result["crosswalk"][8]["sections"]
    assert result["rerun"]["identical"]
    assert result["independence"]["overlap"]["test_points"] == 60
    check_schema("report", {"schema_version": 1, **result["results"]})


def test_rare_failures_are_a_section_with_its_limits_and_topic(capsys, store):
    argv = ["--data", "iris", "--model", "logistic", "--corruption", "linf(0.1)", "--points", "2"]
    run_command(capsys, "risk", *argv, "--budget", "5000", "--quiet", "--store", store)
    result = run_dossier(capsys, store)
    assert len(result["results"]["rare_failures"]) == 1
    assert any("rare failures" in limit for limit in result["limits"])
    topics = {topic["topic"]: topic["sections"] for topic in result["crosswalk"]}
    assert topics["statistical reliability engineering"] == ["rare", "risk"]


def test_the_outcome_of_rerun_must_be_of_this_file(capsys, store):
    _, out, _ = run_command(capsys, "rerun", store, "--json")
    outcome = json.loads(out)
    for content, message in [
        ("[]", "must be what shaketable rerun --json printed"),
        ('{"agrees": true}', "it lacks 'cells'"),
        (json.dumps({**outcome, "commands": []}), "is about other results"),
        ("{", "cannot be read"),
    ]:
        Path("rerun.json").write_text(content)
        assert message in run_failing(capsys, "dossier", store, "--rerun", "rerun.json")


def test_equal_points_of_training_and_test_are_found(capsys):
    rows = [f"{i},{'ab'[i % 2]}" for i in range(20)]
    Path("train.csv").write_text("\n".join(["x,y", *rows]))
    Path("test.csv").write_text("\n".join(["x,y", rows[3], "77,a", rows[4], "78,b", rows[4]]))
    data = ["--data", "train.csv", "--test", "test.csv", "--label", "y"]
    flags = ["--model", "1nn", "--corruptions", "clean", "--store", "r.sqlite", "--quiet"]
    run_command(capsys, "evaluate", *data, *flags)
    overlap = run_dossier(capsys, "r.sqlite", "--data", "train.csv")["independence"]["overlap"]
    assert (overlap["test_points"], overlap["other_points"]) == (5, 20)
    assert (overlap["equal_across"], overlap["equal_within"]) == (3, 2)


def test_a_suite_says_the_reason_for_its_members(capsys, suite_records):
    from shaketable.findings.dossier.dossier import dossier
    from shaketable.findings.dossier.facts import Facts

    made = dossier(suite_records, Facts({"reasons": {"pnorm": "asked for"}}))
    asked = [m.what for m in made.missing if m.what.startswith("[reasons]")]
    assert asked == ["[reasons] ice"]
    suites = {p.name: p.suites for p in made.perturbations}
    assert suites["pnorm"] == ()
    assert suites["l2"] == ("pnorm", "ice")
    assert made.subjects[0].under == ("pnorm (suite)", "ice (suite)")


def test_points_that_were_held_out_are_found_again(capsys, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    train = ["train", "--network", "mlp(width=4, depth=1)", "--data", "bands(n=100)", "--scale"]
    flags = ["--recipe", "points(epochs=1)", "--no-curve", "--quiet", "-o", "net.pt"]
    assert run_command(capsys, *train, *flags)[0] == 0
    data = ["--data", "bands(n=100)", "--scale", "--held-out", "--model", "net=net.pt"]
    assert run_command(capsys, "evaluate", *data, "--store", "r.sqlite", "--quiet")[0] == 0
    found = run_dossier(capsys, "r.sqlite", "--data", "bands(n=100)")["independence"]
    assert (found["overlap"]["test_points"], found["overlap"]["other_points"]) == (20, 80)
    assert "were not trained on were evaluated" in found["test_points"][0]


def test_other_data_are_refused(capsys, store):
    message = run_failing(capsys, "dossier", store, "--data", "iris")
    assert "data iris are not those of the results" in message


def test_requirements_that_were_registered_before_count_as_such(capsys, store):
    register(store, (ONE, EARLIER))
    result = run_dossier(capsys, store)
    assert result["registration_notes"] == []
    (registration,) = result["registrations"]
    assert (registration["created"], registration["text"]) == (EARLIER, ONE)
    code, out, _ = run_command(capsys, "check", store)
    assert code == 0
    assert f"all were registered by {EARLIER}, before they were measured" in out


def test_a_requirement_that_is_newer_than_its_measurement_is_noticed(capsys, store):
    register(store, (ONE, LATER))
    note = "'accuracy >= 50%' was measured ("
    (decision,) = run_json(capsys, "check", store)["requirements"]
    assert decision["measured_before"]
    for command in (["check", store], ["report", store], ["dossier", store]):
        _, out, _ = run_command(capsys, *command)
        assert note in out, command
        assert "nothing shows that its limit was set beforehand" in out
    for command in ("report", "dossier"):
        run_command(capsys, command, store, "-o", "p.html")
        assert "before it was registered" in Path("p.html").read_text()


def test_changed_requirements_are_noticed(capsys, store):
    register(store, (ONE, EARLIER), (TWO, LATER), (TWO, LATER))
    result = run_json(capsys, "check", store)
    assert [r["number"] for r in result["registrations"]] == [1, 2]
    (changed,) = [note for note in result["notes"] if "were changed" in note]
    assert f"on {LATER}: added 'accuracy >= 40%', 'mscr >= -90%'; removed 'accuracy >= 50%'" in (
        changed
    )
    assert "after the first measurement" in changed
    assert changed in run_dossier(capsys, store)["registration_notes"]
    _, out, _ = run_command(capsys, "check", store, "--require", "accuracy >= 50%")
    assert "'accuracy >= 50%' is not among the registered requirements" in out
    assert "'mscr >= -90%' is registered and not checked" in out


def test_comments_change_the_hash_and_no_requirement(capsys, store):
    register(store, (ONE, EARLIER), (f"# the board says so\n{ONE}", LATER))
    result = run_json(capsys, "check", store)
    assert len({r["sha256"] for r in result["registrations"]}) == 2
    assert result["notes"] == []
    assert result["requirements"][0]["registered"] == EARLIER


def test_check_registers_a_file_once(capsys):
    import hashlib

    Path("r.toml").write_bytes(b"require = 'accuracy >= 50%' # why\r\n")
    flags = ["--register", "r.toml", "--store", "new.sqlite"]
    first = run_json(capsys, "check", *flags)
    assert (first["new"], first["cells"]) == (True, 0)
    content = Path("r.toml").read_bytes()
    assert first["registered"]["sha256"] == hashlib.sha256(content).hexdigest()
    _, out, _ = run_command(capsys, "check", *flags)
    assert "1 requirement of r.toml registered already in new.sqlite" in out
    argv = ["evaluate", "--data", "bands(n=300)", "--model", "1nn", "--quiet", "--k", "2"]
    run_command(capsys, *argv, "--store", "new.sqlite")
    assert run_json(capsys, "check", "new.sqlite")["outcome"] == "met"
    Path("r.toml").write_text(TWO)
    _, out, _ = run_command(capsys, "check", *flags)
    assert "the file holds 2 cells that were measured before" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--register", "r.toml"], "name it with --store STORE"),
        (["x.sqlite", "--register", "r.toml", "--store", "y.sqlite"], "needs one results file"),
        (["--register", "r.toml", "--store", "x.sqlite", "--require", "cv <= 1"], "leave out --r"),
        (["--register", "none.toml", "--store", "x.sqlite"], "cannot be read"),
        (["--store", "x.sqlite"], "--store is for --register"),
        ([], "check needs a results file"),
    ],
)
def test_wrong_registrations_are_refused_and_write_nothing(capsys, argv, message):
    Path("r.toml").write_text(ONE)
    assert message in run_failing(capsys, "check", *argv)
    assert not Path("x.sqlite").exists()


def test_a_registration_that_was_changed_is_damage(capsys, store):
    register(store, (ONE, EARLIER))
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE registrations SET created = '2000'")
    for command in ("check", "dossier"):
        message = run_failing(capsys, command, store)
        assert "row 1 of table registrations was changed" in message


def test_merging_keeps_registrations_in_their_order(capsys, store):
    Path("copy.sqlite").write_bytes(Path(store).read_bytes())
    register(store, (TWO, LATER))
    register("copy.sqlite", (ONE, EARLIER))
    run_command(capsys, "merge", store, "copy.sqlite", "-o", "all.sqlite")
    with Store("all.sqlite") as file:
        kept = file.registrations()
    assert [(each.number, each.text, each.created) for each in kept] == [
        (1, ONE, EARLIER),
        (2, TWO, LATER),
    ]
