"""Sets of two faults: their names, the law of their noise, and what a changed number does."""

import numpy as np
import pytest
from scipy import ndimage

import shaketable as st
from shaketable.corruptions.suites.suite import Suite, suite
from shaketable.reproductions.papers.twofactor import factors
from shaketable.reproductions.papers.twofactor.factors import (
    expect_ends,
    name_sets,
    read_name,
    turn,
)
from shaketable.reproductions.published import load_published


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factors, "IMAGES", 200)
        return st.reproduce("twofactor-table1")


def fail(patch, **changes):
    """Return the claims that fail with few images after a change of the package."""
    patch.setattr(factors, "IMAGES", 20)
    for name, value in changes.items():
        patch.setattr(factors, name, value)
    found = st.reproduce("twofactor-table1")
    assert found.exit_code == 1
    return " ".join(j.claim for j in found.judgements if j.verdict == "fails")


def test_all_claims_hold(found):
    assert found.exit_code == 0, found.judgements
    assert len(found.numbers.by_name["ends: SP0.1GA0.2 / black"].json()) > 0


def test_names_are_those_of_the_table(found):
    names = name_sets(load_published("twofactor-table1"))
    assert len(names) == len(set(names)) == 69
    assert {"clean", "SP0.1GA0.15", "GA0SP0.2", "SP0.15RO-60", "RO30SP0.1"} < {*names}
    assert found.numbers.by_name["sets: different test sets"].value == 65


@pytest.mark.parametrize("density", [0, 0.1, 0.2])
def test_the_law_of_salt_and_pepper(density):
    levels = np.array([0, 0, 255, 100]).reshape(1, 2, 2, 1)
    black, white = expect_ends(levels, (("SP", density),))
    assert black == pytest.approx(0.5 * (1 - density) + density / 2)
    assert white == pytest.approx(0.25 * (1 - density) + density / 2)


@pytest.mark.parametrize(
    "name", ["SP0.2GA0.1", "GA0.1SP0.2", "SP0.2RO30", "RO30SP0.2", "GA0.15SP0"]
)
def test_the_law_agrees_with_a_simulation_by_another_generator(name):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (40, 32, 32, 3))
    x = levels
    for kind, level in read_name(name):
        if kind == "SP":
            u = rng.random(x.shape)
            x = np.where(u < level / 2, 0, np.where(u < level, 255, x))
        elif kind == "GA":
            x = np.clip(np.round(x + 255 * rng.normal(level, 0.1, x.shape)), 0, 255)
        else:
            x = ndimage.rotate(x, -level, axes=(2, 1), order=0, reshape=False, mode="grid-constant")
    expected = expect_ends(levels, read_name(name))
    assert ((x == 0).mean(), (x == 255).mean()) == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("degrees", [-60, -30, 30, 60])
def test_pictures_turn_as_scipy_turns_them(degrees):
    x = np.random.default_rng(1).integers(1, 256, (2, 32, 32, 3))
    assert (
        turn(x, degrees)
        == ndimage.rotate(x, -degrees, axes=(2, 1), order=0, reshape=False, mode="grid-constant")
    ).all()


def test_a_set_that_does_not_do_what_its_name_says_fails(monkeypatch):
    known = suite("two-factor")
    wrong = Suite("x", "x", tuple(n.replace("sp(0.15)", "sp(0.16)") for n in known.names), "mcv")
    suites = {"two-factor": wrong, "two-factor-train": suite("two-factor-train")}
    claims = fail(monkeypatch, suite=suites.__getitem__)
    assert "do what their names say" in claims
    assert "printed one" in claims


@pytest.mark.parametrize("lacking", ["sp(0.15)", "rotation(30)", "as RO"])
def test_a_level_that_is_lacking_fails(monkeypatch, lacking):
    known = suite("two-factor")
    names = tuple(n for n in known.names if lacking not in n)
    assert len(names) < len(known.names)
    suites = {
        "two-factor": Suite("x", "x", names, "mcv"),
        "two-factor-train": suite("two-factor-train"),
    }
    claims = fail(monkeypatch, suite=suites.__getitem__)
    assert "every level is the printed one" in claims


def test_reading_the_number_as_the_variance_fails(monkeypatch):
    by_variance = suite("two-factor-variance")
    suites = {"two-factor": by_variance, "two-factor-train": suite("two-factor-train")}
    assert "Gaussian noise is its mean" in fail(monkeypatch, suite=suites.__getitem__)


@pytest.mark.parametrize(("kind", "words"), [("sp", "black"), ("rotation", "clockwise")])
def test_a_change_of_a_fault_fails(monkeypatch, kind, words):
    from shaketable.corruptions.camera_faults import Rotation, SaltPepper

    chosen = {"sp": SaltPepper, "rotation": Rotation}[kind]
    apply = chosen.apply
    monkeypatch.setattr(chosen, "apply", lambda self, x, drawn: apply(self, x, drawn)[:, ::-1])
    if kind == "sp":
        # all that is hit becomes white
        monkeypatch.setattr(
            chosen,
            "apply",
            lambda self, x, drawn: np.where((y := apply(self, x, drawn)) == 0, 1, y),
        )
    assert words in fail(monkeypatch)
