"""Numbers of a board of sets in JSON and words, against counts by hand."""

import numpy as np
import pytest

from helpers.records import make_records, make_suite_result
from shaketable.findings.mcv.charts import table_plot
from shaketable.findings.mcv.numbers import Stability, coefficient
from shaketable.findings.mcv.variation import Variation, VariationTable
from shaketable.findings.mcv.view import describe_changes
from shaketable.findings.results import find
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

K, N = 3, 80
SETS = ("sp(0.1) as A", "sp(0.2) as B", "rotation(30) as C")


def draw(seed, *shares):
    rng = np.random.default_rng(seed)
    hits = {"clean": rng.binomial(1, shares[0], N)}
    return hits | {s: rng.binomial(K, p, N) for s, p in zip(SETS, shares[1:], strict=True)}


MODELS = {"old": draw(0, 0.9, 0.8, 0.5, 0.6), "new": draw(1, 0.95, 0.9, 0.85, 0.8)}


@pytest.fixture(scope="module")
def board():
    first, second = (make_records(hits, k=K, model=m) for m, hits in MODELS.items())
    (found,) = find(first + second, reference="old").json()["mcv"]
    return found


def shares_of(hits):
    return np.stack([hits["clean"], *(hits[s] / K for s in SETS)])


def test_json_has_the_accuracies_of_the_counts(board):
    assert (board["reference"], board["sets"], board["data"]) == ("old", 4, "by hand")
    for entry, (name, hits) in zip(board["models"], MODELS.items(), strict=True):
        accuracies = dict(zip(("clean", "A", "B", "C"), shares_of(hits).mean(axis=1), strict=True))
        values = np.array([*accuracies.values()])
        assert entry["model"] == name
        assert entry["sets"] == pytest.approx({n: 100 * a for n, a in accuracies.items()})
        assert entry["mean"]["mean"] == pytest.approx(100 * values.mean())
        assert entry["cv"]["mean"] == pytest.approx(100 * values.std() / values.mean())
        clean = intervals.mean_share(hits["clean"], 1)
        assert entry["clean"] == pytest.approx(clean.json())
        assert entry["clean"]["low"] < entry["clean"]["mean"] < entry["clean"]["high"]
        least, most = (pick(accuracies, key=accuracies.get) for pick in (min, max))
        assert entry["least"] == {"set": least, "accuracy": pytest.approx(100 * accuracies[least])}
        assert entry["most"] == {"set": most, "accuracy": pytest.approx(100 * accuracies[most])}


def test_changes_are_those_against_the_reference(board):
    old, new = board["models"]
    assert old["mean_change"] is old["cv_change"] is None
    for name in ("mean", "cv"):
        gap = new[name]["mean"] - old[name]["mean"]
        change = new[f"{name}_change"]
        assert change["mean"] == pytest.approx(gap)
        assert change["low"] < gap < change["high"]
    assert new["mean_change"]["low"] > 0 > new["cv_change"]["high"]
    assert new["group"] == "I"


def estimate(low, high):
    return Estimate((low + high) / 2, low, high, 0.95, "by hand")


@pytest.mark.parametrize(
    ("mean", "cv", "words"),
    [
        ((0.1, 0.2), (-0.2, -0.1), "more accurate; steadier"),
        ((-0.2, -0.1), (0.1, 0.2), "less accurate; less steady"),
        ((-0.1, 0.1), (0.1, 0.2), "mean: the difference may be chance; less steady"),
        ((0.1, 0.2), (-0.1, 0.2), "more accurate; CV: the difference may be chance"),
        ((-0.1, 0.1), (-0.1, 0.1), "mean and CV: the difference may be chance"),
    ],
)
def test_words_follow_the_intervals(mean, cv, words):
    assert describe_changes(estimate(*mean), estimate(*cv)) == words


def test_sets_that_differ_by_chance_alone_have_a_lower_limit_of_0():
    rng = np.random.default_rng(0)
    for _ in range(5):
        shares = rng.binomial(1, 0.7, (200, 300)).astype(float)
        found = coefficient(shares)
        # 200 sets vary by 4 % of their mean without any difference between them
        assert found.value == pytest.approx(np.sqrt(0.3 / 0.7 / 300), rel=0.2)
        assert found.low == 0 < found.high
    hits = {"clean": np.ones(N, int)} | {f"sp(0.{i})": K * (np.arange(N) % 3 > 1) for i in (1, 2)}
    assert Stability(make_suite_result(hits, k=K)).cv.low > 0


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_groups_are_named_in_their_own_quadrants(lower_is_better):
    rows = [Variation(name, {"a": m - 1, "b": m + 1}) for name, m in (("r", 50.0), ("s", 60.0))]
    table = VariationTable(rows, reference="r", lower_is_better=lower_is_better)
    spec = table_plot(table).to_dict()
    places, drawn = {}, [layer for layer in spec["layer"] if "mark" in layer]
    for layer in drawn:
        rows = spec["datasets"].get(layer.get("data", {}).get("name"), [{}])
        if layer["mark"]["type"] == "text" and ": " in rows[0].get("text", ""):
            x, y = (layer["encoding"][axis]["value"] for axis in "xy")
            assert (x == 0) == (layer["mark"]["align"] == "left")
            place = "left" if x == 0 else "right", "top" if y == 0 else "bottom"
            places[rows[0]["text"].partition(":")[0]] = place
    # above is better: where lower scores are better, the axis is turned round
    assert places == {
        "I": ("left", "top"),
        "II": ("right", "top"),
        "III": ("left", "bottom"),
        "IV": ("right", "bottom"),
    }
    y = [layer["encoding"]["y"] for layer in drawn if "scale" in layer["encoding"]["y"]]
    ends = [axis["scale"]["domain"] for axis in y]
    assert {first > last for first, last in ends} == {lower_is_better}
