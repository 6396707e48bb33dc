"""JSON has the numbers of the metrics, and they are computed once."""

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from shaketable import metrics
from shaketable.evaluation.records import Records
from shaketable.findings import series
from shaketable.findings.mscr import numbers
from shaketable.findings.page import write_report
from shaketable.findings.results import find


def test_error_probabilities_and_differences_are_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise_records: Records
) -> None:
    calls: Counter[Any] = Counter()

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counting(*args: Any) -> Any:
            calls[name, args[0]] += 1
            return function(*args)

        monkeypatch.setattr(module, name, counting)

    count(series, "estimate_error_probability")
    count(numbers, "mscr_difference")
    results = find(noise_records)
    results.json()
    results.print()
    write_report(tmp_path / "r.html", results)
    chosen = [s for subject in results.groups.subjects for s in subject.at_eps_min]
    assert calls == Counter(
        [("estimate_error_probability", s.first) for s in chosen]
        + [("mscr_difference", first) for first, _ in combinations(chosen, 2)]
    )


def test_json_has_the_numbers_of_the_metrics(noise_records: Records) -> None:
    result = find(noise_records).json()
    for model in result["models"]:
        records = noise_records.select(model=model["model"])
        mscr = metrics.mscr(records)
        assert model["mscr"] == {**mscr.json(), "method": mscr.method}
        assert model["verdict"] == metrics.describe_mscr(mscr)
        by_spec = {s.first.corruption: metrics.accuracy(s) for s in metrics.series(records)}
        cells = {cell["corruption"]: cell["mean"] for cell in model["cells"]}
        assert cells == {spec: 100 * e.value for spec, e in by_spec.items()}
        (at_eps_min,) = (s for s in metrics.series(records) if s.at_eps_min)
        error = metrics.error_probability(at_eps_min)
        bounds = {"mean": 100 * error.overall.value, "upper": 100 * error.overall.high}
        assert model["error_probability"]["overall"] == pytest.approx(bounds, rel=1e-12)
    assert len(result["models"]) == 2
    (difference,) = result["mscr_differences"]
    pair = (noise_records.select(model=difference[side]) for side in ("first", "second"))
    assert difference["mean"] == 100 * metrics.mscr_difference(*pair).value
