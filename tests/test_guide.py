"""The package that the guide's section on plug-ins describes, taken from its text, works."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command
from shaketable.adversary.attacks.registry import ATTACKS
from shaketable.cli.commands import COMMANDS
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.corruptions.suites.suite import SUITES
from shaketable.data.readers.reader import READERS
from shaketable.findings.finding import FINDINGS
from shaketable.models.loading import LOADERS
from shaketable.models.networks import NETWORKS, build_network

GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"
REGISTRIES = (CORRUPTIONS, SUITES, ATTACKS, NETWORKS, READERS, LOADERS, FINDINGS, COMMANDS)

pytestmark = pytest.mark.usefixtures("own_directory")


def forget_entry_points():
    """Registries look for entry points once; make them look again."""
    for registry in REGISTRIES:
        registry.__dict__.pop("_installed", None)


def read_blocks(language):
    """Code blocks of one language in the section on plug-ins."""
    section = GUIDE.read_text(encoding="utf-8").partition("## Your own corruptions")[2]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


@pytest.fixture
def package(own_directory):
    """Write ``mypackage`` into the working directory."""
    for block in read_blocks("python"):
        if file := re.match(r"# (mypackage/\w+\.py)\n", block):
            path = Path(file[1])
            path.parent.mkdir(exist_ok=True)
            path.write_text(block)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mypackage"]:
        del sys.modules[name]


@pytest.fixture
def installed(package, monkeypatch):
    """Give ``mypackage`` the entry points of the guide, as if it were installed."""
    (block,) = read_blocks("toml")
    lines = []
    for group, names in tomllib.loads(block)["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in names.items())]
    info = Path("mypackage-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(Path.cwd())
    forget_entry_points()
    yield
    forget_entry_points()


def commands(block):
    """Arguments of the commands in a block, on fewer points."""
    for line in block.splitlines():
        yield shlex.split(re.sub(r"--data (\w+)", r"--quiet --data '\1(n=80)'", line))[1:]


def test_names_in_a_module_of_the_working_directory(package, capsys):
    blocks = read_blocks("sh")
    outputs = []
    for argv in commands(blocks[0]):
        code, out, err = run_command(capsys, *argv)
        assert code == 0, err
        outputs.append(out)
    assert "mypackage.noise:rain(strength=0.3, share=0.1)" in outputs[0]
    assert "mypackage.noise:rain(strength=0.4, share=0.1)" in outputs[1]


def test_names_of_an_installed_package(installed, capsys):
    shapes = st.load("shapes(n=80)")
    d, classes = shapes.d, len(shapes.classes)
    weights = np.random.default_rng(0).normal(size=(d, classes)).tolist()
    Path("net.linear").write_text(json.dumps({"weights": weights, "bias": [0] * classes}))
    evaluate, cells, adversary, list_corruptions = commands(read_blocks("sh")[1])
    code, out, err = run_command(capsys, *evaluate)
    assert code == 0, err
    assert "Lowest accuracy: " in out
    code, out, err = run_command(capsys, *cells)
    assert code == 0, err
    assert "rain(strength=0.2, share=0.1)" in out
    code, out, err = run_command(capsys, *adversary)
    assert code == 0, err
    assert "shift(steps=20)" in out
    assert "Bright vertical streaks in an image." in run_command(capsys, *list_corruptions)[1]
    Path("a.points").write_text(json.dumps({"x": [[0.0], [1.0], [4.0]], "kind": ["u", "v", "u"]}))
    code, out, err = run_command(capsys, "separation", "a.points", "--label", "kind")
    assert code == 0, err
    assert "eps_min = 0.5" in out
    network = build_network("linear(bias=false)", shape=(8, 8, 3), classes=2)
    assert [p.shape for p in network.parameters()] == [(2, 192)]
    with pytest.raises(SystemExit, match="0"):
        run_command(capsys, "--help")
    assert "print the cells of a results file" in capsys.readouterr().out


def test_metrics_that_are_correlated_are_those_of_the_study_before():
    text = GUIDE.read_text(encoding="utf-8").partition("## Training regimes compared")[2]
    suites = re.findall(r"--suite (\S+)", text.partition("--store s.sqlite")[0])
    measured = {SUITES.get(name).metric for name in suites}
    correlated = re.search(r"report s.sqlite --correlate (\w+),(\w+)", text)
    assert correlated is not None
    assert set(correlated.groups()) <= measured
