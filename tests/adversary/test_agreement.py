from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.commands import run_json
from shaketable.adversary.agreement import Agreement, agreement
from shaketable.core.errors import InputError, UndefinedError
from shaketable.models.onnx_models import OnnxModel
from shaketable.separations.one_nn import one_nn

# discordant counts, differing predictions, p-value and shares of Table 1 (spec, section 3)
TABLE_1 = [
    ((30, 16), 154, 0.0541, (0.1948, 0.1039)),
    ((49, 40), 154, 0.3966, (0.3182, 0.2597)),
    ((7, 11), 54, 0.4807, (0.1296, 0.2037)),
    ((13, 16), 54, 0.7111, (0.2407, 0.2963)),
]


@pytest.mark.parametrize(("counts", "differing", "p_value", "shares"), TABLE_1)
def test_table_1_is_reproduced(counts, differing, p_value, shares):
    found = Agreement(differing, *counts)
    assert round(found.p_value, 4) == p_value
    assert tuple(round(share, 4) for share in found.shares) == shares
    assert not found.significant
    assert Agreement(differing, *counts[::-1]).p_value == pytest.approx(found.p_value)


def test_points_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    train, test = (
        rng.integers(0, 4, (60, 3)).astype(float),
        rng.integers(0, 4, (80, 3)).astype(float),
    )
    labels = np.array(["a", "b", "c"])
    y, truth, one, two = (labels[rng.integers(0, 3, n)] for n in (60, 80, 80, 80))
    nearest = one_nn((train, y), (test, truth), norm="inf")
    differing = single = 0
    expected = {"neither": [0, 0], "majority": [0, 0]}
    for point, first, second in zip(test, one, two, strict=True):
        if first == second:
            continue
        differing += 1
        far = np.abs(train - point).max(axis=1)
        near = y[far == far.min()].tolist()
        most = max(near.count(label) for label in near)
        winners = {label for label in near if near.count(label) == most}
        single += len(near) == 1
        for i, answer in enumerate((first, second)):
            expected["neither"][i] += near == [answer]
            expected["majority"][i] += winners == {answer}
    assert 0 < single < differing
    for ties, counts in expected.items():
        found = agreement(one, two, nearest, ties=ties)
        assert (found.differing, found.first, found.second) == (differing, *counts)
    assert expected["neither"] != expected["majority"]


def test_words_and_json():
    found = Agreement(100, 40, 10, names=("forest", "net"), ties="majority")
    assert found.significant
    assert str(found) == (
        "of 100 differing predictions forest shares 40.00 % with 1-NN, net 10.00 %: "
        "McNemar p = 2.386e-05"
    )
    assert found.json() == {
        "differing": 100,
        "ties": "majority",
        "models": [
            {"model": "forest", "agrees": 40, "share": 40.0},
            {"model": "net", "agrees": 10, "share": 10.0},
        ],
        "p_value": found.p_value,
        "points": [],
    }


def test_models_that_never_differ_have_no_shares():
    nearest = one_nn(([[0.0], [1.0]], [0, 1]), ([[0.2], [0.9]], [0, 1]))
    found = agreement([0, 1], [0, 1], nearest, names=("one", "other"))
    assert str(found) == "one and other never differ"
    assert found.json()["models"][0]["share"] is None
    assert found.p_value == 1
    with pytest.raises(UndefinedError, match="one and other never differ"):
        _ = found.shares


def test_bad_input_is_refused():
    nearest = one_nn(([[0.0], [1.0]], [0, 1]), ([[0.2], [0.9]], [0, 1]))
    with pytest.raises(
        InputError, match="second must have one label for each of the 2 test points"
    ):
        agreement([0, 1], [0], nearest)
    with pytest.raises(InputError, match=r"no label of first is among .* give labels in the same"):
        agreement(["0", "1"], [0, 1], nearest)
    with pytest.raises(InputError, match=r"unknown rule for ties 'majorty'; did you .* 'majority'"):
        agreement([0, 1], [1, 1], nearest, ties="majorty")
    with pytest.raises(InputError, match=r"first \+ second must be at most differing"):
        Agreement(5, 3, 3)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (60, 20, "plain labels more like 1-NN (p < 0.01)"),
        (20, 60, "robust labels more like 1-NN (p < 0.01)"),
        (40, 38, "neither is shown to label more like 1-NN (p >= 0.01)"),
    ],
)
def test_the_model_that_agrees_more_is_named(first, second, words):
    found = Agreement(100, first, second, ("plain", "robust"))
    assert found.words == words
    assert found.shares == (first / 100, second / 100)
    assert [(m["model"], m["agrees"], m["share"]) for m in found.json()["models"]] == [
        ("plain", first, pytest.approx(first)),
        ("robust", second, pytest.approx(second)),
    ]


def test_the_points_that_differ_are_listed():
    x = np.array([[0.0], [2.0], [4.0]])
    nearest = one_nn((x, ["a", "a", "b"]), (np.array([[1.0], [2.1], [4.1]]), ["a", "b", "b"]))
    found = agreement(["a", "a", "b"], ["b", "b", "b"], nearest, names=("forest", "export"))
    assert [(p.row, p.label, p.given, p.nearest) for p in found.points] == [
        (3, "a", ("a", "b"), None),  # midway between two points
        (4, "b", ("a", "b"), "a"),
    ]
    assert found.json()["points"][1] == {
        "row": 4,
        "label": "b",
        "given": ["a", "b"],
        "one_nn": "a",
    }
    table = found.blocks()[-1]
    assert table.header == ["row", "label", "forest", "export", "1-NN"]
    assert [*table.texts()] == [["3", "a", "a", "b", "undecided"], ["4", "b", "a", "b", "a"]]


@pytest.mark.usefixtures("own_directory")
def test_a_forest_and_its_export_differ_only_at_the_points_that_are_listed(capsys):
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    x = np.random.default_rng(0).integers(0, 6, size=(1500, 3)) / 7
    y = np.random.default_rng(1).choice(["no", "yes"], 1500)
    np.savez("d.npz", x_train=x[:700], y_train=y[:700], x_test=x[700:], y_test=y[700:])
    for scaler in ([], [StandardScaler()]):
        forest = RandomForestClassifier(10, random_state=0)
        model = make_pipeline(*scaler, forest).fit(x[:700], y[:700])
        joblib.dump(model, "forest.joblib")
        options = {id(forest): {"zipmap": False}}
        graph = to_onnx(model, x[:1].astype(np.float32), options=options)
        Path("forest.onnx").write_bytes(graph.SerializeToString())
        models = ("--model", "forest=forest.joblib", "--model", "export=forest.onnx", "--trust")
        argv = ("adversary", "--agreement", "neither", "--data", "d.npz", *models, "--quiet")
        (pair,) = run_json(capsys, *argv)["pairs"]
        own, exported = model.predict(x[700:]), OnnxModel("forest.onnx")(x[700:])
        rows = np.flatnonzero(own != exported)
        assert [point["row"] for point in pair["points"]] == (700 + rows).tolist()
        assert [point["given"] for point in pair["points"]] == [
            [own[row], exported[row]] for row in rows
        ]
        assert pair["differing"] == len(rows)
        assert bool(scaler) == (len(rows) > 0), "float32 after a scaler moves points across a split"
