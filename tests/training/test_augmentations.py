"""Laws of what augmentations draw, and what every augmentation promises."""

import pickle

import numpy as np
import pytest
from scipy import stats

from helpers.images import make_images, make_keys
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.data.bounds import Bounds
from shaketable.training.augmentations import auto_augment
from shaketable.training.augmentations.auto_augment import WIDE, AugMix, RandAugment, TrivialAugment
from shaketable.training.augmentations.flip_crop import FlipCrop
from shaketable.training.augmentations.mixup import Mixup, one_hot
from shaketable.training.augmentations.plans import Kind, Size
from shaketable.training.augmentations.released import TorchvisionAugMix, TorchvisionRandAugment

torch = pytest.importorskip("torch", reason="torch is not installed")
operations = pytest.importorskip("shaketable.training.augmentations.operations")
ranges = pytest.importorskip("shaketable.training.augmentations.operations")
dispatch = pytest.importorskip("torch.utils._python_dispatch")

SIZE = Size(32, 32)
RELEASED = [TorchvisionRandAugment(), TorchvisionAugMix()]
IMAGES = [FlipCrop(), TrivialAugment(), RandAugment(), AugMix(), *RELEASED]
ALL = [*IMAGES, Mixup()]
X8 = torch.from_numpy(make_images(40, 16, 16)).permute(0, 3, 1, 2)
KEYS = make_keys(40)
MANY = make_keys(20_000)


def name(augmentation):
    return augmentation.spec


def identify(step, space, *, of):
    """Operation of every image, by its kind and parameters; of equal kinds, the first that fits.

    `of` gives the parameters that each operation of the space may have.
    """
    found = np.full(len(step.kinds), -1)
    for i, operation in enumerate(space):
        fits = step.kinds == operation.kind
        if operation.kind == Kind.AFFINE:
            fits &= of[operation.name](step.parameters)
        found[fits & (found < 0)] = i
    return found


def moves(*entries):
    """Whether a matrix is the identity, apart from these entries."""
    free = np.isin(np.arange(6), entries)

    def fits(parameters):
        return (parameters[:, ~free] == np.array([1, 0, 0, 0, 1, 0])[~free]).all(axis=1)

    return fits


AFFINE = {
    "shear_x": moves(1),
    "shear_y": moves(3),
    "translate_x": moves(2),
    "translate_y": moves(5),
    "rotate": moves(*range(6)),
}


@pytest.fixture(scope="module")
def wide():
    """Many draws of TrivialAugment: operations, and parameters by operation."""
    (step,) = TrivialAugment().draw(MANY, SIZE)
    space = sorted(WIDE, key=lambda operation: operation.name == "rotate")  # it fits all matrices
    found = identify(step, space, of=AFFINE)
    assert (found >= 0).all()
    return {op.name: step.parameters[found == i] for i, op in enumerate(space)}


def test_trivial_augment_draws_all_operations_equally_often(wide):
    # affine operations of strength 0 are alike: a 31st of them counts as a shear
    affine = {name for name in wide if name in AFFINE}
    others = [len(rows) for name, rows in wide.items() if name not in affine]
    counts = [*others, sum(len(wide[name]) for name in affine)]
    expected = np.array([1] * 9 + [5]) / 14 * len(MANY)
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    for name_ in affine - {"shear_x"}:
        assert abs(len(wide[name_]) / len(MANY) - 30 / 31 / 14) < 0.006


@pytest.mark.parametrize(
    ("operation", "column", "values"),
    [
        ("brightness", 0, 0.01 + 1.99 * np.arange(31) / 30),
        ("contrast", 0, 0.01 + 1.99 * np.arange(31) / 30),
        ("solarize", 0, (255.5 - np.arange(31) * 256 // 30) / 255),
        ("shear_y", 3, 0.99 * np.r_[-30:0, 1:31] / 30),
        ("translate_x", 2, np.r_[-30:0, 1:31] * 32 / 30),
        ("posterize", 0, np.repeat(2.0 ** np.arange(7), [5, 5, 5, 5, 5, 5, 1])),
    ],
)
def test_strengths_of_trivial_augment_are_equally_frequent(wide, operation, column, values):
    values = np.trunc(values) if operation == "translate_x" else values
    expected, shares = np.unique(np.round(values, 9), return_counts=True)
    found, counts = np.unique(np.round(wide[operation][:, column], 9), return_counts=True)
    np.testing.assert_allclose(found, expected)
    assert stats.chisquare(counts, shares / shares.sum() * counts.sum()).pvalue > 1e-3


def test_rotations_of_trivial_augment_have_both_signs_and_whole_degrees(wide):
    degrees = np.rad2deg(np.arctan2(wide["rotate"][:, 3], wide["rotate"][:, 0]))
    np.testing.assert_allclose(degrees, np.round(degrees), atol=1e-9)
    assert set(np.abs(np.round(degrees))) == {k * 135 // 30 for k in range(1, 31)}
    assert abs((degrees > 0).mean() - 0.5) < 0.06


def test_rand_augment_draws_different_operations_equally_often():
    size = Size(32, 48)
    steps = RandAugment(n=3, m=12).draw(MANY, size)
    v = 12 / 30
    fitting = {
        "shear_x": moves(1, 2),
        "shear_y": moves(3, 5),
        "translate_x": moves(2),
        "translate_y": moves(5),
        "rotate": moves(*range(6)),
    }
    order = ["translate_x", "translate_y", "shear_x", "shear_y", "rotate"]
    space = sorted(
        auto_augment.OF_KORNIA, key=lambda op: order.index(op.name) if op.name in order else -1
    )
    found = np.stack([identify(step, space, of=fitting) for step in steps])
    # three operations are of one kind and differ in the threshold and the amount
    solarize = [i for i, op in enumerate(space) if op.kind == Kind.SOLARIZE]
    thresholds = np.stack([step.parameters[:, 0] for step in steps])
    for i, threshold in zip(solarize, [0, v, 0.5], strict=True):
        found[np.isin(found, solarize) & np.isclose(thresholds, threshold)] = i
    counts = np.bincount(found.ravel(), minlength=15)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert all((np.diff(np.sort(found, axis=0), axis=0) > 0).all(axis=0))
    moved = [(step.parameters[:, 2], row) for step, row in zip(steps, found, strict=True)]
    pixels = np.concatenate([c[row == 10] for c, row in moved])
    assert space[10].name == "translate_x"
    np.testing.assert_allclose(np.abs(pixels), 0.1 * v * 48)
    assert abs((pixels > 0).mean() - 0.5) < 0.03


def test_operations_of_rand_augment_have_signs_of_their_own():
    steps = RandAugment(n=15).draw(MANY[:4000], SIZE)
    parameters = np.stack([step.parameters for step in steps])
    affine = np.stack([step.kinds == Kind.AFFINE for step in steps])
    across, down = (affine & np.stack([moves(column)(p) for p in parameters]) for column in (2, 5))
    assert across.sum() == down.sum() == 4000
    signs = [np.sign(parameters[..., c].T[found.T]) for c, found in ((2, across), (5, down))]
    assert abs((signs[0] == signs[1]).mean() - 0.5) < 0.03


def test_magnitudes_of_rand_augment_are_those_of_kornia():
    v, sign = np.array([9 / 30]), np.array([1.0])
    made = {op.name: op.parameters(v, sign, SIZE) for op in auto_augment.OF_KORNIA}
    assert made["posterize"] == (2.0 ** (8 - 6),)  # int(8 - 4 * 0.3) = 6 bits
    np.testing.assert_allclose(made["color"], [[0.64]])
    np.testing.assert_allclose(made["brightness"], [[0.64 - 1]])
    np.testing.assert_allclose(made["solarize_add"][1], 0.43 * 0.3)
    np.testing.assert_allclose(made["shear_x"][1], np.tan(np.deg2rad(0.09 * 180)))


def test_chains_of_augmix_have_one_to_three_operations():
    steps = AugMix().draw(MANY, SIZE)
    assert all(len(step.kinds) == 3 * len(MANY) for step in steps)
    active = np.stack([step.kinds != Kind.IDENTITY for step in steps])
    assert (active[0] & (active[1] >= active[2])).all()
    assert stats.chisquare(np.bincount(active.sum(axis=0))[1:]).pvalue > 1e-3
    kinds = np.bincount(steps[0].kinds, minlength=len(Kind)) / len(steps[0].kinds)
    np.testing.assert_allclose(kinds[Kind.AFFINE], 5 / 9, atol=0.01)
    np.testing.assert_allclose(kinds[Kind.POSTERIZE], 1 / 9, atol=0.01)
    fixed = AugMix(depth=2).draw(MANY, SIZE)
    assert len(fixed) == 2
    assert all((step.kinds != Kind.IDENTITY).all() for step in fixed)
    assert len(auto_augment.MIXED) == 9
    first, second, _ = np.split(steps[0].kinds, 3)  # of an image's chains: independent
    np.testing.assert_allclose((first == second).mean(), (5 / 9) ** 2 + 4 / 81, atol=0.015)


def test_strengths_of_augmix_are_uniform():
    step = AugMix(severity=3).draw(MANY, SIZE)[1]
    shears = step.parameters[:, 1][AFFINE["shear_x"](step.parameters) & (step.kinds == Kind.AFFINE)]
    shears = shears[shears != 0]  # others of the kind may be the identity
    assert stats.kstest(np.abs(shears) / 0.03, stats.uniform(0.1, 2.9).cdf).pvalue > 1e-3
    bits = step.parameters[step.kinds == Kind.POSTERIZE, 0]
    # int(0.4 * level) is 1 from level 2.5 on
    assert set(bits) == {2.0**4, 2.0**5}
    assert abs((bits == 2.0**5).mean() - 0.5 / 2.9) < 0.02


@pytest.mark.parametrize("alpha", [0.5, 1, 4])
def test_weights_of_augmix_are_dirichlet_and_beta(alpha):
    weights = AugMix(alpha=alpha).draw_weights(MANY)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert stats.kstest(weights[:, 0], stats.beta(alpha, alpha).cdf).pvalue > 1e-3
    shares = weights[:, 1:] / weights[:, 1:].sum(axis=1, keepdims=True)
    for share in shares.T:
        assert stats.kstest(share, stats.beta(alpha, 2 * alpha).cdf).pvalue > 1e-3
    assert abs(stats.spearmanr(weights[:, 0], shares[:, 0]).statistic) < 0.03


def test_augmix_mixes_its_chains_with_the_image():
    x = (X8 / 255).double()
    mixing = AugMix(width=1, depth=1)
    weights = mixing.draw_weights(KEYS)[:, :, None, None, None]
    chain = operations.apply_steps(x, mixing.draw(KEYS, Size(16, 16)), interpolation="bilinear")
    expected = weights[:, 0] * x.numpy() + weights[:, 1] * chain.numpy()
    np.testing.assert_allclose(mixing(x, KEYS).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 1])
def test_shares_of_mixup_are_beta(alpha):
    shares = [Mixup(alpha).draw(fold(KEYS[:4], i))[0] for i in range(2000)]
    assert stats.kstest(shares, stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_partners_of_mixup_are_a_random_permutation():
    partners = np.stack([Mixup().draw(fold(KEYS[:4], i))[1] for i in range(2400)])
    assert (np.sort(partners, axis=1) == np.arange(4)).all()
    _, counts = np.unique(partners, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-3


def test_mixup_mixes_images_and_targets_alike():
    labels = torch.arange(40) % 10
    share, partners = Mixup().draw(KEYS)
    x, y = Mixup()(X8.double() / 255, one_hot(labels, 10).double(), KEYS)
    torch.testing.assert_close(x, (share * X8.double() + (1 - share) * X8[partners]) / 255)
    assert torch.allclose(y.sum(dim=1), torch.ones(40, dtype=torch.float64))
    # the cross entropy of mixed targets is the mixture of the cross entropies
    scores = torch.randn(40, 10, generator=torch.Generator().manual_seed(0)).double()
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    mixture = share * loss(scores, labels) + (1 - share) * loss(scores, labels[partners])
    torch.testing.assert_close(loss(scores, y), mixture)
    with pytest.raises(InputError, match=r"got torch.int64 of shape \(40,\); use one_hot"):
        Mixup()(X8, labels, KEYS)


def test_flips_and_crops_are_exact():
    cropping = FlipCrop(3)
    moved = cropping(X8, KEYS)
    wide = np.pad(X8.numpy(), [(0, 0), (0, 0), (3, 3), (3, 3)])
    for i, (flip, top, left) in enumerate(cropping.draw(KEYS).T):
        image = wide[i][:, :, ::-1] if flip else wide[i]
        np.testing.assert_array_equal(moved[i], image[:, top : top + 16, left : left + 16])
    flips = FlipCrop(0)(X8, KEYS)
    assert torch.equal(flips[KEYS.argmin()].flip(2).sort().values, X8[KEYS.argmin()].sort().values)


def test_all_flips_and_crops_are_equally_likely():
    flip, top, left = FlipCrop(1).draw(MANY)
    counts = np.bincount(flip * 9 + top * 3 + left, minlength=18)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("augmentation", IMAGES, ids=name)
def test_an_image_gets_the_same_result_in_any_batch(augmentation):
    x = X8 / 255
    whole = augmentation(x, KEYS)
    order = np.argsort(KEYS)
    torch.testing.assert_close(augmentation(x[order], KEYS[order]), whole[order])
    for i in range(3):
        torch.testing.assert_close(augmentation(x[i : i + 1], KEYS[i : i + 1])[0], whole[i])
    assert not torch.allclose(augmentation(x, fold(KEYS, 0)), whole)
    equal = augmentation(x[:1].expand(40, -1, -1, -1), KEYS)
    assert len({image.numpy().tobytes() for image in equal}) > 20


@pytest.mark.parametrize("augmentation", IMAGES, ids=name)
def test_levels_count_as_fractions_of_255(augmentation):
    levels = augmentation(X8, KEYS)
    assert levels.dtype == torch.uint8
    floats = augmentation(X8 / 255, KEYS)
    assert floats.min() >= 0
    assert floats.max() <= 1
    torch.testing.assert_close(levels.float(), floats * 255, atol=0.501, rtol=0)
    half = augmentation((X8 / 255).to(torch.bfloat16), KEYS)
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize("augmentation", IMAGES, ids=name)
def test_autocast_and_gradients_change_nothing(augmentation):
    x = X8 / 255
    with torch.autocast("cpu", torch.bfloat16):
        result = augmentation(x, KEYS)
    assert torch.equal(result, augmentation(x, KEYS))
    assert result.dtype == torch.float32


@pytest.mark.parametrize("augmentation", ALL, ids=name)
def test_augmentations_can_be_pickled_and_are_equal(augmentation):
    again = pickle.loads(pickle.dumps(augmentation))
    assert again == augmentation
    assert hash(again) == hash(augmentation)


class Calls(dispatch.TorchDispatchMode):
    """Counts calls that start a kernel on a GPU, and refuses those that wait for one."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        waiting = ("_local_scalar_dense", "nonzero", "equal", "unique", "masked_select")
        name = func.__name__.partition(".")[0]
        masks = args[1] if name in ("index", "index_put", "index_put_") else ()
        assert name not in waiting, func
        assert not any(mask is not None and mask.dtype == torch.bool for mask in masks), func
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("augmentation", "most"),
    [
        (FlipCrop(), 10),
        (TrivialAugment(), 100),
        (RandAugment(), 200),
        (AugMix(), 220),
        (TorchvisionRandAugment(), 250),
        (TorchvisionAugMix(), 400),
        (Mixup(), 10),
    ],
    ids=str,
)
def test_few_kernels_are_started_and_none_is_waited_for(augmentation, most):
    n = 400
    x, targets = torch.zeros(n, 3, 8, 8), torch.zeros(n, 10)
    own = (targets,) if augmentation.takes_targets else ()
    with Calls() as calls:
        augmentation(x, *own, make_keys(n))
    assert 3 < calls.count < most


def test_other_ranges_are_mapped_by_few_kernels_and_none_is_waited_for():
    span = Bounds(-1, 1)
    with Calls() as calls:
        ranges.map_from_unit(ranges.map_to_unit(X8, span), span, torch.float32)
    assert 3 < calls.count < 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandAugment(n=0), "n must be a whole number of at least 1, got 0"),
        (lambda: RandAugment(n=16), "n must be at most 15, the number of operations, got 16"),
        (lambda: RandAugment(m=31), "m must lie between 0 and 30, got 31"),
        (lambda: AugMix(depth=0), "depth must be at least 1, or -1 for a random number"),
        (lambda: AugMix(severity=11), "severity must lie between 0.1 and 10, got 11"),
        (lambda: Mixup(0), "alpha must lie between 0.001 and 1000, got 0"),
        (lambda: FlipCrop(-1), "padding must be a whole number of at least 0, got -1"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_wide_space_has_the_published_operations():
    assert {operation.name for operation in auto_augment.WIDE} == {
        "identity", "autocontrast", "equalize", "rotate", "solarize", "color", "posterize",
        "contrast", "brightness", "sharpness", "shear_x", "shear_y", "translate_x", "translate_y",
    }  # fmt: skip
