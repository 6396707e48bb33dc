"""The page of a results file: all that it holds, what it lacks, and commands that can be pasted."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.pages import read_page
from shaketable.cli.commands import COMMANDS, GROUPS
from shaketable.cli.parser import parse_args
from shaketable.core.options import list_values, write_settings, write_words
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.evaluate_options import EvaluateOptions, StudyOptions
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.missing import RESULTS_FILE, list_missing
from shaketable.findings.page import report
from shaketable.findings.provenance import group_notes

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=80)"
EVALUATE = ["evaluate", "--data", BANDS, "--model", "1nn", "--quiet", "--store", "r.sqlite"]


def sections(path="r.html"):
    page = read_page(Path(path))
    return [attrs["id"] for tag, attrs in page.elements if tag == "section"]


def make_page(capsys, *argv):
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    return out, read_page(Path("r.html"))


def commands_of(page):
    return [text for text in page.facts.values() if text.startswith("shaketable ")]


def test_a_file_of_a_separation_alone(capsys):
    run_command(capsys, "separation", BANDS, "--store", "r.sqlite", "--report", "first.html")
    out, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    assert "eps_min = " in out
    assert "How far apart are the classes of bands(n=80)?" in page.text
    assert sections() == ["data", "missing", "method"]
    (name,) = (name for name in page.tables if name.startswith("closest pairs"))
    first = st.separation(st.load(BANDS), closest=11)
    assert [row[:2] for row in page.tables[name][1:]] == [
        list(map(str, pair)) for pair in first.closest.tolist()
    ]
    assert sections("first.html")[:2] == ["data", "closest"]
    make_page(capsys, "report", "r.sqlite", "--data", BANDS, "-o", "r.html")
    assert sections()[:2] == ["data", "closest"]
    assert page.facts["Points"] == "80"


def test_closest_pairs_are_images_where_the_data_are_given(capsys):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (30, 6, 6, 3)).astype("u1")
    np.savez("i.npz", x=x, y=np.arange(30) % 2)
    run_command(capsys, "separation", "i.npz", "--store", "r.sqlite")
    _, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    assert page.count("img") == 0
    _, page = make_page(capsys, "report", "r.sqlite", "--data", "i.npz", "-o", "r.html")
    assert page.count("img") == 2 * 10 or page.count("img") == 2 * 11
    assert "notes" in sections()
    assert "int8 values count as x/255" in page.text[page.text.index("On the data") :]


def test_separations_of_several_data_say_whose_they_are(capsys):
    for data in (BANDS, "bands(n=120)"):
        run_command(capsys, "separation", data, "--store", "r.sqlite")
    out, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    for data in (BANDS, "bands(n=120)"):
        assert f"{data}: in the L-inf norm the closest points" in out
        assert f"{data}: in the L-inf norm the closest points" in page.text.replace(" :", ":")
        assert any(
            title.endswith(f" norm, {data}; with the data, a page shows the points")
            for title in page.tables
        )


def test_the_command_that_adds_the_separation_reads_the_same_table(capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["unused"], frame["kind"] = range(60), np.where(frame.a > 0, "yes", "no")
    frame.to_csv("t.csv", index=False)
    argv = ["evaluate", "--data", "t.csv", "--label", "kind", "--column", "unused=drop"]
    argv += ["--model", "1nn", "--corruptions", "jitter(0.1)", "--quiet", "--store", "r.sqlite"]
    code, _, err = run_command(capsys, *argv)
    assert code == 0, err
    _, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    (words,) = (shlex.split(c) for c in commands_of(page) if c.startswith("shaketable separation"))
    code, _, err = run_command(capsys, *words[1:])
    assert code == 0, err
    with Store("r.sqlite") as store:
        records = store.records()
    assert records.separations[0].fingerprint == records.cells[0].fingerprint


def test_a_file_that_holds_everything_is_one_page_whoever_writes_it(capsys):
    run_command(capsys, "separation", BANDS, "--store", "r.sqlite")
    adversary = ["adversary", "--data", BANDS, "--model", "1nn", "--eps", "0.01", "--quiet"]
    run_command(capsys, *adversary, "--store", "r.sqlite", "--report", "r.html")
    assert sections()[0] == "worst-case"
    require = ["--require", "accuracy >= 1"]
    _, page = make_page(capsys, *EVALUATE, *require, "--report", "r.html")
    by_evaluate = sections()
    for part in ("verdict", "requirements", "worst-case", "data", "missing", "method"):
        assert part in by_evaluate
    assert (
        by_evaluate.index("requirements")
        < by_evaluate.index("worst-case")
        < by_evaluate.index("data")
    )
    assert [shlex.split(text)[1] for text in commands_of(page)[-3:]] == [
        "separation",
        "adversary",
        "evaluate",
    ]
    make_page(capsys, "report", "r.sqlite", "--data", BANDS, "-o", "r.html")
    assert sections() == by_evaluate
    make_page(capsys, *adversary, "--store", "r.sqlite", "--report", "r.html")
    assert [part for part in sections() if part != "maps"] == by_evaluate  # maps need the model


def test_evaluate_shows_the_other_models_of_the_file_on_the_page(capsys):
    run_command(capsys, *EVALUATE)
    argv = ["evaluate", "--data", BANDS, "--model", "svm", "--quiet", "--store", "r.sqlite"]
    out, page = make_page(capsys, *argv, "--require", "accuracy >= 1", "--report", "r.html")
    assert "1nn" not in out
    assert {row[0] for row in page.tables["Models"][1:]} == {"1nn", "svm"}
    assert "accuracy >= 1%" in page.text


def test_commands_on_the_page_are_those_that_were_given(capsys):
    given = ["--corruptions", "linf(0.1)", "l2(0.2)", "--k", "3", "--seed", "5", "--bounds=-1,2"]
    grid = ["--grid", "gaussian(0.1)", "jitter(0.2)"]
    _, page = make_page(capsys, *EVALUATE, *given, *grid, "--report", "r.html")
    (text,) = (
        text for text in page.facts.values() if text.startswith("shaketable evaluate --data")
    )
    pasted = parse(text)
    assert write_settings(pasted) == write_settings(
        parse(shlex.join(["shaketable", *EVALUATE, *given, *grid]))
    )
    assert pasted.store == "r.sqlite"
    before = run_json(capsys, "report", "r.sqlite")
    again = run_json(capsys, *shlex.split(text)[1:], "--quiet")
    assert again["models"] == before["models"]


def parse(text):
    program, *words = shlex.split(text)
    assert program == "shaketable"
    return parse_args(words, COMMANDS, GROUPS).options


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (EvaluateOptions, {"data": "d.csv", "column": ["age=0:9", "net income=0:9"], "by": ["a"]}),
        (EvaluateOptions, {"data": "d", "grid": [["sp(0.1)", "sp(0.2)"], ["rotation(30)"]]}),
        (EvaluateOptions, {"data": "d", "features": [], "scale": True, "k": [1, 2]}),
        (EvaluateOptions, {"data": "d", "features": ["jitter(0.5)"], "points": 10}),
        (StudyOptions, {"data": "d", "train_eps": [0.1, 0.5], "model": ["a=rf", "b=svm"]}),
        (StudyOptions, {"data": "it's", "bounds": [-1.0, 1.0], "draws": "shared", "runs": 3}),
    ],
)
def test_settings_are_written_as_words_that_mean_the_same(kind, settings):
    command = "evaluate" if kind is EvaluateOptions else "study"
    words = write_words(kind, settings)
    options = parse(shlex.join(["shaketable", command, *words, "--store", "r"]))
    values = list_values(options)
    again = write_settings(options)
    assert sorted(write_words(kind, again)) == sorted(words)
    assert values["data"] == settings["data"]
    assert again.keys() == settings.keys()


def test_what_is_missing_comes_with_commands_that_can_be_pasted(capsys):
    run_command(capsys, *EVALUATE, "--corruptions", "linf(0.1)")
    _, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    commands = {n: text for n, text in page.facts.items() if text.startswith("shaketable ")}
    missing = {name: text for name, text in commands.items() if not name.startswith("evaluate, ")}
    assert [*missing] == [
        "how far apart the classes are, and eps_min",
        "noise of size eps_min",
        "which feature is most fragile",
        "groups of points",
        "the worst case",
        "requirements",
        "the inputs that flip, shown",
    ]
    for text in missing.values():
        parse_args(shlex.split(text)[1:], COMMANDS, GROUPS)
        assert "r.sqlite" in shlex.split(text)
    for name in ("how far apart the classes are, and eps_min", "noise of size eps_min"):
        code, _, err = run_command(capsys, *shlex.split(missing[name])[1:])
        assert code == 0, err
    code, _, err = run_command(capsys, *shlex.split(missing["which feature is most fragile"])[1:])
    assert code == 0, err
    code, _, err = run_command(capsys, *shlex.split(missing["the worst case"])[1:], "--quiet")
    assert code == 0, err
    assert run_command(capsys, *shlex.split(missing["requirements"])[1:])[0] in (0, 1, 3)
    _, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    assert page.facts.keys() & missing.keys() == {
        "groups of points",
        "the inputs that flip, shown",
    }


def test_results_without_a_file_name_a_file_of_that_kind():
    records = st.evaluate(lambda x: x[:, 0] > 0.5, ([[0.2], [0.8]], [0, 1]), "linf(0.1)")
    missing = list_missing(st.find(records))
    assert all(RESULTS_FILE in text for text in missing.values())
    assert missing["noise of size eps_min"] == (
        "shaketable evaluate --data DATA --model MODEL --corruptions 'linf(eps_min)' --store "
        "RESULTS.sqlite"
    )


def test_images_lack_common_corruptions():
    rng = np.random.default_rng(0)
    images = rng.uniform(0, 1, (12, 32, 32, 3)).astype("f4"), np.arange(12) % 2
    with Store() as store:
        store.add_data(DataRecord.of(st.make_dataset(*images)))
        data = store.everything().data
    records = st.evaluate(lambda x: x.mean((1, 2, 3)) > 0.5, images, "linf(0.1)", bounds=(0, 1))
    missing = list_missing(st.find(Records(records.cells, data=data)))
    assert "--suite common-19" in missing["common corruptions of images"]
    assert "which feature is most fragile" not in missing


def test_facts_about_data_are_those_of_the_data():
    record = DataRecord.of(st.load("bands(n=8)"))
    assert (record.n, record.counts, record.kind, record.missing) == (8, (4, 4), "points", 0)
    low, high = st.load("bands(n=8)").x.min(), st.load("bands(n=8)").x.max()
    assert (record.low, record.high) == (low, high)
    x = np.array([[0.5, np.nan], [-2.0, 3.0], [1.0, 8.0]])
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(c=["u", "v", "u"], label=[0, 1, 1])
    frame.to_csv("t.csv", index=False)
    record = DataRecord.of(st.load("t.csv", label="label"))
    assert (record.kind, record.missing, record.n) == ("table", 1, 3)
    assert record.counts == (1, 2)


def test_what_changed_since_another_file(capsys):
    run_command(capsys, *EVALUATE[:-1], "old.sqlite", "--corruptions", "linf(0.3)")
    argv = ["evaluate", "--data", BANDS, "--model", "1nn=svm", "--quiet", "--store", "new.sqlite"]
    run_command(capsys, *argv, "--corruptions", "linf(0.3)")
    expected = run_json(capsys, "compare", "old.sqlite", "new.sqlite")
    found = run_json(capsys, "report", "new.sqlite", "--compare", "old.sqlite")["changes"]
    assert found == {key: value for key, value in expected.items() if key != "schema_version"}
    out, page = make_page(capsys, "report", "new.sqlite", "--compare", "old.sqlite", "-o", "r.html")
    assert "What changed since old.sqlite?" in page.text
    assert "changes" in sections()
    assert "new.sqlite" in out
    message = run_failing(capsys, "report", "new.sqlite", "--compare", "none.sqlite")
    assert "'none.sqlite' does not exist" in message


def test_the_ending_of_a_page_is_refused_before_any_work(capsys):
    message = run_failing(capsys, "evaluate", "--data", "none", "--model", "x", "--report", "r.txt")
    assert "must end in .html, .htm, .pdf, got 'r.txt'" in message
    assert "must end in .html" in run_failing(capsys, "report", "none.sqlite", "-o", "r.doc")


def test_notes_stand_once_by_what_they_are_about():
    records = st.evaluate(lambda x: x[:, 0] > 0.5, ([[0.2], [0.8]], [0, 1]), "linf(0.1)", name="m")
    grouped = group_notes(records, ["m: odd", "k is small", "m: odd"])
    assert grouped == {"models": ["m: odd"], "measurement": ["k is small"]}


def test_a_page_of_a_separation_is_that_of_its_file(tmp_path):
    data = st.load(BANDS)
    report(st.separation(data), tmp_path / "r.html", dataset=data)
    assert sections(tmp_path / "r.html")[:2] == ["data", "closest"]
    assert "missing" in sections(tmp_path / "r.html")


def test_the_json_of_a_file_of_any_kind_can_be_read(capsys):
    run_command(capsys, "separation", BANDS, "--store", "r.sqlite")
    code, out, err = run_command(capsys, "report", "r.sqlite", "--json")
    assert code == 0, err
    assert json.loads(out)["notes"] == []


def test_nothing_is_exported_of_a_file_without_results(capsys):
    run_command(capsys, "separation", BANDS, "--store", "r.sqlite")
    message = run_failing(capsys, "export", "r.sqlite", "-o", "r.csv")
    assert "must hold at least one cell" in message


def test_a_worst_case_is_exported(capsys):
    argv = ["adversary", "--data", BANDS, "--model", "1nn", "--eps", "0.01,0.02", "--quiet"]
    found = run_json(capsys, *argv, "--store", "r.sqlite")
    code, _, err = run_command(capsys, "export", "r.sqlite", "-o", "r.csv")
    assert code == 0, err
    frame = pd.read_csv("r.csv")
    rows = frame[frame["quantity"] == "worst_cases.curves.points"]
    assert rows["mean"].tolist() == pytest.approx([p["mean"] for p in found["curves"][0]["points"]])


def test_missing_parts_are_measured_on_the_data_of_the_evaluation(capsys):
    run_command(capsys, *EVALUATE, "--corruptions", "linf(0.1)")
    argv = ["adversary", "--data", BANDS, "--model", "1nn", "--eps", "0.01", "--quiet"]
    run_command(capsys, *argv, "--points", "5", "--store", "r.sqlite")
    _, page = make_page(capsys, "report", "r.sqlite", "-o", "r.html")
    assert "--points" not in page.facts["noise of size eps_min"]
