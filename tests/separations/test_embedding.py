"""Distances in an embedding: laws that hold whatever the search."""

import json
import math

import numpy as np
import pytest

import shaketable as st
from shaketable.cli.main import main
from shaketable.core.errors import InputError, UndefinedError
from shaketable.models import Embedding
from shaketable.separations.separation import SeparationRecord


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return st.make_dataset(rng.normal(size=(60, 5)), rng.integers(0, 3, 60))


def identity(x):
    return x


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_the_identity_changes_nothing(data, p):
    plain, same = st.separation(data, norm=p), st.separation(data, norm=p, embedding=identity)
    assert (plain.two_r, plain.pair) == (same.two_r, same.pair)
    np.testing.assert_array_equal(plain.nearest, same.nearest)
    np.testing.assert_array_equal(plain.closest, same.closest)
    np.testing.assert_array_equal(plain.by_class, same.by_class)
    first, other = (st.one_nn(data, norm=p, embedding=f) for f in (None, identity))
    np.testing.assert_array_equal(first.pairs, other.pairs)
    np.testing.assert_array_equal(first.distance, other.distance)
    np.testing.assert_array_equal(first.test, other.test)
    assert first.accuracy == other.accuracy


def test_the_identity_changes_nothing_for_images_but_rounding():
    x = np.random.default_rng(2).integers(0, 256, (40, 6, 6, 3), np.uint8)
    images = st.make_dataset(x, np.arange(40) % 4)
    plain, same = st.separation(images), st.separation(images, embedding=identity)
    assert same.two_r == pytest.approx(plain.two_r, rel=1e-6)
    np.testing.assert_allclose(same.nearest, plain.nearest, rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_a_linear_map_equals_data_that_it_transformed(data, p):
    matrix = np.random.default_rng(3).normal(size=(5, 3))
    moved = st.make_dataset(data.x @ matrix, data.labels)
    inside = st.separation(data, norm=p, embedding=lambda x: x @ matrix)
    outside = st.separation(moved, norm=p)
    assert (inside.two_r, inside.pair) == (outside.two_r, outside.pair)
    np.testing.assert_array_equal(inside.opponent, outside.opponent)
    train, test = data.parts()
    inside = st.one_nn(data, norm=p, embedding=lambda x: x @ matrix)
    gaps = (data.x @ matrix)[test][:, None] - (data.x @ matrix)[train]
    lengths = np.linalg.norm(gaps, p, axis=2)
    np.testing.assert_allclose(inside.distance, lengths.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(inside.labels, data.labels[train][lengths.argmin(axis=1)])


def test_points_that_coincide_in_the_embedding_are_named_and_can_be_dropped(data):
    def some(x):
        return np.where(x[:, :1] > 1.2, 9.0, x[:, :1])

    with pytest.raises(UndefinedError, match=r"coincide in embedding .*drop_clashes\(embedded="):
        st.separation(data, embedding=some)
    left = data.drop_clashes(embedded=some(data.x))
    high = data.x[:, 0] > 1.2
    assert len(set(data.y[high])) > 1
    np.testing.assert_array_equal(left.kept, np.flatnonzero(~high))
    np.testing.assert_array_equal(left.x, data.x[~high])
    assert st.separation(left, embedding=some).two_r > 0


def test_eps_min_of_an_embedding_is_never_that_of_the_points(data):
    found = st.separation(data, embedding=lambda x: 100 * x)
    assert found.epsilon_min == pytest.approx(100 * st.separation(data).epsilon_min)
    assert any("no size of noise" in note for note in found.notes)
    assert "in embedding" in str(found)
    with pytest.raises(InputError, match="must not be kept"):
        SeparationRecord.of(found, data.fingerprint)
    audit = st.audit(found, data)
    assert audit.json()["embedding"] == "<lambda>"
    assert audit.json()["pair_features"] is audit.json()["epsilon_min_deviations"] is None
    assert "differ" not in str(audit)


def test_results_of_an_embedding_with_a_name_say_it(data):
    found = st.one_nn(data, embedding=Embedding(identity, name="as it is"))
    assert found.embedding == "as it is"
    assert any("embedded by as it is" in note for note in found.notes)


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "halves.py").write_text(
        "def half(x):\n    return x / 2\ndef round_off(x):\n    return x.round()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def run(capsys, *words):
    code = main(["separation", "iris", *words])
    return code, capsys.readouterr()


@pytest.mark.usefixtures("module")
def test_the_command_takes_an_embedding_and_keeps_no_eps_min(capsys):
    code, shown = run(capsys, "--embedding", "halves:half", "--json", "--one-nn", "--store", "r.db")
    found = json.loads(shown.out)
    assert code == 0
    assert found["embedding"] == "halves:half"
    assert found["epsilon_min"] == pytest.approx(st.separation("iris").epsilon_min / 2)
    assert found["one_nn"]["test_points"] == 30
    data = st.load("iris")
    with st.Store("r.db") as store:
        assert store.separation(data.fingerprint, math.inf) is None
    code, shown = run(capsys, "--embedding", "halves:half", "--report", "page.html")
    assert code == 0
    assert "embedded by halves:half" in shown.out
    with open("page.html") as page:
        text = page.read()
    assert "nothing about the size of noise" in text


@pytest.mark.usefixtures("module")
def test_the_command_drops_what_coincides_in_the_embedding(capsys):
    code, shown = run(capsys, "--embedding", "halves:round_off")
    assert code == 2
    assert "coincide in embedding halves:round_off" in shown.err
    assert "--drop-clashes" in shown.err
    code, shown = run(capsys, "--embedding", "halves:round_off", "--drop-clashes", "--json")
    found = json.loads(shown.out)
    assert code == 0
    data = st.load("iris")
    left = data.drop_clashes(embedded=data.x.round())
    clashing = {row for pair in found["clashes"] for row in pair["rows"]}
    assert clashing == set(range(150)) - set(left.kept.tolist())
    assert found["two_r"] == st.separation(left.x.round(), left.labels).two_r
    code, shown = run(capsys, "--embedding", "halves:half", "--scale")
    assert code == 2
    assert "--scale" in shown.err
