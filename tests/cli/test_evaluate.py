from pathlib import Path

import numpy as np
import pytest

from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"
LOWER = "['lower'] * len(x)"


def test_every_norm_has_its_own_mscr(capsys):
    found = run_json(
        capsys,
        "evaluate",
        "--model",
        "1nn",
        "--data",
        BANDS,
        "--quiet",
        "--corruptions",
        "linf(eps_min)",
        "l2(eps_min)",
    )
    assert [(m["model"], m["norm"]) for m in found["models"]] == [("1nn", "L-inf"), ("1nn", "L2")]
    assert all(m["mscr"] is not None for m in found["models"])


def test_several_k_are_measured_one_after_the_other(capsys):
    argv = ("evaluate", "--model", "1nn", "--data", "bands(n=100)", "--quiet", "--k", "1,3")
    models = run_json(capsys, *argv)["models"]
    assert [(m["label"], m["k"]) for m in models] == [("1nn, k = 1", 1), ("1nn, k = 3", 3)]


def test_a_model_of_ones_own_is_taken_as_fitted(capsys):
    Path("mine.py").write_text(
        "import numpy as np\n"
        "def answer(x):\n    return np.where(x[:, 0] > 0.5, 'yes', 'no')\n"
        "from sklearn.tree import DecisionTreeClassifier\ntree = DecisionTreeClassifier()\n"
    )
    x = np.random.default_rng(0).uniform(size=(50, 2))
    np.savez("d.npz", x=x, y=np.where(x[:, 0] > 0.5, "yes", "no"))
    found = run_json(capsys, "evaluate", "--model", "mine:answer", "--data", "d.npz", "--quiet")
    assert found["models"][0]["n"] == 50
    assert found["models"][0]["cells"][0]["mean"] == 100
    assert "must be fitted" in run_failing(
        capsys, "evaluate", "--model", "mine:tree", "--data", "d.npz", "--quiet"
    )
    fitted = run_json(
        capsys, "evaluate", "--model", "mine:tree", "--data", "d.npz", "--fit", "--quiet"
    )
    assert fitted["models"][0]["n"] == 10


def test_bounds_need_a_range(capsys):
    base = ["evaluate", "--data", BANDS, "--model", "1nn", "--quiet", "--bounds"]
    assert "write 'clip(LOW, HIGH)'" in run_failing(capsys, *base, "clip")
    assert run_command(capsys, *base, "truncate(0, 1)")[0] == 0
    assert "did you mean 'clip'" in run_failing(capsys, *base, "clp")


def test_a_bare_function_is_known_again_by_its_id(capsys):
    Path("loud.py").write_text(f"def answer(x):\n    print('noise')\n    return {LOWER}\n")
    argv = ["evaluate", "--model", "loud:answer", "--data", BANDS, "--quiet", "--store", "r.sqlite"]
    for extra in ([], ["--model-id", "v1"], ["--model-id", "v1"]):
        run_json(capsys, *argv, *extra)  # what it prints does not spoil the JSON
    labels = [m["label"] for m in run_json(capsys, "report", "r.sqlite")["models"]]
    assert labels == ["loud:answer #1", "loud:answer #2"]
    assert "one at a time" in run_failing(capsys, *argv, "--model", "rf", "--model-id", "v1")


def test_notes_reach_the_page(capsys):
    Path("calm.py").write_text(f"def answer(x):\n    return {LOWER}\n")
    argv = ["evaluate", "--model", "calm:answer", "--data", BANDS, "--quiet", "--report", "p.html"]
    assert run_command(capsys, *argv)[0] == 0
    assert "all 300 points were used" in Path("p.html").read_text().lower()


def test_scaling_is_offered_and_recorded(capsys):
    found = run_json(capsys, "separation", "wine")
    assert "2,645" in found["notes"][0]
    assert "--scale" in found["notes"][0]
    assert run_json(capsys, "separation", "wine", "--scale")["notes"] == []
    _, out, err = run_command(
        capsys, "evaluate", "--data", "wine", "--model", "1nn", "--scale", "--quiet"
    )
    assert "scaled to [0, 1]" in out
    assert "2,645" not in err


def test_scaled_tables_have_a_range_for_suites(capsys):
    found = run_json(
        capsys,
        "evaluate",
        "--data",
        "wine",
        "--scale",
        "--model",
        "1nn",
        "--suite",
        "pnorm",
        "--quiet",
    )
    assert "13 values in a range of 1" in found["suites"][0]["derived"]
    assert found["suites"][0]["bounds"] == "clip[0, 1]"


def test_suites_keep_their_k_beside_other_noise_and_two_ranges_their_sizes(capsys):
    arguments = (
        "evaluate",
        "--data",
        "digits",
        "--model",
        "logistic",
        "--store",
        "s.sqlite",
        "--model-id",
        "m",
        "--quiet",
    )
    found = run_json(capsys, *arguments, "--suite", "ice", "--corruptions", "linf(1)")
    assert [(m["k"], len(m["cells"])) for m in found["models"]] == [(10, 2)]
    assert [s["k"] for s in found["suites"]] == [1]
    run_json(capsys, *arguments, "--suite", "ice", "--bounds=-2,18")
    again = run_json(capsys, "report", "s.sqlite")
    assert [s["suite"] for s in again["suites"]] == ["ice", "ice"]
    assert len({s["derived"] for s in again["suites"]}) == 2


def test_device_noise_is_reported_on_the_page(capsys):
    pytest.importorskip("torch")
    with open("net.py", "w") as file:
        file.write(
            "import torch\ntorch.manual_seed(0)\n"
            "net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))\n"
        )
    arguments = ("evaluate", "--data", "shapes(n=30)", "--model", "net:net", "--device-noise")
    code, _, err = run_command(
        capsys, *arguments, "--suite", "pnorm-cifar", "--report", "p.html", "--quiet"
    )
    assert code == 0, err
    with open("p.html", encoding="utf-8") as file:
        assert "drawn on the model" in file.read()
    assert "made on the CPU" not in err
    specs = ("--corruptions", "sp(0.1)", "fog(1)", "fog(2)", "l2(1)")
    code, _, err = run_command(capsys, *arguments, *specs, "--k", 1, "--quiet")
    assert "note: made on the CPU in spite of --device-noise: fog(cifar)\n" in err


def test_evaluate_takes_a_suite(capsys):
    found = run_json(
        capsys,
        "evaluate",
        "--data",
        "shapes(n=60)",
        "--model",
        "logistic",
        "--suite",
        "pnorm-cifar",
        "--quiet",
    )
    (suite,) = found["suites"]
    assert suite["suite"] == "pnorm-cifar"
    assert len(suite["cells"]) == 90
    assert suite["derived"] is None


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["evaluate", "--data", "iris"], "--model must name"),
        (["evaluate", "--model", "rf"], "--data must name"),
        (["evaluate", "--model", "rff", "--data", "iris"], "did you mean 'rf'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--corruptions", "lnf(1)"], "'linf'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "mcsr"], "'mscr'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--k", "x"], "--k"),
        (["evaluate", "--model", "rf", "--data", "iris", "--k", "0"], "k must be"),
        (["evaluate", "--model", "rf", "--data", "iris", "--bounds", "5,6"], "lie in the bounds"),
        (["evaluate", "--model", "rf", "--data", "iris", "--store", ""], "must name a file"),
        (["evaluate", "--model", "rf", "--data", "iris", "--report", "no/p.html"], "not exist"),
        (
            [
                "evaluate",
                "--data",
                "shapes(n=60)",
                "--model",
                "1nn",
                "--suite",
                "common-19(published=a)",
            ],
            "does not exist",
        ),
        (
            ["evaluate", "--model", "rf", "--suite", "common-19(published=a, frost=b)"],
            "frost= is for images made here, not for published ones",
        ),
        (
            ["evaluate", "--model", "rf", "--suite", "common-19(published=a, jpeg=85)"],
            "jpeg= is for images made here, not for published ones",
        ),
        (
            ["evaluate", "--model", "rf", "--suite", "pnorm(jpeg=85)"],
            "jpeg= is for suites of common corruptions",
        ),
        (["evaluate", "--sute", "pnorm"], "did you mean '--suite'"),
        (["evaluate", "--model", "rf", "--data", "no.npz", "--corruptions", "l2[1]"], "spec must"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cifar"], "got 4 values"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "pnorm-cfar"], "did you mean"),
        (
            [
                "evaluate",
                "--model",
                "rf",
                "--data",
                "digits",
                "--suite",
                "pnorm-cifar",
                "--bounds",
                "0,16",
            ],
            "use 'pnorm'",
        ),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


def test_a_grid_from_the_command_line(capsys):
    arguments = ("evaluate", "--data", "iris", "--model", "rf", "--quiet",
                 "--grid", "jitter(0.5), jitter(1)", "missing(0.2)",
                 "--store", "g.sqlite")  # fmt: skip
    (found,) = run_json(capsys, *arguments)["mcv"]
    assert (found["suite"], found["sets"]) == ("jitter x missing", 8)
    kinds = {m["factor"] for m in found["models"][0]["effects"]["main"]}
    assert kinds == {"jitter", "missing"}
    (given,) = run_json(capsys, *arguments[:-2], "as given")["mcv"]
    assert given["sets"] == 6
    assert given["models"][0]["effects"]["orders"] == []
    assert "two factors or more" in run_failing(capsys, *arguments[:6], "--grid", "jitter(1)")
    assert "unknown corruption" in run_failing(
        capsys, *arguments[:6], "--grid", "jiter(1)", "sp(0.1)"
    )
    error = run_failing(
        capsys, "evaluate", "--data", "iris", "--model", "rf", "--suite", "two-factor"
    )
    assert "for tables use 'two-factor-table'" in error
    both = run_json(capsys, *arguments, "--grid", "scaling(1.1) as SC", "missing(0.3) as MI")["mcv"]
    assert [board["suite"] for board in both] == ["jitter x missing", "scaling x missing"]
    assert list(both[1]["models"][0]["sets"]) == ["clean", "MI", "SC", "SCMI", "MISC"]


@pytest.mark.parametrize(
    "argv",
    [
        ["evaluate", "--model", "1nn"],
        ["study", "--model", "1nn", "--runs", 1, "--jobs", 1],
        ["harden", "--model", "1nn", "--noise", "linf(0.1)"],
        ["figure", "plane", "--model", "1nn", "-o", "f.html"],
        ["adversary", "--model", "1nn", "--eps", 0.1, "--random", 10**12, "--quiet"],
    ],
)
def test_too_many_copies_are_refused_with_their_number(capsys, argv):
    copies = [] if argv[0] == "adversary" else ["--k", 10**12]
    message = run_failing(capsys, *argv, "--data", "bands(n=40)", *copies)
    assert "k must be at most 10,000,000 for " in message
    assert "got 1,000,000,000,000: that would be " in message


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("gone.joblib", "model file 'gone.joblib' does not exist"),
        ("code.joblib", "model file 'code.joblib' must be trusted"),
        ("nothing", "unknown model 'nothing'"),
    ],
)
def test_a_second_model_that_cannot_be_loaded_is_refused_before_the_first_is_measured(
    capsys, second, message
):
    Path("code.joblib").touch()
    argv = ["evaluate", "--data", "iris", "--store", "r.sqlite", "--model", "1nn"]
    assert message in run_failing(capsys, *argv, "--model", second)
    assert not Path("r.sqlite").exists()


def test_notes_on_distances_come_with_results_that_depend_on_them(capsys):
    rows = "".join(f"{i % 7},{1000 * i},{'ab'[i % 2]},{i % 2}\n" for i in range(60))
    Path("t.csv").write_text(f"age,pay,job,y\n{rows}")
    base = ["evaluate", "--data", "t.csv", "--label", "y", "--model", "rf", "--quiet"]
    for flags, depends in (
        (["--features"], False),
        (["--corruptions", "swap(0.1)"], False),
        (["--corruptions", "swap(0.1) + linf(0.1)"], True),
        (["--corruptions", "linf(eps_min)", "--others", "gower"], True),
    ):
        _, _, err = run_command(capsys, *base, *flags)
        assert ("distances are in the units" in err) is depends
        assert ("leaves job; " in err) is depends
        assert "numeric noise changes age, pay and leaves job" in err
