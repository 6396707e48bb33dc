"""Regimes: specs of what is done to points before a network gets them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from helpers.images import make_images, make_keys  # noqa: E402
from shaketable.core.errors import InputError  # noqa: E402
from shaketable.data.arrays import make_dataset  # noqa: E402
from shaketable.data.bounds import Bounds  # noqa: E402
from shaketable.training.loop import Batch  # noqa: E402
from shaketable.training.recipes import SCHEDULES, describe_recipes, make_recipe, read_schedule  # noqa: E402  # noqa: E402
from shaketable.training.regimes import (  # noqa: E402
    Noise,
    RegimeStep,
    make_regime,
    parse_regime,
)

pytestmark = pytest.mark.usefixtures("one_thread")

FAST = make_recipe("fast")
FLAT = torch.nn.Flatten()
DATA = make_dataset([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], ["a", "b", "a"], bounds=(0, 3))


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("clean", "clean"),
        (" linf( 1e-1 ) ", "linf(0.1)"),
        ("TA+C1", "trivialaugment + C1"),
        ("RA + MU + l2(1) + sp(0.1)", "randaugment(n=2, m=9) + mixup(alpha=0.2) + l2(1) + sp(0.1)"),
        ("ta + FlipCrop(2)+C1", "trivialaugment + flipcrop(padding=2) + C1"),
        ("l0.5(1) + Trades(0.1)", "l0.5(1) + trades(0.1, norm=inf, steps=10, beta=6)"),
        ("3*l2(1) | clean", "3*l2(1) | clean"),
        ("trades(0.1, beta=3)", "trades(0.1, norm=inf, steps=10, beta=3)"),
        ("flipcrop(2) + pgd_at(1, norm=2)", None),
    ],
)
def test_specs_parse_to_themselves(spec, canonical):
    regime = parse_regime(spec)
    assert canonical in (None, regime.spec)
    assert parse_regime(regime.spec) == regime


def test_augmentations_of_other_modules_are_taken(tmp_path, monkeypatch):
    source = """
import shaketable as st

class Darken:
    spec, takes_targets = "shading:Darken", False

    def __call__(self, x, keys):
        return x / 2

def make():
    return Darken()

class Odd(Darken):
    spec = "odd"

@st.corruption
def dim(x, rng):
    return x / 4

def plain(x, rng):
    return x
"""
    (tmp_path / "shading.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    regime = parse_regime("shading:Darken + shading:make + shading:dim")
    assert regime.spec == "shading:Darken + shading:Darken + shading:dim"
    assert parse_regime(regime.spec).spec == regime.spec
    images = torch.ones(2, 3, 8, 8)
    assert torch.equal(Noise(regime)(images), images / 16)
    for spec, message in {
        "shading:Odd": "has the spec 'odd', which does not parse back to it; its spec must begin",
        "shading:plain": "shading:plain is a plain function; decorate it",
        "shading:none + C1": "^training noise 'shading:none': .* no attribute 'none'",
    }.items():
        with pytest.raises(InputError, match=message):
            parse_regime(spec)


def test_unknown_names_are_compared_with_all_that_training_takes():
    for spec, near in {"trads(1)": "trades", "augmx": "augmix", "lnf(1)": "linf"}.items():
        with pytest.raises(InputError, match=f"^unknown training noise '.*did you mean .*{near}'"):
            parse_regime(f"flipcrop + {spec}")
    with pytest.raises(
        InputError, match="Known: AM, AM-TV, C1, .* pgd_at, .* trades, trivialaugment,"
    ):
        parse_regime("nothing of the kind")


@pytest.mark.parametrize("spec", ["missing(0.1, empty)", "flipcrop + l2(1) | missing(1, empty)"])
def test_networks_take_no_gaps(spec):
    for given in (spec, parse_regime(spec)):
        with pytest.raises(InputError, match="leaves values empty, which networks cannot take;"):
            make_regime(given, DATA, DATA.bounds)
    assert make_regime("missing(0.1)", DATA, DATA.bounds).spec == "missing(0.1)"


def test_the_data_fill_in_eps_min():
    assert make_regime("linf(eps_min)", DATA, DATA.bounds).spec == "linf(0.5)"
    assert make_regime("linf(2*eps_min) | clean", DATA, DATA.bounds).spec == "linf(1) | clean"
    for size, epsilon in {"eps_min": 0.5, "eps_min/2": 0.25}.items():
        adversary = make_regime(f"pgd_at({size}, norm=2)", DATA, DATA.bounds).adversary
        assert adversary.epsilon == epsilon


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "linf(0.1) + TA",
            r"^TA cannot stand at its place in 'linf\(0.1\) \+ TA': augment",
        ),
        ("(mixup(0.2)) + C1", "^mixup.* cannot stand at its place"),
        ("3*clean | TA", "^TA cannot stand at its place"),
        ("ta | linf(0.1)", "^ta cannot stand at its place"),
        ("flipcrop(2) | linf(0.1) + C1", "^flipcrop.* cannot stand at its place"),
        ("pgd_at(0.1) + linf(0.1)", "^pgd_at.* cannot stand at its place"),
        ("trades(0.1, alpha=1)", r"^trades must read like trades\(EPS"),
        ("pgd_at(0.1, alpha=2)", r"^alpha must lie in \[0, 1\], got 2"),
        ("pgd_at(0.1, norm=0.5)", "^norm must be 1 or more"),
        ("TA + pgd_at(0.1, constraint=genuine-max)", "augmentation and noise must be left out$"),
        (3, "^training noise must be a spec"),
    ],
)
def test_what_is_no_regime_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        parse_regime(spec)


def change(data, spec, bounds, network=FLAT):
    """Images of one batch, as a network gets them."""
    step = RegimeStep.of(make_regime(spec, data, bounds), FAST, data, np.arange(data.n), bounds)
    keys = make_keys(data.n)
    batch = Batch(torch.from_numpy(data.x), torch.from_numpy(data.y), np.arange(data.n), keys, keys)
    return step.change(network, batch).x


@pytest.mark.parametrize("declared", [True, False])
def test_augmentations_know_the_declared_range_of_the_data(declared):
    levels, y = make_images(40, 16, 16), np.arange(40) % 2
    fractions = (levels / np.float32(256)).astype("f4")
    data = make_dataset(fractions, y)
    signed = make_dataset(2 * fractions - 1, y, bounds=(-1, 1) if declared else None)
    for spec in ("clean", "RA + mixup"):  # flips and crops too, as the recipe says
        expected = 2 * change(data, spec, data.bounds) - 1
        assert torch.allclose(change(signed, spec, Bounds(-1, 1)), expected, atol=1e-5)
        unbounded = change(data, spec, None)  # noise has no bounds, but the data have a range
        assert torch.equal(2 * unbounded - 1, expected)
    if not declared:
        with pytest.raises(InputError, match="^trivialaugment needs a finite value range"):
            change(signed, "TA", None)


@pytest.mark.parametrize(("axis", "channels"), [(-1, 4), (1, 5)])
def test_images_of_any_channels_are_flipped_and_cropped(axis, channels):
    grey, y = make_images(40, 16, 16)[..., 0] / np.float32(255), np.arange(40) % 2
    images = make_dataset(np.stack([grey] * channels, axis), y)
    for network in (FLAT, torch.nn.Conv2d(1, 1, 1)):
        expected = change(make_dataset(grey, y), "mixup", None, network)
        assert (expected != torch.from_numpy(grey)).flatten(1).any(dim=1).all()
        for channel in change(images, "mixup", None, network).unbind(axis):
            assert torch.equal(channel, expected)


def test_every_recipe_can_be_made_and_names_a_network():
    from shaketable.models.networks.registry import resolve_network

    for name, about in describe_recipes().items():
        recipe = make_recipe(name)
        assert about
        assert resolve_network(recipe.network)
        rate = recipe.make_schedule()
        assert 0 <= rate(1.0 - 1e-9) <= rate(0.25) <= recipe.rate


def test_published_recipes_are_as_published():
    mscr = make_recipe("mscr-cifar")
    rate = mscr.make_schedule()
    assert [round(rate(epoch / 30), 6) for epoch in (0, 19.9, 20, 24.9, 25, 29.9)] == [
        0.01, 0.01, 0.002, 0.002, 0.0004, 0.0004,
    ]  # fmt: skip
    assert (mscr.network, mscr.batch, mscr.epochs) == ("wrn-28-10(dropout=0.3)", 32, 30)
    assert (mscr.momentum, mscr.weight_decay, mscr.rule) == (0.9, 5e-4, "truncate")
    pnorm = make_recipe("pnorm-densenet")
    assert (pnorm.network, pnorm.batch, pnorm.epochs) == ("densenet-201-12", 384, 150)
    rate = pnorm.make_schedule()
    highest = [epoch for epoch in range(1, 150) if rate(epoch / 150) > rate((epoch - 1) / 150)]
    assert highest == [10, 30, 70]  # warm restarts
    shorter = make_recipe("pnorm-wrn", epochs=15).make_schedule()
    assert shorter(0.3) == pytest.approx(make_recipe("pnorm-wrn").make_schedule()(0.3))


@pytest.mark.parametrize("form", SCHEDULES)
def test_every_schedule_stays_between_0_and_the_highest_rate(form):
    rate = read_schedule(form, 30)
    values = [rate(30 * i / 1000) for i in range(1001)]
    assert max(values) == pytest.approx(1, abs=0.01)
    assert min(values) >= -1e-12


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("step(20, factor=0.2)", "unknown schedule 'step'; did you mean 'steps'"),
        ("onecycle(2)", r"must read like onecycle\(0.2\)"),
        ("steps(20)", "must read like steps"),
        ("restarts(0, 2)", "must read like restarts"),
        ("cosine(x)", "have numbers from 0 up"),
    ],
)
def test_what_is_no_schedule_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        read_schedule(spec, 30)
