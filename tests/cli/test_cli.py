import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"
LOWER = "['lower'] * len(x)"


def test_separation_keeps_its_contract(capsys):
    found = run_json(capsys, "separation", "bands(separation=0.05)")
    assert found["norm"] == "inf"
    assert found["two_r"] == pytest.approx(0.05)
    assert found["epsilon_min"] == found["two_r"] / 2
    assert len(found["pair"]) == 2
    assert run_json(capsys, "separation", "iris", "--norm", "2")["norm"] == 2


def test_separation_in_words(capsys):
    code, out, _ = run_command(capsys, "separation", "iris")
    assert code == 0
    assert "eps_min" in out
    assert "setosa" in out
    assert "rows 101 and 142" in out  # the only two flowers that are equal in all four lengths
    assert "quartiles 0.5, 0.8, 1.5" in out
    (table,) = re.findall(r"the 10 closest pairs.*?\n\n", out.replace(" \n", "\n"), re.S)
    ranks = [line.split() for line in table.splitlines() if re.match(r" \d+ ", line)]
    assert ranks[0] == ["1", "70", "versicolor", "127", "virginica", "0.2", "0.1"]
    assert [r[0] for r in ranks] == [str(i) for i in range(1, 11)]


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_separation_as_json_says_what_the_library_says(capsys):
    code, out, _ = run_command(capsys, "separation", "wine", "--closest", 4, "--one-nn", "--json")
    assert code == 0
    found = json.loads(out, parse_constant=no_constant)
    data = st.load("wine")
    expected = st.separation(data, closest=5)
    assert [c["rows"] for c in found["closest"]] == expected.closest[:4].tolist()
    assert found["closest"][0]["rows"] == found["pair"]
    for i, c in enumerate(found["closest"], start=1):
        assert c["distance"] == expected.closest_distance[i - 1]
        assert c["epsilon_min_without"] == expected.closest_distance[i] / 2
        assert c["classes"] == [data.classes[data.y[row]] for row in c["rows"]]
    quartiles = np.quantile(expected.nearest, [0, 0.25, 0.5, 0.75, 1])
    assert list(found["nearest"].values()) == quartiles.tolist()
    assert found["duplicates"] == {
        "groups": 0, "points": 0, "groups_in_both_parts": None, "rows": [],
    }  # fmt: skip
    assert found["clashes"] == []
    one_nn = st.one_nn(data, norm="inf")
    assert tuple(found["one_nn"]["accuracy"].values()) == tuple(100 * v for v in one_nn.accuracy)
    assert found["one_nn"]["test_points"] == len(one_nn.test)


def test_only_the_minimum_is_asked_for(capsys):
    found = run_json(capsys, "separation", "wine", "--minimum")
    assert found["nearest"] is None
    assert "one_nn" not in found
    whole = run_json(capsys, "separation", "wine")
    assert {**whole, "nearest": None} == found
    assert "quartiles" not in run_command(capsys, "separation", "wine", "--minimum")[1]


def test_many_classes_are_listed_not_tabled(capsys):
    x = np.random.default_rng(0).normal(size=(200, 2))
    np.savez("many.npz", x=x, y=np.arange(200) % 25)
    _, out, _ = run_command(capsys, "separation", "many.npz")
    assert "closest 20 of 300 pairs of classes" in out
    np.savez("very.npz", x=np.arange(1001.0), y=np.arange(1001))
    found = run_json(capsys, "separation", "very.npz")
    assert found["by_class"] is None
    assert "not kept for 1001 classes" in run_command(capsys, "separation", "very.npz")[1]


def test_separation_writes_its_page(capsys):
    x = np.random.default_rng(0).integers(0, 256, (30, 6, 5), dtype=np.uint8)
    np.savez("images.npz", x=x, y=np.arange(30) % 2)
    for flag in ("--html", "--report"):  # the name that it has for the other commands
        code, _, err = run_command(
            capsys, "separation", "images.npz", flag, "p.html", "--closest", 3
        )
        assert code == 0
        assert "page: p.html" in err
        page = Path("p.html").read_text()
        assert page.count("data:image/png") == 6
        Path("p.html").unlink()


def test_a_quiet_separation_shows_no_bar(capsys):
    assert (
        run_command(capsys, "separation", "shapes(n=50)", "--quiet")[2].count("\n") == 1
    )  # the note
    assert "comparing" in run_command(capsys, "separation", "shapes(n=50)")[2]


def test_study_keeps_its_contract(capsys):
    found = run_json(
        capsys, "study", "--data", BANDS, "--model", "1nn", "--train-eps", "0,eps_min",
        "--test-eps", "0,0.02,eps_min", "--runs", 3, "--k", 2, "--jobs", 1, "--quiet",
    )  # fmt: skip
    assert {"train_eps", "test_eps", "mean", "sd", "runs"} <= found["cells"][0].keys()
    assert {"train_eps", "mean", "sd", "runs"} <= found["mscr"][0].keys()
    assert len(found["cells"]) == 2 * 3
    assert len(found["mscr"]) == 2
    eps_min = found["eps_min"]
    assert sorted({c["test_eps"] for c in found["cells"]}) == [0, eps_min, 0.02]
    assert {c["train_eps"] for c in found["mscr"]} == {0, eps_min}
    assert all(80 < c["mean"] <= 100 and c["runs"] == 3 for c in found["cells"])
    assert found["mscr"][0]["mean"] == pytest.approx(0, abs=5)


def test_study_prints_the_matrix_and_goes_on_from_its_store(capsys):
    argv = ["study", "--data", BANDS, "--model", "1nn", "--model", "rf", "--runs", 2, "--k", 2,
            "--jobs", 1, "--store", "s.sqlite"]  # fmt: skip
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "MSCR" in out
    assert "MSCR in %" in out
    for line in out.splitlines():
        if "*" in line and "best" not in line:  # the best of a row is marked
            values = [float(word.rstrip("*")) for word in line.split()[-2:]]
            marked = [float(w.rstrip("*")) for w in line.split() if w.endswith("*")]
            assert set(marked) == {max(values)}
    started = time.perf_counter()
    assert run_command(capsys, *argv)[1] == out
    assert time.perf_counter() - started < 5
    code, again, _ = run_command(capsys, "score", "s.sqlite")
    assert code == 0
    assert again == out


def test_study_files_hold_the_same_settings_and_flags_win(capsys):
    Path("my.toml").write_text(
        f'data = "{BANDS}"\nmodel = ["1nn"]\ntrain_eps = [0]\ntest_eps = [0, "eps_min"]\n'
        "runs = 3\nk = 2\njobs = 1\nquiet = true\n"
    )
    found = run_json(capsys, "study", "my.toml")
    assert found["cells"][0]["runs"] == 3
    found = run_json(capsys, "study", "my.toml", "--runs", 2, "--model", "logistic")
    assert found["cells"][0]["runs"] == 2
    assert {c["model"] for c in found["cells"]} == {"logistic"}
    Path("bad.toml").write_text('dta = "iris"')
    assert "did you mean 'data'" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text("data = ")
    assert "cannot be read" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text('scale = "false"')
    assert "scale must not be 'false'" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text('runs = "many"')
    assert "--runs" in run_failing(capsys, "study", "bad.toml")


def test_evaluate_compares_models_and_scores_again(capsys):
    argv = ["evaluate", "--model", "rf", "--model", "1nn", "--data", BANDS, "--store", "r.sqlite",
            "--corruptions", "linf(eps_min)", "linf(0.05)", "--quiet"]  # fmt: skip
    found = run_json(capsys, *argv)
    assert [m["model"] for m in found["models"]] == ["rf", "1nn"]
    assert len(found["models"][0]["cells"]) == 3
    (difference,) = found["mscr_differences"]
    gap = found["models"][0]["mscr"]["mean"] - found["models"][1]["mscr"]["mean"]
    assert difference["mean"] == pytest.approx(gap)
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "linf(eps_min)" in out
    assert "probability of a wrong answer" in out
    assert run_command(capsys, "score", "r.sqlite")[1] == out
    assert run_json(capsys, "score", "r.sqlite")["models"] == found["models"]


def test_every_norm_has_its_own_mscr(capsys):
    found = run_json(capsys, "evaluate", "--model", "1nn", "--data", BANDS, "--quiet",
                  "--corruptions", "linf(eps_min)", "l2(eps_min)")  # fmt: skip
    assert [(m["model"], m["norm"]) for m in found["models"]] == [("1nn", "L-inf"), ("1nn", "L2")]
    assert all(m["mscr"] is not None for m in found["models"])


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


def test_a_requirement_is_met_not_met_or_open(capsys):
    base = ["evaluate", "--data", "bands(n=1000)", "--model", "rf", "--quiet", "--min-mscr"]
    assert run_command(capsys, *base, -50)[0] == 0
    code, _, err = run_command(capsys, *base, 50)
    assert code == 1
    assert "not met" in err
    assert run_command(capsys, *base, -1)[0] == 3


def test_bounds_need_a_range(capsys):
    base = ["evaluate", "--data", BANDS, "--model", "1nn", "--quiet", "--bounds"]
    assert "--range" in run_failing(capsys, *base, "clip")
    assert run_command(capsys, *base, "truncate", "--range", "0,1")[0] == 0
    assert "did you mean 'clip'" in run_failing(capsys, *base, "clp")


def test_a_shared_store_keeps_data_apart(capsys):
    base = ["--model", "1nn", "--quiet", "--store", "r.sqlite"]
    eps_min = {}
    for name in ("wine", "iris"):
        eps_min[name] = run_json(capsys, "separation", name)["epsilon_min"]
        found = run_json(capsys, "evaluate", "--data", name, *base)
        assert found["models"][0]["eps_min"] == eps_min[name]
        found = run_json(capsys, "study", "--data", name, *base, "--runs", 2, "--jobs", 1)
        assert (found["data"], found["eps_min"]) == (name, eps_min[name])
    code, out, err = run_command(capsys, "score", "r.sqlite")
    assert code == 0, err
    assert all(f"{name}: " in out for name in eps_min)


def test_a_bare_function_is_known_again_by_its_id(capsys):
    Path("loud.py").write_text(f"def answer(x):\n    print('noise')\n    return {LOWER}\n")
    argv = ["evaluate", "--model", "loud:answer", "--data", BANDS, "--quiet", "--store", "r.sqlite"]
    for extra in ([], ["--model-id", "v1"], ["--model-id", "v1"]):
        run_json(capsys, *argv, *extra)  # what it prints does not spoil the JSON
    labels = [m["label"] for m in run_json(capsys, "score", "r.sqlite")["models"]]
    assert labels == ["loud:answer #1", "loud:answer #2"]
    assert "one at a time" in run_failing(capsys, *argv, "--model", "rf", "--model-id", "v1")


def test_notes_reach_the_page(capsys):
    Path("calm.py").write_text(f"def answer(x):\n    return {LOWER}\n")
    argv = ["evaluate", "--model", "calm:answer", "--data", BANDS, "--quiet", "--report", "p.html"]
    assert run_command(capsys, *argv)[0] == 0
    assert "all 300 points were used" in Path("p.html").read_text()


def test_rows_are_those_of_the_file(capsys):
    Path("c.csv").write_text("a,k\n0,x\n0,y\n3,x\n5,y\n9,x\n20,y\n")
    found = run_json(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")
    assert found["pair"] == [2, 3]
    code, out, _ = run_command(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")
    assert code == 0
    assert "without 2 clashing points" in out
    assert "row 2 ('x') and row 3 ('y')" in out
    assert found["closest"][0]["rows"] == [2, 3]
    assert found["clashes"] == [{"rows": [0, 1], "classes": ["x", "y"]}]
    assert "coincide with a point of another class: rows 0 ('x') and 1 ('y')" in out
    scaled = ["separation", "c.csv", "--label", "k", "--drop-clashes", "--scale"]
    assert run_json(capsys, *scaled)["two_r"] == pytest.approx(
        2 / 17
    )  # over the rows that are left


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


@pytest.mark.parametrize("kind", ["datasets", "models", "corruptions", "suites", "metrics"])
def test_lists_name_everything(capsys, kind):
    code, out, _ = run_command(capsys, "list", kind)
    assert code == 0
    entries = run_json(capsys, "list", kind)
    assert len(entries) >= 3
    assert all(name in out and about for name, about in entries.items())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sepration", "iris"], "did you mean 'separation'"),
        ([], "required"),
        (["separation"], "DATA"),
        (["separation", "irs"], "did you mean 'iris'"),
        (["separation", "missing.csv"], "does not exist"),
        (["separation", "iris", "--norm", "x"], "norm must be"),
        (["separation", "iris", "--frobnicate"], "--frobnicate"),
        (["separation", "iris", "--closest", "0"], "whole number of at least 1, got '0'"),
        (["separation", "iris", "--closest", "few"], "whole number of at least 1, got 'few'"),
        (["separation", "iris", "--html", "no/p.html"], "not exist"),
        (["evaluate", "--data", "iris"], "--model must name"),
        (["evaluate", "--model", "rf"], "--data must name"),
        (["evaluate", "--model", "rff", "--data", "iris"], "did you mean 'rf'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--corruptions", "lnf(1)"], "'linf'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--suite", "mcsr"], "'mscr'"),
        (["evaluate", "--model", "rf", "--data", "iris", "--k", "x"], "--k"),
        (["evaluate", "--model", "rf", "--data", "iris", "--k", "0"], "k must be"),
        (["evaluate", "--model", "rf", "--data", "iris", "--range", "5,6"], "lie in the bounds"),
        (["evaluate", "--model", "rf", "--data", "iris", "--store", ""], "must name a file"),
        (["evaluate", "--model", "rf", "--data", "iris", "--report", "no/p.html"], "not exist"),
        (["evaluate", "--model", "rf", "--data", "iris", "--min-mscr", "nan"], "must be a number"),
        (["score", "."], "is a folder"),
        (["study", "--model", "1nn", "--data", "iris", "--train-eps", "a"], "numbers or eps_min"),
        (["study", "nothing.toml"], "nothing.toml"),
        (["score", "none.sqlite"], "does not exist"),
        (["list", "everything"], "unknown kind"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)


def test_clashes_are_named_and_can_be_dropped(capsys):
    Path("c.csv").write_text("a,b,k\n0,0,x\n0,0,y\n1,0,x\n5,0,y\n9,9,x\n7,7,y\n")
    assert "(0, 1)" in run_failing(capsys, "separation", "c.csv", "--label", "k")
    assert run_json(capsys, "separation", "c.csv", "--label", "k", "--drop-clashes")["two_r"] == 2


def test_a_clean_accuracy_of_zero_is_said_not_hidden(capsys):
    Path("wrong.py").write_text(
        "import numpy as np\ndef answer(x):\n    return np.where(x[:, 0] > 0.5, 'no', 'yes')\n"
    )
    x = np.random.default_rng(0).uniform(size=(50, 2))
    np.savez("d.npz", x=x, y=np.where(x[:, 0] > 0.5, "yes", "no"))
    argv = ["evaluate", "--model", "wrong:answer", "--model", "1nn", "--data", "d.npz", "--quiet"]
    code, out, err = run_command(capsys, *argv, "--report", "page.html")
    assert code == 2
    assert "MSCR is undefined for wrong:answer" in err
    assert "1nn: " in out  # what the others did is not lost
    assert Path("page.html").exists()


def test_results_files_that_cannot_be_used_are_named(capsys):
    Path("junk.sqlite").write_text("junk " * 500)
    assert "junk.sqlite" in run_failing(capsys, "score", "junk.sqlite")
    argv = ["evaluate", "--model", "1nn", "--data", BANDS, "--quiet", "--store"]
    assert "junk.sqlite" in run_failing(capsys, *argv, "junk.sqlite")
    assert "folder" in run_failing(capsys, *argv, "no/such/r.sqlite")


def test_a_traceback_only_with_debug(capsys):
    Path("broken.py").write_text("def answer(x):\n    raise RuntimeError('out of\\nluck')\n")
    argv = ["evaluate", "--model", "broken:answer", "--data", BANDS, "--quiet"]
    err = run_failing(capsys, *argv, code=4)
    assert "out of luck" in err
    assert "--debug" in err
    code, _, err = run_command(capsys, *argv, "--debug")
    assert code == 4
    assert "Traceback" in err


@pytest.mark.parametrize("size", [0, 30_000], ids=["while workers start", "in the middle"])
def test_interrupted_says_what_is_kept(tmp_path, size):
    argv = ["study", "--data", "bands(n=400)", "--model", "rf", "--runs", "40", "--jobs", "2",
            "--store", "s.sqlite", "--quiet"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "shaketable", *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        start_new_session=True,
    )  # fmt: skip
    store = tmp_path / "s.sqlite"
    for _ in range(600):
        time.sleep(0.05)
        if store.exists() and store.stat().st_size > size:
            break
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "s.sqlite, run the same command to go on" in err
    assert "Traceback" not in err


def test_help_is_quick_and_importing_loads_nothing_heavy():
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "shaketable", "--help"],
            check=True, capture_output=True,
        )  # fmt: skip
        times.append(time.perf_counter() - started)
    assert min(times) < 0.5
    code = (
        "import sys, shaketable, shaketable.cli.main\n"
        "heavy = ('numba', 'altair', 'torch', 'sklearn', 'scipy', 'pandas')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_demo_does_the_main_job(capsys):
    code, out, err = run_command(capsys, "demo")
    assert code == 0, err
    assert Path("shaketable-demo/demo.sqlite").stat().st_size > 0
    assert Path("shaketable-demo/demo.html").stat().st_size > 0
    assert "rf" in out
    assert "1nn" in out
    assert "shaketable evaluate --model rf --data mydata.csv" in out
