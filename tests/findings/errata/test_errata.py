"""Errata: entries are complete, their commands run, and results that they touch name them."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.pages import read_page
from helpers.records import make_records
from helpers.table_iii import ROWS
from shaketable.cli.commands import COMMANDS, GROUPS
from shaketable.cli.parser import parse_args
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.errata.errata import (
    list_touching,
    load_errata,
    name_errata,
    name_subjects,
    note_errata,
)
from shaketable.findings.figures.registry import FIGURES
from shaketable.findings.page import write_report

PAGES = Path(__file__).parents[3] / "docs" / "errata"
ERRATA = load_errata()
HITS = {"clean": [1, 1, 0, 1], "linf(0.1)": [1, 0, 0, 1]}
SLIPS = "slips in print and in published code, and claims that do not hold"
PLACEHOLDERS = {"BANDS2D", "CIFAR10", "DATA", "IMAGES", "MODEL", "MNIST", "STORE", "TINY"}
WORDS = ("suite", "data", "training", "constraint", "figure", "one-nn")


@pytest.mark.parametrize("erratum", ERRATA.values(), ids=lambda e: e.id)
def test_an_entry_says_all_that_it_must(erratum):
    assert erratum.kind in ("slip", "claim")
    texts = erratum.paper, erratum.place, erratum.printed, erratum.right, erratum.see
    assert all(texts)
    assert all(text == " ".join(text.split()) for text in texts)
    for touch in erratum.touches:
        assert all(each.partition(":")[0] in WORDS for each in touch.split())


@pytest.mark.parametrize("erratum", ERRATA.values(), ids=lambda e: e.id)
def test_commands_can_be_typed(erratum):
    program, command, *words = shlex.split(erratum.command)
    assert (program, command in COMMANDS) == ("shaketable", True)
    args = parse_args([command, *words], COMMANDS, GROUPS)
    if command == "figure":
        assert args.name in FIGURES
    capitals = {word for word in words if word.isupper() and len(word) > 3}
    assert {word for word in capitals if not word.startswith(("SP0", "GA0"))} <= PLACEHOLDERS


def run_shown(capsys, name):
    """Run the command of an erratum, and return what it prints with single spaces."""
    _, *words = shlex.split(ERRATA[name].command)
    code, out, err = run_command(capsys, *words)
    assert code == 0, err
    return " ".join(out.split())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pnorm-table6", ["3 1.91 3.142", "5 6.079 19.74", "10 401.5 9037", "20 4.063e+07 5.988e"]),
        ("genuine-continuum", ["75.00 [", "(4 points have room)"]),
        ("genuine-boundary", ["75.00 [", "(4 points have room)"]),
        ("twofactor-equation3", ["ResNet50(SP0.1GA0.1) 0.12 81.97 81.9 81.72"]),
        ("twofactor-table2", ["mean +0.180 +0.295 CV", "+0.383 +0.440", "+0.821 +0.889"]),
        ("common-mce", ["common-19 all 19", "common-15 the 15 of the published benchmark"]),
        ("pnorm-augmentations", ["tv-randaugment(n=2, m=9)", "tv-augmix(severity=3, width=3"]),
    ],
)
def test_commands_show_the_right_number(capsys, monkeypatch, name, shown):
    if name == "pnorm-augmentations":
        pytest.importorskip("torch")
    monkeypatch.chdir(PAGES)
    printed = run_shown(capsys, name)
    assert all(text in printed for text in shown), printed


def test_rotations_of_the_two_factor_sets_occur_twice(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_shown(capsys, "twofactor-sets")
    arrays = {path.stem: path.read_bytes() for path in (tmp_path / "sets").glob("*.npy")}
    del arrays["labels"]
    assert (len(arrays), len(set(arrays.values()))) == (69, 65)
    assert arrays["SP0RO30"] == arrays["RO30SP0"]


@pytest.mark.parametrize("name", ["mscr-division", "mscr-shared-draws"])
def test_commands_on_small_data_run(capsys, name):
    _, *words = shlex.split(ERRATA[name].command)
    small = {"--data": "bands(n=60)", "--runs": "2"}
    words = [small.get(flag, word) for flag, word in zip(["", *words], words, strict=False)]
    code, out, err = run_command(capsys, *words)
    assert code == 0, err
    assert "MSCR" in out
    assert "errata" not in err


def test_a_study_of_the_data_of_the_paper_has_a_note(capsys, tmp_path):
    data = st.load("bands(n=60)")
    np.savez(tmp_path / "bands2d_b.npz", x=data.x, y=data.y)
    sizes = ["--train-eps", "0,eps_min", "--test-eps", "eps_min", "--runs", "2", "--k", "1"]
    files = ["--data", tmp_path / "bands2d_b.npz", "--store", tmp_path / "s.sqlite"]
    _, _, err = run_command(capsys, "study", *files, "--model", "1nn", *sizes, "--quiet")
    note = "have errata (mscr-intervals-over-runs, mscr-division, mscr-shared-draws, 2 more)"
    assert err.count(note) == 1
    chart = tmp_path / "t.svg"
    _, _, err = run_command(capsys, "figure", "tradeoff", tmp_path / "s.sqlite", "-o", chart)
    assert err.count(note) == 1


def test_numbers_of_table_iii_are_those_of_its_rows():
    lines = (PAGES / "table3.csv").read_text("utf-8").splitlines()[1:]
    rows = {name: [float(x) for x in numbers] for name, *numbers in (x.split(",") for x in lines)}
    assert [[r.cv, r.mean, r.clean, r.least, r.most] for _, _, r in ROWS] == [*rows.values()]
    pairs = [row for name, row in rows.items() if re.search(r"\((SP0\.1.+|GA0\.1SP0\.1)\)", name)]
    single = [row for name, row in rows.items() if re.search(r"\((SP0\.1|GA0\.1|R[LR]30)\)", name)]
    assert (len(rows), len(pairs), len(single)) == (27, 12, 12)
    (cv, _, _, least, most), (cv_1, _, _, least_1, _) = (
        [sum(column) / 12 for column in zip(*group, strict=True)] for group in (pairs, single)
    )
    assert f"{least:.2f} %" in ERRATA["twofactor-minimum"].right
    assert f"{most:.3f}" in ERRATA["twofactor-minimum"].see
    assert f"{cv_1:.2f} to {cv:.2f}, by {100 * (cv_1 - cv) / cv_1:.1f} %" in (
        ERRATA["twofactor-percentages"].right
    )
    assert f"from {least_1:.2f} to {least:.2f}" in ERRATA["twofactor-percentages"].right
    hundredths = [round(100 * x) for row in rows.values() for x in row[2:]]
    assert all(x % 2 == 0 for x in hundredths)
    assert sum(x % 20 != 0 for x in hundredths) == 72


def records_of(suite="", data="by hand", train=None):
    made = make_records(HITS, sets=())
    changes = {"data": data} | ({} if train is None else {"train": train})
    cells = tuple(replace(cell, **changes) for cell in made)
    suites = (SuiteRecord("f", suite, "", "", tuple(HITS)),) if suite else ()
    return Records(cells, (), suites)


def touching(*args, **options):
    return {e.id for e in list_touching(name_subjects(records_of(*args, **options)))}


@pytest.mark.parametrize(
    ("suite", "wanted"),
    [
        ("two-factor", "twofactor-minimum"),
        ("two-factor-variance", "twofactor-minimum"),
        ("two-factor-train", "twofactor-imnoise"),
        ("ice-tiny", "pnorm-ice-brackets"),
        ("pnorm-tiny", "pnorm-table5"),
        ("mscr-cifar", "mscr-truncated"),
        ("mscr-2d", "mscr-shared-draws"),
        ("common-19(jpeg=85)", "common-mce"),
    ],
)
def test_suites_are_touched(suite, wanted):
    assert wanted in touching(suite)


@pytest.mark.parametrize("suite", ["two-factor-table", "mscr", "pnorm-cifar", ""])
def test_other_suites_are_not_touched(suite):
    assert touching(suite) == set()


def test_studies_of_the_data_of_a_paper_are_touched():
    assert "mscr-shared-draws" in touching(data="bands2d_b", train="linf(0.01)")
    assert "mscr-table3-column" in touching(data="CIFAR-10", train="linf(0.01)")
    assert touching(data="CIFAR-100", train="linf(0.01)") == set()
    assert touching(data="CIFAR-10") == touching(data="bands2d_b") == set()
    assert touching(data="bands2d_b", train="clean") == touching(data="wine", train="linf(1)")
    assert touching(data="bands(n=60)", train="linf(0.01)") == set()
    assert touching(data="bands2d_b", train="l2(0.01)") == {"mscr-l2-square"}


@pytest.mark.parametrize("spec", ["randaugment(n=2, m=9) + C1", "augmix(severity=3)", "AM + C2"])
def test_trainings_are_touched(spec):
    assert touching(train=spec) == {"pnorm-augmentations"}


@pytest.mark.parametrize("spec", ["tv-randaugment(n=2, m=9)", "tv-augmix + C2", "TA + C1"])
def test_trainings_with_what_was_released_are_not_touched(spec):
    assert touching(train=spec) == set()


def test_a_text_of_patterns_needs_all_of_them():
    erratum = replace(ERRATA["pnorm-table5"], touches=("suite:a data:b.*", "figure:c"))
    assert erratum.matches({"suite:a", "data:bb", "figure:d"})
    assert erratum.matches({"figure:c"})
    assert not erratum.matches({"suite:a", "data:a", "figure:cc"})
    assert not replace(erratum, touches=()).matches({"suite:a", "data:b"})


def test_a_note_names_three_errata_at_most():
    errata = list(ERRATA.values())[:5]
    assert note_errata([]) == []
    assert (
        "(mscr-table3-column, mscr-table3-intervals, mscr-intervals-over-runs);"
        in (note_errata(errata[:3])[0])
    )
    assert "mscr-intervals-over-runs, 2 more);" in note_errata(errata)[0]
    assert len(name_errata(errata)["errata"]) == 5


def test_a_page_has_those_that_touch_it_and_no_others(tmp_path):
    found = st.find(records_of("ice-cifar"))
    page = read_page(write_report(tmp_path / "r.html", found))
    rows = page.tables[SLIPS][1:]
    assert [row[0] for row in rows] == ["pnorm-ice-brackets slip", "pnorm-ice-surface slip"]
    assert rows[0][1] == "Eq. 4, iCE Siedel et al. (2024), p-norm corruptions"
    plain = read_page(write_report(tmp_path / "p.html", st.find(records_of())))
    assert SLIPS not in plain.tables


def test_results_name_them_once_in_text_and_json(capsys):
    found = st.find(records_of("ice-cifar"))
    found.print()
    ids = ["pnorm-ice-brackets", "pnorm-ice-surface"]
    note = f"have errata ({', '.join(ids)}); see shaketable list errata NAME"
    assert capsys.readouterr().err.count("list errata") == 1
    numbers = found.json()
    assert numbers["errata"] == ids
    assert [text for text in numbers["notes"] if "errata" in text] == [
        f"published numbers like these {note}"
    ]
    plain = st.find(records_of())
    plain.print()
    assert "errata" not in capsys.readouterr().err
    assert "errata" not in json.dumps(plain.json())


@pytest.mark.parametrize(("name", "norm", "number"), [("cifar10", "inf", 1), ("cifar10", "2", 0)])
def test_one_nn_of_a_separation_is_touched(capsys, tmp_path, name, norm, number):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / f"{name}.npz", x=rng.random((20, 4)), y=np.arange(20) % 2)
    words = [tmp_path / f"{name}.npz", "--norm", norm, "--one-nn", "--report", tmp_path / "r.html"]
    code, _, err = run_command(capsys, "separation", *words)
    assert code == 0, err
    assert err.count("have errata (genuine-ties)") == number
    assert (SLIPS in read_page(tmp_path / "r.html").tables) == bool(number)
    assert ("errata" in run_json(capsys, "separation", *words)) == bool(number)
    assert "errata" not in run_command(capsys, "separation", *words[:3])[2]


@pytest.mark.parametrize(("norm", "number"), [("inf", 1), ("2", 0)])
def test_agreement_with_one_nn_is_touched(capsys, tmp_path, norm, number):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "cifar10.npz", x=rng.random((40, 4)), y=np.arange(40) % 2)
    words = ["--data", tmp_path / "cifar10.npz", "--norm", norm, "--model", "rf", "--model", "svm"]
    code, _, err = run_command(capsys, "adversary", "--agreement", "neither", *words)
    assert code == 0, err
    assert err.count("have errata (genuine-ties)") == number
    found = run_json(capsys, "adversary", "--agreement", "neither", *words)
    assert found.get("errata", []) == ["genuine-ties"] * number


def test_attacks_name_them(capsys):
    words = ["adversary", "--data", "toy1d(n=8)", "--model", "f1", "--own", "--eps", "0.5"]
    code, _, err = run_command(capsys, *words, "--constraint", "genuine-exact", "--quiet")
    assert code == 0
    assert err.count("have errata (genuine-boundary, genuine-continuum)") == 1
    found = run_json(capsys, *words, "--constraint", "genuine-max")
    assert found["errata"] == ["genuine-boundary"]
    assert sum("list errata" in note for note in found["notes"]) == 1
    plain = run_json(capsys, *words)
    assert "errata" not in json.dumps(plain)


def test_a_results_file_with_attacks_has_one_note(capsys, tmp_path):
    store = tmp_path / "a.sqlite"
    words = ["--data", "toy1d(n=8)", "--model", "f1", "--own", "--eps", "0.5"]
    run_command(
        capsys, "adversary", *words, "--constraint", "genuine-max", "--store", store, "--quiet"
    )
    found = run_json(capsys, "report", store)
    assert found["errata"] == ["genuine-boundary"]
    assert json.dumps(found).count("list errata") == 1


def test_figures_name_them(capsys, tmp_path):
    for words in ([], ["--json"]):
        _, out, err = run_command(capsys, "figure", "balls-volumes", "-d", "3", *words)
        assert err.count("have errata (pnorm-table6)") == 1
        assert "errata" not in out
    _, _, err = run_command(capsys, "figure", "balls-overlap", "-d", "3", "--n", "10")
    assert "errata" not in err
    store = tmp_path / "t.sqlite"
    data, models = ["--data", "shapes(n=60)"], ["--model", "1nn", "--model", "logistic"]
    grid = ["--suite", "two-factor", "--quiet", "--store", store]
    code, _, err = run_command(capsys, "evaluate", *data, *models, *grid)
    assert code == 0, err
    found = run_json(capsys, "figure", "mcv", store)
    assert "twofactor-equation3" in found["errata"]
    _, _, err = run_command(capsys, "figure", "mcv", PAGES / "table3.csv")
    assert "errata" not in err


def test_they_are_listed_by_paper(capsys):
    listed = run_json(capsys, "list", "errata")
    assert listed.keys() == ERRATA.keys()
    assert "85.38" in listed["twofactor-minimum"]
    out = run_command(capsys, "list", "errata")[1].splitlines()
    assert out[0] == "Siedel et al. (2022), class separation"
    assert out[1].split() == [
        "mscr-table3-column",
        "slip:",
        *ERRATA["mscr-table3-column"].place.split(),
    ]
    assert len(out) == len(ERRATA) + len({e.paper for e in ERRATA.values()}) + 1


def test_one_is_shown_in_full_and_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    erratum = ERRATA["mscr-steady-rise"]
    out = run_command(capsys, "list", "errata", erratum.id)[1]
    command = f"  {erratum.command}"
    assert command in out.splitlines()
    assert max(map(len, out.replace(command, "").splitlines())) <= 60
    text = " ".join(out.split())
    assert all(each in text for each in erratum.facts().values())
    assert "found here:" in out
    assert "right:" in run_command(capsys, "list", "errata", "mscr-laplace")[1]
    assert run_json(capsys, "list", "errata", erratum.id) == erratum.facts()
    assert "did you mean 'mscr-laplace'" in run_failing(capsys, "list", "errata", "mscr-laplac")
    assert "takes no name" in run_failing(capsys, "list", "models", "rf")
