import io
import json

import numpy as np
import pytest

import shaketable as st
from helpers.findings import score_boards
from helpers.images import check_independence, make_images, make_keys
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions import corrupt, parse
from shaketable.corruptions.common.corruption import BENCHMARK, NO_NOISE, CommonCorruption
from shaketable.corruptions.common.severities import NAMES, SIDES, parameters, profile_of
from shaketable.corruptions.suites.suite import suite


def test_there_are_19_and_two_ways_to_take_15():
    assert len(NAMES) == 19
    assert len(BENCHMARK) == len(NO_NOISE) == 15
    assert not {n for n in NO_NOISE if n.endswith("noise")}
    assert set(NAMES) - set(BENCHMARK) == {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
    assert len(suite("common-19").names) == 95
    assert suite("common") == suite("common-19")
    for odd in (0, 6, 1.5, True, "3", None):
        with pytest.raises(InputError, match="1, 2, 3, 4 or 5"):
            CommonCorruption("fog", odd)


@pytest.mark.parametrize("name", NAMES)
def test_an_image_is_corrupted_by_its_key_alone(name, monkeypatch):
    check_independence(name, monkeypatch)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 13, 3), (28, 28), (28, 28, 1), (3, 40, 56)])
def test_every_size_grey_and_channels_first_work(name, shape):
    layout = shape if shape[0] != 3 else (*shape[1:], 3)
    images = make_images(3, *layout[:2], 1 if len(layout) < 3 else layout[2])
    x = np.moveaxis(images, -1, 1) if shape[0] == 3 else images.reshape(3, *shape)
    noisy = corrupt(x, f"{name}(5)", rng=0, bounds=(0, 255), dtype=np.uint8)
    assert noisy.shape == x.shape
    assert noisy.dtype == np.uint8
    floats = corrupt((x / 255).astype(np.float32), f"{name}(5)", rng=0, bounds=(0, 1))
    np.testing.assert_array_equal(np.rint(floats * 255), noisy)
    np.testing.assert_allclose(floats, noisy / 255, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("saturate", "elastic_transform")])
def test_severities_grow(name):
    # the mean distance to the clean image grows from the first to the last severity; published
    # severities of the two others do not: saturate drains colour first, elastic changes its kind
    images, keys = make_images(40, 32, 32), make_keys(40)
    x = images.astype(np.float32)
    moved = [
        np.abs(CommonCorruption(name, s).bind(st.data.Bounds(0, 255))(x, keys) - x).mean()
        for s in range(1, 6)
    ]
    assert moved[4] > 1.2 * moved[0] > 0


def test_profiles_are_those_of_the_size_and_recorded():
    assert [profile_of(s, s) for s in SIDES.values()] == list(SIDES)
    assert parse("fog(3)").for_shape((64, 64, 3)).spec == "fog(3, tiny)"
    assert parse("fog(3)").for_shape((3, 224, 224)).spec == "fog(3, imagenet)"
    assert parse("fog(3)").for_shape((299, 299, 3)).spec == "fog(3, inception)"
    assert parse("fog(3)").for_shape((48, 60, 3)).spec == "fog(3, 48px)"
    assert parse("fog(3, profile=tiny)").for_shape((48, 60, 3)).spec == "fog(3, tiny)"
    for spec in (
        "fog(3)",
        "fog(3, 48px)",
        "fog(3, jpeg=85)",
        "frost(2, jpeg=9, textures=a)",
        "frost(2, cifar, textures=some/folder, id=h12345678)",
    ):
        assert parse(spec).spec == spec
        assert parse(parse(spec).spec) == parse(spec)
    both = parse("fog(1) + l2(1)").for_shape((32, 32, 3))
    assert both.spec == "fog(1, cifar) + l2(1)"


def test_other_sizes_are_interpolated_along_the_logarithm_of_the_side():
    side = 45  # sqrt(32 * 64), nearly
    (cifar,), (tiny,), (between,) = (
        parameters("gaussian_noise", 4, p) for p in ("cifar", "tiny", f"{side}px")
    )
    share = np.log(side / 32) / np.log(2)
    assert between == pytest.approx(cifar + share * (tiny - cifar))
    assert parameters("gaussian_noise", 4, "28px") == (cifar,)
    assert parameters("gaussian_noise", 4, "500px") == parameters("gaussian_noise", 4, "inception")
    assert all(isinstance(n, int) for n in parameters("glass_blur", 5, "100px")[1:])
    small, whole = (parameters("elastic_transform", 5, p) for p in ("16px", "cifar"))
    assert small == pytest.approx(tuple(n / 2 for n in whole))


def test_the_severities_of_299_pixels_are_stronger_than_those_of_224():
    assert SIDES["inception"] == 299
    assert parameters("gaussian_noise", 5, "inception") == (0.4,)
    assert parameters("defocus_blur", 5, "inception") == (12, 0.5)
    assert parameters("elastic_transform", 2, "inception") == (720, 28.8, 72.0)
    assert parameters("jpeg_compression", 1, "inception") == (23,)
    weak, strong = (parameters("shot_noise", 1, p)[0] for p in ("imagenet", "inception"))
    assert strong < parameters("shot_noise", 1, "256px")[0] < weak
    images, keys = make_images(1, 299, 299), make_keys(1)
    for name in NAMES:
        image = CommonCorruption(name, 5).bind(st.data.Bounds(0, 255))(images, keys)
        assert image.shape == images.shape
        assert (image != images).any()


def read_back(image, quality):
    """What Pillow reads of a JPEG file of the image, written as those of ImageNet-C."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality, optimize=True)
    return np.asarray(Image.open(file))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(64, 64, 3), (40, 33, 1)])
def test_jpeg_follows_the_corruption(name, shape):
    images, keys = make_images(3, *shape), make_keys(3)
    plain, compressed = (
        parse(f"{name}(3{jpeg})").bind(st.data.Bounds(0, 255))(images, keys)
        for jpeg in ("", ", jpeg=85")
    )
    squeezed = plain if shape[2] == 3 else plain[..., 0]
    expected = np.array([read_back(image, 85) for image in squeezed.astype(np.uint8)])
    assert np.array_equal(compressed, expected.reshape(images.shape))
    assert not np.array_equal(compressed, plain)


def test_suites_take_a_quality_of_jpeg():
    data = st.make_dataset(make_images(6, 16, 16), np.arange(6) % 2, name="soft")
    chosen = suite("common-xn", jpeg=85)
    found = st.evaluate(lambda x: np.zeros(len(x), int), data, chosen, model_id="0")
    specs = [c.corruption for c in found if c.corruption != "clean"]
    assert "fog(3, 16px, jpeg=85)" in specs
    assert all(", jpeg=85" in spec for spec in specs)
    assert metrics.mce_xn(found).value == 0.5
    (board,) = score_boards(found)
    assert board.sizes.endswith("frost from generated textures; then JPEG of quality 85")


@pytest.mark.parametrize(
    ("spec", "shape", "message"),
    [
        ("fog(1, jpeg=0)", (32, 32, 3), "jpeg must be a quality from 1 to 100, such as 85, got 0"),
        ("fog(1, jpeg=80.5)", (32, 32, 3), "jpeg must be a quality"),
        ("fog(1, jpeg=high)", (32, 32, 3), "jpeg must be a quality"),
        ("fog(1, jpeg=85, published=a)", (32, 32, 3), "jpeg= is for images made here"),
        ("fog(1, jpeg=85)", (32, 32, 5), "leave jpeg out"),
        ("fog(0)", (32, 32, 3), "severity must be"),
        ("fog(6)", (32, 32, 3), "severity must be 1, 2, 3, 4 or 5, got 6"),
        ("fog(1.5)", (32, 32, 3), "severity must be"),
        ("fog(inf)", (32, 32, 3), "severity must be 1, 2, 3, 4 or 5, got inf"),
        ("fog(1)", (12, 32, 32), "put them last"),
        ("fog(strong)", (32, 32, 3), "severity must be a number"),
        ("fogg(1)", (32, 32, 3), "did you mean 'fog'"),
        ("fog(1, tinny)", (32, 32, 3), "did you mean 'tiny'"),
        ("fog(1, textures=a)", (32, 32, 3), "textures are for frost"),
        ("frost(1, textures=no-such-folder)", (32, 32, 3), "no-such-folder"),
        ("fog(1)", (7, 32, 3), "at least 8 x 8"),
        ("fog(1)", (3072,), "is for images"),
        ("saturate(1)", (32, 32, 5), "1 or 3 channels, got 5"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(spec, shape, message):
    with pytest.raises(InputError, match=message):
        corrupt(np.zeros((2, *shape)), spec, rng=0, bounds=(0, 1))


def test_values_must_lie_in_a_declared_range():
    x = np.full((1, 32, 32, 3), 2.0)
    for bounds in (None, (0, np.inf)):
        with pytest.raises(InputError, match="finite value range"):
            corrupt(x, "fog(1)", bounds=bounds)
    with pytest.raises(InputError, match="must lie in the bounds"):
        corrupt(x, "fog(1)", bounds=(0, 1))


def test_tensors_are_corrupted_like_arrays():
    torch = pytest.importorskip("torch")
    x = (make_images(4, 32, 32) / 255).astype(np.float32)
    there = corrupt(torch.from_numpy(x), "snow(3)", rng=0, bounds=(0, 1))
    np.testing.assert_array_equal(there.numpy(), corrupt(x, "snow(3)", rng=0, bounds=(0, 1)))


@pytest.fixture(scope="module")
def records():
    data = st.make_dataset(make_images(60, 16, 16), np.arange(60) % 2, name="soft")

    def model(x):
        return (x.mean(axis=(1, 2, 3)) > 0.5).astype(int)

    suites = [suite(name) for name in ("common-19", "common-15", "common-xn")]
    return st.evaluate(model, data, suites, model_id="bright")


def test_the_means_are_those_of_the_error_rates(records):
    error = {c.corruption: 1 - c.hits.mean() for c in records}
    for metric, kinds in (("mce", NAMES), ("mce_15", BENCHMARK), ("mce_xn", NO_NOISE)):
        expected = np.mean([error[f"{k}({s}, 16px)"] for k in kinds for s in range(1, 6)])
        estimate = getattr(metrics, metric)(records)
        assert estimate.value == pytest.approx(expected, rel=1e-12)
        assert estimate.low <= estimate.value <= estimate.high
        assert f"mean over {5 * len(kinds)} corruptions" in estimate.method
        assert "interpolated" in estimate.method


def test_every_kind_is_listed_with_the_worst_first(records, capsys):
    from shaketable.findings.results import find

    first = score_boards(records)[0].scores[0]
    means = [ladder.mean.value for ladder in first.ladders]
    assert means == sorted(means, reverse=True)
    find(records).print()
    out = capsys.readouterr().out
    assert "mCE " in out
    assert "mCE_xN" in out
    assert out.index(first.ladders[0].title) < out.index(first.ladders[-1].title)
    found = json.loads(json.dumps(find(records).json(), allow_nan=False))
    assert [s["metric_name"] for s in found["suites"]] == ["mce", "mce_15", "mce_xn"]
    assert found["suites"][0]["cells"][0].keys() >= {"corruption", "severity", "error"}


def test_the_page_says_where_the_severities_come_from(records, tmp_path):
    page = st.report(records, tmp_path / "p.html").read_text(encoding="utf-8")
    assert "Common corruptions: suite common-19" in page
    assert "not read from a published set" in page
    assert "frost from generated textures" in page
    assert "interpolated" in page


def test_alexnet_is_compared_with_at_224_pixels_alone(records):
    with pytest.raises(InputError, match="224"):
        metrics.mce_alexnet(records)
    data = st.make_dataset(make_images(6, 224, 224), np.arange(6) % 2, name="large")
    zero = st.evaluate(lambda x: np.zeros(len(x), int), data, suite("common-15"), model_id="0")
    # a model that is wrong on half of all images, whatever is done to them
    alexnet = [0.886428, 0.894468, 0.922640, 0.819880, 0.826268, 0.785948, 0.798360, 0.866816,
               0.826572, 0.819324, 0.564592, 0.853204, 0.646056, 0.717840, 0.606500]  # fmt: skip
    value = metrics.mce_alexnet(zero)
    assert value.value == pytest.approx(np.mean([0.5 / a for a in alexnet]), rel=1e-9)
    assert value.low <= value.value <= value.high
    assert metrics.relative_mce_alexnet(zero).value == pytest.approx(0, abs=1e-12)
    (board,) = score_boards(zero)
    assert f"mCE relative to AlexNet's {value.value:.3f}" in str(board.scores[0])
    assert board.scores[0].json()["relative mCE"]["mean"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("shape", [(7, 20, 3), (20, 7, 3), (3, 7, 20), (7, 20), (20, 7)])
def test_images_must_be_eight_pixels_high_and_wide(shape):
    with pytest.raises(InputError, match="at least 8 x 8 pixels"):
        parse("fog(1)").for_shape(shape)
