import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import shaketable
from helpers.commands import run_failing
from shaketable.core.errors import InputError
from shaketable.core.importing import check_trusted, import_object, run_trusted, trust_only
from shaketable.core.registry import Registry
from shaketable.models.loading import ModelLoader, load_model


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"module 'faulty' fails when it is imported \(ZeroDivisionError: division"),
        ("def (", r"module 'faulty' fails when it is imported \(SyntaxError: invalid syntax"),
        ("import math; math.nix", r"fails when it is imported \(AttributeError: module 'math'"),
        ("raise SystemExit(3)", r"fails when it is imported \(sys.exit\(3\)\)"),
        ("raise ValueError('no\\nluck')", r"\(ValueError: no luck\); correct the module"),
        ("import no_such_module", r"cannot import 'faulty' \(No module named 'no_such_module'"),
        ("", "has no attribute 'model'; name an attribute of the module"),
        ("def __getattr__(name): raise SystemExit(0)", r"cannot be read \(sys.exit\(0\)\)"),
        ("def __getattr__(name): return 1 / 0", r"cannot be read \(ZeroDivisionError: division"),
    ],
)
def test_a_faulty_module_is_one_line_that_names_it(tmp_path, monkeypatch, source, message):
    (tmp_path / "faulty.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    with pytest.raises(InputError, match=message) as error:
        import_object("model", "faulty:model")
    sys.modules.pop("faulty", None)
    assert str(error.value).startswith("model 'faulty:model'")
    assert "\n" not in str(error.value)


def test_only_what_all_words_name_is_trusted():
    for word in (
        "evil:boom",
        "rf=evil:boom",
        "clean + evil:boom(1)",
        "evil:boom@w.pt",
        "model(rf).evil:boom >= 5",
    ):
        with trust_only([word, "--quiet"]):
            check_trusted("model", "evil:boom")
    for word in (
        "",
        "evil",
        "my.evil:boom",
        "evil:boomer",
        "evil:boom.x",
        "devil:boom",
        "evil;boom",
    ):
        with (
            trust_only(["evil:boom"]),
            trust_only([word]),
            pytest.raises(InputError, match=r"model 'evil:boom' must be trusted: .* trust=True$"),
        ):
            check_trusted("model", "evil:boom")
    with trust_only([]), run_trusted():
        check_trusted("model", "evil:boom")
    words = ["evaluate", "--model", "math:pi", "model"]
    with trust_only(words), pytest.raises(InputError, match="^model 'math:sqrt' must be trusted"):
        import_object("model", "math:sqrt")
    assert import_object("model", "math:sqrt")(4) == 2


DATA = ["--model", "rf", "--data", "bands(n=40)"]
MARKER = "from pathlib import Path\nwith open('ran', 'a') as file:\n    file.write({!r})\n"
FORMATS = {
    "onnxruntime": "m.onnx",
    "torch": "m.pt",
    "xgboost": "m.ubj",
    "lightgbm": "m.txt",
    "skops": "m.skops",
    "mlflow": "MLmodel",
    "joblib": "m.joblib",
}
PROGRAM = """
import sys
from shaketable.cli.main import main
for file in sys.argv[1:]:
    main(["evaluate", "--model", file, "--data", "bands(n=40)", "--trust", "--quiet"])
"""


def run_python(*words, **environment):
    """Run Python where files of others lie, with the program itself elsewhere, as if installed."""
    source = str(Path(shaketable.__file__).parents[1])
    path = os.pathsep.join([source, *environment.pop("first", [])])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_installed_packages_come_before_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("installed").mkdir()
    for package, file in FORMATS.items():
        Path(f"{package}.py").write_text(MARKER.format(f"{package} of others\n"))
        installed = MARKER.format(f"{package}\n") + "raise ImportError"
        Path("installed", f"{package}.py").write_text(installed)
        Path(file).touch()
    Path("installed", "shaketable_command").write_text(PROGRAM)
    own = [tmp_path / "installed"]
    run_python(own[0] / "shaketable_command", *FORMATS.values(), first=map(str, own))
    ran = Path("ran").read_text().split("\n")
    assert set(ran) - {""} == set(FORMATS), "and none of others"


def test_a_package_that_is_not_installed_is_not_looked_for_here(own_directory, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    Path("missing_package.py").write_text(MARKER.format("it"))
    Path("m.toy").touch()
    loader = ModelLoader((".toy",), lambda path: path, "", needs="missing_package")
    with pytest.raises(InputError, match="need missing_package, which is not installed"):
        loader(Path("m.toy"))
    for name in ("m.joblib", "m.pkl"):
        Path(name).touch()
        with pytest.raises(InputError):
            load_model(name)
    assert "" not in sys.path
    with pytest.raises(InputError):
        load_model("m.joblib", trust=True)
    assert sys.path.index("") == len(sys.path) - 1, "classes in it are found, last"


def test_naming_an_installed_module_opens_no_door(own_directory, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    Path("others.py").write_text(MARKER.format("of others"))
    about = Path("others-1.0.dist-info")
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[shaketable.colours]\nred = others:red\n")
    assert import_object("model", "math:sqrt")(4) == 2
    assert import_object("model", "wave:open")
    assert "red" not in Registry("colour", admit=lambda name, thing: thing)
    Path("mine_alone.py").write_text("model = 1")
    assert import_object("model", "mine_alone:model") == 1
    sys.modules.pop("mine_alone")


def test_modules_that_come_from_no_file_can_be_named(monkeypatch):
    made = ModuleType("made_by_hand")
    vars(made)["model"] = 1
    monkeypatch.setitem(sys.modules, "made_by_hand", made)
    assert import_object("model", "made_by_hand:model") == 1


def test_numba_takes_no_cache_of_others(own_directory):
    Path(".numba_config.yaml").write_text("cache_dir: cache_of_others\n")
    program = "from shaketable.cli.main import main\nmain(['separation', 'digits', '--minimum'])"
    done = run_python("-P", "-c", program)
    assert "eps_min" in done.stdout, done.stderr
    assert not Path("cache_of_others").exists()


def test_an_installed_module_of_the_same_name_is_named(own_directory):
    Path("json.py").write_text("model = 1")
    Path("email").mkdir()
    Path("email", "spam.py").write_text("model = 1")
    for reference in ("json:model", "email.spam:model"):
        with pytest.raises(InputError, match=r"the installed module '\w+' comes before .* rename"):
            import_object("model", reference)
    Path("mine_alone.py").write_text("model = 1")
    with pytest.raises(InputError, match="; name an attribute of the module"):
        import_object("model", "mine_alone:other")
    Path("folder_alone").mkdir()
    Path("folder_alone", "mine.py").write_text("model = 1")
    for reference in ("folder_alone:other", "folder_alone.mine:other"):
        with pytest.raises(InputError, match="; name an attribute of the module"):
            import_object("model", reference)


def test_python_as_a_module_does_not_look_in_the_working_directory(own_directory):
    Path("argparse.py").write_text(MARKER.format("of others"))
    done = run_python("-m", "shaketable", "list", "metrics")
    assert done.returncode == 0, done.stderr
    assert not Path("ran").exists()


def test_processes_that_are_started_do_not_look_there_either(capsys, own_directory):
    Path("calendar.py").write_text(MARKER.format("of others"))
    start = "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'calendar'])"
    Path("starter.py").write_text(start)  # as joblib starts its workers
    argv = ("adversary", "--agreement", "neither", "--model", "starter:model", *DATA)
    assert "'starter:model'" in run_failing(capsys, *argv)
    assert not Path("ran").exists()
