"""Attacks by name: ours, and those of other packages, whose finds are confirmed as ours are."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.attacks import Nameless, Secretive, Shift
from helpers.commands import run_command, run_failing, run_json
from shaketable.adversary.attacks.registry import (
    ATTACKS,
    describe_attacks,
    parse_attack,
    parse_attacks,
)
from shaketable.adversary.curve import adversarial_accuracy
from shaketable.core import registry
from shaketable.core.errors import InputError

X = np.linspace(0, 1, 12)[:, None] * np.ones((1, 3))
Y = (X[:, 0] > 0.5).astype(int)

HERE = "helpers.attacks"


def classify(z):
    """Sum of the values, at a threshold that attacks of size 0.2 can cross near it."""
    return (z.sum(axis=1) > 1.5).astype(int)


def attack(spec, epsilon=0.2):
    return adversarial_accuracy(classify, X, Y, epsilon=epsilon, attacks=spec, norm="inf")


@pytest.mark.parametrize("given", [f"{HERE}:Shift(step=0.1)", Shift(0.1), [Shift(0.1)]])
def test_attacks_of_other_packages_are_run_confirmed_and_reported(given):
    accuracy = attack(given)
    lost = np.abs(X.sum(axis=1) - 1.5) < 0.3
    assert lost.sum() == 2
    np.testing.assert_array_equal(accuracy.withstood, ~lost)
    (trial,) = accuracy.trials
    assert (trial.spec, trial.tried, trial.found) == ("shift(step=0.1)", 12, 2)
    assert trial.queries == 12 + 2  # what it says, and one question per claim
    assert "shift(step=0.1) found no more in 14 queries" in accuracy.bound
    assert (classify(accuracy.examples.moved) != Y[accuracy.examples.rows]).all()


def test_claims_are_not_taken_for_granted():
    assert attack(Shift(0.1, "all")).value == attack(Shift(0.1)).value
    far = attack(Shift(0.5, "all"))  # misclassified, but outside the ball
    assert far.value == 1
    assert len(far.examples) == 0
    proof = attack(Shift(0.1, "proof"))
    assert proof.proven == "shift(step=0.1) states that nothing is left to find"
    assert proof.value == attack(Shift(0.1)).value


def test_an_attack_may_be_named_ready_made():
    assert parse_attack(f"{HERE}:ready").spec == "shift(step=0.05)"
    with pytest.raises(InputError, match=r"ready\(3\) is not understood: .*takes 0 positional"):
        parse_attack(f"{HERE}:ready(3)")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ("fails", r"attack shift\(step=0.1\) failed with ZeroDivisionError: no luck"),
        ("shape", r"attack shift\(step=0.1\) must return an AttackResult for 12 rows of 3 values"),
        ("queries", "must return an AttackResult .*cannot convert float infinity"),
        ("nothing", "must return an AttackResult .*'NoneType' object has no attribute 'moved'"),
    ],
)
def test_what_other_attacks_get_wrong_is_one_line(claims, message):
    with pytest.raises(InputError, match=message) as error:
        attack(f"{HERE}:Shift(0.1, {claims})")
    assert "\n" not in str(error.value)


def test_what_other_attacks_raise_is_one_line():
    with pytest.raises(InputError, match=r"shift\(step=0.1\) failed in covers\(\) with Runtime"):
        attack(Secretive())
    with pytest.raises(InputError, match="attack Nameless: its spec cannot be read: RuntimeError"):
        attack(Nameless())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (f"{HERE}:number", "must be a class or a function that returns an attack, got 7"),
        (f"{HERE}:broken", "must be callable and have a spec, a string; .*broken' returned"),
        (f"{HERE}:Shift(x=1)", r"Shift\(x=1\) is not understood: .*unexpected keyword argument"),
        (f"{HERE}:Fragile(2)", r"Fragile\(2\) cannot be made: ValueError: no way; correct its"),
        (f"{HERE}:Nameless", ":Nameless': its spec cannot be read: RuntimeError: no name"),
        (f"{HERE}:nameless", ":nameless' cannot be used: RuntimeError: no name"),
        (f"{HERE}:none", "has no attribute 'none'"),
        ("no_such_module:none", "cannot import 'no_such_module'"),
    ],
)
def test_names_that_lead_nowhere_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        parse_attack(spec)
    with pytest.raises(InputError, match="must be callable and have a spec"):
        parse_attacks(3)


@pytest.fixture
def installed(monkeypatch):
    """An installed package with two entry points, of which one cannot be loaded."""

    def fail():
        raise ImportError("gone")

    points = {
        "shift": SimpleNamespace(name="shift", load=lambda: Shift),
        "lost": SimpleNamespace(name="lost", load=fail),
    }
    monkeypatch.setitem(ATTACKS.__dict__, "_installed", points)
    return points


def test_attacks_of_installed_packages_have_names(installed):
    assert attack("shift(0.1)").trials[0].spec == "shift(step=0.1)"
    assert list(ATTACKS)[-2:] == ["shift", "lost"]
    with pytest.raises(InputError, match="'lost' of an installed package cannot be loaded: gone"):
        parse_attack("lost")
    described = describe_attacks()
    assert "'lost' of an installed package cannot be loaded: gone" in described["lost"]
    assert described["shift"] == "Add one step to all values, towards the other class."


def test_ours_declare_themselves():
    described = describe_attacks()
    assert {usage.partition("(")[0] for usage in described} == set(ATTACKS)
    assert set(ATTACKS) == {"pgd", "apgd", "square", "leaves", "random", "rays", "cover"}
    for usage, about in described.items():
        name, arguments = usage.rstrip(")").split("(")
        assert about
        made = ATTACKS.get(name).make()
        for argument in arguments.split(", "):  # listed defaults are those of the class
            key, _, default = argument.partition("=")
            assert str(getattr(made, key)) in default.split("|")


def test_an_attack_that_needs_torch_says_so(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"attack pgd needs torch, .*'shaketable\[torch\]'"):
        parse_attack("pgd")


def test_the_command_takes_attacks_of_other_packages(capsys):
    arguments = ("adversary", "--data", "toy1d(n=40)", "--model", "f2", "--eps", "0.3", "--quiet")
    result = run_json(capsys, *arguments, "--attack", f"{HERE}:Shift(step=0.25)")
    (point,) = result["curves"][0]["points"]
    assert [trial["spec"] for trial in point["trials"]] == ["shift(step=0.25)"]
    error = run_failing(capsys, *arguments, "--attack", f"{HERE}:number")
    assert "must be a class or a function" in error
    assert "random(queries=1000)" in run_command(capsys, "list", "attacks")[1]
