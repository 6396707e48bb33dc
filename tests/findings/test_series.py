"""Series group the cells of one model under one corruption, and compute every estimate once."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.records import draw_hits, make_records
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.page import write_report
from shaketable.findings.results import find
from shaketable.findings.series import Series, group_series, meets_same_noise, relative_change
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics import intervals

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(300, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")
ESTIMATORS = (
    "mean_share",
    "mean_share_over_runs",
    "mean_difference",
    "relative_change",
    "relative_change_over_runs",
)


def crooked(x):
    return np.where(x[:, 0] + 0.05 * np.sin(20 * x[:, 1]) > 0.5, "right", "left")


def as_key(argument: Any) -> Any:
    """Value of an argument of an estimator that can be counted."""
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.tobytes()
    return tuple(map(as_key, argument)) if isinstance(argument, list) else argument


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """Calls of all estimators, by name and arguments."""
    counted: Counter[Any] = Counter()

    def count(name: str) -> Any:
        estimator = getattr(intervals, name)

        def counting(*args: Any, **options: Any) -> Any:
            counted[name, *map(as_key, args), *sorted(options.items())] += 1
            return estimator(*args, **options)

        return counting

    for name in ESTIMATORS:
        monkeypatch.setattr(intervals, name, count(name))
    return counted


def show_all(records: Records, folder: Path) -> None:
    """Make JSON, terminal tables and the page from one `Results`."""
    results = find(records)
    json.dumps(results.json())
    results.print()
    write_report(folder / "r.html", results)


def test_every_seed_has_its_own_series():
    first, second = (evaluate(crooked, (X, Y), ["linf(0.1)"], model_id="m", seed=s) for s in (0, 1))
    assert len(group_series(first + second)) == 4


def test_no_estimate_of_fitted_models_is_computed_twice(
    tmp_path: Path, calls: Counter[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cost = {"linf": 0.1, "l2": 0.2, "fog": 0.3, "snow": 0.1}
    specs = ("clean", "linf(0.1)", "linf(0.2)", "l2(0.1)", "fog(1)", "fog(2)", "snow(1)")
    both = make_records(draw_hits(0, specs, cost), k=4)
    both += make_records(draw_hits(1, specs, cost), k=4, model="other")
    weather = SuiteRecord("f", "weather", "mce", "", specs[4:])
    separation = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
    show_all(Records(both.cells, (separation,), (weather,)), tmp_path)
    out = capsys.readouterr().out
    assert all(text in out for text in ("net, L-inf", "net, L2", "suite weather", "linf(eps_min)"))
    assert sum(calls.values()) > 2 * len(specs)
    assert max(calls.values()) == 1, calls.most_common(1)


def test_no_estimate_of_sets_is_computed_twice(
    tmp_path: Path, calls: Counter[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    specs = ("clean", "sp(0.1)", "ga(0.1)", "sp(0.1) + ga(0.1)", "ga(0.1) + sp(0.1)")
    records = make_records(draw_hits(2, specs), k=4)
    show_all(records + make_records(draw_hits(3, specs), k=4, model="other"), tmp_path)
    assert "accuracy over 5 sets" in capsys.readouterr().out
    assert max(calls.values()) == 1, calls.most_common(1)


def test_no_estimate_of_a_study_is_computed_twice(
    tmp_path: Path, study_records: Records, calls: Counter[Any]
) -> None:
    show_all(study_records, tmp_path)
    series = [s for s in group_series(study_records) if s.runs > 1]
    different = {(as_key([c.hits for c in s.noisy]), s.first.k) for s in series}
    computed = {key[1:]: n for key, n in calls.items() if key[0] == "mean_share_over_runs"}
    assert different <= set(computed)
    assert sum(computed[key] for key in different) <= len(series)
    averages = [n for key, n in computed.items() if key not in different]
    assert sum(averages) <= len(series) // 2, "of both models"
    all_runs = [k for k in calls if k[0] == "relative_change_over_runs" and len(k[1]) == 3]
    assert sum(calls[key] for key in all_runs) == sum(s.at_eps_min for s in series)


def test_series_with_the_same_clean_cells_share_their_clean_series() -> None:
    specs = ("clean", "sp(0.1)", "ga(0.1)")
    records = make_records(draw_hits(0, specs), k=4)
    records += make_records(draw_hits(1, specs), k=4, model="other")
    of_net, of_other = (
        [s for s in group_series(records) if s.first.model == model] for model in ("net", "other")
    )
    assert {id(s.on_clean) for s in of_net} == {id(of_net[0].on_clean)}
    assert of_net[0].on_clean is not of_other[0].on_clean
    assert of_net[0].on_clean.on_clean is of_net[0].on_clean
    assert np.array_equal(of_other[1].on_clean.first.hits, draw_hits(1, specs)["clean"])
    assert of_net[1].accuracy is of_net[1].accuracy
    assert of_net[1].relative_loss is of_net[1].relative_loss is of_net[1].change


def test_a_change_is_none_where_the_relative_loss_is_undefined() -> None:
    hits = {"clean": np.zeros(20, int), "sp(0.1)": np.ones(20, int)}
    series = group_series(make_records(hits))[1]
    assert series.change is None
    with pytest.raises(UndefinedError, match="undefined"):
        _ = series.relative_loss
    with pytest.raises(UndefinedError, match="MSCR is undefined at a clean accuracy of 0"):
        relative_change([0.5, 0.0], [0.5, 0.5])


def test_series_are_paired_by_points_noise_and_run() -> None:
    hits = draw_hits(0, ("clean", "sp(0.1)"))

    def corrupted(**settings: Any) -> Series:
        return group_series(make_records(hits, k=4, **settings))[1]

    assert meets_same_noise(corrupted(), corrupted(model="other"))
    assert not meets_same_noise(corrupted(), corrupted(seed=1))
    assert not meets_same_noise(corrupted(), corrupted(run=1))
    assert not meets_same_noise(corrupted(), corrupted(draws="ladder"))
    clean = [group_series(make_records(hits, k=4, seed=seed))[0] for seed in (0, 1)]
    assert meets_same_noise(*clean), "clean points are the same for every seed"


def test_one_run_of_shared_draws_has_no_interval() -> None:
    records = make_records(draw_hits(0, ("clean", "sp(0.1)")), k=4, draws="shared")
    with pytest.raises(InputError, match="draws must be independent"):
        _ = group_series(records)[1].accuracy
