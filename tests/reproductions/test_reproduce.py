"""The command: exit codes, files, settings, messages, and going on."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import check_schema, run_command, run_failing
from helpers.pages import read_page
from shaketable.core.errors import InputError, ShaketableError
from shaketable.findings.mcv.finding import ScoreVariation
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.papers.pieces import run_pieces
from shaketable.reproductions.papers.twofactor.factor_scores import read_scores
from shaketable.reproductions.registry import REPRODUCTIONS, Asked
from shaketable.reproductions.reproduce import describe_machine
from shaketable.reproductions.result import show_numbers

pytestmark = pytest.mark.usefixtures("own_directory")

NAME = "pnorm-made-up"


@pytest.mark.parametrize(
    ("value", "code", "verdict"),
    [
        (1.0, 0, "holds"),
        (-1.0, 1, "fails"),
        (np.array([1.0]), 3, "inconclusive"),
        (np.array([1.0, -1.0, 0.5]), 3, "inconclusive"),
    ],
)
def test_the_exit_code_is_the_verdict(capsys, throw_away, value, code, verdict):
    throw_away(value)
    found, out, err = run_command(capsys, "reproduce", NAME, "--json", "--quiet")
    assert found == code, err
    result = json.loads(out)
    check_schema("reproduce", result)
    assert result["verdict"] == result["claims"][0]["verdict"] == verdict


def test_what_is_unfinished_is_inconclusive(capsys, throw_away):
    throw_away(1.0, unfinished="1 of 2 runs")
    code, out, _ = run_command(capsys, "reproduce", NAME, "--quiet")
    assert code == 3
    assert out.splitlines()[0] == f"{NAME}: not finished: 1 of 2 runs; 1 of 1 claims hold"
    assert "unfinished" in (found := st.reproduce(NAME).json())
    assert found["verdict"] == "inconclusive"


def test_a_failure_shows_before_all_is_done(throw_away):
    throw_away(-1.0, unfinished="1 of 2 runs")
    assert st.reproduce(NAME).exit_code == 1


def test_where_nothing_is_claimed_nothing_is_known(capsys, throw_away):
    throw_away(-1.0, claims=[])
    found = st.reproduce(NAME)
    assert (found.verdict, found.exit_code, found.judgements) == ("inconclusive", 3, [])
    code, out, _ = run_command(capsys, "reproduce", NAME, "--quiet")
    assert code == 3
    says = f"{NAME}: nothing is claimed of this choice of data, norm or draws; measured"
    assert out.splitlines()[0] == says


def test_page_json_and_figure_are_written(capsys, throw_away, runs):
    throw_away(runs, figure=read_scores().plot, notes=["A note."], settings={"Points": 7})
    code, out, err = run_command(capsys, "reproduce", NAME, "-o", "new/folder", "--quiet")
    assert code == 0, err
    folder = Path("new/folder")
    assert {path.name for path in folder.iterdir()} == {
        f"{NAME}.full.{e}" for e in ("html", "json", "svg")
    }
    assert err == f"in new/folder: {NAME}.full.html, {NAME}.full.json, {NAME}.full.svg\n"
    written = json.loads((folder / f"{NAME}.full.json").read_text())
    check_schema("reproduce", written)
    (number,) = written["tables"][0]["numbers"]
    assert (number["runs"], number["printed"], number["printed_half"]) == (5, 2.0, 0.5)
    assert number["z"] == pytest.approx(0.0)
    assert written["settings"]["Points"] == "7"
    page = read_page(folder / f"{NAME}.full.html")
    assert page.tables["Claims"][1][:2] == ["the number is positive", "holds"]
    assert "2.00 ± 0.50" in page.text
    assert "All is made up." in page.text
    assert "A note." in page.text
    assert "the number is positive" in out
    assert isinstance(read_scores(), ScoreVariation)


def test_without_a_folder_python_writes_nothing(throw_away):
    throw_away()
    assert st.reproduce(NAME).measured.tables
    assert [*Path().iterdir()] == []


def test_errata_are_named_and_shown(capsys, throw_away):
    throw_away(errata=["pnorm-table6", "pnorm-table5"])
    assert st.reproduce(NAME).json()["errata"] == ["pnorm-table6", "pnorm-table5"]
    out = run_command(capsys, "reproduce", NAME, "--quiet")[1]
    line = "Errata: pnorm-table6, pnorm-table5 (`shaketable list errata NAME` shows one)"
    assert out.splitlines().count(line) == 1
    page = read_page(Path("reproduced") / f"{NAME}.full.html")
    assert any(
        "pnorm-table6" in cell for rows in page.tables.values() for row in rows for cell in row
    )
    assert line not in page.text, "its table has them"


def test_without_errata_none_are_named(capsys, throw_away):
    throw_away()
    assert "Errata" not in run_command(capsys, "reproduce", NAME, "--quiet")[1]


def test_what_is_asked_for_reaches_the_function(capsys, throw_away):
    asked = throw_away(forms=("full", "fast"))
    words = "--form fast --data x.npz --runs 4 --norm 2 --draws independent --seed 9"
    code, out, _ = run_command(
        capsys,
        "reproduce",
        NAME,
        *words.split(),
        "--minutes",
        3,
        "--jobs",
        1,
        "--quiet",
        "-o",
        "d",
        "--json",
    )
    assert code == 0
    (each,) = asked
    assert each == Asked(
        name=NAME,
        form="fast",
        data="x.npz",
        norm="2",
        draws="independent",
        runs=4,
        seed=9,
        folder=Path("d"),
        minutes=3,
        jobs=1,
    )
    assert each.store == Path("d") / f"{NAME}.sqlite"
    assert each.share("mscr-study").store == Path("d/mscr-study.sqlite")
    # how it is carried out is no part of the command that makes the same numbers
    command = json.loads(out)["settings"]["Command"]
    assert command.startswith(f"shaketable reproduce {NAME} --data x.npz --form fast --runs 4")
    assert "--minutes" not in command


def test_the_command_on_record_makes_the_same(capsys, throw_away):
    asked = throw_away(forms=("full", "fast"))
    words = shlex.split(
        st.reproduce(NAME, form="fast", seed=3, norm=1, data="/far/d.npz").settings["Command"]
    )
    assert "/far" not in " ".join(words)
    run_command(capsys, *words[1:], "--quiet")
    first, second = ((a.name, a.form, a.seed, a.norm) for a in asked)
    assert first == second == (NAME, "fast", 3, "1")


def test_the_first_form_is_the_default(throw_away):
    asked = throw_away(forms=("gpu", "full"))
    assert st.reproduce(NAME).json()["form"] == "gpu"
    assert [a.form for a in asked] == ["gpu"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pnorm-table66"], "unknown reproduction 'pnorm-table66'; did you mean 'pnorm-table6'"),
        (["pnorm-table6", "--form", "fast"], "unknown form of pnorm-table6 'fast'"),
        (["pnorm-table6", "--form", "quick"], "unknown form 'quick'; Known: fast, full, gpu"),
        (["pnorm-table6", "--runs", "0"], "runs must be a whole number of at least 1, got 0"),
        (["pnorm-table6", "--minutes", "-1"], "minutes must be 0 or more, got -1"),
        (["pnorm-table6", "--draws", "both"], "unknown draws 'both'; Known: independent, shared"),
        (["--runs", "3"], "--runs is about one reproduction; name it"),
        (["--seed", "3"], "--seed is about one reproduction; name it"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(capsys, words, message):
    assert message in run_failing(capsys, "reproduce", *words)


@pytest.mark.parametrize("norm", ["inf", "linf", "L-inf", float("inf")])
def test_a_norm_has_one_name(throw_away, norm):
    asked = throw_away()
    st.reproduce(NAME, norm=norm)
    assert [each.norm for each in asked] == ["inf"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": "some"}, "draws must be 'shared' or 'independent', got 'some'"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"norm": 0}, "norm must be"),
    ],
)
def test_wrong_options_are_named(throw_away, options, message):
    throw_away()
    with pytest.raises(InputError, match=message):
        st.reproduce(NAME, **options)


def test_a_form_for_gpus_needs_one_or_a_device(capsys, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["reproduce", "pnorm-table5", "--form", "gpu", "--data", str(tmp_path)]
    message = run_failing(capsys, *words)
    assert "form gpu of pnorm-table5 needs a GPU, and none was found; leave --form out" in message
    assert "needs a GPU" not in run_failing(capsys, *words, "--device", "cpu")


def test_torch_is_looked_for_before_anything_is_done(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name, each in REPRODUCTIONS.items():
        for form, about in each.forms.items():
            if "torch" in about.needs:
                with pytest.raises(InputError, match="networks need torch, which is not installed"):
                    st.reproduce(name, form=form)


def test_other_choices_have_other_files(throw_away):
    throw_away()
    for options in ({}, {"norm": 2}, {"seed": 1}, {"runs": 3, "draws": "independent"}):
        st.reproduce(NAME, out="d", **options)
    ends = ["", ".l2", ".seed1", ".independent.runs3"]
    assert {p.name for p in Path("d").glob("*.json")} == {f"{NAME}.full{e}.json" for e in ends}


def test_an_interruption_says_what_is_kept(tmp_path):
    from shaketable.cli.reproduce import _say_what_is_kept

    assert _say_what_is_kept(str(tmp_path)).startswith("nothing is kept yet")
    (tmp_path / "study.sqlite").touch()
    assert _say_what_is_kept(str(tmp_path)) == (
        f"what is done is in {tmp_path}; run the same command to go on"
    )


def test_data_that_are_not_given_are_asked_for(throw_away):
    with pytest.raises(InputError, match="not part of this package; give bands2d by data="):
        Asked().require_data("bands2d")
    assert Asked(data="x").require_data("bands2d") == "x"


def test_settings_name_the_machine_and_the_versions(throw_away):
    throw_away()
    settings = st.reproduce(NAME).settings
    assert {"Command", "Seed", "Time", "Date", "Machine", "Versions"} <= settings.keys()
    assert "cores" in describe_machine()
    assert "numpy" in settings["Versions"]


def test_every_name_is_whole():
    from shaketable.findings.errata.errata import load_errata

    for name, each in REPRODUCTIONS.items():
        assert each.name == name
        assert each.paper != name, "its first part is no paper"
        assert each.forms
        assert set(each.errata) <= {*load_errata()}
        for form in each.forms.values():
            assert form.claims
            assert form.takes
            assert len({claim.text for claim in form.claims}) == len(form.claims)


def test_print_is_shown_in_its_own_digits():
    numbers = [
        Number("a", 9037.1, Printed(9037, text="9037")),
        Number("b", 0.5, Printed(0.25, 0.1, text="0.25 ± 0.10")),
        Number("c", 0.5, Printed(0.25, 0.1, slip="7")),
    ]
    table = show_numbers(NumberTable("t", "T", numbers, digits=1))
    place = table.header.index("print")
    assert [row[place] for row in table.texts()] == [
        "9037",
        "0.25 ± 0.10",
        "0.2 ± 0.1 (as printed: 7)",
    ]


@pytest.mark.parametrize(
    ("numbers", "title"),
    [
        ([1.0], "T (ours; print)"),
        ([np.arange(5.0)], "T (ours; print, z)"),
        ([np.arange(4.0)], "T (ours; print)"),
        ([1.0, np.arange(5.0)], "T (ours; print, z)"),
    ],
)
def test_a_matrix_says_what_stands_beside_ours(numbers, title):
    made = [Number(f"r{i}", each, Printed(1.0), "c") for i, each in enumerate(numbers)]
    assert show_numbers(NumberTable("t", "T", made)).title == title
    alone = NumberTable("t", "T", [Number("r", numbers[0], column="c")])
    assert show_numbers(alone).title == "T"


OPTIONS = {"train_eps": [0, 0.1], "test_eps": [0.1], "k": 1}


def piece(folder, **options):
    asked = Asked(name="study", folder=folder, jobs=1, **options)
    return run_pieces(asked, "1nn", st.load("iris"), runs=2, options=OPTIONS)


def test_a_study_goes_on_training_by_training(tmp_path):
    counts = []
    for done in (1, 2, 3):
        records, left = piece(tmp_path, minutes=0)
        assert left == f"{done} of 4 trainings are done; the same command goes on"
        counts.append({cell.run for cell in records})
    assert counts == [set(), {0}, {0}]
    records, left = piece(tmp_path, minutes=0)
    assert left == ""
    whole, none_left = piece(None)
    assert none_left == ""
    hits = [[(c.train, c.corruption, c.run, c.hits.tolist()) for c in r] for r in (records, whole)]
    assert sorted(hits[0]) == sorted(hits[1])


@pytest.mark.parametrize("minutes", [None, 60])
def test_a_training_that_fails_is_an_error(minutes):
    class Failing(KNeighborsClassifier):
        def fit(self, x, y):
            if len(x) > 150:  # noisy copies
                raise InputError("this training fails")
            return super().fit(x, y)

    options = {**OPTIONS, "k": 2}
    with pytest.raises(ShaketableError, match="this training fails"):
        run_pieces(
            Asked(jobs=1, minutes=minutes), Failing(), st.load("iris"), runs=2, options=options
        )


def test_a_study_with_time_is_done_at_once(tmp_path):
    records, left = piece(tmp_path, minutes=60)
    assert left == ""
    assert {cell.run for cell in records} == {0, 1}
    assert piece(None, minutes=60)[1] == ""


def test_training_that_would_end_too_late_is_not_begun(tmp_path, monkeypatch):
    # every look at the clock is half a minute later; what is on record takes no new time
    clock = iter(range(0, 10_000, 30))
    monkeypatch.setattr("shaketable.reproductions.papers.pieces.monotonic", lambda: next(clock))
    _, left = piece(tmp_path, minutes=2)
    assert left.startswith("2 of 4")
