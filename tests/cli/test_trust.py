"""What a file of someone else names is not imported, connected to or written to without --trust."""

import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import shaketable as st
from helpers.commands import run_command, run_failing
from shaketable.cli.main import main
from shaketable.core.options import GRIDS, PAIRS, SWITCH, WHOLE, format_toml, list_options
from shaketable.evaluation.evaluate_options import EvaluateOptions, StudyOptions
from shaketable.evaluation.records import SuiteRecord
from shaketable.evaluation.store import Store
from shaketable.findings.results import find

pytestmark = pytest.mark.usefixtures("own_directory")

EVIL = """
from pathlib import Path
import numpy as np
Path("ran").touch()

def boom(*_, **__):
    return np.zeros(1)
"""
NAMED = {
    "model": (
        *("evil:boom", "evil: boom", "evil:1", "evil:\tboom", "rf=evil:boom", "rf=evil: boom"),
        *("evil :boom", " evil:boom", "./evil:boom", "evil.inner:boom", "evil:boom@w.pt"),
    ),
    "network": ("evil:boom", "evil:boom(width=1)"),
    "train": ("evil:boom", "TA + evil:boom", "evil:boom(1) | clean", "3*evil:boom | clean"),
    "corruptions": ("evil:boom(1)", "clean + evil:boom", "(evil:boom)", "evil:boom as B"),
    "features": ("evil:boom", 'evil:boom(1, only="a")'),
    "suite": ("evil:boom", "mscr(norm=evil:1)", "evil:boom(2)"),
    "cluster": ("evil:boom", "evil: boom", "evil:boom=here"),
}
"""Settings that name what could be imported, with ways to write it; others get the first."""


@pytest.fixture(autouse=True)
def evil(own_directory):
    """A module that leaves a mark when it is imported."""
    Path("evil.py").write_text(EVIL)
    Path("w.pt").touch()
    yield
    sys.modules.pop("evil", None)


def take_mark():
    """Whether the module ran since the last time."""
    ran = Path("ran").exists() or "evil" in sys.modules
    Path("ran").unlink(missing_ok=True)
    sys.modules.pop("evil", None)
    return ran


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results files by the command that made them."""
    folder = tmp_path_factory.mktemp("made")
    argv = ["--data", "bands(n=40)", "--model", "1nn", "--k", "1", "--quiet"]
    own = {"study": ["--runs", "1", "--jobs", "1"], "evaluate": []}
    for command, words in own.items():
        assert main([command, *argv, *words, "--store", str(folder / command)]) == 0
    return {command: folder / command for command in own}


def forge(path, settings):
    """Write a results file that claims to have been made with these settings, too."""
    with Store(path, must_exist=True) as file:
        records, (command,) = file.everything(), file.commands()
    Path("forged.sqlite").unlink(missing_ok=True)
    with Store("forged.sqlite") as file:
        file.add(records)
        file.add_command(replace(command, settings=command.settings | settings))


def fill(option, text):
    """Return a setting with a text in each place that takes one; None if none does."""
    if option.form is GRIDS:
        return [[f"{text}, sp(0.1)", "sp(0.1)"], ["sp(0.1)", text]]
    if option.form in (SWITCH, WHOLE):
        return None
    return {"model": text} if option.form is PAIRS else [text] if option.form.several else text


def list_trials(command, without=()):
    """List settings that name a module: every one that can, alone, in every way."""
    kind = {"study": StudyOptions, "evaluate": EvaluateOptions}[command]
    for key, option in list_options(kind).items():
        for text in NAMED.get(key, ("evil:boom(1)",)):
            value = fill(option, text)
            if value is not None and option.in_files and key not in without:
                yield key, value


OUTPUT = {key for key, option in list_options(StudyOptions).items() if not option.kept}
"""Settings that are not taken from results files."""


def test_no_setting_of_a_results_file_is_imported(capsys, made):
    taken = {key for key, _ in list_trials("study")}
    plain = taken - NAMED.keys() - OUTPUT  # as in study files, which are tried below
    for command, without in (("study", plain), ("evaluate", taken - {"corruptions", "suite"})):
        for key, value in list_trials(command, without):
            forge(made[command], {key: value})
            code, _, err = run_command(capsys, "rerun", "forged.sqlite", "--jobs", 1, "--quiet")
            assert not take_mark(), (key, value)
            assert code == 0 if key in OUTPUT else code in (0, 1, 2), (key, value, err)
    for key in ("model", "network", "train", "corruptions", "suite"):
        forge(made["study"], {key: [NAMED[key][0]]})
        with pytest.raises(st.InputError, match=r"'evil:boom' must be trusted: a file names it"):
            st.rerun("forged.sqlite")
        assert not take_mark()
        run_command(capsys, "rerun", "forged.sqlite", "--trust", "--jobs", 1, "--quiet")
        assert take_mark(), "else it would be imported"


def test_odd_commands_of_a_results_file_are_refused(capsys, made):
    with Store(made["study"], must_exist=True) as file:
        records, (command,) = file.everything(), file.commands()
    odd = {"command": "os:system"}, {"settings": ["model"]}, {"models": 3}, {"settings": {"x": 1}}
    for changes in odd:
        Path("odd.sqlite").unlink(missing_ok=True)
        with Store("odd.sqlite") as file:
            file.add(records)
            file.add_command(replace(command, **changes))
        assert "results file 'odd.sqlite'" in run_failing(capsys, "rerun", "odd.sqlite")


def test_where_work_runs_is_not_taken_from_a_results_file(capsys, made):
    places = {"keep_models": "kept", "report": "r.html", "markdown": "m.md", "store": "other"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        device = {"device": "no_such_device", "network": ["mlp(width=2)"]}
        for settings in (places, {"cluster": f"dask={address}", "jobs": 100}, device):
            forge(made["study"], settings)
            before = set(Path().iterdir())
            code, _, err = run_command(capsys, "rerun", "forged.sqlite", "--quiet", "--jobs", 1)
            assert code == 0 if settings is not device else "another model" in err, err
            assert set(Path().iterdir()) == before
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("words", [["--dry-run"], []])
def test_nothing_of_a_study_file_is_imported(capsys, words):
    base = {"data": "bands(n=40)", "model": ["1nn"], "k": 1, "runs": 1, "jobs": 1}
    for key, value in list_trials("study"):
        settings = {**base, key: value}
        lines = (f"{name} = {format_toml(item)}" for name, item in settings.items())
        Path("s.toml").write_text("\n".join(lines))
        code, _, err = run_command(capsys, "study", "s.toml", "--quiet", *words)
        assert not take_mark(), (key, value)
        assert code in (0, 2), (key, value, err)


def test_a_study_file_is_trusted_by_a_flag_or_word_by_word(capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        settings = ['data = "bands(n=40)"', f'cluster = "dask={address}"']
        Path("s.toml").write_text("\n".join([*settings, 'model = "1nn"']))
        message = run_failing(capsys, "study", "s.toml", "--quiet", "--runs", 1, "--k", 1)
        assert f"address '{address}' must be trusted: a file names it" in message
        with pytest.raises(BlockingIOError):
            server.accept()
    Path("s.toml").write_text('data = "bands(n=40)"\nmodel = "evil:boom"\nruns = 1\nk = 1')
    assert "add --trust" in run_failing(capsys, "study", "s.toml", "--dry-run")
    assert not take_mark()
    for words in (["--trust"], ["--model", "evil:boom"], ["--model", "its name=evil:boom"]):
        run_failing(capsys, "study", "s.toml", "--dry-run", *words)
        assert take_mark(), words
    Path("s.toml").rename("evil:boom")
    assert "must be trusted" in run_failing(capsys, "study", "evil:boom", "--dry-run")
    assert not take_mark()


@pytest.mark.parametrize("flag", ["--require {}", "--require={}", "--require ./{}"])
def test_a_file_is_not_trusted_by_its_own_name(capsys, flag):
    Path("evil:boom.toml").write_text("require = ['error[evil:boom(1)] <= 100']")
    argv = ["evaluate", "--data", "bands(n=40)", "--model", "1nn", "--k", 1, "--quiet"]
    words = flag.format("evil:boom.toml").split()
    assert "must be trusted" in run_failing(capsys, *argv, *words)
    assert not take_mark()


def test_reading_results_imports_nothing(capsys, made):
    with Store(made["evaluate"], must_exist=True) as file:
        records = file.everything()
    named = {"model": "evil:boom", "train": "evil:boom(1)", "recipe": "evil:boom@w.pt"}
    cells = [
        replace(cell, key=f"{cell.key}-{spec}", corruption=spec, **named)
        for cell in records
        for spec in ("clean", "evil:boom(1)", "linf(0.1) + evil:boom", "evil:boom as B")
        if cell.corruption != "clean" or spec == "clean"
    ]
    specs = tuple(cell.corruption for cell in cells)
    with Store("r.sqlite") as file:
        file.add(cells)
        file.add_suite(SuiteRecord(cells[0].fingerprint, "evil:boom", "", "", specs))
        find(file.everything())
    assert not take_mark()
    Path("limits.toml").write_text("require = ['error[evil:boom(1)] <= 100', 'mscr >= -200']")
    for argv in (
        ["report", "r.sqlite"],
        ["check", "r.sqlite", "--require", "limits.toml"],
        ["export", "r.sqlite", "-o", "r.csv"],
        ["card", "r.sqlite", "-o", "card.yaml"],
        ["figure", "mcv", "r.sqlite"],
        ["report", "r.sqlite", "--correlate", "mscr,mce"],
        ["compare", "r.sqlite", made["evaluate"]],
        ["merge", "r.sqlite", made["evaluate"], "-o", "all.sqlite"],
        ["figure", "learning", "r.sqlite", "-o", "f.json"],
        ["figure", "errors", "r.sqlite", "-o", "g.json"],
    ):
        code, _, err = run_command(capsys, *argv)
        assert code in (0, 1, 2, 3), err
        assert not take_mark(), argv


def test_code_that_is_trusted_may_name_other_code(capsys):
    Path("noise_of_a_suite.py").write_text(
        "import shaketable as st\n"
        "@st.corruption\n"
        "def dim(x, rng, *, size):\n    return x * (1 - size)\n"
    )
    Path("suite_of_others.py").write_text(
        "levels = ['noise_of_a_suite:dim(0.1)', 'noise_of_a_suite:dim(size=0.2)']\n"
        "def make():\n"
        "    from shaketable.corruptions import parse\n"
        "    return [parse('noise_of_a_suite:dim(0.3)')]\n"
    )
    argv = ["evaluate", "--data", "bands(n=40)", "--model", "1nn", "--k", 1, "--quiet"]
    code, out, err = run_command(
        capsys, *argv, "--suite", "suite_of_others:levels", "--suite", "suite_of_others:make"
    )
    for name in ("noise_of_a_suite", "suite_of_others"):
        sys.modules.pop(name, None)
    assert code == 0, err
    assert "noise_of_a_suite:dim(size=0.3)" in out
