"""Noise in anyone's loop: fresh, seeded, on the batch's device, by the laws of its corruption."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from scipy import stats  # noqa: E402

from shaketable import training  # noqa: E402
from shaketable.core.errors import InputError  # noqa: E402
from shaketable.corruptions import parse  # noqa: E402
from shaketable.data.arrays import make_dataset  # noqa: E402
from shaketable.training.regimes import Noise, make_regime  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
GREY = torch.full((400, 3, 4, 4), 0.5)


def test_every_image_and_every_call_has_its_own_draw():
    noise = Noise("linf(0.1)", seed=0)
    first, second = noise(GREY), noise(GREY)
    added = (torch.cat([first, second]) - 0.5).flatten().numpy() / 0.1
    assert stats.kstest(added, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    rows = torch.cat([first, second]).flatten(1)
    assert len(torch.unique(rows, dim=0)) == 800
    assert torch.equal(Noise("linf(0.1)", seed=0)(GREY), first)
    assert not torch.equal(Noise("linf(0.1)", seed=1)(GREY), first)
    assert not torch.equal(Noise("linf(0.1)")(GREY), Noise("linf(0.1)")(GREY))


def test_one_of_several_is_drawn_per_image():
    noise = Noise("3*linf(0.1) | clean", seed=0)
    touched = (noise(GREY) != GREY).flatten(1).any(dim=1).sum().item()
    assert stats.binomtest(touched, 400, 0.75).pvalue > 1e-3


def test_a_copy_goes_on_where_the_original_was():
    noise = Noise("C2", seed=4)
    images = torch.rand(4, 3, 32, 32)
    noise(images)
    copy = pickle.loads(pickle.dumps(noise))
    assert torch.equal(copy(images), noise(images))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
def test_an_image_alone_stays_one_and_others_are_passed_on(dtype):
    image = (255 * GREY[0]).to(dtype) if dtype == torch.uint8 else GREY[0].to(dtype)
    changed, label, other = Noise("linf(0.5)", seed=0)(image, 7, "name")
    assert (changed.shape, changed.dtype, label, other) == (image.shape, dtype, 7, "name")
    assert (changed != image).any()
    assert changed.min() >= 0


def test_points_and_ranges():
    points = torch.zeros(50, 2)
    assert Noise("linf(1)", bounds=None, seed=0)(points).min() < -0.5
    assert Noise("linf(1)", seed=0)(points).min() == 0
    assert Noise("linf(1)", bounds=None, seed=0)(points[0]).shape == (2,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_values_beyond_the_bounds_are_refused_up_to_rounding(dtype):
    images = torch.tensor([[[[-3.0, 2.0]]]]).to(dtype)
    with pytest.raises(InputError, match=r"^x must lie in the bounds .* span \[-3.0, 2.0\]"):
        Noise("linf(0.1)")(images)
    assert Noise("linf(0.1)", bounds=(-3, 2))(images).min() >= -3
    with pytest.raises(InputError, match="^x must be finite, got nan"):
        Noise("linf(0.1)")(images * torch.nan)
    rounded = torch.full((1, 4), 1.0).to(dtype)
    if dtype.is_floating_point:
        rounded *= 1 + torch.finfo(dtype).eps
    assert Noise("linf(0.1)")(rounded).max() <= 1


def test_augmentation_comes_before_noise():
    half = torch.zeros(200, 1, 4, 8)
    half[..., :4] = 1
    changed = Noise("flipcrop(0) + linf(0.1)", seed=0)(half)
    left = changed[..., :4].mean(dim=(1, 2, 3)) > 0.5
    assert 60 < left.sum() < 140
    spread = (changed - changed.round()).abs()
    assert 0.05 < spread.max() <= 0.1  # noise is not moved or mixed afterwards


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 256), (2, 4)])
def test_augmentations_know_the_value_range(low, high, dtype):
    images = (RNG.integers(0, 2**16 + 1, (60, 3, 8, 8)) / 2**16).astype("f8")
    images = torch.from_numpy(images).to(dtype)
    for spec in ("flipcrop(2) + TA + RA + AM", "flipcrop(3)"):
        expected = low + (high - low) * Noise(spec, seed=0)(images)
        changed = Noise(spec, bounds=(low, high), seed=0)(low + (high - low) * images)
        assert changed.dtype == dtype
        assert torch.allclose(changed, expected, atol=1e-5 * (high - low))
    with pytest.raises(InputError, match="^trivialaugment needs a finite value range, and none is"):
        Noise("TA", bounds=None)(images)
    assert Noise("TA", bounds=None)((images * 255).byte()).dtype == torch.uint8
    shifted = Noise("flipcrop(3)", bounds=None, seed=0)(images)
    assert torch.equal(shifted, Noise("flipcrop(3)", seed=0)(images))


def test_three_axes_are_one_image_or_an_error():
    for channels in (1, 3, 4):
        image = torch.full((channels, 8, 8), 0.5)
        added = Noise("l2(0.1, surface)", seed=0)(image) - 0.5
        assert added.norm().item() == pytest.approx(0.1, rel=1e-4)
    grey = torch.full((6, 28, 28), 0.5)
    with pytest.raises(InputError, match=r"got shape \(6, 28, 28\); give x\[:, None\] for a batch"):
        Noise("l2(0.1, surface)")(grey)
    for rows in (grey[:, None], grey[None]):
        norms = (Noise("l2(0.1, surface)", seed=0)(rows) - 0.5).flatten(1).norm(dim=1)
        assert torch.allclose(norms, torch.tensor(0.1), rtol=1e-4)
    with pytest.raises(InputError, match="^x must be an image or a batch, got a tensor without ax"):
        Noise("linf(0.1)")(torch.tensor(0.5))


@pytest.mark.parametrize("spec", ["jitter(0.2)", "TA + missing(0.5)", "clean | swap(0.1) + l2(1)"])
def test_noise_that_depends_on_columns_is_refused(spec):
    with pytest.raises(InputError, match="depends on the columns of the data, which batches do no"):
        Noise(spec)
    assert Noise("SP0.1")(GREY).shape == GREY.shape
    moved = Noise('linf(0.1, only="1")', bounds=None)(torch.zeros(3, 2)) != 0
    assert moved.tolist() == [[False, True]] * 3


@pytest.mark.parametrize("spec", ["clean", "linf(0.1)", "flipcrop", "mixup(1)", "sp(0.1)"])
@pytest.mark.filterwarnings("error")
def test_the_result_is_a_copy_without_a_gradient(spec):
    for images in (torch.rand(2, 3, 4, 4, requires_grad=True), torch.rand(3, 4, 4)):
        labels = torch.arange(2)[: len(images)] if images.ndim == 4 else torch.zeros(1, dtype=int)
        before = images.detach().clone()
        changed, _ = Noise(spec, classes=2)(images, labels)
        assert not changed.requires_grad
        changed.zero_()
        assert torch.equal(images, before)


def test_mixup_mixes_labels_too():
    images, labels = torch.rand(8, 3, 4, 4), torch.arange(8) % 4
    mixed, shares = Noise("mixup(1)", seed=0, classes=4)(images, labels)
    assert mixed.shape == images.shape
    assert shares.shape == (8, 4)
    assert torch.allclose(shares.sum(dim=1), torch.ones(8))
    for wrong in (lambda n: n(images), lambda _: Noise("mixup(1)")(images, labels)):
        with pytest.raises(InputError, match="mixes labels too: pass them after the images"):
            wrong(Noise("mixup(1)", classes=4))
    for odd, value in ((labels, 3), (labels - 1, -1), (labels / 2, 0.5)):
        with pytest.raises(InputError, match=f"^labels must be whole .* 0 to 2, got {value}; corr"):
            Noise("mixup(1)", classes=3)(images, odd)


def test_workers_of_a_loader_have_their_own_draws():
    class Images(torch.utils.data.Dataset):
        noise = Noise("linf(0.1)", seed=0)

        def __len__(self):
            return 8

        def __getitem__(self, i):
            return self.noise(GREY[0])

    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Images(), batch_size=8, num_workers=2)
    images = torch.cat([batch for _ in range(2) for batch in loader]).flatten(1)
    assert len(torch.unique(images, dim=0)) == 16  # two epochs of two workers


def test_corruptions_are_taken_as_they_are():
    augmented = Noise(training.TrivialAugment(), seed=0)(GREY)
    assert torch.equal(augmented, Noise("TA", seed=0)(GREY))
    by_spec = Noise("linf(0.1)", seed=0)(GREY)
    assert torch.equal(Noise(parse("linf(0.1)"), seed=0)(GREY), by_spec)
    data = make_dataset(GREY.numpy(), np.arange(400) % 2)
    assert make_regime(parse("linf(0.1)"), data, None).spec == "linf(0.1)"


def test_adversaries_and_other_things_are_refused():
    for nothing, message in {None: "^corruption must be a spec", " ": "must not be empty"}.items():
        with pytest.raises(InputError, match=message):
            Noise(nothing)
    for classes in ("x", -1):
        with pytest.raises(InputError, match="^classes must be a whole number of at least 1, got"):
            Noise("mixup", classes=classes)
    with pytest.raises(InputError, match="needs the network"):
        Noise("pgd_at(0.1)")
    with pytest.raises(InputError, match="x must be a tensor, an image or a batch, got ndarray"):
        Noise("linf(0.1)")(np.zeros((2, 3)))


def test_public_names():
    assert {name: getattr(training, name).__name__ for name in training.__all__} == {
        name: name for name in training.__all__
    }
    assert dir(training) == sorted(training.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nose'"):
        training.Nose  # noqa: B018


def test_noise_that_leaves_gaps_is_refused():
    with pytest.raises(InputError, match="leaves values empty, which networks cannot take"):
        Noise("missing(0.5, empty)")
