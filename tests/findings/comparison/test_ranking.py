"""Of three models or more, an answer says which may be the most accurate."""

from pathlib import Path

import numpy as np
import pytest

from helpers.findings import print_results
from helpers.pages import read_page
from helpers.records import make_records
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.findings.results import find

N = 400


def join(accuracies: dict[str, tuple[float, ...]], specs: tuple[str, ...]) -> Records:
    """Models that are right on their own share of independent points, under each corruption."""
    records = Records(())
    for seed, (model, shares) in enumerate(accuracies.items()):
        rng = np.random.default_rng(seed)
        hits = {spec: rng.random(N) < share for spec, share in zip(specs, shares, strict=True)}
        records += make_records({s: h.astype(int) for s, h in hits.items()}, k=1, model=model)
    return records


def rank(accuracies: dict[str, tuple[float, ...]], *specs: str) -> list[tuple[str, str]]:
    found = find(join(accuracies, ("clean", *specs))).findings["comparison"]
    return [(ranking.under, ranking.words) for ranking in found.rankings]


FIVE = {"e": (0.5,), "a": (0.9,), "b": (0.89,), "c": (0.9,), "d": (0.4,)}


def test_five_models_have_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = join(FIVE, ("clean",))
    (ranking,) = find(records).json()["accuracy_rankings"]
    assert set(ranking["most_accurate"]) == {"a", "b", "c"}
    assert ranking["less_accurate"] == ["e", "d"]
    values = {r.model: r.accuracy for r in records}
    assert ranking["most_accurate"] == sorted("abc", key=lambda name: -values[name])
    names = "{}, {} and {}".format(*ranking["most_accurate"])
    answer = (
        f"n clean points: the most accurate is one of {names}, whose differences may be chance; "
        "e and d are less accurate"
    )
    assert f"o{answer}" in " ".join(print_results(capsys, records).split())
    page = read_page(write_report(tmp_path / "page.html", records))
    assert f"O{answer}." in " ".join(page.text.split())


def test_one_best_model_is_named_and_equals_are_told_apart_from_nothing() -> None:
    (best,) = rank({"a": (0.5,), "b": (0.9,), "c": (0.3,)})
    assert best == ("on clean points", "on clean points: b is the most accurate, before a and c")
    (same,) = rank({"a": (0.8,), "b": (0.8,), "c": (0.81,)})
    assert same[1].startswith("on clean points: all differences between ")
    assert same[1].endswith(" may be chance")


def test_one_corruption_is_named_and_several_count_on_average() -> None:
    models = {"a": (0.9, 0.3, 0.3), "b": (0.9, 0.8, 0.3), "c": (0.9, 0.8, 0.9)}
    one = {model: shares[:2] for model, shares in models.items()}
    (_, _), (under, words) = rank(one, "fog(1)")
    assert under == "under fog(1)"
    assert words.endswith("whose differences may be chance; a is less accurate")
    (_, _), (under, words) = rank(models, "fog(1)", "fog(2)")
    assert under == "on average over 2 corruptions"
    assert words.endswith("c is the most accurate, before b and a")


def test_two_models_and_models_that_are_compared_with_a_reference_have_no_ranking() -> None:
    assert rank({"a": (0.5,), "b": (0.9,)}) == []
    assert rank(dict.fromkeys("abcdef", (0.5,))) == []


def test_a_claim_takes_all_differences_into_account() -> None:
    # b is worse than a at 12 of 400 points and better at 2: enough for one pair, not for ten
    a, b = np.ones(N, dtype=int), np.ones(N, dtype=int)
    a[:2], b[2:14] = 0, 0
    records = [make_records({"clean": h}, k=1, model=name) for name, h in (("a", a), ("b", b))]
    assert find(sum(records, start=Records(()))).json()["accuracy_differences"][0]["shown"]
    records += [make_records({"clean": a}, k=1, model=name) for name in "cde"]
    (ranking,) = find(sum(records, start=Records(()))).json()["accuracy_rankings"]
    assert ranking["most_accurate"] == ["a", "c", "d", "e", "b"]
