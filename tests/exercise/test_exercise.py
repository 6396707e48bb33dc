"""A new metric with its table, chart, page section and command is one folder, `worst_loss`.

What it needs elsewhere are the lines of entry points in its pyproject.toml.
"""

import json
import sys
import tomllib
from pathlib import Path

import pytest

import shaketable as st
from helpers.commands import run_command
from helpers.pages import read_page
from shaketable.cli.commands import COMMANDS
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.views.numbers import format_change

HERE = Path(__file__).parent


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package, as if pip had installed it."""
    points = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{g}]\n{n} = {target}" for g, names in points.items() for n, target in names.items()]
    info = tmp_path / "worst_loss-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: worst-loss\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    for registry in (FINDINGS, COMMANDS):  # they look for entry points once
        registry.__dict__.pop("_installed", None)
    yield
    for registry in (FINDINGS, COMMANDS):
        registry.__dict__.pop("_installed", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "worst_loss"]:
        del sys.modules[name]


def test_it_needs_three_lines_elsewhere_at_most():
    points = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["entry-points"]
    assert sum(map(len, points.values())) <= 3


@pytest.mark.usefixtures("installed")
def test_it_is_recorded_and_displayed_like_ours(tmp_path, noise_records: Records, capsys):
    results = find(noise_records)
    worst = {entry["label"]: entry for entry in results.json()["worst_loss"]}
    for model in noise_records.models:
        losses = {
            s.first.corruption: st.metrics.relative_loss(s)
            for s in st.metrics.series(noise_records.select(model=model))
            if s.first.corruption != "clean"
        }
        lowest = min(losses, key=lambda spec: losses[spec].value)
        assert worst[model]["corruption"] == lowest
        assert worst[model]["mean"] == 100 * losses[lowest].value
    results.print()
    out = capsys.readouterr().out
    assert "Largest loss of accuracy" in out
    page = read_page(write_report(tmp_path / "page.html", results))
    assert ("section", {"id": "worst-loss"}) in page.elements
    assert any("Largest loss" in spec["description"] for spec in page.specs)
    assert "min over corruptions" in page.text, "its definition"
    assert any(format_change(loss) in page.text for loss in losses.values())


@pytest.mark.usefixtures("installed")
def test_it_has_a_command(tmp_path, noise_records: Records, capsys):
    with st.Store(tmp_path / "r.sqlite") as store:
        store.add(noise_records)
    code, out, err = run_command(capsys, "worst-loss", tmp_path / "r.sqlite", "--json")
    assert code == 0, err
    assert len(json.loads(out)["worst_loss"]) == len(noise_records.models)
    code, out, _ = run_command(capsys, "worst-loss", tmp_path / "r.sqlite")
    assert code == 0
    assert "Largest loss of accuracy" in out
    assert "worst_loss" in run_command(capsys, "list", "metrics")[1]


@pytest.mark.usefixtures("installed")
def test_what_it_gets_wrong_is_one_line(noise_records: Records, monkeypatch):
    import worst_loss.finding as module

    monkeypatch.setattr(module, "WORST_LOSS", FindingKind(lambda groups: 1 / 0))
    with pytest.raises(
        st.InputError, match=r"finding 'worst_loss' .* failed in find\(\).*division"
    ):
        find(noise_records)
    monkeypatch.setattr(module, "WORST_LOSS", lambda records: None)
    with pytest.raises(st.InputError, match="must be a .*FindingKind, got function"):
        find(noise_records)
