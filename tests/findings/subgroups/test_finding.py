"""Groups of points: the same numbers in JSON, terminal, page and chart, and which are shown."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import check_schema
from helpers.findings import print_results
from helpers.pages import chart_rows, read_page
from helpers.records import make_records
from shaketable import assess, evaluate, export, metrics
from shaketable.core.errors import InputError
from shaketable.evaluation.records import GroupingRecord, Points, Records
from shaketable.evaluation.store import Store
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.findings.subgroups.charts import groups_chart
from shaketable.findings.subgroups.finding import MAX_CORRUPTIONS, Subgroups
from shaketable.statistics import intervals
from shaketable.statistics.independent import subtract_independent
from shaketable.views.numbers import format_bound, format_entry

K, N = 4, 60
SEX = np.arange(N) % 3 == 0  # f: every third point
Y = np.arange(N) % 2


def add_groups(records: Records, *groupings: GroupingRecord) -> Records:
    """Give the points classes, and the data groups."""
    points = Points("p", ("cat", "dog", "emu"), np.arange(N), Y)
    cells = tuple(replace(cell, points=points) for cell in records)
    return replace(records, cells=cells, suites=(), groupings=groupings)


@pytest.fixture(scope="module")
def records() -> Records:
    """One model that loses much in group f under noise, and one that does not."""
    codes = np.where(SEX, 1, 0)
    sex = GroupingRecord("f", "sex", ("m", "f", "x"), codes)
    bad = np.where(SEX, 1, K - (np.arange(N) % 5 == 1))
    good = np.where(np.arange(N) % 7 == 0, 2, K)
    clean = (np.arange(N) % 7 != 3).astype(int)
    both = make_records({"clean": clean, "linf(0.1)": bad, "l2(0.1)": good}, k=K)
    both += make_records({"clean": clean, "linf(0.1)": good, "l2(0.1)": good}, k=K, model="other")
    return add_groups(both, sex)


def take(finding: object) -> Subgroups:
    assert isinstance(finding, Subgroups)
    return finding


def test_numbers_are_those_of_the_points_of_each_group_alone(records: Records) -> None:
    entries = find(records).json()["groups"]
    assert [(e["label"], e["by"], e["corruption"]) for e in entries] == [
        (model, by, spec)
        for by in ("sex", "class")
        for model in ("net", "other")
        for spec in ("clean", "linf(0.1)", "l2(0.1)")
    ]
    for entry in entries:
        (cell,) = records.select(model=entry["model"], corruption=entry["corruption"])
        values = {"f": SEX, "m": ~SEX} if entry["by"] == "sex" else {"cat": Y == 0, "dog": Y == 1}
        assert {group["group"] for group in entry["groups"]} == set(values)
        for group in entry["groups"]:
            own, others = cell.hits[values[group["group"]]], cell.hits[~values[group["group"]]]
            share = intervals.mean_share(own, cell.k)
            assert group["n"] == len(own)
            assert group["accuracy"] == pytest.approx(share.json())
            bound = intervals.error_upper_bound(own, cell.k)
            expected = {"mean": 100 * bound.value, "upper": 100 * bound.high}
            assert group["error_probability"] == pytest.approx(expected)
            gap = subtract_independent(share, intervals.mean_share(others, cell.k)).json()
            assert {key: group["difference_from_others"][key] for key in gap} == pytest.approx(gap)
        errors = [group["error_probability"]["mean"] for group in entry["groups"]]
        assert errors == sorted(errors, reverse=True), "the worst first"
        assert entry["worst"] == entry["groups"][0]["group"]
        assert entry["upper"] == max(g["error_probability"]["upper"] for g in entry["groups"])
        assert entry["without_test_points"] == (["x"] if entry["by"] == "sex" else ["emu"])


def test_a_group_is_shown_to_be_worse_only_where_it_is(records: Records) -> None:
    shown = {
        (e["label"], e["by"], e["corruption"]): e["groups"][0]["difference_from_others"]["shown"]
        for e in find(records).json()["groups"]
    }
    assert [key for key, is_shown in shown.items() if is_shown] == [("net", "sex", "linf(0.1)")]


def test_many_groups_share_the_error_probability() -> None:
    """A gap that is shown among two groups need not be among many."""

    def count_shown(groups: int) -> int:
        hits = {"clean": [1] * N, "l2(1)": np.where(np.arange(N) < 12, 1, 2)}
        codes = np.where(np.arange(N) < 12, 0, 1 + np.arange(N) % (groups - 1))
        labels = tuple(map(str, range(groups)))
        records = add_groups(make_records(hits, k=2), GroupingRecord("f", "g", labels, codes))
        board = take(find(records).findings["subgroups"]).boards[0]
        (model,) = board.models
        assert model.chosen.judged == (1 if groups == 2 else groups)
        return sum(group.shown for group in model.chosen.groups)

    assert count_shown(2) == 2, "both, with opposite signs"
    hits = {"clean": [1] * N, "l2(1)": [1] * 8 + [2] * (N - 8)}
    few = GroupingRecord("f", "g", ("0", "1"), np.where(np.arange(N) < 10, 0, 1))
    many = replace(few, labels=tuple(map(str, range(N))), codes=np.maximum(np.arange(N) - 9, 0))
    shown = []
    for grouping in (few, many):
        records = add_groups(make_records(hits, k=2), grouping)
        (model,) = take(find(records).findings["subgroups"]).boards[0].models
        shown.append(model.chosen.find("0").shown)
    assert shown == [True, False]


def test_terminal_has_a_table_per_column_if_one_was_named(
    capsys: pytest.CaptureFixture[str], records: Records
) -> None:
    out = print_results(capsys, records)
    for board in take(find(records).findings["subgroups"]).boards:
        title = f"by {board.by}, under linf(0.1), the worst group first"
        assert title in out
        for model in board.models:
            for group in model.chosen.groups:
                (row,) = [
                    line
                    for line in out.split(title)[1].split("the worst group first")[0].splitlines()
                    if line.split()[:3] == [model.label, group.label, str(group.n)]
                ]
                assert format_entry(group.accuracy) in row
                assert format_entry(group.gap, signed=True) in row
                assert ("*" in row) == group.shown
    assert "no test point is of sex x: nothing is known about it" in out
    bare = print_results(capsys, replace(records, groupings=()))
    assert "by class, under" not in bare
    assert bare.count("the worst class is ") == 2


def test_page_and_chart_have_every_group(tmp_path: Path, records: Records) -> None:
    page = read_page(write_report(tmp_path / "p.html", records))
    boards = take(find(records).findings["subgroups"]).boards
    for board in boards:
        rows = page.tables[f"by {board.by}, under linf(0.1), the worst group first"]
        groups = [(m.label, group) for m in board.models for group in m.chosen.groups]
        for row, (label, group) in zip(rows[1:], groups, strict=True):
            assert row[:3] == [label, group.label, str(group.n)]
            assert format_bound(group.error.high) in row[5]
    assert "net: the worst sex is f" in page.text
    drawn = [row for board in boards for row in chart_rows(groups_chart(board))]
    assert len(drawn) == sum(len(model.chosen.groups) for b in boards for model in b.models)
    first = boards[0].models[0].chosen.worst
    assert {"group": "f", "value": 100 * first.accuracy.value}.items() <= drawn[0].items()


def test_of_many_corruptions_the_worst_is_broken_down() -> None:
    hits = {f"l2({i})": np.minimum(np.arange(N) % (i + 2), 1) for i in range(MAX_CORRUPTIONS + 1)}
    records = add_groups(make_records({"clean": [1] * N, **hits}))
    entries = find(records).json()["groups"]
    assert [entry["corruption"] for entry in entries] == ["clean", "l2(0)"]


def test_metrics_are_by_class_or_by_a_column_of_the_records(records: Records) -> None:
    net = records.select(model="net")
    by_sex = metrics.group_accuracy(net, by="sex", corruption="linf(0.1)")
    assert list(by_sex) == ["f", "m"]
    assert by_sex["f"].value == 0.25
    errors = metrics.group_error_probability(net, by="sex", corruption="linf(0.1)")
    assert errors["f"].value == 0.75 < errors["f"].high
    assert set(metrics.group_accuracy(net)) == {"cat", "dog"}
    with pytest.raises(InputError, match="unknown column to group by 'age'; Known: class, sex"):
        metrics.group_accuracy(net, by="age")


def test_a_results_file_is_enough(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = (x[:, 0] > 0).astype(int)
    by = {"side": np.where(x[:, 1] > 0, "up", "down")}
    store = tmp_path / "r.sqlite"
    measured = evaluate(
        lambda x: (x[:, 0] > 0).astype(int),
        (x, y),
        "l2(0.5)",
        k=3,
        by=by,
        store=store,
        model_id="m",
    )
    with Store(store, must_exist=True) as file:
        kept = find(file.records()).json()["groups"]
    assert kept == find(measured).json()["groups"]
    assert {entry["by"] for entry in kept} == {"side", "class"}


def test_points_are_exported_with_their_groups(tmp_path: Path, records: Records) -> None:
    frame = records.to_frame(points=True)
    assert (frame["by_sex"].to_numpy() == np.where(SEX[frame["row"]], "f", "m")).all()
    written = json.loads(export(records, tmp_path / "r.json", content="points").read_text())
    check_schema("export", written)
    assert {row["by_sex"] for row in written["points"]} == {"f", "m"}


def test_an_assessment_has_groups(tmp_path: Path) -> None:
    x = np.arange(40.0)[:, None]
    y = (x[:, 0] >= 20).astype(int)
    by = {"part": ["low"] * 15 + ["high"] * 25}
    found = assess(lambda x: (x[:, 0] >= 20).astype(int), (x[:20], y[:20]), (x[20:], y[20:]), by=by)
    (entry, *_) = found.results.json()["groups"]
    assert (entry["by"], entry["worst"], entry["without_test_points"]) == ("part", "high", ["low"])


def test_without_an_error_no_group_is_the_worst(capsys: pytest.CaptureFixture[str]) -> None:
    hits = {"clean": [1] * N, "l2(1)": [K] * N}
    out = print_results(capsys, add_groups(make_records(hits, k=K)))
    assert (
        "net: no error under l2(1) in any of 2 groups by class; wrong answers in each: below "
        in out
    )
    assert "worst class" not in out
