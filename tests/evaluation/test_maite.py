"""MAITE's protocols, both ways: the same accuracies as in `evaluate`, whoever runs the loop."""

import numpy as np
import pytest

import shaketable as st
from shaketable.data.readers.reader import find_reader
from shaketable.evaluation.maite import (
    MaiteAccuracy,
    MaiteCorruption,
    MaiteDataset,
    MaiteLoader,
    MaiteModel,
    read_loader,
)
from shaketable.models.maite_models import put_channels_first, restore_layout

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 8, 9, 3), dtype=np.uint8)
LABELS = np.where(IMAGES.mean(axis=(1, 2, 3)) + RNG.normal(size=30) > 127, "bright", "dark")
DATA = st.make_dataset(IMAGES, LABELS, name="pets")


def brightness(x):
    return np.where(x.mean(axis=(1, 2, 3)) > 0.498, "bright", "dark")


class TheirDataset:
    """A data set of MAITE that knows nothing of us."""

    def __init__(self, names=("dark", "bright"), n=30):
        self.metadata = {"id": "theirs", "index2label": dict(enumerate(names))}
        self.codes = [list(names).index(label) for label in LABELS[:n]]

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, i):
        return np.moveaxis(IMAGES[i], -1, 0), np.eye(2)[self.codes[i]], {"id": f"image {i}"}


class TheirModel:
    """A model of MAITE: takes a list of images with the channels first, returns a list."""

    def __init__(self, names=("dark", "bright"), *, named=True):
        self.metadata = {"id": "their model"}
        if named:
            self.metadata["index2label"] = dict(enumerate(names))
        self.bright = list(names).index("bright")

    def __call__(self, batch):
        assert all(image.shape == (3, 8, 9) for image in batch)
        scores = np.array([image.mean() - 0.498 for image in batch])
        return [np.eye(2)[self.bright] * s - np.eye(2)[1 - self.bright] * s for s in scores]


def run_loop(dataset, model, augmentation=None):
    """What maite.evaluate does, with its parts."""
    metric = MaiteAccuracy()
    for batch in MaiteLoader(dataset, batch_size=7):
        images, targets, metadata = batch if augmentation is None else augmentation(batch)
        metric.update(model(images), targets, metadata)
    return metric.compute()


@pytest.mark.parametrize("spec", [None, "linf(0.02)", "fog(3)", "sp(0.05) + linf(0.01)"])
def test_a_loop_of_maite_measures_what_evaluate_measures(spec):
    records = st.evaluate(brightness, DATA, spec or [], k=1, seed=3)
    noise = None if spec is None else MaiteCorruption(spec, DATA, seed=3)
    found = run_loop(MaiteDataset(DATA), MaiteModel(brightness, DATA), noise)
    cell = records.cells[0 if spec is None else 1]
    estimate = st.metrics.accuracy(records, corruption=cell.corruption)
    assert found == {"accuracy": estimate.value, "low": estimate.low, "high": estimate.high}
    assert noise is None or noise.metadata["id"] == cell.corruption


def test_noise_depends_on_the_id_alone():
    noise = MaiteCorruption("linf(0.1)", DATA)
    ours = MaiteDataset(DATA)
    images, targets, metadata = zip(*(ours[i] for i in (4, 2)), strict=True)
    first = noise((images, targets, metadata))
    again = noise((images[:1], targets[:1], metadata[:1]))
    assert np.array_equal(first[0][0], again[0][0])
    other = noise((images[:1], targets[:1], [{"id": "a name"}]))
    assert not np.array_equal(first[0][0], other[0][0])
    assert first[1] == list(targets)
    assert first[2] == list(metadata)
    expected = st.corrupted(DATA, "linf(0.1)").x[[4, 2]]
    assert np.array_equal(np.stack(first[0]), np.moveaxis(expected, -1, 1))


@pytest.mark.parametrize("names", [("dark", "bright"), ("bright", "dark")])
@pytest.mark.parametrize("named", [True, False])
def test_their_data_and_models_are_taken_by_evaluate(names, named):
    records = st.evaluate(TheirModel(names, named=named), TheirDataset(names), "linf(0.02)", k=2)
    assert records.models == ["their model"]
    assert {cell.data for cell in records} == {"theirs"}
    clean = np.mean(brightness(DATA.rows(slice(None))) == LABELS)
    assert records.cells[0].accuracy == clean > 0.6


def test_scores_are_matched_by_name_not_by_place():
    records = st.evaluate(TheirModel(("bright", "dark")), TheirDataset(("dark", "bright")), [])
    assert records.cells[0].accuracy > 0.6


def test_a_model_of_values_up_to_255_is_declared_as_one():
    class Levels(TheirModel):
        def __call__(self, batch):
            return super().__call__([image / 255 for image in batch])

    model = st.adapt(Levels(), preprocess=st.models.Preprocess(scale=255))
    records = st.evaluate(model, TheirDataset(), "linf(0.02)", k=1)
    expected = st.evaluate(TheirModel(), TheirDataset(), "linf(0.02)", k=1)
    assert [c.accuracy for c in records] == [c.accuracy for c in expected]


def test_their_data_become_a_data_set():
    data = st.load(TheirDataset(), points=20)
    assert (data.n, data.shape, data.classes) == (20, (3, 8, 9), ("dark", "bright"))
    theirs = TheirDataset()
    loaded = read_loader(MaiteLoader(theirs, batch_size=8), name="loaded")
    assert loaded.classes == (0, 1)
    assert np.array_equal(loaded.x, np.moveaxis(IMAGES, -1, 1))
    assert loaded.y.tolist() == theirs.codes


def test_a_loader_stands_for_its_data_set():
    theirs = TheirDataset()
    data, direct = st.load(MaiteLoader(theirs, batch_size=8)), st.load(theirs)
    assert data.fingerprint == direct.fingerprint
    part = MaiteLoader(theirs)
    part.sampler = range(7)
    with pytest.raises(st.InputError, match="must take every point once, got one of 7 of 30"):
        st.load(part)


def test_a_data_set_of_torch_that_has_metadata_is_one_of_maite():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Both(TheirDataset, torch.utils.data.Dataset):
        def __getitem__(self, i):
            image, target, about = super().__getitem__(i)
            return torch.tensor(image), torch.tensor(target), about

    loader = torch.utils.data.DataLoader(Both(), batch_size=4, shuffle=True, collate_fn=list)
    for source in (Both(), loader):
        data = st.load(source)
        assert (data.n, data.name, data.y.tolist()) == (30, "theirs", TheirDataset().codes)


class Item:
    """A data set of three equal items."""

    def __init__(self, item):
        self.metadata = {"id": "odd"}
        self.item = item

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.item


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ((np.zeros((3, 4, 4)), np.eye(2)[0]), "must be triples of an image, scores and metadata"),
        ((np.zeros((4, 4)), np.eye(2)[0], {"id": 0}), "must be channels x height x width"),
        ((np.zeros((3, 4, 4)), 1, {"id": 0}), "one score per class, got shape"),
    ],
)
def test_data_that_do_not_meet_the_protocol_are_refused(item, message):
    with pytest.raises(st.InputError, match=message):
        st.load(Item(item))


def test_tables_are_no_images():
    table = st.make_dataset([[0.0], [1.0]], [0, 1], name="table")
    with pytest.raises(st.InputError, match="are for images"):
        MaiteDataset(table)
    with pytest.raises(st.InputError, match="call update first"):
        MaiteAccuracy().compute()
    assert find_reader({"id": "a mapping"}) is None


@pytest.mark.parametrize("shape", [(8, 9), (8, 9, 3), (3, 8, 9), (8, 9, 1)])
def test_layouts_are_restored(shape):
    x = RNG.random((2, *shape))
    images = put_channels_first(x)
    assert images.shape[1] in (1, 3)
    assert np.array_equal(restore_layout(images, shape), x)


def test_the_protocols_of_maite_itself():
    protocols = pytest.importorskip(
        "maite.protocols.image_classification", reason="maite is not installed"
    )
    generic = pytest.importorskip("maite.protocols.generic", reason="maite is not installed")
    parts = {
        "Dataset": MaiteDataset(DATA),
        "FieldwiseDataset": MaiteDataset(DATA),
        "DataLoader": MaiteLoader(MaiteDataset(DATA)),
        "Model": MaiteModel(brightness, DATA),
        "Augmentation": MaiteCorruption("linf(0.02)", DATA, seed=3),
        "Metric": MaiteAccuracy(),
    }
    for name, part in parts.items():
        kind = getattr(generic, name, None)
        assert kind is None or isinstance(part, kind), name
        assert hasattr(protocols, name)
    tasks = pytest.importorskip("maite.tasks", reason="maite is not installed")
    found, _, _ = tasks.evaluate(
        model=parts["Model"],
        dataset=parts["Dataset"],
        metric=parts["Metric"],
        augmentation=parts["Augmentation"],
        batch_size=4,
    )
    records = st.evaluate(brightness, DATA, "linf(0.02)", k=1, seed=3)
    assert found["accuracy"] == records.cells[1].accuracy
