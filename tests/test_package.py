import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from shaketable import training
from shaketable.core.errors import InputError

ROOT = Path(st.__file__).parent
MODULES = {
    "adversary", "corruptions", "data", "evaluation", "figures", "findings", "maite", "metrics",
    "models", "reproductions", "separations", "statistics", "training",
}  # fmt: skip
"""Public names of the package that are modules."""


def test_functions_are_not_shadowed_by_modules():
    code = (
        "import shaketable.separations.separation, shaketable.evaluation.evaluate\n"
        "import shaketable.evaluation.study\n"
        "import shaketable as st\n"
        "names = ('separation', 'evaluate', 'study', 'suite', 'assess')\n"
        "assert all(callable(getattr(st, name)) for name in names)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_oldest_versions_tested_are_those_admitted():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["parquet"], *extras["onnx"], *extras["image"]]
    others = ("shaketable", "selenium", "xgboost", "skl2onnx")  # large, and for few tests
    needed += [line for line in extras["test"] if not line.startswith(others)]
    needed += [
        line for line in extras["docs"] if line.startswith(("onnx>", "pytest>", "numpydoc>"))
    ]
    admitted = dict(line.split(">=") for line in needed if ">=" in line)
    lines = (root / ".ci" / "oldest.txt").read_text().splitlines()
    assert dict(line.split("==") for line in lines if not line.startswith("#")) == admitted


def test_assess_tells_the_whole_story(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 2))
    y = np.where(x[:, 0] > 0.5, "b", "a")

    def model(points):
        return np.where(points[:, 0] + 0.02 * np.sin(40 * points[:, 1]) > 0.5, "b", "a")

    result = st.assess(model, (x[:120], y[:120]), (x[120:], y[120:]), k=5)
    text = str(result)
    assert f"eps_min = {result.epsilon_min:.6g}" in text
    assert "80 test points, 5 noisy copies" in text
    assert result.verdict in text
    assert result.separation.by_part.keys() == {"train-train", "train-test", "test-test"}
    assert result.epsilon_min == st.separation(x, y).epsilon_min
    assert result.report(tmp_path / "page.html").stat().st_size > 10_000


def test_assess_refits_and_scales():
    data = st.load("wine")
    train, test = data.parts()
    pairs = [(data.x[rows], data.labels[rows]) for rows in (train, test)]
    from sklearn.neighbors import KNeighborsClassifier

    raw = st.assess(KNeighborsClassifier(1), *pairs, refit=True)
    scaled = st.assess(KNeighborsClassifier(1), *pairs, refit=True, scale=True)
    assert any("2,645" in note or "factor" in note for note in raw.notes)
    (size,) = scaled.notes  # of ranges nothing
    assert size.startswith("L-inf eps_min = ")
    assert scaled.epsilon_min < raw.epsilon_min
    assert scaled.clean.value > raw.clean.value  # 1-NN gains by equal scales
    fitted = KNeighborsClassifier(1).fit(*pairs[0])
    in_raw_units = st.assess(fitted, *pairs, scale=True)
    assert in_raw_units.clean.value == raw.clean.value


def test_suites_are_lists_of_specs():
    assert len(st.suite("mscr-2d").names) == 8
    with pytest.raises(st.InputError, match="did you mean 'mscr-2d'"):
        st.suite("mscr-d2")


@pytest.mark.parametrize("stub", sorted(ROOT.rglob("__init__.pyi")), ids=lambda p: p.parent.name)
def test_public_names_of_a_stub_can_be_had_whatever_is_imported_before(stub):
    name = ".".join(stub.relative_to(ROOT.parent).parent.parts)
    if name == "shaketable.training":
        pytest.importorskip("torch")
    package = importlib.import_module(name)
    imports = [n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom)]
    homes = {(a := n.names[0]).asname: (n.module, a.name) for n in imports if len(n.names) == 1}
    assert len(homes) == len(imports), "one import per name"
    assert sorted(homes) == package.__all__
    for module in pkgutil.iter_modules(package.__path__):  # importing one sets an attribute
        if module.name in homes:
            importlib.import_module(f"{name}.{module.name}")
    for public, (home, original) in homes.items():
        value = getattr(package, public)
        is_module = inspect.ismodule(value)
        assert value is (
            sys.modules[f"{home}.{original}"]
            if is_module
            else getattr(importlib.import_module(home), original)
        )
        assert not is_module or public not in st.__all__ or public in MODULES
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'asess'"):
        _ = package.asess


def test_training_without_torch_says_how_to_install_it(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(training, "_get_name", fail)
    with pytest.raises(InputError, match=r"training.Noise needs torch.*'shaketable\[torch\]'"):
        training.__getattr__("Noise")
