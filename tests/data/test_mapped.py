"""Points in a file that is mapped: the same results, and never in memory at once."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from shaketable.core import arrays
from shaketable.core.errors import InputError
from shaketable.data import array_files
from shaketable.data.arrays import make_dataset
from shaketable.data.columns import Columns
from shaketable.data.files import load
from shaketable.evaluation import cells
from shaketable.evaluation.evaluate import evaluate
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import separation


def write(folder: Path, n: int, shape: tuple[int, ...] = (32, 32, 3)) -> Path:
    x = np.lib.format.open_memmap(folder / "x.npy", "w+", np.uint8, (n, *shape))
    x[:, 0, 0, 0] = np.arange(n) % 256
    x[:, 1, 1, 1] = np.arange(n) // 256
    np.save(folder / "labels.npy", np.arange(n) % 256 % 3)
    return folder / "x.npy"


def classify(x: np.ndarray) -> np.ndarray:
    return np.rint(x[:, 0, 0, 0] * 255).astype(int) % 3


def test_results_are_those_of_the_same_array_in_memory(tmp_path: Path) -> None:
    path = write(tmp_path, 60, (4, 4, 3))
    mapped, plain = load(path), make_dataset(np.load(path), np.arange(60) % 3)
    assert arrays.is_mapped(mapped.x)
    assert not arrays.is_mapped(plain.x)
    assert mapped.fingerprint == plain.fingerprint
    assert separation(mapped).epsilon_min == separation(plain).epsilon_min
    specs = ["linf(0.05)", "l2(0.2)", "missing(0.1)"]
    pairs = zip(
        *(evaluate(classify, data, specs, model_id="m") for data in (mapped, plain)), strict=True
    )
    for first, second in pairs:
        assert first.key == second.key
        np.testing.assert_array_equal(first.hits, second.hits)


def test_the_array_is_never_loaded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 5000)  # 15 MB, as floats 61 MB
    for module, name in ((arrays, "BLOCK_VALUES"), (cells, "BATCH_VALUES")):
        monkeypatch.setattr(module, name, 1 << 17)
    tracemalloc.start()
    try:
        data = load(path)
        records = evaluate(classify, data, ["linf(0.001)", "missing(0.1)"], k=1, model_id="m")
        sample = data.sample(100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert records.cells[0].accuracy == 1
    assert sample.n == 100
    assert peak < data.x.nbytes / 2, f"{peak / 1e6:.0f} MB at once"


@pytest.mark.parametrize("shape", [(900, 7), (3, 1000), (400, 2)])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_blocks_change_no_number(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], kind: str
) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(kind)
    whole = make_dataset(x, np.arange(len(x)) % 2).fingerprint
    monkeypatch.setattr(arrays, "BLOCK_VALUES", 100)
    assert len(list(arrays.split_rows(x))) > 1
    columns = Columns(lambda: x)
    np.testing.assert_array_equal(columns.mean, x.mean(axis=0, dtype=np.float64))
    np.testing.assert_array_equal(columns.spread, x.std(axis=0, dtype=np.float64))
    assert make_dataset(x, np.arange(len(x)) % 2).fingerprint == whole
    x[-1, 1] = np.inf
    with pytest.raises(InputError, match=f"got inf in row {len(x) - 1} .from 0., feature 1; drop"):
        make_dataset(x, np.arange(len(x)) % 2)


def test_what_needs_all_points_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 600)
    for module in (arrays, array_files):
        monkeypatch.setattr(module, "measure_memory", lambda: 1 << 20)
    data = load(path)
    assert not data.x.flags.writeable, "a system may refuse to map a large file for writing"
    with pytest.raises(InputError, match=r"separation needs all points in memory, .* data.sample"):
        separation(data)
    with pytest.raises(InputError, match="1-NN needs all points in memory"):
        one_nn(data)
    with pytest.raises(InputError, match="scaling needs all points in memory"):
        data.scaled()
    assert separation(data.sample(20)).epsilon_min > 0
    assert len(evaluate(classify, data, "linf(0.1)", k=1, model_id="m")) == 2
