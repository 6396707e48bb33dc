"""Samples of points: which rows they hold, what they leave as it was, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.data.files import load
from shaketable.data.sampling import Sample


def numbered(n: int = 60, n_train: int | None = None) -> Dataset:
    """Every value is the number of its row."""
    data = make_dataset(np.arange(float(n)), np.arange(n) % 3, name="rows", n_train=n_train)
    return replace(data, files=tuple(f"{i}.png" for i in range(n)))


def test_a_sample_is_the_same_for_a_seed_and_holds_smaller_ones() -> None:
    rows = Sample(20, seed=4).choose(100)
    assert len(set(rows.tolist())) == 20
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, Sample(20, seed=4).choose(100))
    assert set(Sample(7, seed=4).choose(100)) < set(rows)
    assert set(Sample(20, seed=5).choose(100)) != set(rows)


def test_every_row_is_drawn_equally_often() -> None:
    drawn = np.zeros(40)
    for seed in range(1000):
        drawn[Sample(10, seed).choose(40)] += 1
    # binomial(1000, 1/4): standard deviation 13.7, five of them
    assert np.abs(drawn - 250).max() < 69


def test_a_sample_keeps_what_belongs_to_its_points() -> None:
    data = numbered()
    some = data.sample(12, seed=3)
    assert some.name == "rows, 12 of 60 points, seed 3"
    np.testing.assert_array_equal(some.x[:, 0], some.kept)
    np.testing.assert_array_equal(some.y, data.y[some.kept])
    assert some.files == tuple(f"{row}.png" for row in some.kept)
    assert some.fingerprint == make_dataset(some.x, some.labels).fingerprint
    assert some.source_row(4) == some.kept[4]
    assert "eps_min is that of the sample: " in some.notes()[0]
    assert data.sample(60) is data
    again = some.sample(5)
    np.testing.assert_array_equal(again.x[:, 0], again.kept)


def test_of_a_fixed_split_the_training_part_stays_whole() -> None:
    some = numbered(n_train=40).sample(8)
    assert (some.n, some.n_train, some.name) == (48, 40, "rows, 8 of 20 test points, seed 0")
    np.testing.assert_array_equal(some.x[:40, 0], np.arange(40))
    np.testing.assert_array_equal(some.test_places, some.x[40:, 0] - 40)
    assert "that of the sample and the other part: " in some.notes()[0]


def test_the_training_part_can_be_sampled_instead() -> None:
    data = numbered(n_train=40)
    some = data.sample(8, part="train")
    assert (some.n, some.n_train, some.name) == (28, 8, "rows, 8 of 40 training points, seed 0")
    np.testing.assert_array_equal(some.x[8:, 0], np.arange(40, 60))
    np.testing.assert_array_equal(some.x[:, 0], some.kept)
    np.testing.assert_array_equal(some.test_places, np.arange(20))
    assert set(some.x[:8, 0]) == set(Sample(8).choose(40))
    assert data.sample(40, part="train") is data
    assert numbered().sample(8, part="train").name == "rows, 8 of 60 points, seed 0"
    with pytest.raises(InputError, match="at most the number of training points, 40, got 41"):
        data.sample(41, part="train")
    with pytest.raises(InputError, match="unknown part 'tset'; did you mean 'test'"):
        data.sample(1, part="tset")  # type: ignore[arg-type]


def test_places_in_the_test_part_survive_dropped_clashes() -> None:
    x = np.arange(60.0)
    x[[3, 5]] = 100.0  # two classes: dropped from the training part
    data = make_dataset(x, np.arange(60) % 3, name="rows", n_train=40)
    for some in (data.sample(8).drop_clashes(), data.drop_clashes().sample(8)):
        assert (some.n, some.n_train, some.parts_before) == (46, 38, (40, 20))
        np.testing.assert_array_equal(some.test_places, some.x[38:, 0] - 40)


def test_what_cannot_be_drawn_is_refused() -> None:
    data = numbered()
    with pytest.raises(InputError, match="at most the number of points, 60, got 61; take fewer"):
        data.sample(61)
    with pytest.raises(InputError, match="at most the number of test points, 20, got 21"):
        numbered(n_train=40).sample(21)
    with pytest.raises(InputError, match="points must be a whole number of at least 1, got 0"):
        data.sample(0)
    with pytest.raises(InputError, match="1 drawn with seed 0 are of one class; take more"):
        data.sample(1)
    with pytest.raises(InputError, match="as many points as there are classes"):
        numbered(n_train=40).sample(2)


def test_load_takes_a_sample_before_it_drops_and_scales() -> None:
    some = load("iris", points=30, seed=2, scale=True)
    np.testing.assert_array_equal(some.kept, load("iris").sample(30, seed=2).kept)
    assert some.name == "iris, 30 of 150 points, seed 2, scaled to [0, 1]"
    assert some.x.max() == 1


def test_a_note_says_that_eps_min_is_that_of_a_sample_where_there_is_one() -> None:
    pd = pytest.importorskip("pandas")
    jobs = pd.DataFrame({"job": ["cook", "clerk"] * 20})
    y = np.arange(40) % 2
    for frame, noted in ((jobs, False), (jobs.assign(age=range(40)), True)):
        notes = make_dataset(frame, y).sample(20).notes()
        assert any("eps_min is that of the sample" in note for note in notes) == noted
