"""The probability of a wrong answer under every corruption, the same in JSON, terminal and page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.findings import print_results
from helpers.pages import read_page
from helpers.records import draw_hits, make_records
from shaketable import metrics
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.findings.risk.finding import Risks
from shaketable.separations.separation import SeparationRecord
from shaketable.views.blocks import Table
from shaketable.views.numbers import format_bound, format_percent

COST = {"linf": 0.1, "l2": 0.2, "fog": 0.4, "sp": 0.1, "ga": 0.3}
WEATHER = "fog(1)", "fog(2)"
SETS = "clean", "sp(0.1)", "ga(0.1)", "sp(0.1) + ga(0.1)"
SPECS = ("clean", "linf(0.1)", "l2(0.2)", *WEATHER, *SETS[1:])


@pytest.fixture(scope="module")
def records() -> Records:
    """Two models under noise of size eps_min, other noise, and two suites with their own scores."""
    both = make_records(draw_hits(0, SPECS, COST), k=4)
    both += make_records(draw_hits(1, SPECS, COST), k=4, model="other")
    separation = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
    suites = (
        SuiteRecord("f", "weather", "mce", "", WEATHER),
        SuiteRecord("f", "sets", "mcv", "", SETS),
    )
    return Records(both.cells, (separation,), suites)


def test_json_has_every_corruption_also_those_of_suites(records: Records) -> None:
    found = find(records).json()["error_probabilities"]
    assert [entry["label"] for entry in found] == ["net", "other"]
    for entry in found:
        cells = {cell["corruption"]: cell for cell in entry["cells"]}
        assert list(cells) == list(SPECS)
        assert entry["corruptions"] == len(SPECS) - 1
        model = records.select(model=entry["model"])
        for spec, cell in cells.items():
            error = metrics.error_probability(model, corruption=spec).overall
            assert (cell["mean"], cell["upper"]) == (100 * error.value, 100 * error.high)
            assert cell["mean"] == pytest.approx(
                100 - 100 * metrics.accuracy(model, corruption=spec).value
            )
            assert cell["at_eps_min"] == (spec == "linf(0.1)")
            assert cell["k"] == (1 if spec == "clean" else 4)
        noisy = [cell for spec, cell in cells.items() if spec != "clean"]
        worst = max(noisy, key=lambda cell: cell["mean"])
        assert entry["highest"] == {"corruption": worst["corruption"], "mean": worst["mean"]}
        assert entry["upper"] == max(cell["upper"] for cell in noisy)


def test_terminal_has_the_worst_of_all_and_the_bound_of_every_listed_corruption(
    capsys: pytest.CaptureFixture[str], records: Records
) -> None:
    out = print_results(capsys, records)
    for model in find(records).json()["error_probabilities"]:
        mean, upper = model["highest"]["mean"], format_bound(model["upper"] / 100)
        assert f"{model['highest']['corruption']} ({mean:.2f}% wrong, below {upper})" in out
        for cell in model["cells"][:3]:
            assert f"{cell['mean']:.2f}, below {format_bound(cell['upper'] / 100)[:-1]} " in out


def test_the_bound_under_all_may_be_that_of_another_corruption_than_the_worst_measured() -> None:
    """Wrong in all draws of few points proves less than wrong in one draw of many points."""
    hits = {"clean": [1] * 60, "linf(0.1)": [4] * 50 + [0] * 10, "l2(0.2)": [3] * 44 + [4] * 16}
    risk = find(make_records(hits, k=4)).findings["risk"]
    assert isinstance(risk, Risks)
    (model,) = risk.models
    bounds = {entry.noise: entry.bound for entry in model.entries}
    assert model.highest.noise == "l2(0.2)"
    assert model.upper == bounds["linf(0.1)"].high > bounds["l2(0.2)"].high


def test_the_page_has_every_bound_and_the_summary_before_the_notes(
    tmp_path: Path, records: Records
) -> None:
    path = write_report(tmp_path / "r.html", records, notes=["mind the gap"])
    page = read_page(path)
    text = " ".join(page.text.split())
    summary, notes = text.index("Verdict by the MSCR"), text.index("ind the gap")
    assert summary < notes
    for name in ("net", "other"):
        model = records.select(model=name)
        errors = {spec: metrics.error_probability(model, corruption=spec).overall for spec in SPECS}
        for error in errors.values():
            assert format_bound(error.high) in text
        worst = max(SPECS[1:], key=lambda spec: errors[spec].value)
        upper = format_bound(max(errors[spec].high for spec in SPECS[1:]))
        shown = text[summary:notes]
        assert f"{worst}{format_percent(errors[worst])} wrong, below {upper}" in shown
        eps_min = errors["linf(0.1)"]
        assert f"{format_percent(eps_min)}below {format_bound(eps_min.high)}" in shown


def test_noise_of_size_eps_min_comes_first_then_the_worst(records: Records) -> None:
    tables = [b for b in find(records).findings["risk"].blocks() if isinstance(b, Table)]
    assert [table.level for table in tables] == ["detail", "detail", "detail"]
    for table in tables[1:]:
        first, *others = table.rows
        assert first[0] == "linf(eps_min)"
        shown = [row[2].value for row in others]  # type: ignore[union-attr]
        assert shown == sorted(shown, reverse=True)


def test_models_without_a_bound_are_left_out(study_records: Records) -> None:
    assert "risk" not in find(study_records).findings, "of several runs"
    hits = {"clean": [1, 1, 0], "linf(0.1)": [2, 1, 0]}
    clean_only = make_records({"clean": hits["clean"]})
    assert "risk" not in find(clean_only).findings
    shared = make_records(hits, k=2, draws="shared")
    good = make_records(hits, k=2, model="good")
    found = find(replace(good, cells=(*good.cells, *shared.cells[:1]))).json()
    assert [entry["label"] for entry in found["error_probabilities"]] == ["good"]
