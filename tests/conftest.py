"""Fixtures that tests of several packages use."""

import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from helpers.findings import find_once
from shaketable.core.types import Array, IntArray
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.data.builtin import build
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit
from shaketable.models.loading import load_model

settings.register_profile("any speed", deadline=None)  # machines may be busy
settings.load_profile("any speed")

LONG_NOTES = ("a note that is as long as notes may be; " * 6,) * 3
LEVELS = ["linf(0.005)", "linf(eps_min)", "linf(0.03)"]


@pytest.fixture
def own_directory(tmp_path, monkeypatch):
    """Run the test in an empty working directory; what it adds to imports is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    own = [
        name
        for name, module in sys.modules.items()
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path))
    ]
    for name in own:  # the next test may have a module of this name
        del sys.modules[name]


@pytest.fixture(scope="session")
def data() -> Dataset:
    return build("bands(n=200)")


@pytest.fixture(scope="session")
def noise_records(data: Dataset) -> Records:
    """Two fitted models under three levels of noise."""
    records = Records(())
    for name in ("svm", "1nn"):
        model = fit(builtin(name), data, np.arange(120), seed=0)
        records += evaluate(model, data, LEVELS, name=name)
    return records


def classify_by_half(x: Array) -> IntArray:
    """Classify 8 x 8 images by the mean of the upper half."""
    return (x[:, :4].mean(axis=(1, 2)) > 0.5).astype(int)


def classify_by_whole(x: Array) -> IntArray:
    """Classify images by the mean of all values."""
    return (x.mean(axis=(1, 2)) > 0.5).astype(int)


@pytest.fixture(scope="session")
def tiles() -> Dataset:
    """Images of 8 x 8 values in two classes that overlap."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    x = np.clip(0.48 + 0.04 * y[:, None, None] + rng.normal(0, 0.2, (120, 8, 8)), 0, 1)
    return make_dataset(x, y, bounds=(0, 1), name="tiles")


@pytest.fixture(scope="session")
def two_factor_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results file of three models under the suite two-factor."""
    path = tmp_path_factory.mktemp("two-factor") / "s.sqlite"
    shapes = build("shapes(n=300)")
    for name in ("logistic", "rf", "1nn"):
        model, _ = load_model(name)
        evaluate(model, shapes, suite("two-factor"), store=path, name=name, refit=True)
    return path


@pytest.fixture(scope="session")
def suite_records(tiles: Dataset) -> Records:
    """Two models under two suites with derived sizes."""
    records = Records(())
    for name, model in (("half", classify_by_half), ("whole", classify_by_whole)):
        records += evaluate(model, tiles, [suite("pnorm"), suite("ice")], name=name, model_id=name)
    return records


@pytest.fixture(scope="session")
def ice_records(suite_records: Records) -> Records:
    """Two models under the smaller one of the two suites."""
    ice = suite_records.suites[1]
    cells = (c for c in suite_records if c.corruption in {"clean", *ice.specs})
    return Records(tuple(cells), suites=(ice,))


@pytest.fixture(scope="session")
def suite_page(suite_records: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of the two models under two suites, with long notes."""
    from shaketable.findings.page import write_report  # tests on a GPU need none of its packages

    path = tmp_path_factory.mktemp("page") / "s.html"
    return write_report(path, replace(find_once(suite_records), notes=LONG_NOTES))


@pytest.fixture(scope="session")
def noise_page(noise_records: Records, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of the two models under three levels of noise, with long notes."""
    from shaketable.findings.page import write_report

    path = tmp_path_factory.mktemp("page") / "n.html"
    return write_report(path, replace(find_once(noise_records), notes=LONG_NOTES))


@pytest.fixture
def heeded_interrupts():
    """Let SIGINT interrupt: a shell that runs the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def one_thread():
    """Let torch use one thread: those of small networks would wait for each other."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
