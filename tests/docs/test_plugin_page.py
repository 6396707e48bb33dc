"""The package that the pages on plug-ins describe, taken from their text, works once installed."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_json
from shaketable.adversary.attacks.registry import ATTACKS
from shaketable.cli.commands import COMMANDS
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.corruptions.suites.suite import SUITES
from shaketable.data.readers.reader import READERS
from shaketable.findings.finding import FINDINGS, METRICS
from shaketable.models.loading import LOADERS
from shaketable.models.networks import NETWORKS, build_network

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
PAGES = ("own-plugin.md", "own-model-or-data.md", "own-finding.md", "own-metric.md")
REGISTRIES = (CORRUPTIONS, SUITES, ATTACKS, NETWORKS, READERS, LOADERS, FINDINGS, METRICS, COMMANDS)

pytestmark = pytest.mark.usefixtures("own_directory")


def forget_entry_points():
    """Registries look for entry points once; make them look again."""
    for registry in REGISTRIES:
        registry.__dict__.pop("_installed", None)


def read_blocks(language, *pages):
    """Code blocks of one language on these pages."""
    text = "".join((HOWTO / page).read_text(encoding="utf-8") for page in pages)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def package(own_directory):
    """Write ``mypackage`` into the working directory."""
    for block in read_blocks("python", *PAGES):
        if file := re.match(r"# (mypackage/\w+\.py)\n", block):
            path = Path(file[1])
            path.parent.mkdir(exist_ok=True)
            path.write_text(block)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mypackage"]:
        del sys.modules[name]


@pytest.fixture
def installed(package, monkeypatch):
    """Give ``mypackage`` the entry points of the pages, as if it were installed."""
    (block,) = read_blocks("toml", "own-plugin.md")
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
        yield shlex.split(re.sub(r"--data (\w+) ", r"--quiet --data '\1(n=80)' ", line))[1:]


def test_names_of_an_installed_package(installed, capsys):
    shapes = st.load("shapes(n=80)")
    d, classes = shapes.d, len(shapes.classes)
    weights = np.random.default_rng(0).normal(size=(d, classes)).tolist()
    Path("net.linear").write_text(json.dumps({"weights": weights, "bias": [0] * classes}))
    (block,) = read_blocks("bash", "own-plugin.md")
    evaluate, cells, check, adversary, list_corruptions = commands(block)
    code, out, err = run_command(capsys, *evaluate)
    assert code == 0, err
    assert "lowest accuracy: " in out
    code, out, err = run_command(capsys, *cells)
    assert code == 0, err
    assert "rain(strength=0.2, share=0.1)" in out
    code, out, err = run_command(capsys, *check)
    assert code in (0, 1, 3), err
    assert "always_right >= 80%" in out
    code, out, err = run_command(capsys, *adversary)
    assert code == 0, err
    assert "shift(steps=20)" in out
    assert "Bright vertical streaks in an image." in run_command(capsys, *list_corruptions)[1]
    (block,) = read_blocks("bash", "own-model-or-data.md")
    points = {"x": [[float(i)] for i in range(60)], "kind": ["u"] * 30 + ["v"] * 30}
    Path("a.points").write_text(json.dumps(points))
    Path("a.linear").write_text(json.dumps({"weights": [[0, 1]], "bias": [29.5, 0]}))
    separation, evaluate = commands(block)
    code, out, err = run_command(capsys, *separation)
    assert code == 0, err
    assert "eps_min = 0.5" in out
    assert run_json(capsys, *evaluate)["models"][0]["cells"][0]["mean"] == 100
    network = build_network("linear(bias=false)", shape=(8, 8, 3), classes=2)
    assert [p.shape for p in network.parameters()] == [(2, 192)]
    with pytest.raises(SystemExit, match="0"):
        run_command(capsys, "--help")
    assert "print the cells of a results file" in capsys.readouterr().out
