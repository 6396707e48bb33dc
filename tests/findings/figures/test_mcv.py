"""The command mcv."""

import subprocess
import sys

import pytest

from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

MODELS = ("logistic", "rf", "1nn")


def test_mcv_reads_results_files(two_factor_store, capsys, tmp_path):
    code, out, err = run_command(
        capsys, "figure", "mcv", two_factor_store, "--reference", "rf", "-o", tmp_path / "m.svg"
    )
    assert code == 0, err
    assert "reference: rf, as chosen" in out
    assert "accuracy over 69 sets of suite two-factor" in out
    assert "correlations over 3 models" in out
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    result = run_json(capsys, "figure", "mcv", two_factor_store)["mcv"][0]
    assert (result["suite"], result["sets"], result["reference"]) == ("two-factor", 69, "logistic")
    assert {m["label"] for m in result["models"]} == set(MODELS)
    assert result["models"][0]["effects"]["words"]
    assert (
        run_json(capsys, "report", two_factor_store, "--reference", "1nn")["mcv"][0]["reference"]
        == "1nn"
    )
    assert "on record with --suite: two-factor" in run_failing(
        capsys, "figure", "mcv", two_factor_store, "--suite", "pnorm"
    )
    assert "is for a table of scores" in run_failing(
        capsys, "figure", "mcv", two_factor_store, "--clean", "x"
    )
    assert "unknown reference" in run_failing(
        capsys, "figure", "mcv", two_factor_store, "--reference", "x"
    )


def test_mcv_reads_tables_of_any_task(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("name,Clean,rain,fog\na,1.0,2.0,3.0\nb,1.5,1.6,1.7\n")
    result = run_json(capsys, "figure", "mcv", "t.csv", "--lower-is-better", "--reference", "a")
    assert result["lower_is_better"]
    assert [(m["label"], m["group"], m["clean"]) for m in result["models"]] == [
        ("a", "I", 1.0), ("b", "I", 1.5)
    ]  # fmt: skip
    code, out, _ = run_command(capsys, "figure", "mcv", "t.csv", "-o", "t.html")
    assert code == 0
    assert "t.csv: scores over 3 conditions" in out
    assert (tmp_path / "t.html").stat().st_size > 1000
    assert "is for a results file" in run_failing(capsys, "figure", "mcv", "t.csv", "--suite", "x")
    assert "does not exist" in run_failing(capsys, "figure", "mcv", "no.sqlite")
    assert "no.csv" in run_failing(capsys, "figure", "mcv", "no.csv")
    assert "must end in" in run_failing(capsys, "figure", "mcv", "t.csv", "-o", "t.doc")


def test_networks_of_a_table_of_summaries_have_their_own_references(capsys, tmp_path):
    header = "network,training,CV,mean,min,max"
    rows = ("a,clean,2,80,70,90", "a,x,1,81,70,90", "b,clean,1,60,50,70", "b,x,2,61,50,70")
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]))
    code, out, _ = run_command(capsys, "figure", "mcv", "t.csv", "-o", "t.svg")
    assert code == 0
    assert "references: a(clean), b(clean), of each network the model trained on clean data" in out
    assert "t.csv: summaries\n" in out
    drawing = (tmp_path / "t.svg").read_text()
    assert "against a(clean)" in drawing
    assert "against b(clean)" in drawing
    result = run_json(capsys, "figure", "mcv", "t.csv")
    assert result["reference"] is None
    assert [(m["label"], m["reference"], m["group"]) for m in result["models"]] == [
        ("a(clean)", "a(clean)", "I"),
        ("a(x)", "a(clean)", "I"),
        ("b(clean)", "b(clean)", "I"),
        ("b(x)", "b(clean)", "II"),
    ]
    result = run_json(capsys, "figure", "mcv", "t.csv", "--reference", "a(x)")
    assert {m["reference"] for m in result["models"]} == {"a(x)"} == {result["reference"]}


def test_mcv_reads_tables_of_three_columns_and_chosen_conditions(capsys, tmp_path):
    (tmp_path / "long.csv").write_text(
        "model,condition,score\nb,clean,0.9\nb,fog,0.5\na,clean,0.8\na,fog,0.7\n"
    )
    result = run_json(capsys, "figure", "mcv", "long.csv")
    assert [(m["label"], m["scores"]) for m in result["models"]] == [
        ("b", {"clean": 0.9, "fog": 0.5}), ("a", {"clean": 0.8, "fog": 0.7})
    ]  # fmt: skip
    (tmp_path / "twice.csv").write_text("m,c,s\na,clean,1\na,clean,2\na,fog,1\n")
    assert "every pair once" in run_failing(capsys, "figure", "mcv", "twice.csv")
    (tmp_path / "wide.csv").write_text("model,params,clean,fog\na,1e6,0.9,0.8\nb,2e6,0.9,0.7\n")
    (first, _) = run_json(capsys, "figure", "mcv", "wide.csv", "--conditions", "clean,fog")[
        "models"
    ]
    assert list(first["scores"]) == ["clean", "fog"]
    assert "unknown condition" in run_failing(
        capsys, "figure", "mcv", "wide.csv", "--conditions", "clean,rain"
    )
    assert "two conditions or more" in run_failing(
        capsys, "figure", "mcv", "wide.csv", "--conditions", "clean"
    )
    (tmp_path / "turned.csv").write_text("condition,a,b\nclean,0.9,0.8\nfog,0.5,0.7\n")
    assert "rows must be models" in run_command(capsys, "figure", "mcv", "turned.csv")[2]


def test_a_closed_pipe_does_not_stop_the_work(two_factor_store, tmp_path):
    command = f"{sys.executable} -m shaketable figure mcv {two_factor_store} -o late.svg | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert (tmp_path / "late.svg").exists()
