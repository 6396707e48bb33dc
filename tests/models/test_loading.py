import os
import pickle
import subprocess
import sys
from contextlib import suppress

import joblib
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from helpers.evil import check_it_works, make_contents
from helpers.plugin import install_plugin
from shaketable.core.errors import InputError, ModelError
from shaketable.data.arrays import make_dataset
from shaketable.models.builtin import EXAMPLES
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import LOADERS, load_model

X = np.array([[0.0], [0.2], [0.8], [1.0]])
DATA = make_dataset(X, ["no", "no", "yes", "yes"])


def test_models_are_found_by_name_module_and_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_model_for_test.py").write_text("def answer(x):\n    return ['no'] * len(x)\n")
    model, unfitted = load_model("my_model_for_test:answer")
    assert not unfitted
    assert model([1, 2]) == ["no", "no"]
    joblib.dump(KNeighborsClassifier(1).fit(X, DATA.labels), "model.joblib")
    assert as_classifier(load_model("model.joblib", trust=True)[0], DATA)(X).tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert load_model("rf")[1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("rff", "did you mean 'rf'"),
        ("no_such_module:x", "cannot import 'no_such_module'"),
        ("math:no_such", "name an attribute"),
        ("missing.joblib", "does not exist"),
        (":model", "unknown model"),
        ("mine.py:model", "as in mine:model"),
        (
            "sklearn.svm:SVC",
            r"is a class; name an object of it, made in a module as in model = SVC\(…\)$",
        ),
    ],
)
def test_a_model_that_is_not_there_says_so(source, message):
    with pytest.raises(InputError, match=message):
        load_model(source)


def test_a_damaged_model_file_says_so(tmp_path):
    (tmp_path / "bad.pkl").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model(str(tmp_path / "bad.pkl"), trust=True)


class Marks:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("ending", [".pkl", ".pickle", ".joblib", ".pt", ".pth"])
def test_a_file_that_may_hold_code_is_loaded_only_if_it_is_trusted(tmp_path, ending):
    mark, file = tmp_path / "mark", tmp_path / f"model{ending}"
    if ending in (".pt", ".pth"):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        torch.save(Marks(mark), file)
    else:
        file.write_bytes(pickle.dumps(Marks(mark)))
    with pytest.raises(InputError, match=rf"a {ending} file may hold code.* add trust=True, else"):
        load_model(str(file))
    assert not mark.exists()
    with suppress(InputError):  # what it holds is None, not a model
        load_model(str(file), trust=True)
    assert mark.exists(), "the code in it runs"


def test_code_in_a_file_of_any_kind_is_not_run_unless_it_is_trusted(tmp_path):
    mark = tmp_path / "mark"
    check_it_works(mark)
    for kind, content in make_contents(mark).items():
        for ending in LOADERS:
            file = tmp_path / f"{kind.replace(' ', '_')}{ending}"
            file.write_bytes(content)
            for source in (str(file), f"resnet9@{file}"):
                with pytest.raises((InputError, ModelError)):
                    load_model(source, shape=(32, 32, 3))
                assert not mark.exists(), (kind, source)


class Exits:
    def __reduce__(self):
        return (sys.exit, (0,))


def test_a_model_that_ends_the_program_when_it_is_loaded_is_an_error(tmp_path):
    (tmp_path / "exits.pkl").write_bytes(pickle.dumps(Exits()))
    with pytest.raises(ModelError, match=r"exits\.pkl' cannot be loaded: sys\.exit\(0\)$"):
        load_model(str(tmp_path / "exits.pkl"), trust=True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_found_by_name_and_need_no_fit(name):
    model, unfitted = load_model(name)
    assert not unfitted
    assert len(model(np.zeros((3, 1)))) == 3


def test_an_unknown_model_lists_all_endings():
    with pytest.raises(InputError) as error:
        load_model("net.unknown")
    for ending in (".joblib", ".pkl", ".pickle", ".pt", ".pth", ".onnx"):
        assert f"file{ending}" in str(error.value)


def test_every_loader_is_declared_under_its_endings_and_says_what_it_reads():
    for ending, loader in LOADERS.items():
        assert ending in loader.endings
        assert loader.help


def test_loaders_are_declared_without_the_packages_they_need():
    code = (
        "import sys\n"
        "from shaketable.models.loading import LOADERS\n"
        "assert {'.pt', '.onnx', '.joblib'} <= set(LOADERS)\n"
        "assert not {'torch', 'onnxruntime', 'joblib', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_of_torch_without_torch_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "net.pt").write_bytes(b"nothing")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'shaketable\[torch\]'"):
        load_model(str(tmp_path / "net.pt"), trust=True)


TOY = """
def load(path):
    '''One label, for every point.'''
    label = path.read_text()
    if not label:
        raise ValueError("it is empty")
    return lambda x: [label] * len(x)

number = 3
"""


@pytest.fixture
def toy_loader(tmp_path, monkeypatch):
    points = {".toy": "toy_models:load", ".number": "toy_models:number", ".gone": "toy_models:gone"}
    install_plugin(
        monkeypatch, tmp_path, LOADERS, name="toy_models", source=TOY, entry_points=points
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_loader_of_another_package_loads_its_files(toy_loader):
    (toy_loader / "m.toy").write_text("yes")
    model, unfitted = load_model("m.toy")
    assert not unfitted
    assert as_classifier(model, DATA)(X).tolist() == [1, 1, 1, 1]
    assert LOADERS.get(".toy").help == "One label, for every point."


def test_what_a_loader_of_another_package_raises_is_an_error_of_input(toy_loader):
    (toy_loader / "m.toy").write_text("")
    with pytest.raises(InputError, match="^model file 'm.toy' cannot be loaded: it is empty$"):
        load_model("m.toy")
    with pytest.raises(InputError, match="^model file 'none.toy' does not exist; check the path$"):
        load_model("none.toy")
    with pytest.raises(InputError, match=r"file\.toy"):
        load_model("net.unknown")


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (".number", "'.number' must be a ModelLoader or a function from a path .* got int"),
        (".gone", "'.gone' of an installed package cannot be loaded"),
    ],
)
def test_a_loader_that_is_none_is_refused(toy_loader, ending, message):
    with pytest.raises(InputError, match=message):
        load_model(f"m{ending}")
