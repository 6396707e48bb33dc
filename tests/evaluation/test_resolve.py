import math

import numpy as np
import pandas as pd
import pytest

from helpers.threshold import X, Y, list_hits, threshold
from shaketable.core.errors import InputError
from shaketable.corruptions import parse
from shaketable.corruptions.suites.catalogue import MULTIPLES
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation import resolve as resolve_module
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.resolve import check_range, list_usual, resolve
from shaketable.evaluation.store import Store
from shaketable.separations.separation import separation


def test_eps_min_is_taken_from_the_data_and_recorded():
    records = evaluate(threshold, (X, Y), ["linf(eps_min)", "l2(eps_min)", "linf(0.3)"], k=2)
    assert [records.at_eps_min(c) for c in records] == [False, True, True, False]
    assert {s.norm for s in records.separations} == {2.0, np.inf}


def test_a_separation_on_record_is_not_measured_again(tmp_path, monkeypatch):
    measured = []
    real = resolve_module.separation
    monkeypatch.setattr(
        resolve_module, "separation", lambda *a, **k: measured.append(k) or real(*a, **k)
    )
    for name in ("one", "two"):
        records = evaluate(
            threshold,
            (X, Y),
            ["linf(eps_min)", "l2(eps_min)"],
            name=name,
            store=tmp_path / "r.sqlite",
        )
        assert [records.at_eps_min(c) for c in records] == [False, True, True]
    assert len(measured) == 2  # once a norm


def test_bounds_belong_to_the_evaluation_not_to_the_corruption():
    bound = parse("linf(0.1)").bind(Bounds(0, 1))
    with pytest.raises(InputError, match="bounds of linf"):
        evaluate(threshold, (X, Y), [bound])


def test_a_suite_is_drawn_by_ladders_and_recorded(tmp_path):
    data = make_dataset(
        np.random.default_rng(0).uniform(size=(20, 8, 8)), np.arange(20) % 2, bounds=(0, 1)
    )
    store = tmp_path / "r.sqlite"

    def model(x):
        return (x.mean(axis=(1, 2)) > 0.5).astype(int)

    records = evaluate(model, data, suite("ice"), store=store, model_id="m")
    assert {c.k for c in records} == {1}
    assert {c.setting.draws for c in records} == {"none", "ladder"}
    (kept,) = records.suites
    assert kept.name == "ice"
    assert kept.metric == "ice"
    assert "derived from ice-cifar for 64 values" in kept.derived
    assert kept.specs == tuple(c.corruption for c in records.cells[1:])
    with Store(store) as opened:
        assert opened.records().suites == records.suites
    again = evaluate(
        model, data, [suite("ice")], store=store, model_id="m", draws="independent", k=3
    )
    assert {(c.setting.draws, c.k) for c in again} == {("none", 1), ("independent", 3)}


def test_dates_alone_can_only_be_left_out():
    day = pd.date_range("2024-01-01", periods=6)
    dates = make_dataset(pd.DataFrame({"day": day, "n": range(6)}), [0, 1] * 3)
    assert list_usual(dates) == ["linf(eps_min)"]
    assert list_usual(dates.touching(keep="n")) == ["missing(0.1)"]
    words = make_dataset(pd.DataFrame({"day": day, "word": list("ababab")}), [0, 1] * 3)
    assert list_usual(words) == ["swap(0.1)", "missing(0.1)"]
    assert list_usual(words.touching(only="day"), "l2") == ["l2(eps_min)"]
    assert list_usual(words.touching(keep="word")) == ["missing(0.1)"]


def test_what_was_resolved_is_returned_not_written():
    data = make_dataset(X, Y, bounds=(0, 1))
    resolved = resolve(["linf(eps_min)", suite("mscr"), parse("l2(1)")], data, data.bounds)
    (separation,) = resolved.separations
    (recorded,) = resolved.suites
    specs = [c.spec for c in resolved.corruptions]
    assert specs == [f"linf({separation.epsilon_min!r})"] * 2 + ["l2(1)"]
    assert recorded.specs == tuple(specs[:1])
    again = resolve("linf(eps_min)", data, None, find_separation=lambda *_: separation)
    assert again.separations == ()
    assert again.corruptions == resolved.corruptions[:1]


def test_one_corruption_need_not_be_in_a_list():
    one, listed = (evaluate(threshold, (X, Y), c, k=2) for c in (parse("l2(0.1)"), ["l2(0.1)"]))
    assert list_hits(one) == list_hits(listed)


@pytest.mark.parametrize("given", [threshold, 5, np.random.default_rng(0), object()])
@pytest.mark.parametrize("many", [False, True])
def test_what_is_no_corruption_is_refused_in_one_line(given, many):
    with pytest.raises(InputError, match="@shaketable.corruption") as refusal:
        evaluate(threshold, (X, Y), [given] if many else given)
    assert "\n" not in str(refusal.value)


def test_multiples_of_eps_min_need_one_separation_per_norm():
    data = make_dataset(X, Y)
    specs = ["linf(0.5*eps_min) | l2(2*eps_min)", "l2(eps_min) + linf(eps_min/4)"]
    resolved = resolve([*specs, suite("mscr-ladder(norm=2)")], data, None)
    linf, l2 = resolved.separations
    a, b = linf.epsilon_min, l2.epsilon_min
    assert [c.spec for c in resolved.corruptions[:2]] == [
        f"linf({0.5 * a!r}) | l2({2 * b!r})",
        f"l2({b!r}) + linf({0.25 * a!r})",
    ]
    assert [c.size for c in resolved.corruptions[2:]] == [c * b for c in MULTIPLES]
    assert resolved.suites[0].name == "mscr-ladder(norm=2)"


def test_eps_min_is_measured_in_every_norm():
    data = make_dataset(X, Y)
    norms = {"linf": math.inf, "l2": 2, "l1": 1, "l0.5": 0.5}
    resolved = resolve([f"{name}(eps_min)" for name in norms], data, None)
    exact = [separation(data, norm=p).epsilon_min for p in norms.values()]
    assert [c.size for c in resolved.corruptions] == exact
    assert len({*exact}) == 4
    assert [s.norm for s in resolved.separations] == [*norms.values()]


def test_a_range_that_is_missing_is_found_out_before_any_model_is_asked():
    asked = []
    data = make_dataset(np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2)
    with pytest.raises(InputError, match="needs a finite value range"):
        evaluate(lambda x: asked.append(1) or np.zeros(len(x)), data, ["l2(1)", "C2"])
    assert not asked


def test_a_corruption_needs_a_range_if_a_part_does():
    check_range(parse("jitter(0.5) + l2(1)"), None)
    with pytest.raises(InputError, match="needs a finite value range"):
        check_range(parse("l2(1) | sp(0.1)"), None)
