"""Embeddings: functions, transformers and layers of networks against computing them by hand."""

import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import shaketable as st
from shaketable.core.errors import InputError, ModelError
from shaketable.core.importing import trust_only
from shaketable.models import Embedding, Preprocess
from shaketable.models.embedding import as_embedding, load_embedding

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    )


@pytest.fixture
def images():
    x = np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3), np.uint8)
    return st.make_dataset(x, np.arange(30) % 3)


def embed(model, data, **options):
    return Embedding(model, **options).embed(data).x


def test_a_layer_is_what_the_network_computes_there_by_hand(network, images):
    network.train()
    network[1](torch.rand(10, 4, 6, 6))  # statistics that count in evaluation
    vectors = embed(network, images, layer="2")
    assert network[1].training  # left as it was
    points = torch.from_numpy(images.x.transpose(0, 3, 1, 2) / np.float32(255))
    network.eval()
    with torch.no_grad():
        expected = network[:3](points).flatten(1).numpy()
        np.testing.assert_array_equal(vectors, expected)
        np.testing.assert_array_equal(embed(network, images), network(points).numpy())
    assert vectors.shape == (30, 4 * 36)
    assert not network[2]._forward_hooks


def test_a_layer_stands_behind_the_preprocessing_that_is_declared(network, images):
    preprocess = Preprocess(mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2))
    declared = st.adapt(network, preprocess=preprocess)
    points = torch.from_numpy(images.x.transpose(0, 3, 1, 2) / np.float32(255))
    with torch.no_grad():
        expected = network.eval()[0]((points - 0.5) / 0.2).flatten(1).numpy()
    np.testing.assert_allclose(embed(declared, images, layer="0"), expected, rtol=1e-5, atol=1e-6)


def test_transformers_get_the_columns_of_their_fit():
    data = st.load("iris")
    frame = pd.DataFrame(data.x, columns=list("abcd"))
    transformer = PCA(2).fit(frame)
    expected = transformer.transform(frame)
    other = st.make_dataset(frame[list("dbca")], data.labels)
    np.testing.assert_array_equal(embed(transformer, other), expected)
    np.testing.assert_array_equal(embed(transformer, st.make_dataset(frame, data.labels)), expected)


def test_functions_of_frames_get_frames():
    frame = pd.DataFrame({"age": [20.0, 50.0, 30.0], "job": ["cook", "smith", "cook"]})
    data = st.make_dataset(frame, [0, 1, 0])
    vectors = embed(lambda rows: rows["job"].str.len().to_numpy() + rows["age"].to_numpy(), data)
    assert vectors.tolist() == [[24.0], [55.0], [34.0]]


def test_scaled_features_are_given_in_their_own_units_on_request():
    data = st.load("iris").scaled()
    identity = as_embedding(lambda x: x)
    np.testing.assert_array_equal(identity.embed(data).x, data.x)
    np.testing.assert_allclose(identity.embed(data, unscale=True).x, st.load("iris").x, rtol=1e-12)


def test_blocks_change_nothing(monkeypatch):
    data = st.load("iris")
    whole = embed(PCA(2).fit(data.x), data)
    monkeypatch.setattr("shaketable.core.arrays.BLOCK_VALUES", 30)
    np.testing.assert_allclose(embed(PCA(2).fit(data.x), data), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[:-1], "one vector of numbers per point, got float64 of shape (2, 1) for 3"),
        (lambda x: np.full(len(x), "a"), "one vector of numbers per point, got <U1"),
        (lambda x: x / 0 * 0, "finite vectors, got nan in row 0"),
        (lambda x: x[:, :0], "must return vectors, got none"),
        (lambda x: x.nothing, "failed: AttributeError"),
        ([1, 2], "must be a function from points to vectors"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_embedding_is_refused(function, message):
    data = st.make_dataset([[1.0], [2.0], [3.0]], [0, 1, 0])
    with pytest.raises((InputError, ModelError), match=re.escape(message)):
        Embedding(function, name="f").embed(data)


def test_layers_that_cannot_be_read_are_refused(network, images):
    with pytest.raises(InputError, match="unknown layer.*'nothing'"):
        embed(network, images, layer="nothing")
    with pytest.raises(InputError, match="must be a torch network to have layers, got PCA"):
        embed(PCA(2), images, layer="components_")

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = nn.Linear(2, 2)

        def forward(self, x):
            return self.part(self.part(x))

    data = st.make_dataset([[1.0, 2.0], [2.0, 3.0]], [0, 1])
    with pytest.raises(InputError, match="must run once per call, and runs 2 times"):
        embed(Twice(), data, layer="part")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # users have such files
        script = torch.jit.trace(nn.Sequential(nn.Linear(2, 2)), torch.zeros(1, 2))
    with pytest.raises(InputError, match="runs not at all"):
        embed(script, data, layer="0")


def test_identity_follows_the_content(network):
    first, again = (Embedding(network, layer="2").identity for _ in range(2))
    assert first == again is not None
    assert Embedding(network, layer="1").identity != first != Embedding(network).identity
    with torch.no_grad():
        network[0].weight += 1
    assert Embedding(network, layer="2").identity != first
    assert Embedding(np.sqrt, id="a").identity != Embedding(np.sqrt, id="b").identity
    assert Embedding(lambda x: x).identity is None
    assert Embedding(embed).identity is None  # a function may use anything
    assert Embedding(lambda x: x, id="mine").identity == "id mine"


MODULE = """
import torch
from sklearn.decomposition import PCA
def half(x):
    return x / 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Linear(4, 3)
        self.head = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.head(self.features(x))
net = Net()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "embeddings_here.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "embeddings_here"
    sys.modules.pop("embeddings_here", None)


def test_texts_name_functions_networks_files_and_layers(module, tmp_path):
    data = st.load("iris")
    half = load_embedding(f"{module}:half")
    assert half.name == f"{module}:half"
    np.testing.assert_array_equal(half.embed(data).x, data.x / 2)
    layer = load_embedding(f"{module}:net@features").embed(data).x
    net = sys.modules[module].net.cpu()
    with torch.no_grad():
        expected = net.features(torch.from_numpy(data.x.astype(np.float32))).numpy()
    np.testing.assert_allclose(layer, expected, rtol=1e-6)
    torch.save(net, tmp_path / "net.pt")
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    for text in ("net.pt@features", f"{module}:Net@weights.pt@features"):
        found = load_embedding(text, trust=True).embed(data).x
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    whole = load_embedding(f"{module}:Net@weights.pt").embed(data).x
    assert whole.shape == (150, 2)


def test_texts_that_only_a_file_names_must_be_trusted(module, tmp_path):
    with trust_only(["--embedding", "other"]), pytest.raises(InputError, match="must be trusted"):
        load_embedding(f"{module}:half")
    torch.save(nn.Linear(4, 3), tmp_path / "net.pt")
    with pytest.raises(InputError, match="must be trusted: a .pt file may hold code"):
        load_embedding("net.pt@weight")
    with pytest.raises(InputError, match="is a class"):
        load_embedding(f"{module}:PCA")
    with pytest.raises(InputError, match="must be fitted"):
        load_embedding("rf")
