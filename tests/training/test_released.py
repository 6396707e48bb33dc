"""RandAugment and AugMix as released: operations against Pillow and numpy, and laws of draws."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from scipy import ndimage, stats

from helpers.images import make_images, make_keys
from shaketable.core.errors import InputError
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.plans import Kind, Size
from shaketable.training.augmentations.released import (
    CHAINED,
    DRAWN,
    TorchvisionAugMix,
    TorchvisionRandAugment,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
eight_bit = pytest.importorskip("shaketable.training.augmentations.eight_bit")
operations = pytest.importorskip("shaketable.training.augmentations.operations")

SIZE = Size(32, 40)
LEVELS = make_images(12, *SIZE)
LEVELS[0, :, :, 0] = 7  # one level
LEVELS[1, 3:9] = 255
X = torch.from_numpy(LEVELS).permute(0, 3, 1, 2)
MANY = make_keys(20_000)


def operate(space, name, level, sign, *, rules, x=X):
    """What one operation makes of all images, as levels with channels last."""
    (operation,) = (each for each in space if each.name == name)
    signs, levels = np.full(len(x), float(sign)), np.full(len(x), float(level))
    step = plans.plan_step(
        (operation,), np.zeros(len(x), np.int64), levels, signs, Size(*x.shape[2:])
    )
    found = operations.apply_steps(eight_bit.as_levels(x), [step], rules=rules)
    return eight_bit.from_levels(found, x).permute(0, 2, 3, 1).numpy()


def shift(image, *matrix):
    return image.transform(image.size, Image.Transform.AFFINE, matrix)


# what torchvision's code asks of Pillow at magnitude 9 of 31
PILLOW = {
    "identity": lambda x, s: x,
    "shear_x": lambda x, s: shift(x, 1, s * 0.09, 0, 0, 1, 0),
    "shear_y": lambda x, s: shift(x, 1, 0, 0, s * 0.09, 1, 0),
    "translate_x": lambda x, s: shift(x, 1, 0, -s * int(9 / 30 * 150 / 331 * 40), 0, 1, 0),
    "translate_y": lambda x, s: shift(x, 1, 0, 0, 0, 1, -s * int(9 / 30 * 150 / 331 * 32)),
    "rotate": lambda x, s: x.rotate(s * 9),
    "brightness": lambda x, s: ImageEnhance.Brightness(x).enhance(1 + s * 0.27),
    "color": lambda x, s: ImageEnhance.Color(x).enhance(1 + s * 0.27),
    "contrast": lambda x, s: ImageEnhance.Contrast(x).enhance(1 + s * 0.27),
    "sharpness": lambda x, s: ImageEnhance.Sharpness(x).enhance(1 + s * 0.27),
    "posterize": lambda x, s: ImageOps.posterize(x, 7),
    "solarize": lambda x, s: ImageOps.solarize(x, 178.5),
    "autocontrast": lambda x, s: ImageOps.autocontrast(x),
    "equalize": lambda x, s: ImageOps.equalize(x),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", PILLOW)
def test_operations_of_rand_augment_are_exactly_those_of_pillow(name, sign):
    ours = operate(DRAWN, name, 9, sign, rules=eight_bit.PILLOW)
    theirs = np.stack([np.asarray(PILLOW[name](Image.fromarray(x), sign)) for x in LEVELS])
    np.testing.assert_array_equal(ours, theirs)
    assert (name == "identity") == np.array_equal(ours, LEVELS)


@pytest.mark.parametrize("name", ["color", "contrast", "sharpness", "autocontrast", "equalize"])
def test_grey_images_are_taken_as_by_pillow(name):
    grey = LEVELS[..., 1].copy()
    ours = operate(DRAWN, name, 20, 1, rules=eight_bit.PILLOW, x=torch.from_numpy(grey)[:, None])[
        ..., 0
    ]
    enhance = {"color": ImageEnhance.Color, "contrast": ImageEnhance.Contrast}
    enhance["sharpness"] = ImageEnhance.Sharpness
    for own, x in zip(ours, grey, strict=True):
        image = Image.fromarray(x)
        made = enhance[name](image).enhance(1.6) if name in enhance else PILLOW[name](image, 1)
        np.testing.assert_array_equal(own, np.asarray(made))
    tiny = torch.arange(12, dtype=torch.uint8).view(1, 3, 2, 2)
    for rules in (eight_bit.PILLOW, eight_bit.TORCHVISION):
        sharp = operate(DRAWN, "sharpness", 20, 1, rules=rules, x=tiny)
        np.testing.assert_array_equal(sharp, tiny.permute(0, 2, 3, 1))


@pytest.mark.parametrize(
    ("magnitude", "bits", "threshold"), [(0, 8, 255), (3, 8, 229.5), (4, 7, 221), (30, 4, 0)]
)
def test_bits_and_thresholds_go_with_the_magnitude(magnitude, bits, threshold):
    # round(magnitude / 7.5) bits are lost, to the even number where two are as near
    for name, theirs in (
        ("posterize", lambda x: ImageOps.posterize(x, bits)),
        ("solarize", lambda x: ImageOps.solarize(x, threshold)),
    ):
        ours = operate(DRAWN, name, magnitude, 1, rules=eight_bit.PILLOW)
        np.testing.assert_array_equal(
            ours, np.stack([np.asarray(theirs(Image.fromarray(x))) for x in LEVELS])
        )


F = np.float32


def cut(x):
    return np.clip(x, 0, 255).astype(np.uint8)


def grey_of(x):
    return np.trunc(F(0.2989) * x[..., :1] + F(0.587) * x[..., 1:2] + F(0.114) * x[..., 2:])


def blend(x, other, factor):
    return cut(F(factor) * x + F(1 - factor) * other)


def smooth(x):
    kernel = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    found = x.copy()
    found[:, 1:-1, 1:-1] = np.rint(ndimage.correlate(x, kernel[None, :, :, None]))[:, 1:-1, 1:-1]
    return found


def stretch(x):
    low, high = x.min(axis=(1, 2), keepdims=True), x.max(axis=(1, 2), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high > low, cut((x - low) * (F(255) * (F(1) / (high - low)))), x)


CHANGE = torch.linspace(0, 0.9, 10)[2].item()
# what torchvision does with tensors at magnitude 2 of 10
TENSORS = {
    "brightness": lambda x, s: blend(x, F(0), 1 + s * CHANGE),
    "color": lambda x, s: blend(x, grey_of(x), 1 + s * CHANGE),
    "contrast": lambda x, s: blend(x, grey_of(x).mean((1, 2), keepdims=True), 1 + s * CHANGE),
    "sharpness": lambda x, s: blend(x, smooth(x), 1 + s * CHANGE),
    "posterize": lambda x, s: x // 32 * 32,  # 4 bits, less round(2 / 2.25)
    "solarize": lambda x, s: np.where(x >= 255 - 2 * 255 / 9, 255 - x, x),
    "autocontrast": lambda x, s: stretch(x),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", TENSORS)
def test_operations_of_augmix_are_those_of_torchvision_on_tensors(name, sign):
    ours = operate(CHAINED, name, 2, sign, rules=eight_bit.TORCHVISION).astype(int)
    theirs = TENSORS[name](LEVELS.astype(F), sign).astype(int)
    # a factor that differs in its last bit decides about exact levels
    assert np.abs(ours - theirs).max() <= 1
    assert (ours != theirs).mean() < (
        0.04 if name in ("color", "sharpness", "brightness") else 1e-3
    )
    exact = TENSORS[name](LEVELS.astype(np.float64), sign).astype(int)
    assert np.abs(ours - exact).max() <= 1


TURN = np.deg2rad(30 * 2 / 9)
MOVES = {  # place that is read for a pixel (row, column), in pixels from the upper left corner
    "shear_x": lambda y, x, s: (y, x + s * 0.3 * 2 / 9 * y),
    "shear_y": lambda y, x, s: (y + s * 0.3 * 2 / 9 * x, x),
    "translate_x": lambda y, x, s: (y, x - s * int(40 / 3 * 2 / 9)),
    "translate_y": lambda y, x, s: (y - s * int(32 / 3 * 2 / 9), x),
    "rotate": lambda y, x, s: (
        16 + np.cos(TURN) * (y - 16) + s * np.sin(TURN) * (x - 20),
        20 + np.cos(TURN) * (x - 20) - s * np.sin(TURN) * (y - 16),
    ),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", MOVES)
def test_images_of_augmix_are_moved_and_mixed_with_black_at_edges(name, sign):
    y, x = np.mgrid[:32, :40] + 0.5
    places = [place - 0.5 for place in MOVES[name](y, x, sign)]
    theirs = [
        np.stack([ndimage.map_coordinates(image[..., c].astype(float), places, order=1,
                                          mode="grid-constant") for c in range(3)], axis=-1)
        for image in LEVELS
    ]  # fmt: skip
    ours = operate(CHAINED, name, 2, sign, rules=eight_bit.TORCHVISION)
    assert np.abs(ours - np.stack(theirs)).max() <= 0.501


def identify(step, space):
    """Which operation every image has; those at magnitude 0 that do nothing count as the first."""
    found = np.full(len(step.kinds), -1)
    moved = step.parameters - np.array([1, 0, 0, 0, 1, 0])
    only = {"shear_x": 1, "translate_x": 2, "shear_y": 3, "translate_y": 5}
    for i, operation in enumerate(space):
        fits = step.kinds == operation.kind
        if operation.name in only:
            others = np.delete(moved, only[operation.name], axis=1)
            fits &= (others == 0).all(axis=1) & (moved[:, only[operation.name]] != 0)
        found[fits & (found < 0)] = i
    return found


def test_rand_augment_draws_each_of_14_operations_anew():
    steps = TorchvisionRandAugment().draw(MANY, SIZE)
    first, second = (identify(step, DRAWN) for step in steps)
    assert DRAWN[0].name == "identity"
    for found in (first, second):
        assert stats.chisquare(np.bincount(found, minlength=14)).pvalue > 1e-3
    # the same one again with 1/14, nothing at all with 1/196
    assert stats.binomtest(int((first == second).sum()), len(MANY), 1 / 14).pvalue > 1e-3
    nothing = ((first == 0) & (second == 0)).sum()
    assert stats.binomtest(int(nothing), len(MANY), 1 / 196).pvalue > 1e-3
    table = np.zeros((14, 14))
    np.add.at(table, (first, second), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_signs_of_rand_augment_are_even_and_of_their_own():
    steps = TorchvisionRandAugment(n=2, m=30).draw(MANY, SIZE)
    bright = [step.parameters[:, 0] for step in steps]
    chosen = [step.kinds == Kind.SCALE for step in steps]
    for values, rows in zip(bright, chosen, strict=True):
        np.testing.assert_allclose(np.unique(values[rows]), [0.1, 1.9], atol=1e-6)
        ups = int((values[rows] > 1).sum())
        assert stats.binomtest(ups, int(rows.sum())).pvalue > 1e-3
    both = chosen[0] & chosen[1]
    equal = int((bright[0][both] == bright[1][both]).sum())
    assert stats.binomtest(equal, int(both.sum())).pvalue > 1e-3


def test_chains_of_augmix_draw_13_operations_and_magnitudes_of_their_own():
    steps = TorchvisionAugMix(severity=10).draw(MANY, SIZE)
    assert all(len(step.kinds) == 3 * len(MANY) for step in steps)
    lengths = sum((step.kinds != Kind.IDENTITY).astype(int) for step in steps)
    assert stats.chisquare(np.bincount(lengths, minlength=4)[1:]).pvalue > 1e-3
    kinds = np.bincount(steps[0].kinds, minlength=len(Kind))
    expected = np.zeros(len(Kind))
    expected[[int(op.kind) for op in CHAINED]] = 1
    expected[Kind.AFFINE] = 5
    used = expected > 0
    assert kinds[~used].sum() == 0
    assert stats.chisquare(kinds[used], expected[used] / 13 * kinds.sum()).pvalue > 1e-3
    first, second, _ = np.split(steps[0].kinds, 3)  # of an image's chains: independent
    same = int((first == second).sum())
    assert stats.binomtest(same, len(MANY), (5 / 13) ** 2 + 8 / 13**2).pvalue > 1e-3
    bits = steps[0].parameters[steps[0].kinds == Kind.POSTERIZE, 0]
    # 4 - round(v / 2.25) bits: 0 0 1 1 2 2 3 3 4 4 are lost
    assert stats.chisquare(np.unique(bits, return_counts=True)[1]).pvalue > 1e-3
    np.testing.assert_array_equal(np.unique(bits), 2.0 ** np.arange(4, 9))
    _, counts = np.unique(
        steps[1].parameters[steps[1].kinds == Kind.SOLARIZE, 0], return_counts=True
    )
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 1e-3


def test_augmix_draws_the_weakest_magnitudes():
    (step,) = TorchvisionAugMix(depth=1).draw(MANY, SIZE)
    factors, counts = np.unique(
        step.parameters[step.kinds == Kind.SCALE, 0].round(6), return_counts=True
    )
    np.testing.assert_allclose(factors, [0.8, 0.9, 1, 1.1, 1.2])
    assert stats.chisquare(counts, counts.sum() * np.array([1, 1, 2, 1, 1]) / 6).pvalue > 1e-3
    thresholds = np.unique(step.parameters[step.kinds == Kind.SOLARIZE, 0])
    np.testing.assert_allclose(thresholds, 255 - 255 / 9 * np.array([2, 1, 0]))


@pytest.mark.parametrize("alpha", [0.5, 1])
def test_weights_of_augmix_are_dirichlet_and_beta(alpha):
    weights = TorchvisionAugMix(alpha=alpha).draw_weights(MANY)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert stats.kstest(weights[:, 0], stats.beta(alpha, alpha).cdf).pvalue > 1e-3
    shares = weights[:, 1:] / weights[:, 1:].sum(axis=1, keepdims=True)
    for share in shares.T:
        assert stats.kstest(share, stats.beta(alpha, 2 * alpha).cdf).pvalue > 1e-3


def test_augmix_mixes_whole_levels_and_cuts_off():
    keys, mixing = make_keys(len(X)), TorchvisionAugMix(width=2, depth=2)
    steps, weights = mixing.draw(keys, SIZE), mixing.draw_weights(keys).astype(F)
    rows = np.tile(np.arange(len(X)), 2)
    chains = operations.apply_steps(X.float(), steps, rows=rows, rules=eight_bit.TORCHVISION)
    assert torch.equal(chains, chains.round())
    parts = [X.numpy().astype(F), *np.split(chains.numpy(), 2)]
    total = sum(w[:, None, None, None] * part for w, part in zip(weights.T, parts, strict=True))
    np.testing.assert_array_equal(mixing(X, keys).numpy(), np.floor(total))


@pytest.mark.parametrize("augmentation", [TorchvisionRandAugment(), TorchvisionAugMix()], ids=str)
def test_floats_give_the_very_levels_of_uint8_in_any_batch(augmentation):
    keys = make_keys(len(X))
    levels = augmentation(X, keys)
    assert torch.equal(augmentation(X / 255, keys), levels.float() / 255)
    assert torch.equal(augmentation(X.double() / 255, keys), levels.double() / 255)
    parts = [augmentation(X[i : i + n], keys[i : i + n]) for i, n in ((0, 1), (1, 4), (5, 7))]
    assert torch.equal(torch.cat(parts), levels)
    before = X.clone()
    augmentation(X, keys)
    assert torch.equal(X, before)
    # at edges between two levels, floats are rounded, not cut off
    for gap in (-0.49, 0.49):
        near = (X.double() / 255 + gap / 255).clamp(0, 1)
        assert torch.equal((augmentation(near, keys) * 255).round().byte(), levels)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TorchvisionRandAugment(n=0), "n must be a whole number of at least 1, got 0"),
        (lambda: TorchvisionRandAugment(m=31), "m must be at most 30, got 31"),
        (lambda: TorchvisionRandAugment(m=4.5), "m must be a whole number"),
        (lambda: TorchvisionAugMix(severity=11), "severity must be at most 10, got 11"),
        (lambda: TorchvisionAugMix(depth=0), "depth must be at least 1, or -1"),
        (lambda: TorchvisionAugMix(alpha=0), "alpha must lie between 0.1 and 1000"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("AM-TV + C2", "tv-augmix(severity=3, width=3, depth=-1, alpha=1) + C2"),
        ("tv-randaugment + linf(0.1)", "tv-randaugment(n=2, m=9) + linf(0.1)"),
        ("ra-tv", "tv-randaugment(n=2, m=9)"),
    ],
)
def test_regimes_begin_with_them(spec, canonical):
    regimes = pytest.importorskip("shaketable.training.regimes")
    regime = regimes.parse_regime(spec)
    assert regime.spec == canonical or regime.spec.startswith(canonical.removesuffix("C2"))
    assert regimes.parse_regime(regime.spec) == regime
    changed = regimes.Noise(spec, seed=0)(X / 255)
    assert changed.shape == X.shape
    assert not torch.equal(changed, X / 255)
