import joblib
import pytest

from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

HARDEN = ["harden", "--data", "bands(n=120)", "--model", "1nn", "--runs", 2, "--search-runs", 2]
HARDEN += ["--k", 2, "--jobs", 1, "--quiet"]


def test_harden_prints_json_and_writes_the_model(capsys):
    found = run_json(capsys, *HARDEN, "--price", 1.5, "-o", "model.joblib")
    assert found["price"] == 1.5
    assert found["target"] == "linf(eps_min)"
    assert found["at_eps_min"]
    assert found["file"] == "model.joblib"
    assert found["test"]["points"] == 24
    sizes = [candidate["size"] for candidate in found["search"]["candidates"]]
    assert sizes == sorted(sizes)
    assert {0.25, 0.5, 1, 2, 4, 8} <= set(sizes)
    assert hasattr(joblib.load("model.joblib"), "predict")


def test_harden_prints_tables_and_the_verdict(capsys):
    argv = [*HARDEN, "--noise", "linf(0.01)", "--noise", "l2(0.01) | linf(0.02)", "--target"]
    argv += ["l2(0.02)", "--store", "s.sqlite"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "l2(0.01) | linf(0.02)" in out
    assert "relative change" in out
    assert "eps_min" not in out
    assert "no training noise that helps was found" in out
    assert run_command(capsys, *argv)[1] == out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-o", "model.pt"], "--out of this model must end in .joblib"),
        (["--target", "l2(1)", "--suite", "pnorm"], "leave one out"),
        (["--model", "rf"], "--model must name one model"),
        (["--network", "mlp"], "--model and --network both"),
    ],
)
def test_flags_that_contradict_are_refused(capsys, flags, message):
    assert message in run_failing(capsys, *HARDEN, *flags)


def test_a_results_file_is_scored_with_what_its_intervals_cover_and_not_made_again(capsys):
    run_command(capsys, *HARDEN, "--noise", "linf(0.01)", "--store", "s.sqlite")
    _, _, err = run_command(capsys, "report", "s.sqlite")
    assert err.count("fixed test part") == 1
    assert "bands(n=120) has a fixed test part, so runs differ only in training and noise" in err
    error = run_failing(capsys, "rerun", "s.sqlite")
    assert "holds results of harden, which rerun cannot make again; run harden again" in error
