"""Preprocessing of images, against Pillow and torch."""

import numpy as np
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.models.preprocess import Preprocess

IMAGES = np.random.default_rng(0).uniform(size=(3, 12, 10, 3))


@pytest.mark.parametrize("resample", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(5, 4), (24, 17), (12, 31)])
def test_images_are_resized_as_pillow_does_it(resample, size):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    found = Preprocess(size=size, resample=resample)(IMAGES)
    planes = np.moveaxis(IMAGES, 3, 1).astype(np.float32)
    kind = getattr(image_module.Resampling, resample.upper())
    expected = [
        [image_module.fromarray(p).resize(size[::-1], kind) for p in image] for image in planes
    ]
    expected = np.array([[np.asarray(p) for p in image] for image in expected])
    assert found.shape == (3, *size, 3)
    np.testing.assert_allclose(np.moveaxis(found, 3, 1), expected, atol=2e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"size": 7, "resample": "bicubic", "crop": (6, 5), "order": "bgr"},
        {"scale": 255, "mean": [1, 2, 3], "std": [4, 5, 6]},
        {"size": (4, 9), "mean": 0.5, "layout": "first"},
        {"order": "bgr", "layout": "last", "std": 0.1},
    ],
)
@pytest.mark.parametrize("layout", ["first", "last", "absent"])
def test_tensors_and_arrays_are_treated_alike(options, layout):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if layout == "absent" and "scale" in options:
        options = {"scale": 255, "mean": 1, "std": 4}
    x = {"first": np.moveaxis(IMAGES, 3, 1), "last": IMAGES, "absent": IMAGES[..., 0]}[layout]
    done = Preprocess(**options)
    found = done(torch.tensor(x))
    np.testing.assert_allclose(found.numpy(), done(x), rtol=1e-12)
    assert found.dtype == torch.float64


def test_steps_come_in_their_order():
    x = np.arange(4.0).reshape(1, 2, 2, 1) * np.ones(3) + [0, 10, 20]
    found = Preprocess(order="bgr", scale=2, mean=[1, 2, 3], std=[1, 2, 4], layout="first")(x)
    expected = [(2 * (x[0, :, :, 2 - c] + 0.0) - (1, 2, 3)[c]) / (1, 2, 4)[c] for c in range(3)]
    np.testing.assert_array_equal(found[0], expected)
    assert Preprocess(crop=(2, 1))(x).tolist() == [[[[0, 10, 20]], [[2, 12, 22]]]]


def test_tables_have_values_scaled_per_column():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert Preprocess(mean=[1, 2], std=2)(x).tolist() == [[0, 0], [1, 1]]
    with pytest.raises(InputError, match=r"only scale, mean and std .* shape \(2,\)"):
        Preprocess(size=4)(x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size of preprocess must be one or two whole numbers, got 0"),
        ({"crop": (1, 2, 3)}, "crop of preprocess must be one or two"),
        ({"std": [1, 0, 1]}, "std of preprocess must not be 0"),
        ({"mean": "half"}, "mean of preprocess must be numbers, got 'half'"),
        ({"scale": [1, 2]}, "scale of preprocess must be one finite number"),
        ({"order": "gbr"}, "unknown order of preprocess 'gbr'"),
    ],
)
def test_what_cannot_be_done_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        Preprocess(**options)


def test_what_does_not_fit_the_images_is_refused():
    with pytest.raises(InputError, match="one per channel, got 2 for 3 channels"):
        Preprocess(mean=[1, 2])(IMAGES)
    with pytest.raises(InputError, match="must fit into the images, got 13 of 12"):
        Preprocess(crop=13)(IMAGES)
    with pytest.raises(InputError, match="did you mean 'mean'"):
        Preprocess.parse(["men=1"])
    with pytest.raises(InputError, match="each option once, as size=VALUE"):
        Preprocess.parse(["size=3", "size=4"])


def test_a_model_gets_what_is_declared_and_noise_comes_before():
    seen = []

    def model(x):
        seen.append(x)
        return (x[:, 0].mean(axis=(1, 2)) > 0).astype(int)

    images = IMAGES.astype(np.float32)
    ready = st.adapt(model, preprocess=Preprocess(mean=0.5, std=0.5, layout="first"))
    st.evaluate(ready, (images, [0, 1, 1]), "linf(0.1)", k=1)
    expected = (np.moveaxis(images, 3, 1) - 0.5) / 0.5
    np.testing.assert_allclose(seen[0], expected, atol=1e-6)
    assert 0 < np.abs(seen[1] - expected).max() <= 0.2 + 1e-6


def test_a_module_behind_preprocessing_has_gradients():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.Flatten(), torch.nn.Linear(32, 2))
    options = {"size": 6, "mean": [0.5, 0.4, 0.3], "std": 0.25}
    images = np.random.default_rng(1).uniform(size=(20, 8, 8, 3)).astype(np.float32)
    by_hand = (torch.tensor(Preprocess(**options)(images)).movedim(3, 1)).contiguous()
    y = net(by_hand).argmax(dim=1).numpy()
    data = st.make_dataset(images, np.array(["no", "yes"])[y])
    ready = st.adapt(net, preprocess=Preprocess(**options))
    assert st.evaluate(ready, data, "clean").cells[0].accuracy == 1
    worst = st.worst_case(ready, data, [1.0], norm="inf", attacks=["pgd(steps=3)"])
    assert worst.curves[0].accuracies[0].value < 1
