"""Data sets and loaders of torch give the points of the data set, in its order."""

import numpy as np
import pytest
from PIL import Image

from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.files import as_dataset, load
from shaketable.evaluation.evaluate import evaluate
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import separation

torch = pytest.importorskip("torch", reason="data sets of torch need torch")
td = torch.utils.data

X = torch.from_numpy(np.random.default_rng(0).uniform(size=(30, 3, 4, 4)).astype(np.float32))
Y = torch.arange(30) % 3
EXPECTED = make_dataset(X.numpy(), Y.numpy())
PAIRS = td.TensorDataset(X, Y)


class Listed(td.Dataset):
    """Any items; counts how many are read."""

    def __init__(self, items, classes=None):
        self.items, self.read = items, 0
        if classes is not None:
            self.classes = classes

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        self.read += 1
        return self.items[i]


class Stream(td.IterableDataset):
    def __iter__(self):
        return iter(PAIRS)


@pytest.mark.parametrize(
    "source",
    [
        PAIRS,
        td.Subset(PAIRS, range(30)),
        Listed([(x.numpy(), int(y)) for x, y in PAIRS]),
        Stream(),
        td.DataLoader(PAIRS, batch_size=7),
        td.DataLoader(PAIRS, batch_size=7, shuffle=True, drop_last=True),
        td.DataLoader(PAIRS, batch_sampler=[[3, 1], [0, 2], [*range(29, 3, -1)]]),
        td.DataLoader(Stream(), batch_size=4),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_kind_is_the_same_data(source):
    state = torch.get_rng_state()
    data = load(source)
    assert data.fingerprint == as_dataset(source).fingerprint == EXPECTED.fingerprint
    assert str(data.bounds) == "clip[0, 1]"
    assert torch.equal(state, torch.get_rng_state()), "the user's generator is left alone"
    assert load(source, points=9, seed=2).fingerprint == EXPECTED.sample(9, seed=2).fingerprint


def test_a_sampler_that_takes_a_part_is_kept_to():
    loader = td.DataLoader(PAIRS, sampler=td.SubsetRandomSampler([8, 2, 9, 4]))
    np.testing.assert_array_equal(load(loader).x, X[[2, 4, 8, 9]].numpy())
    for sampler in (
        td.WeightedRandomSampler(torch.ones(30), 30),
        td.RandomSampler(PAIRS, num_samples=10),
    ):
        with pytest.raises(InputError, match=f"its sampler {type(sampler).__name__} does not"):
            load(td.DataLoader(PAIRS, sampler=sampler))


def test_only_items_of_a_sample_are_read():
    source = Listed([(x, y) for x, y in PAIRS])
    some = load(source, points=9)
    assert source.read <= 9 + 8, "some twice"
    assert some.name == "Listed, 9 of 30 points, seed 0"
    np.testing.assert_array_equal(some.x, X.numpy()[some.kept])


def test_images_of_pillow_become_uint8_and_named_classes_are_kept():
    images = make_images(6, 5, 5)
    items = [(Image.fromarray(image), i % 2) for i, image in enumerate(images)]
    items[4] = (items[4][0].convert("L"), 0)
    data = load(Listed(items, classes=["cat", "dog", "emu"]))
    assert (data.x.shape, data.x.dtype, data.classes) == ((6, 5, 5, 3), np.uint8, (0, 1, 2))
    np.testing.assert_array_equal(data.x[:4], images[:4])
    assert (data.x[4] == data.x[4][..., :1]).all(), "grey"
    three = load(td.Subset(Listed(items, classes=["cat", "dog", "emu"]), [0, 1, 2]))
    assert three.classes == (0, 1, 2), "though it has no emu"
    hit = evaluate(lambda x: np.eye(3)[[1] * len(x)], three, [])
    assert hit.cells[0].hits.tolist() == [0, 1, 0]


def test_two_parts_are_joined():
    data = as_dataset(
        td.Subset(PAIRS, range(20)), test=td.DataLoader(td.Subset(PAIRS, range(20, 30)))
    )
    assert (data.n, data.n_train) == (30, 20)
    np.testing.assert_array_equal(data.x, X.numpy())
    again = load(td.Subset(PAIRS, range(20)), test=td.Subset(PAIRS, range(20, 30)))
    assert again.fingerprint == data.fingerprint
    with pytest.raises(InputError, match="test must be of the same kind as data"):
        load(PAIRS, test=7)


def test_the_separation_takes_them_too():
    expected = separation(EXPECTED, norm=2).epsilon_min
    assert separation(PAIRS, norm=2).epsilon_min == expected
    assert separation("iris").epsilon_min == separation(load("iris")).epsilon_min
    parts = td.Subset(PAIRS, range(20)), td.Subset(PAIRS, range(20, 30))
    nearest = one_nn(*parts, norm=2)
    assert nearest.accuracy == one_nn((X[:20], Y[:20]), (X[20:], Y[20:]), norm=2).accuracy


def test_what_is_no_pair_is_refused():
    for items, got in [
        ([(1.0, 2.0, 3)] * 4, "got 3 values; wrap it"),
        ([{"x": 1, "y": 2}] * 4, "got a dict with x, y"),
        ([torch.zeros(3)] * 4, "got a Tensor"),
    ]:
        with pytest.raises(InputError, match=f"pairs of a point and its label, {got}"):
            load(Listed(items))
    with pytest.raises(InputError, match=r"most have \(2,\), but row 3 \(from 0\) has \(3,\)"):
        load(Listed([([1, 2], 0)] * 3 + [([1, 2, 3], 1)]))
    with pytest.raises(InputError, match="3 values"):
        load(td.TensorDataset(X, Y, Y))
    with pytest.raises(InputError, match="batch_size=None; give its data set"):
        load(td.DataLoader(PAIRS, batch_size=None))
    with pytest.raises(InputError, match="label is for tables, and this is a torch data set"):
        load(PAIRS, label="y")


def test_random_augmentation_and_failing_code_are_refused():
    class Augmented(Listed):
        def __getitem__(self, i):
            x, y = PAIRS[i]
            return x + torch.rand(()), y

    with pytest.raises(InputError, match="must return the same point .* random augmentation"):
        load(Augmented(range(30)))

    class Failing(Listed):
        def __getitem__(self, i):
            raise RuntimeError("disk\nis gone")

    with pytest.raises(InputError, match="torch data set Failing cannot be read: .*disk") as caught:
        load(Failing(range(30)))
    assert "\n" not in str(caught.value)
