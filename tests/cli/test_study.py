import pytest

from helpers.commands import run_command, run_failing, run_json
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"


def list_measurements(path):
    with Store(path, must_exist=True) as store:
        return [(cell.key, cell.created, cell.seconds) for cell in store.records()]


def test_study_keeps_its_contract(capsys):
    found = run_json(
        capsys,
        "study",
        "--data",
        BANDS,
        "--model",
        "1nn",
        "--train-eps",
        "0,eps_min",
        "--test-eps",
        "0,2*eps_min,eps_min",
        "--runs",
        3,
        "--k",
        2,
        "--jobs",
        1,
        "--quiet",
    )
    assert {"train_eps", "test_eps", "mean", "sd", "runs"} <= found["cells"][0].keys()
    assert {"train_eps", "mean", "sd", "runs"} <= found["mscr"][0].keys()
    assert len(found["cells"]) == 2 * 3
    assert len(found["mscr"]) == 2
    eps_min = found["eps_min"]
    assert sorted({c["test_eps"] for c in found["cells"]}) == [0, eps_min, 2 * eps_min]
    assert {c["train_eps"] for c in found["mscr"]} == {0, eps_min}
    assert all(80 < c["mean"] <= 100 and c["runs"] == 3 for c in found["cells"])
    assert found["mscr"][0]["mean"] == pytest.approx(0, abs=5)


def test_study_prints_the_matrix_and_goes_on_from_its_store(capsys):
    argv = [
        "study",
        "--data",
        BANDS,
        "--model",
        "1nn",
        "--model",
        "rf",
        "--runs",
        2,
        "--k",
        2,
        "--jobs",
        1,
        "--store",
        "s.sqlite",
    ]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "MSCR" in out
    assert "* best of its row" in out
    before = list_measurements("s.sqlite")
    assert run_command(capsys, *argv)[1] == out
    assert list_measurements("s.sqlite") == before, "nothing is measured again"
    code, again, _ = run_command(capsys, "report", "s.sqlite")
    assert code == 0
    assert again == out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["study", "--model", "1nn", "--data", "iris", "--train-eps", "a"], "numbers, or mul"),
        (["study", "--model", "1nn", "--data", "iris", "--test-eps", "1,2*foo"], "got '1,2*foo'"),
        (["study", "nothing.toml"], "nothing.toml"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
