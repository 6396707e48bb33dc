"""An answer says which models are shown to be more accurate, and which cannot be told apart."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.findings import print_results
from helpers.pages import read_page
from helpers.records import make_records
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.comparison.ranking import Ranking
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
        f"on clean points: {names} are ahead of e and d; e is ahead of d; {names} cannot be told "
        "apart"
    )
    assert answer in " ".join(print_results(capsys, records).split())
    page = read_page(write_report(tmp_path / "page.html", records))
    assert f"{answer}." in " ".join(page.text.split())


def test_one_best_model_is_named_and_equals_are_told_apart_from_nothing() -> None:
    (best,) = rank({"a": (0.5,), "b": (0.9,), "c": (0.3,)})
    assert best == ("on clean points", "b is ahead of a and c; a is ahead of c")
    (two,) = rank({"a": (0.5,), "b": (0.9,)})
    assert two == ("on clean points", "b is ahead of a")
    ((_, same),) = rank({"a": (0.8,), "b": (0.8,), "c": (0.81,)})
    assert sorted(same.removesuffix(" cannot be told apart").replace(" and", ",").split(", ")) == [
        *"abc"
    ]


def test_one_corruption_is_named_and_several_count_on_average() -> None:
    models = {"a": (0.9, 0.3, 0.3), "b": (0.9, 0.8, 0.3), "c": (0.9, 0.8, 0.9)}
    one = {model: shares[:2] for model, shares in models.items()}
    (_, _), (under, words) = rank(one, "fog(1)")
    assert under == "under fog(1)"
    assert words.endswith(" are ahead of a; c and b cannot be told apart")
    (_, _), (under, words) = rank(models, "fog(1)", "fog(2)")
    assert under == "on average over suite by-hand"
    assert words == "c is ahead of b and a; b is ahead of a"


def test_of_many_models_each_is_compared_with_the_best_as_measured() -> None:
    models = dict.fromkeys("abcd", (0.9,)) | dict.fromkeys("efgh", (0.5,))
    ((under, words),) = rank(models)
    assert under == "on clean points"
    best, worse = words.split("; ")
    assert set(best.removeprefix("among the best: ").split(", ")) == {*"abcd"} or (
        " are ahead of " in best
    )
    assert not set("abcd") & set(worse.removeprefix("worse than one of these: ").split(", "))
    alone = rank({"a": (0.95,)} | dict.fromkeys("bcdefg", (0.5,)))
    assert alone[0][1].startswith("a is ahead of ")
    assert "told apart" not in alone[0][1], "the others were not compared with each other"


def test_ties_that_overlap_are_not_called_an_order() -> None:
    ahead = frozenset({("a", "c")})
    assert Ranking("d", "x", ("a", "b", "c"), ahead).words == (
        "among the best: a, b; worse than one of these: c"
    )


def test_suites_are_averaged_over_apart() -> None:
    models = {"a": (0.9, 0.9, 0.9, 0.5), "b": (0.9, 0.5, 0.5, 0.9)}
    records = join(models, ("clean", "fog(1)", "fog(2)", "sp(0.1)"))
    suite = SuiteRecord("f", "weather", "mce", "", ("fog(1)", "fog(2)"))
    found = find(replace(records, suites=(suite,))).findings["comparison"]
    assert [(r.under, r.best) for r in found.rankings][1:] == [
        ("on average over suite weather", ["a"]),
        ("under sp(0.1)", ["b"]),
    ]


def test_training_noises_of_a_study_are_ranked(study_records: Records) -> None:
    found = find(study_records).findings["comparison"]
    clean = next(r for r in found.rankings if r.under == "on clean points")
    assert len(clean.labels) == 6, "two models with three training noises"
    assert not clean.has_all


def test_a_claim_takes_all_differences_into_account() -> None:
    # b is worse than a at 12 of 400 points and better at 2: enough for one pair, not for ten
    a, b = np.ones(N, dtype=int), np.ones(N, dtype=int)
    a[:2], b[2:14] = 0, 0
    records = [make_records({"clean": h}, k=1, model=name) for name, h in (("a", a), ("b", b))]
    (ranking,) = find(sum(records, start=Records(()))).json()["accuracy_rankings"]
    assert ranking["words"] == "a is ahead of b"
    assert find(sum(records, start=Records(()))).json()["accuracy_differences"][0]["shown"]
    more = [make_records({"clean": a}, k=1, model=name) for name in "cdefg"]
    for n in (3, 5):  # with all pairs, and with the best as measured only
        (ranking,) = find(sum(records + more[:n], start=Records(()))).json()["accuracy_rankings"]
        assert ranking["less_accurate"] == []
        assert ranking["most_accurate"][-1] == "b"
