"""Networks of ours on the nine training sets: what is taken from their records, and pieces."""

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.corruptions.suites.suite import suite
from shaketable.findings.mcv import variation
from shaketable.reproductions.papers.twofactor import factor_training
from shaketable.reproductions.papers.twofactor.factor_training import (
    Plan,
    load_images,
    tabulate_training,
)
from shaketable.reproductions.registry import Asked

SINGLE = ["SP0.1", "GA0.1", "RL30", "RR30"]
TWO = ["SP0.1GA0.1", "GA0.1SP0.1", "SP0.1RL30", "SP0.1RR30"]


@pytest.fixture(scope="module")
def records():
    """A quick model in place of networks."""
    train, tests = suite("two-factor-train").names, suite("two-factor")
    return st.study("shapes(n=50)", "1nn", train=train, corruptions=tests, runs=2, n_jobs=1)


@pytest.fixture
def reproduced(monkeypatch, records):
    def reproduce(**options):
        monkeypatch.setattr(factor_training, "run_pieces", lambda *_, **__: (records, ""))
        return st.reproduce("twofactor-table3", **options)

    return reproduce


def by_hand(records, name, run):
    """CV, mean, clean, least and most in per cent, from the hits of every set."""
    own = [c for c in records if display_name(c.train) == name and c.run == run]
    cells = {display_name(c.corruption): 100 * np.mean(c.hits) / c.k for c in own}
    assert len(cells) == 69
    a = np.array([*cells.values()])
    return (
        100 * np.sqrt(((a - a.mean()) ** 2).sum() / 69) / a.mean(),
        a.mean(),
        cells["clean"],
        a.min(),
        a.max(),
    )


def test_numbers_are_those_of_the_hits(records):
    ours, share = (table.by_name for table in tabulate_training(records))
    values = {
        n: np.array([by_hand(records, n, run) for run in (0, 1)]) for n in ["clean", *SINGLE, *TWO]
    }
    kinds = {"single factor": SINGLE, "two factors": TWO}
    values |= {kind: np.mean([values[n] for n in names], axis=0) for kind, names in kinds.items()}
    for name, expected in values.items():
        for i, column in enumerate(("CV", "mean", "clean", "min", "max")):
            assert ours[f"ours: {name} / {column}"].ours == pytest.approx(expected[:, i]), name
    one, two, salt = (values[n][:, 0] for n in ("single factor", "two factors", "SP0.1"))
    assert share["share: SP0.1"].ours == pytest.approx((one - salt) / (one - two))


def test_drawings_have_no_claims_on_training(reproduced):
    found = reproduced()
    assert found.exit_code == 0, found.judgements
    assert not any(j.claim.startswith("ours") for j in found.judgements)
    assert "built-in drawings" in found.json()["notes"][0]


def test_claims_on_images_are_judged(reproduced, tmp_path):
    data = st.load("shapes(n=40)")
    parts = {
        "x_train": data.x[:20],
        "y_train": data.y[:20],
        "x_test": data.x[20:],
        "y_test": data.y[20:],
    }
    np.savez(tmp_path / "cifar10.npz", **parts)
    found = reproduced(data=tmp_path / "cifar10.npz")
    ours = [j for j in found.judgements if j.claim.startswith("ours")]
    assert len(ours) == 4
    assert all(j.verdict in ("holds", "fails", "inconclusive") for j in ours)
    assert all(j.why != "none of its numbers was measured" for j in ours)


def test_a_changed_mean_fails(reproduced, monkeypatch):
    assert reproduced().exit_code == 0
    mean = variation.mean
    monkeypatch.setattr(variation, "mean", lambda values: mean(values) * 12 / 11)
    assert reproduced().exit_code == 1


def test_a_part_of_the_images_is_taken(tmp_path):
    data = st.load("shapes(n=50)")
    np.savez(tmp_path / "one.npz", x=data.x, y=data.y)
    parts = {
        "x_train": data.x[:30],
        "y_train": data.y[:30],
        "x_test": data.x[30:],
        "y_test": data.y[30:],
    }
    np.savez(tmp_path / "two.npz", **parts)
    plan = Plan(runs=1, points=(20, 40))
    one, two = (
        load_images(Asked(data=str(tmp_path / f"{name}.npz")), plan) for name in ("one", "two")
    )
    assert (one.n, one.n_train) == (50, None)
    assert (two.n, two.n_train) == (40, 20)
    with pytest.raises(InputError, match="give CIFAR-10 by data="):
        load_images(Asked(), Plan(runs=1))


@pytest.mark.parametrize("form", ["fast", "gpu"])
def test_it_goes_on_training_by_training(monkeypatch, tmp_path, form):
    pytest.importorskip("torch")
    data = st.load("shapes(n=40)")
    np.savez(
        tmp_path / "d.npz",
        x_train=data.x[:20],
        y_train=data.y[:20],
        x_test=data.x[20:],
        y_test=data.y[20:],
    )
    plan = Plan(runs=1, network="resnet9(width=1)", epochs=1, batch=10)
    monkeypatch.setitem(factor_training.PLANS, form, plan)
    options = {"data": tmp_path / "d.npz", "form": form, "minutes": 0, "n_jobs": 1, "device": "cpu"}
    first = st.reproduce("twofactor-table3", **options, out=tmp_path / "out")
    assert first.exit_code == 3
    assert first.json()["unfinished"] == "1 of 9 trainings are done; the same command goes on"
    second = st.reproduce("twofactor-table3", **options, out=tmp_path / "out")
    assert second.json()["unfinished"].startswith("2 of 9")
