"""JSON of suites has every cell."""

import json

import pytest

from helpers.findings import find_once
from shaketable import metrics
from shaketable.evaluation.records import Record, Records


def error(cell: Record) -> float:
    return 1 - float(cell.hits.sum()) / (cell.n * cell.k)


def errors(records: Records, model: str) -> dict[str, float]:
    return {c.corruption: error(c) for c in records.select(model=model)}


def test_json_holds_every_cell(suite_records: Records) -> None:
    result = json.loads(json.dumps(find_once(suite_records).json(), allow_nan=False))
    assert [(s["model"], s["suite"]) for s in result["suites"]] == [
        ("half", "pnorm"), ("whole", "pnorm"), ("half", "ice"), ("whole", "ice"),
    ]  # fmt: skip
    for s in result["suites"]:
        by_spec = errors(suite_records, s["model"])
        cells = {c["corruption"]: c["error"]["mean"] for c in s["cells"]}
        assert cells == pytest.approx({spec: 100 * by_spec[spec] for spec in cells})
        assert len(cells) == {"pnorm": 89, "ice": 6}[s["suite"]]
        assert "64 values in a range of 1" in s["derived"]
        settings = {name: s[name] for name in ("n", "k", "draws", "seed", "bounds")}
        assert settings == {"n": 120, "k": 1, "draws": "ladder", "seed": 0, "bounds": "clip[0, 1]"}
    expected = metrics.mce_lp(suite_records.select(model="half"))
    assert result["suites"][0]["metric"] == {
        "mean": 100 * expected.value, "low": 100 * expected.low, "high": 100 * expected.high,
        "method": expected.method,
    }  # fmt: skip
    assert result["suites"][0]["cells"][-1]["p"] == "inf"
    (difference,) = result["suite_differences"]
    assert (difference["first"], difference["second"]) == ("half", "whole")
    assert [len(m["cells"]) for m in result["models"]] == [1, 1], "clean alone is left"
