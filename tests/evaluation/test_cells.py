import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.threshold import X, Y, list_hits, threshold
from shaketable.corruptions import parse
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation import cells as cells_module
from shaketable.evaluation.cells import Cell, Origin, make_points
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.noise import Noise

LEVELS = ["linf(0.05)", "l2(0.1)", "l1(0.2)"]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 200))
def test_batches_do_not_matter(batch):
    whole = list_hits(evaluate(threshold, (X, Y), LEVELS, k=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "BATCH_VALUES", batch)
        assert list_hits(evaluate(threshold, (X, Y), LEVELS, k=5)) == whole


def test_memory_does_not_grow_with_k(monkeypatch):
    monkeypatch.setattr(cells_module, "BATCH_VALUES", 1000)
    largest = 0

    def model(x):
        nonlocal largest
        largest = max(largest, x.size)
        return threshold(x)

    evaluate(model, (X, Y), ["linf(0.1)"], k=500)
    assert largest <= 1000


def test_rows_per_batch_are_limited_too(monkeypatch):
    monkeypatch.setattr(cells_module, "BATCH_ROWS", 100)
    largest = 0

    def model(x):
        nonlocal largest
        largest = max(largest, len(x))
        return threshold(x)

    evaluate(model, (X, Y), ["linf(0.1)"], k=50)
    assert largest <= 100


def _cell(**changes):
    data = changes.pop("data", make_dataset(X, Y))
    noise = Noise(**{"k": 3, "seed": 0, **changes.pop("noise", {})})
    spec = changes.pop("spec", "linf(0.1)")
    points = make_points(data, changes.pop("rows", np.arange(30)))
    return Cell(
        data, points, parse(spec), noise, Origin("m", "r", "clean"), changes.pop("model", "id")
    )


CHANGES = {
    "corruption": {"spec": "linf(0.2)"},
    "k": {"noise": {"k": 4}},
    "seed": {"noise": {"seed": 1}},
    "run": {"noise": {"run": 1}},
    "draws": {"noise": {"draws": "shared"}},
    "bounds": {"noise": {"bounds": Bounds(0, 1)}},
    "rule": {"noise": {"bounds": Bounds(0, 1, "truncate")}},
    "points": {"rows": np.arange(1, 31)},
    "model": {"model": "other"},
    "values": {"data": make_dataset(X + 1e-12, Y)},
    "labels": {"data": make_dataset(X, 1 - Y)},
    "class order": {"data": make_dataset(X, Y, classes=(1, 0))},
    "dtype": {"data": make_dataset(X.astype(np.float32), Y)},
}


def test_a_cells_key_tells_all_that_its_counts_depend_on():
    keys = {name: _cell(**change).key for name, change in CHANGES.items()}
    keys["nothing"] = _cell().key
    assert len(set(keys.values())) == len(keys)
    assert _cell().key == _cell().key
    # clean points depend neither on k nor on bounds nor on how noise is drawn
    clean = [_cell(spec="clean", **CHANGES[name]).key for name in ("k", "draws", "bounds")]
    assert {*clean, _cell(spec="clean").key} == {clean[0]}


@pytest.mark.parametrize("name", ["corruption", "seed", "run", "values"])
def test_noise_follows_from_data_stream_run_and_seed(name):
    def keys(cell):
        return cell.noise.keys(cell.data, cell.corruption, np.arange(5), np.arange(2))

    assert not np.isin(keys(_cell(**CHANGES[name])), keys(_cell())).any()
    np.testing.assert_array_equal(keys(_cell(**CHANGES["k"])), keys(_cell()))
    np.testing.assert_array_equal(keys(_cell(**CHANGES["model"])), keys(_cell()))


def test_keys_do_not_change_from_version_to_version():
    """Results files are looked up by them."""
    data = make_dataset(np.arange(12.0).reshape(6, 2), [0, 1] * 3)
    points = make_points(data, np.arange(2, 6))
    device = Noise(k=3, seed=7, run=2, draws="ladder", bounds=Bounds(0, 11), on_device=True)
    expected = {
        "clean": (Noise(k=3, seed=0), "9f5c6c7a96b13086e18f1bb945e1538d"),
        "linf(0.1)": (Noise(k=3, seed=0), "d5d4bbfb71de4c779964b3bf9f10ddaf"),
        "l2(0.5)": (device, "94a98d93d6279141029583a76f868a4c"),
    }
    for spec, (noise, key) in expected.items():
        assert Cell(data, points, parse(spec), noise, Origin("m", "r", "clean"), "id").key == key
    keys = device.keys(data, parse("l2(0.5)"), np.arange(2), np.arange(2))
    assert int(keys[1, 1]) == 0x8DEE9D47829C1E16


IMAGES = np.random.default_rng(3).integers(256, size=(24, 8, 8, 3), dtype=np.uint8)
IMAGES[::2] //= 2


def mark_bright(x):
    """Label of an image by its brightest corner: exact, so that equal points get equal answers."""
    return (x[:, :2, :2].reshape(len(x), -1).max(axis=1) > 0.7).astype(int)


@pytest.mark.parametrize("bounds", ["declared", (0, 1), (-1, 2), None])
def test_levels_and_floats_give_the_same_answers(monkeypatch, bounds):
    specs = [
        "clean",
        "fog(3)",
        "jpeg_compression(5)",
        "sp(0.2)",
        "ga(0.1)",
        "sp(0.1) + rotation(30)",
    ]
    specs = [*specs, "l0(0.1)", "linf(0.1)", "l2(2) + fog(2)"] if bounds else ["clean", "linf(0.1)"]
    data, kinds = make_dataset(IMAGES, np.arange(24) % 2), set()

    def model(x):
        kinds.add((x.dtype.name, bool((x <= 2).all())))
        return mark_bright(x)

    records = evaluate(model, data, specs, k=2, bounds=bounds)
    assert kinds == {("float32", True)}
    assert {record.setting.dtype for record in records} == {"float32"}
    levels = [
        cells_module._Group.of([_cell(data=data, spec=spec, rows=np.arange(24))]).on_levels
        for spec in ("clean", "fog(3)", "linf(0.1)")
    ]
    assert levels == [True, True, False]
    monkeypatch.setattr(cells_module._Group, "on_levels", False)
    assert list_hits(evaluate(model, data, specs, k=2, bounds=bounds)) == list_hits(records)
