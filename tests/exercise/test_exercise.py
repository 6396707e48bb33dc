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


class Wrong:
    """A finding of which one view can be made wrong."""

    def __init__(self, **views):
        self.views = views

    def json(self):
        return self.views.get("json", {})

    def blocks(self):
        return self.views.get("blocks", list)()


def print_all(results):
    results.print()


def write_page(results):
    return write_report("page.html", results)


@pytest.mark.usefixtures("installed", "own_directory")
@pytest.mark.parametrize(
    ("finding", "use", "message"),
    [
        (Wrong(blocks=lambda: [1 / 0]), print_all, r"failed in blocks\(\): ZeroDivisionError"),
        (Wrong(json=[1]), lambda r: r.json(), r"failed in json\(\): .*a dict, got list"),
        (Wrong(json={"a": {1}}), lambda r: r.json(), r"failed in json\(\): .*serializable"),
        (Wrong(json={"notes": 1}), lambda r: r.json(), "must not use the JSON key 'notes'"),
        (Wrong(blocks=lambda: None), write_page, r"in blocks\(\): .*list of blocks, got None"),
        (Wrong(blocks=lambda: ["a"]), print_all, r"list of blocks, got \['a'\]"),
        (3, print_all, r"failed in blocks\(\): AttributeError"),
    ],
)
def test_a_wrong_view_is_one_line(noise_records, monkeypatch, finding, use, message):
    import worst_loss.finding as module

    monkeypatch.setattr(module, "WORST_LOSS", FindingKind(lambda groups: finding))
    with pytest.raises(st.InputError, match=f"finding 'worst_loss' .*{message}") as error:
        use(find(noise_records))
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("installed")
def test_find_that_fails_is_one_line(noise_records: Records, monkeypatch):
    import worst_loss.finding as module

    monkeypatch.setattr(module, "WORST_LOSS", FindingKind(lambda groups: 1 / 0))
    with pytest.raises(st.InputError, match=r"'worst_loss' .* failed in find\(\).*division"):
        find(noise_records)


@pytest.mark.usefixtures("installed")
def test_a_kind_that_cannot_be_loaded_disturbs_no_other(noise_records: Records, monkeypatch):
    import worst_loss.finding as module

    monkeypatch.setattr(module, "WORST_LOSS", lambda records: None)
    results = find(noise_records)
    (note,) = results.notes
    assert "must be a shaketable.findings.finding.FindingKind, got function" in note
    assert results.json()["models"]
    assert "worst_loss" not in st.metrics.METRICS
    assert "mscr" in st.metrics.METRICS


@pytest.mark.parametrize(
    "fields",
    [
        {"find": 1},
        {"metrics": ["a"]},
        {"metrics": {"a": 1}},
        {"suite_metrics": "a"},
    ],
)
def test_a_kind_of_wrong_fields_is_refused(fields):
    name = next(iter(fields))
    with pytest.raises(st.InputError, match=f"FindingKind: {name} must"):
        FindingKind(**{"find": print} | fields)
