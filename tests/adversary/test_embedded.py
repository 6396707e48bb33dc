"""Voronoi cells in an embedding against brute force, and what adversaries do in them."""

import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

import shaketable as st
from shaketable.adversary.embedded import EmbeddedCells
from shaketable.adversary.kept import restore
from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.cli.main import main
from shaketable.core.errors import InputError
from shaketable.models import Embedding
from shaketable.models.embedding import PlacedEmbedding

RNG = np.random.default_rng(0)
MATRIX = np.random.default_rng(7).normal(size=(3, 2))


def bend(x):
    """A map that is not linear, under which cells are not convex."""
    x = np.asarray(x, np.float64)
    return np.stack([np.sin(3 * x[:, 0]), x[:, 1] ** 2, x.sum(axis=1)], axis=1)


def make_cells(x, function, p=2, epsilon=5.0, dtype=np.float64):
    ball = Region(x, x.shape[1:], np.dtype(dtype), p, epsilon, "genuine-max")
    return EmbeddedCells.of(ball, PlacedEmbedding("f", None, function))


def lie_inside(function, x, rows, moved, p):
    """By all distances: whether the vector is closer to that of its row than to any other."""
    gaps = function(moved)[:, None] - function(x)[None]
    lengths = np.linalg.norm(gaps, p, axis=2)
    own = lengths[np.arange(len(rows)), rows].copy()
    lengths[np.arange(len(rows)), rows] = np.inf
    return own < lengths.min(axis=1)


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("function", [bend, lambda x: x @ MATRIX, lambda x: x])
def test_cells_hold_what_is_closest_by_all_distances(p, function):
    x = RNG.normal(size=(40, 3))
    rows = RNG.integers(0, 40, 500)
    moved = x[rows] + RNG.normal(size=(500, 3)) * RNG.choice([0.05, 0.5, 5], (500, 1))
    cells = make_cells(x, function, p)
    inside = cells.contains(rows, moved)
    np.testing.assert_array_equal(inside, lie_inside(function, x, rows, moved, p))
    assert 50 < inside.sum() < 450


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_the_identity_has_the_cells_of_the_points(p):
    x = RNG.normal(size=(40, 3))
    rows, plain = RNG.integers(0, 40, 300), VoronoiCells.of(x, p, 5.0, dtype=np.float64)
    moved = x[rows] + RNG.normal(size=(300, 3))
    cells = make_cells(x, lambda x: x, p)
    np.testing.assert_array_equal(cells.contains(rows, moved), plain.contains(rows, moved))
    pulled, expected = cells.pull_inside(rows, moved), plain.pull_inside(rows, moved)
    np.testing.assert_allclose(pulled, expected, atol=1e-5 * np.abs(moved).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_are_pulled_along_the_ray_to_where_it_leaves_the_cell(dtype):
    x = RNG.normal(size=(40, 3)).astype(dtype).astype(np.float64)
    rows = RNG.integers(0, 40, 300)
    moved = x[rows] + RNG.normal(size=(300, 3))
    cells = make_cells(x, bend, dtype=dtype)
    pulled = cells.pull_inside(rows, moved)
    assert cells.contains(rows, pulled).all()
    assert lie_inside(bend, x, rows, pulled, 2).all()
    there = cells.contains(rows, moved)
    back = pulled[~there]
    np.testing.assert_array_equal(back.astype(dtype), back)  # as the model takes them
    np.testing.assert_array_equal(pulled[there], moved[there])
    step, share = moved - x[rows], (pulled - x[rows]) / (moved - x[rows])
    np.testing.assert_allclose(pulled, x[rows] + share[:, :1] * step, atol=1e-3)
    onward = x[rows] + (share[:, :1] + 1e-2) * step
    assert not cells.contains(rows[~there], onward[~there]).all()


def make_data(n=60, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return st.make_dataset(x, (x[:, 0] + 0.5 * x[:, 1] > 0).astype(int))


@pytest.fixture
def nearest():
    """The 1-NN of the vectors, fitted on the points that are attacked."""
    data = make_data()
    inner = KNeighborsClassifier(1).fit(bend(data.x), data.labels)
    return data, lambda x: inner.predict(bend(x))


@pytest.mark.parametrize("constraint", ["genuine-max", "genuine-exact"])
def test_nothing_is_misclassified_by_1nn_in_its_own_cells(nearest, constraint):
    data, model = nearest
    options = {"attacks": ["random(queries=300)", "rays(queries=300)"], "own": True}
    found = st.worst_case(
        model, data, [0.5, 2.0], constraints=["none", constraint], embedding=bend, **options
    )
    ball, cells = found.curves
    assert ball.accuracies[-1].value < 0.5
    assert [a.value for a in cells] == [1.0, 1.0]
    assert not any(a.proven for a in cells if a.constraint == "genuine-max")
    assert ball.attacked.embedding == ""
    assert cells.attacked.embedding == "bend"
    assert any("embedded by bend" in note for note in found.notes)
    assert found.json()["curves"][1]["embedding"] == "bend"
    assert "embedding" not in found.json()["curves"][0]


def test_theorem_2_of_the_points_proves_nothing_in_other_cells():
    data = make_data()
    model = KNeighborsClassifier(1).fit(data.x, data.labels)
    options = {"constraints": "genuine-max", "own": True, "seed": 1}
    plain = st.worst_case(model, data, 1.0, **options).curves[0].accuracies[0]
    assert plain.proven
    assert plain.value == 1
    other = st.worst_case(model, data, 1.0, embedding=bend, **options).curves[0].accuracies[0]
    assert not other.proven
    assert other.value < 1
    assert not any("1nn" in trial.spec for trial in other.trials)


def test_examples_are_in_the_ball_and_in_the_cell_of_their_vector():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))

    def ask(part, x):
        with torch.no_grad():
            return part(torch.from_numpy(np.asarray(x, np.float32))).double().numpy()

    x = np.random.default_rng(4).normal(size=(50, 3))
    data = st.make_dataset(x, ask(network, x).argmax(axis=1))
    layer = Embedding(network, layer="1")
    found = st.worst_case(network, data, 1.5, constraints="genuine-max", embedding=layer)
    (accuracy,) = found.curves[0].accuracies
    examples, rows = accuracy.examples, accuracy.examples.rows
    assert {trial.spec.partition("(")[0] for trial in accuracy.trials} >= {"pgd", "apgd"}
    assert len(examples) > 5
    assert accuracy.withstood.sum() == 50 - len(examples)
    assert lie_inside(lambda x: ask(network[:2], x), x, rows, examples.moved, 2).all()
    assert (np.linalg.norm(examples.moved - x[rows], axis=1) <= 1.5 * (1 + 1e-5)).all()
    assert (ask(network, examples.moved).argmax(axis=1) != data.y[rows]).all()


def test_an_injective_scaling_of_all_vectors_changes_nothing():
    data = make_data()
    model = KNeighborsClassifier(5).fit(data.x, data.labels)
    options = {"constraints": "genuine-max", "attacks": "random(queries=200)"}
    values = [
        st.worst_case(model, data, 1.0, embedding=f, **options).curves[0].accuracies[0].withstood
        for f in (lambda x: x, lambda x: 4 * x)
    ]
    np.testing.assert_array_equal(*values)


def test_tables_are_embedded_with_all_their_columns():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.normal(size=40), "job": rng.choice(["cook", "smith"], 40)})
    y = (frame["age"] > 0).to_numpy().astype(int)
    data = st.make_dataset(frame, y)

    def embed(rows):
        return np.stack([rows["age"], 10 * (rows["job"] == "cook")], axis=1).astype(float)

    def model(rows):
        return (rows["age"] > 0.2).to_numpy().astype(int)

    options = {"constraints": "genuine-max", "attacks": "random(queries=100)"}
    found = st.worst_case(model, data, 0.5, embedding=embed, **options)
    examples = found.curves[0].accuracies[0].examples
    assert len(examples)
    moved = data.decode(examples.moved)
    assert lie_inside(lambda rows: rows, embed(frame), examples.rows, embed(moved), 2).all()


def test_results_are_kept_by_the_identity_of_the_embedding(tmp_path):
    data, file = make_data(), tmp_path / "r.db"
    model = KNeighborsClassifier(5).fit(data.x, data.labels)
    options = {"constraints": "genuine-max", "store": file, "points": 20}
    options["attacks"] = "random(queries=100)"
    calls = []

    def counted(x):
        calls.append(len(x))
        return bend(x)

    first = st.worst_case(model, data, 1.0, embedding=Embedding(counted, id="bend"), **options)
    asked = sum(calls)
    again = st.worst_case(model, data, 1.0, embedding=Embedding(counted, id="bend"), **options)
    assert sum(calls) - asked < asked / 10
    np.testing.assert_array_equal(
        first.curves[0].accuracies[0].withstood, again.curves[0].accuracies[0].withstood
    )
    same = Embedding(lambda x: x, id="same")
    other = st.worst_case(model, data, 1.0, embedding=same, **options)
    plain = st.worst_case(model, data, 1.0, **options)
    with st.Store(file) as store:
        records = store.everything().attacks
    assert {r.embedding for r in records} == {"counted (id bend)", "<lambda> (id same)", ""}
    assert len({r.key for r in records}) == 3
    st.worst_case(model, data, 1.0, embedding=counted, **options)  # a function without an ID
    with st.Store(file) as store:
        assert len(store.everything().attacks) == 3
    restored = restore(records, data)
    assert len(restored) == 3
    for found in (first, other, plain):
        where = found.curves[0].attacked.embedding
        (kept,) = (each for each in restored if each.curves[0].attacked.embedding == where)
        np.testing.assert_array_equal(
            kept.curves[0].accuracies[0].withstood, found.curves[0].accuracies[0].withstood
        )
        assert bool(where) == any("embedded by" in note for note in kept.notes)


def test_what_does_not_fit_an_embedding_is_refused():
    data = make_data()
    model = KNeighborsClassifier(5).fit(data.x, data.labels)
    with pytest.raises(InputError, match="constraints='genuine-max'"):
        st.worst_case(model, data, 1.0, embedding=bend)
    with pytest.raises(InputError, match="coincide in embedding"):
        st.worst_case(
            model, data, 1.0, constraints="genuine-max", embedding=lambda x: np.sign(x[:, :1])
        )
    plane = st.make_dataset(data.x[:, :2], data.labels)
    model = KNeighborsClassifier(5).fit(plane.x, plane.labels)
    with pytest.raises(InputError, match="or of an embedding"):
        st.worst_case(
            model, plane, 1.0, constraints="genuine-max", embedding=lambda x: x, attacks="cover"
        )
    found = st.worst_case(
        model, plane, 1.0, constraints="genuine-max", embedding=lambda x: x, attacks="rays"
    )
    assert type(found.draw_map()).__name__ == "_LayerChart"


MODULE = "import numpy as np\ndef bend(x):\n    return np.stack([x[:, 0], x[:, 1] ** 3], axis=1)\n"


def test_the_command_takes_an_embedding(tmp_path, monkeypatch, capsys):
    (tmp_path / "bends.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["--model", "1nn", "--data", "bands(n=60)", "--embedding", "bends:bend"]
    genuine = ["--constraint", "genuine-max", "--eps", "0.1", "--json"]
    assert main(["adversary", *words, *genuine, "--store", "r.db", "--report", "p.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["curves"][0]["embedding"] == "bends:bend"
    assert any("embedded by bends:bend" in note for note in found["notes"])
    assert main(["adversary", *words, "--eps", "0.1"]) == 2
    assert "--constraint genuine-max" in capsys.readouterr().err
    agreement = ["--agreement", "neither", "--model", "svm", "--json"]
    assert main(["adversary", *words, *agreement]) == 0
    capsys.readouterr()
    sys.modules.pop("bends", None)
