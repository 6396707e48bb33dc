"""The summary stands first, says only what is shown, and links to sections that exist."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from helpers.findings import find_once, print_results
from helpers.pages import read_page
from helpers.records import make_records
from shaketable import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.findings.summary.finding import Summary
from shaketable.statistics.difference import excludes_zero
from shaketable.views.blocks import Chart, Entry, Heading, Sentence, Table, number_places

N, K = 400, 4


def take(records: Records) -> Summary:
    finding = find_once(records).findings["summary"]
    assert isinstance(finding, Summary)
    return finding


def make_table(n: int = 600) -> Any:
    """Points whose class depends on a first column alone, with groups of a third."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return make_dataset(x, (x[:, 0] > 0).astype(int), name="table")


@pytest.fixture(scope="module")
def sure_records() -> Records:
    """One model with scores under noise that costs it much, and in single columns."""
    from shaketable.corruptions import per_feature

    data = make_table()
    corruptions = ["jitter(0.1)", "jitter(2)", per_feature(data, "jitter(1)")]

    def answer(x: Any) -> Any:
        return np.eye(2)[(x[:, 0] > 0).astype(int)]

    return evaluate(answer, data, corruptions, k=3, name="sure", model_id="sure")


RECORDS = "noise_records", "study_records", "mixed_records", "suite_records", "ice_records"


@pytest.mark.parametrize("name", [*RECORDS, "sure_records"])
def test_links_point_to_sections_that_exist(name: str, request: pytest.FixtureRequest) -> None:
    blocks = [*number_places(find_once(request.getfixturevalue(name)).blocks())]
    places = {block.place for block in blocks if isinstance(block, Heading)}
    summary = take(request.getfixturevalue(name)).blocks()
    linked = {b.place for b in summary if isinstance(b, Sentence) and b.place}
    linked |= {
        cell.place
        for b in summary
        if isinstance(b, Table)
        for row in b.rows
        for cell in row
        if isinstance(cell, Entry) and cell.place
    }
    assert linked
    assert linked <= places


@pytest.mark.parametrize("name", [*RECORDS, "sure_records"])
def test_it_is_the_first_that_is_printed(
    name: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    records = request.getfixturevalue(name)
    lines = print_results(capsys, records).splitlines()
    assert lines[1].startswith("verdict by ")
    labels = [line.label for board in take(records).boards for line in board.lines]
    rows = [line for line in lines if any(f" {v} " in line for v in VERDICTS)]
    assert len(rows) == len(labels)


VERDICTS = "loses accuracy", "inconclusive", "robust as far as shown"


def test_only_what_is_shown_is_a_problem(sure_records: Records) -> None:
    problems = take(sure_records).problems
    kinds = [problem.kind for problem in problems]
    assert {"worst corruption", "fragile feature", "too sure"} <= set(kinds)
    for problem in problems:
        assert problem.size is not None
        assert problem.size.value > 0
        assert excludes_zero(problem.size)
        assert problem.text.startswith("sure ")
    costs = [problem.cost for problem in problems]
    assert costs == sorted(costs, reverse=True)


def test_without_a_shown_problem_it_says_so() -> None:
    x = np.linspace(-1, 1, 400)[:, None]
    data = make_dataset(x, (x[:, 0] > 0).astype(int))
    records = evaluate(lambda x: (x[:, 0] > 0).astype(int), data, ["linf(0.0001)"], name="step")
    found = take(records)
    assert found.problems == []
    (sentence,) = (b for b in found.blocks() if isinstance(b, Sentence) and "none is" in b.text)
    assert sentence.level == "summary"
    assert find(records).json()["summary"]["problems"] == []


def test_a_class_counts_with_its_share_of_the_points() -> None:
    """A small class that is always wrong costs less than a corruption that hits all classes."""
    y = np.repeat([0, 1], [360, 40])
    x = np.linspace(0, 1, 400)[:, None]
    data = make_dataset(x, y)

    def answer(x: Any) -> Any:  # wrong on all of class 1 and on a third of class 0, when moved
        moved = ~np.isin(x[:, 0], data.x[:, 0])
        truth = (x[:, 0] > 0.9).astype(int)
        third = x[:, 0] < 0.3
        return np.where(moved & (truth.astype(bool) | third), 1 - truth, truth)

    records = evaluate(answer, data, ["linf(0.0001)", "linf(0.0002)"], k=2, name="net", bounds=None)
    problems = {problem.kind: problem for problem in take(records).problems}
    small = problems["worst class"]
    assert small.size is not None
    assert small.share == pytest.approx(0.1)
    assert small.cost == pytest.approx(0.1 * small.size.value)
    assert [*problems].index("worst corruption") < [*problems].index("worst class")


def test_other_models_with_a_problem_of_the_kind_are_named() -> None:
    def make(model: str, lost: int) -> Records:
        hits = {"clean": np.ones(N, int)}
        for spec in ("fog(1)", "fog(5)"):
            hits[spec] = np.where(np.arange(N) < lost * (spec == "fog(5)"), 0, K)
        return make_records(hits, k=K, model=model, metric="", sets=("fog(1)", "fog(5)"))

    records = make("a", 100) + make("b", 200) + make("c", 0)
    (problem,) = (p for p in take(records).problems if p.kind == "worst corruption")
    assert problem.label == "b"
    assert problem.place == "risk"
    assert problem.text == (
        "b loses 50.00 [45.02, 54.98] percentage points of accuracy under fog(5), from 100.00 % to "
        "50.00 %; also shown for a"
    )


def test_requirements_that_are_not_met_come_first(sure_records: Records) -> None:
    made = [
        SimpleNamespace(model="sure", outcome=outcome)
        for outcome in ("met", "not met", "inconclusive")
    ]
    found = take(sure_records).decide(cast(Any, made))
    assert [p.kind for p in found.problems].index("failed requirement") == 0
    assert len(found.problems) <= 5
    table = next(b for b in found.blocks() if isinstance(b, Table))
    cell = table.rows[0][-1]
    assert isinstance(cell, Entry)
    assert (cell.value, cell.tone, cell.place) == ("1 of 3 met", "lost", "requirements")
    assert take(sure_records).blocks()[0].used != table.used  # type: ignore[union-attr]


def test_bars_of_a_table_share_a_scale_that_holds_them_all(ice_records: Records) -> None:
    tables = [b for b in take(ice_records).blocks() if isinstance(b, Table)]
    assert tables
    for table in tables:
        cells = [c for row in table.rows for c in row if isinstance(c, Entry) and c.bar]
        assert len({(c.bar.start, c.bar.end) for c in cells if c.bar}) == 1
        for cell in cells:
            bar = cell.bar
            assert bar is not None
            assert bar.mark is not None
            ends = bar.low, bar.value, bar.high, bar.mark
            assert bar.start <= min(ends) <= max(ends) <= bar.end


def test_many_models_are_counted_and_the_best_are_shown() -> None:
    records = Records(())
    for i in range(25):
        hits = {"clean": np.ones(N, int), "fog(1)": np.where(np.arange(N) < 8 * i, 0, K)}
        records += make_records(hits, k=K, model=f"m{i}", metric="", sets=("fog(1)",))
    blocks = take(records).blocks()
    table = next(b for b in blocks if isinstance(b, Table))
    assert [row[0] for row in table.rows[:3]] == ["m0", "m1", "m2"]
    assert table.left_out == 5
    (count,) = (
        b for b in blocks if isinstance(b, Sentence) and b.text.startswith("of 25 models, ")
    )
    verdicts = [entry["verdict"] for entry in find(records).json()["summary"]["verdicts"]]
    assert f"{verdicts.count('loses accuracy')} lose accuracy" in count.text
    ranking = next(b for b in blocks if isinstance(b, Sentence) and b.about == "under fog(1)")
    assert ranking.text.startswith("among the best: m0")


def test_json_has_every_model_once_per_basis(mixed_records: Records) -> None:
    found = find_once(mixed_records).json()["summary"]
    keys = [(v["label"], v["data"], v["under"]) for v in found["verdicts"]]
    assert len(keys) == len(set(keys))
    for verdict in found["verdicts"]:
        change = verdict["change"]
        if verdict["verdict"] == "loses accuracy":
            assert change["high"] < 0
        elif verdict["verdict"] == "robust as far as shown":
            assert change["low"] > -2


def test_the_heat_map_has_every_error_of_every_model_on_one_scale(
    suite_records: Records, tmp_path: Path
) -> None:
    page = read_page(write_report(tmp_path / "s.html", suite_records))
    spec = next(s for s in page.specs if "color" in str(s) and "xOffset" in str(s))
    (rows,) = spec["datasets"].values()
    boards = find_once(suite_records).findings["mce"].boards  # type: ignore[attr-defined]
    expected = {
        (score.label, level.spec): 100 * level.error.value
        for score in boards[0].scores
        for ladder in score.ladders
        for level in ladder.levels
    }
    assert {(r["model"], r["noise"]): r["value"] for r in rows} == pytest.approx(expected)
    assert len(rows) == len(expected)
    assert any(isinstance(b, Chart) for b in take(suite_records).blocks())


def test_a_model_that_loses_accuracy_by_one_feature_has_that_problem() -> None:
    """Also if the loss is not shown together with those of many other models."""

    def make(model: str, lost: int) -> Records:
        hits = {"clean": np.ones(N, int)}
        hits['jitter(0.5, only="age")'] = np.where(np.arange(N) < lost, 0, K)
        hits['jitter(0.5, only="size")'] = np.full(N, K)
        return make_records(hits, k=K, model=model, metric="feature_losses", sets=tuple(hits)[1:])

    def judge(lost: int) -> tuple[str, list[str]]:
        records = make("a", lost)
        for other in "bcdefghijk":
            records += make(other, 0)
        found = take(records)
        kinds = [problem.kind for problem in found.problems if problem.kind != "near guessing"]
        return found.boards[0].lines[0].verdict, kinds

    least = next(lost for lost in range(1, N) if judge(lost)[0] == "loses accuracy")
    assert judge(least)[1] == ["worst corruption"]
    assert judge(N // 2)[1] == ["fragile feature"]
