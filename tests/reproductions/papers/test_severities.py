"""Common corruptions beside the stored output of the authors' code, and what a fault does."""

import io
import json

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.corruptions.common import corruption
from shaketable.corruptions.common import severities as numbers
from shaketable.corruptions.common.severities import NAMES, SIDES
from shaketable.reproductions.papers import severities


@pytest.fixture
def quick(monkeypatch):
    """One size and few draws; returns a function that chooses the size."""
    images = severities.IMAGES

    def choose(profile):
        monkeypatch.setattr(severities, "IMAGES", {profile: images[profile]})
        monkeypatch.setattr(severities, "DRAWS", {profile: 12})

    choose("cifar")
    return choose


@pytest.fixture
def change(monkeypatch):
    """Return a function that changes a number of the published severities."""
    cached = corruption._find_numbers

    def replace(name, profile, severity, level):
        own = list(numbers._PUBLISHED[name][profile])
        assert own[severity - 1] != level
        own[severity - 1] = level
        monkeypatch.setitem(numbers._PUBLISHED[name], profile, own)
        cached.cache_clear()

    yield replace
    cached.cache_clear()


def test_all_claims_hold(quick):
    found = st.reproduce("hendrycks-severities")
    assert found.exit_code == 0, found.json()["claims"]
    assert len(found.json()["claims"]) == 5
    values = found.numbers.by_name
    assert all(values[f"equal: {name} / 32 px"].value == 100 for name in severities.NO_NOISE)
    assert values["change at 32 px: brightness / 5"].printed.value == 45.4275
    assert "hendrycks/robustness, 8190fe3" in found.settings["Independent implementation"]


@pytest.mark.parametrize(
    ("name", "severity", "level"),
    [
        ("fog", 3, (0.76, 2.5)),
        ("jpeg_compression", 2, (66,)),
        ("gaussian_noise", 3, (0.082,)),
        ("impulse_noise", 5, (0.075,)),
        ("snow", 1, (0.1, 0.21, 1, 0.6, 8, 3, 0.95)),
        ("frost", 4, (0.85, 0.41)),
        ("glass_blur", 2, (0.3, 1, 1)),
        ("elastic_transform", 5, (3.2, 0.96, 1.0)),
    ],
)
def test_a_changed_severity_fails(quick, change, name, severity, level):
    change(name, "cifar", severity, level)
    found = st.reproduce("hendrycks-severities")
    assert found.exit_code == 1
    assert found.measured.notes[0].startswith(f"{name}, severity {severity}, 32 px: ")
    assert sum(note.startswith(name) for note in found.measured.notes) == 1


@pytest.mark.parametrize(("name", "level"), [("contrast", (0.06,)), ("shot_noise", (14,))])
def test_a_changed_severity_of_64_pixels_fails(quick, change, name, level):
    quick("tiny")
    change(name, "tiny", 5, level)
    found = st.reproduce("hendrycks-severities")
    assert found.exit_code == 1
    assert found.measured.notes[0].startswith(f"{name}, severity 5, 64 px: ")


def test_one_changed_value_of_one_image_fails(quick, monkeypatch):
    make = severities.corrupt

    def corrupt(images, name, severity, keys):
        changed = make(images, name, severity, keys)
        if (name, severity) == ("saturate", 4):
            changed[2, 5, 6, 1] ^= 1
        return changed

    monkeypatch.setattr(severities, "corrupt", corrupt)
    found = st.reproduce("hendrycks-severities")
    assert [judgement.verdict for judgement in found.judgements].count("fails") == 1
    assert found.measured.notes[0] == "saturate, severity 4, 32 px: 83% of the images are equal"


def test_severities_in_another_order_fail(quick, change):
    for severity, level in enumerate(numbers._PUBLISHED["contrast"]["cifar"][::-1], 1):
        if severity != 3:
            change("contrast", "cifar", severity, level)
    verdicts = [judgement.verdict for judgement in st.reproduce("hendrycks-severities").judgements]
    assert verdicts[-1] == "fails"


def test_checksums_are_those_of_pillow():
    from PIL import Image

    stored = severities.load_original()["images"]["cifar"]
    shrunk = [int(32 * share) for share in (0.95, 0.9, 0.85, 0.75, 0.65)]
    for i, image in enumerate(map(Image.fromarray, severities.make_images("cifar"))):
        for s, quality in enumerate((80, 65, 58, 50, 40)):
            file = io.BytesIO()
            image.save(file, "JPEG", quality=quality)
            found = severities.sum_up(np.asarray(Image.open(file)))
            assert stored["jpeg_compression"][s]["crc"][i] == found
        for s, side in enumerate(shrunk):
            small = image.resize((side, side), Image.Resampling.BOX)
            back = small.resize((32, 32), Image.Resampling.BOX)
            assert stored["pixelate"][s]["crc"][i] == severities.sum_up(np.asarray(back))


@pytest.mark.parametrize("profile", severities.IMAGES)
def test_all_is_stored(profile):
    stored = severities.load_original()["images"][profile]
    assert stored.keys() == {"clean", *NAMES}
    n = severities.IMAGES[profile]
    size = n * severities.DRAWS[profile] * SIDES[profile] ** 2 * 3
    for name in NAMES:
        assert len(stored[name]) == 5
        for level in stored[name]:
            if name in severities.NOISES:
                assert np.sum(level["counts"]) == size
            else:
                assert len(set(level["crc"])) == n


def test_larger_images_are_figures_side_by_side():
    small, large = severities.make_images("cifar"), severities.make_images("tiny")
    np.testing.assert_array_equal(large[0, :32, 32:], small[1])
    np.testing.assert_array_equal(large[0, 32:, :32], small[2])
    np.testing.assert_array_equal(large[1, :32, :32], small[4])
    assert [severities.make_images(p).shape[1] for p in severities.IMAGES] == [32, 64, 224]


def test_other_images_are_refused(quick, monkeypatch):
    images = severities.make_images("cifar")
    monkeypatch.setattr(severities, "make_images", lambda _: images[::-1])
    with pytest.raises(InputError, match="figures of 32 px must be those of the stored checksums"):
        st.reproduce("hendrycks-severities")


def test_changes_are_counted_by_band_and_bin():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    changed = rng.integers(0, 256, images.shape, dtype=np.uint8)
    expected = np.zeros((4, 11), int)
    for before, after in zip(images.ravel().tolist(), changed.ravel().tolist(), strict=True):
        expected[before // 64, sum(after - before > edge for edge in severities.EDGES)] += 1
    np.testing.assert_array_equal(severities.count_changes(images, changed), expected)


def test_scores_are_those_of_the_chi_square_test():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(6), size=4)
    ours, theirs = ([rng.multinomial(4000, row) for row in shares] for _ in range(2))
    parts = [
        stats.chi2_contingency([a, b], correction=False) for a, b in zip(ours, theirs, strict=True)
    ]
    tail = stats.chi2.sf(sum(p.statistic for p in parts), sum(p.dof for p in parts))
    z = severities.compare_counts(np.array(ours), np.array(theirs))
    assert z == pytest.approx(stats.norm.isf(tail), rel=1e-9)


def test_bins_with_few_counts_are_joined_with_the_next_one():
    found = severities.compare_counts(
        np.array([[100, 6, 6, 90, 1]]), np.array([[110, 6, 5, 80, 2]])
    )
    joined = stats.chi2_contingency([[100, 12, 91], [110, 11, 82]], correction=False)
    assert found == pytest.approx(stats.norm.isf(joined.pvalue), rel=1e-9)


def test_scores_are_normal_if_the_law_is_the_same():
    rng = np.random.default_rng(2)
    shares = np.array([0.5, 0.3, 0.19, 0.0085, 0.0015])  # the last bins are joined
    scores = [
        severities.compare_counts(*rng.multinomial(3000, shares, size=(2, 3))) for _ in range(400)
    ]
    assert stats.kstest(scores, "norm").pvalue > 1e-3
    shifted = rng.multinomial(3000, [0.55, 0.25, 0.2], size=3)
    assert severities.compare_counts(rng.multinomial(3000, [0.5, 0.3, 0.2], size=3), shifted) > 5


def test_it_is_written_as_page_json_and_figure(quick, tmp_path):
    st.reproduce("hendrycks-severities", out=tmp_path)
    stem = tmp_path / "hendrycks-severities"
    found = json.loads(stem.with_suffix(".full.json").read_text())
    assert found["errata"][0] == "common-truncation"
    assert "fog" in stem.with_suffix(".full.svg").read_text()
    assert "equal bit by bit" in stem.with_suffix(".full.html").read_text()
