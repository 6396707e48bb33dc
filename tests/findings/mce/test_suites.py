"""Which corruptions are behind which metric, from counts made by hand."""

import numpy as np
import pytest

from helpers.records import make_records
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.findings.results import find

NOISE = ["gaussian_noise", "shot_noise", "impulse_noise"]
OTHERS = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow", "frost", "fog"]
OTHERS += ["brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression"]
EXTRA = ["gaussian_blur", "spatter", "saturate"]
KINDS = {
    "mce": [*NOISE, "speckle_noise", *OTHERS, *EXTRA],
    "mce_15": [*NOISE, *OTHERS],
    "mce_xn": [*OTHERS, *EXTRA],
}
ERRORS = "0.886428 0.894468 0.922640 0.819880 0.826268 0.785948 0.798360 0.866816 0.826572 "
ERRORS += "0.819324 0.564592 0.853204 0.646056 0.717840 0.606500"
ALEXNET = dict(zip(KINDS["mce_15"], map(float, ERRORS.split()), strict=True))
"""Errors of AlexNet as Hendrycks & Dietterich (2019) give them."""
N = 400


def name(kind, severity):
    return f"{kind}({severity}, imagenet)"


def make(kinds, metric):
    """Records with another error for every kind and severity, and 30 errors on clean points."""
    wrong = {
        name(kind, severity): 40 + 7 * KINDS["mce"].index(kind) + 20 * severity
        for kind in kinds
        for severity in range(1, 6)
    }
    hits = {"clean": np.arange(N) >= 30}
    hits |= {spec: np.arange(N) >= count for spec, count in wrong.items()}
    records = make_records(hits, metric=metric, sets=tuple(wrong))
    return records, {spec: count / N for spec, count in wrong.items()}


def mean_error(errors, kinds):
    return np.mean([errors[name(kind, s)] for kind in kinds for s in range(1, 6)])


@pytest.mark.parametrize("evaluated", ["mce", "mce_15", "mce_xn"])
@pytest.mark.parametrize("metric", ["mce", "mce_15", "mce_xn"])
def test_every_metric_has_its_own_corruptions(evaluated, metric):
    records, errors = make(KINDS[evaluated], evaluated)
    compute = getattr(metrics, metric)
    if metric not in (evaluated, "mce_15", "mce_xn") or (metric, evaluated) in (
        ("mce_15", "mce_xn"),
        ("mce_xn", "mce_15"),
    ):
        with pytest.raises(InputError, match=f"{metric} needs exactly one model"):
            compute(records)
        return
    found = compute(records)
    assert found.value == pytest.approx(mean_error(errors, KINDS[metric]), rel=1e-12)
    assert f"mean over {5 * len(KINDS[metric])} corruptions" in found.method


@pytest.mark.parametrize("evaluated", ["mce", "mce_15"])
def test_alexnet_is_compared_with_under_the_15_of_the_benchmark(evaluated):
    records, errors = make(KINDS[evaluated], evaluated)
    by_kind = {kind: mean_error(errors, [kind]) for kind in ALEXNET}
    plain = np.mean([by_kind[kind] / ALEXNET[kind] for kind in ALEXNET])
    grown = np.mean([(by_kind[k] - 30 / N) / (ALEXNET[k] - 0.435) for k in ALEXNET])
    assert metrics.mce_alexnet(records).value == pytest.approx(plain, rel=1e-9)
    assert metrics.relative_mce_alexnet(records).value == pytest.approx(grown, rel=1e-9)
    without, _ = make(KINDS["mce_xn"], "mce_xn")
    with pytest.raises(InputError, match="mce_15 needs exactly one model"):
        metrics.mce_alexnet(without)


def test_json_of_all_19_has_the_scores_of_the_parts():
    records, errors = make(KINDS["mce"], "mce")
    entries = {entry["metric_name"]: entry for entry in find(records).json()["suites"]}
    assert set(entries) == {"mce", "mce_15", "mce_xn"}
    for metric, entry in entries.items():
        wanted = 100 * mean_error(errors, KINDS[metric])
        assert entry["metric"]["mean"] == pytest.approx(wanted, rel=1e-12)
        assert {ladder["name"] for ladder in entry["ladders"]} == set(KINDS[metric])
        assert (entry["part_of"] is None) == (metric == "mce")
        for ladder in entry["ladders"]:
            wanted = 100 * mean_error(errors, [ladder["name"]])
            assert ladder["mean"] == pytest.approx(wanted, rel=1e-12)
    for metric in ("mce", "mce_15"):
        shown = entries[metric]["mCE relative to AlexNet's"]["mean"]
        assert shown == pytest.approx(100 * metrics.mce_alexnet(records).value, rel=1e-12)
    assert "mCE relative to AlexNet's" not in entries["mce_xn"]
