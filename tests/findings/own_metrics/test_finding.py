"""Metrics of a module or an installed package: tables, requirements, correlations, figures."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from helpers.commands import check_schema, run_command, run_failing, run_json
from helpers.plugin import install_plugin
from shaketable.findings.finding import METRICS

SOURCE = '''
import numpy as np
import shaketable as st

def always_right(records):
    """Share of points that are right in every draw under every corruption."""
    right = np.all([cell.hits == cell.k for cell in records], axis=0)
    return st.statistics.proportion(right.sum(), len(right))

def fails(records):
    return records.nothing

def number(records):
    return 0.5

NOTHING = 3
'''
NAME = "own_package:always_right"


@pytest.fixture
def file(own_directory, noise_records):
    """A results file of two models under three levels of noise, beside the module."""
    Path("own_package.py").write_text(SOURCE)
    with st.Store("r.sqlite") as store:
        store.add(noise_records)
    return "r.sqlite"


def compute_by_hand(records, model):
    """Value in per cent for one model, and its exact interval by scipy."""
    cells = records.select(model=model).cells
    right = sum(all(c.hits[i] == c.k for c in cells) for i in range(cells[0].n))
    interval = stats.binomtest(right, cells[0].n).proportion_ci(method="exact")
    return [100 * v for v in (right / cells[0].n, interval.low, interval.high)]


def check(capsys, *argv):
    """Run ``check --json``; return its exit code and what it prints."""
    code, out, _ = run_command(capsys, "check", *argv, "--json")
    return code, json.loads(out)


def test_one_that_is_asked_for_has_a_table_of_all_models(file, noise_records, capsys):
    found = run_json(capsys, "report", file, "--metric", NAME)["own_metrics"]
    assert [entry["label"] for entry in found] == list(noise_records.models)
    for entry in found:
        value = [entry[key] for key in ("mean", "low", "high")]
        assert value == pytest.approx(compute_by_hand(noise_records, entry["model"]))
    code, out, err = run_command(capsys, "report", file, "--metric", NAME)
    assert code == 0, err
    assert "own metrics, with 95 % intervals" in out
    assert f"{found[0]['mean']:.2f} [{found[0]['low']:.2f}, {found[0]['high']:.2f}]" in out
    assert "own metrics" not in run_command(capsys, "report", file)[1]


def test_it_can_be_required(file, noise_records, capsys):
    value, low, _ = compute_by_hand(noise_records, "svm")
    code, found = check(capsys, file, "--require", f"{NAME} >= 1")
    assert (code, [d["model"] for d in found["requirements"]]) == (0, [*noise_records.models])
    between = f"model(svm).{NAME} >= {(value + low) / 2}"
    code, found = check(capsys, file, "--require", between)
    assert (code, found["outcome"]) == (3, "inconclusive")
    (decision,) = found["requirements"]
    assert (decision["model"], decision["mean"]) == ("svm", pytest.approx(value))
    assert decision["more_points"] > 0
    assert check(capsys, file, "--require", f"model(svm).{NAME} >= 100")[0] == 1


def test_a_file_that_names_it_must_be_trusted_to_import_it(file, capsys):
    assert check(capsys, file, "--require", f"{NAME} >= 1")[0] == 0
    (undecided,) = run_json(capsys, "report", file)["undecided_requirements"]
    assert f"metric '{NAME}' must be trusted: a file names it" in undecided["reason"]
    trusted = run_json(capsys, "report", file, "--trust")
    assert trusted["undecided_requirements"] == []
    assert trusted["check"]["outcome"] == "met"


def test_it_can_be_correlated_and_drawn(file):
    x = np.random.default_rng(0).uniform(size=(100, 1))
    models = {str(t): lambda x, t=t: x[:, 0] > t for t in (0.5, 0.55, 0.6, 0.7)}
    records = st.evaluate(models, (x, x[:, 0] > 0.5), "linf(0.2)", k=2)
    found = st.correlate(records, NAME, "accuracy")
    values = [compute_by_hand(records, model)[0] for model in found.models]
    assert [100 * first.value for first, _ in found.values] == pytest.approx(values)
    study = st.study("bands(n=100)", "1nn", train_eps=[0], test_eps=["eps_min"], runs=2, k=2)
    assert st.figures.draw_convergence(study, metric=NAME).to_dict()


def test_an_installed_one_is_known_by_its_name(file, noise_records, monkeypatch, capsys):
    points = {"always_right": NAME, "fails": "own_package:fails", "lost": "own_package:lost"}
    install_plugin(
        monkeypatch, Path.cwd(), METRICS, name="own_package", source=SOURCE, entry_points=points
    )
    results = st.find(noise_records)
    check_schema("report", {"schema_version": 1, **results.json()})
    assert {entry["metric"] for entry in results.json()["own_metrics"]} == {"always_right"}
    results.print()
    out = capsys.readouterr().out
    assert "metric 'fails' failed: AttributeError" in " ".join(out.split())
    assert "metric 'lost' of an installed package cannot be loaded" in " ".join(out.split())
    assert st.metrics.METRICS["always_right"](noise_records).value < 1
    assert "lost" not in st.metrics.METRICS
    assert check(capsys, file, "--require", "always_right >= 1")[0] == 0
    listed = json.loads(run_command(capsys, "list", "metrics", "--json")[1])
    assert listed["always_right"].startswith("Share of points that are right in every draw")
    assert "cannot be loaded" in listed["lost"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--require", "own_package:fails >= 1"], "metric 'own_package:fails' failed: Attribute"),
        (["--require", "own_package:number >= 1"], "must return an Estimate to be required, got"),
        (["--require", "own_package:NOTHING >= 1"], "must be a function of the records of one"),
        (["--require", "own_package:lost >= 1"], "has no attribute 'lost'"),
        (["--require", f"{NAME}[linf(0.1)] >= 1"], "takes nothing in brackets, got 'linf(0.1)'"),
        (["--require", f"difference(svm, 1nn).{NAME} >= 0"], f"differences of {NAME} are not"),
    ],
)
def test_what_cannot_be_required_is_one_line(file, capsys, flags, message):
    assert message in run_failing(capsys, "check", file, *flags)


def test_one_that_is_asked_for_must_work(file, capsys):
    message = run_failing(capsys, "report", file, "--metric", "own_package:fails")
    assert "metric 'own_package:fails' failed: AttributeError" in message
