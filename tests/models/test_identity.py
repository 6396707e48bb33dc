import subprocess
import sys
import threading
import types
from functools import partial

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from shaketable.models.identity import content_hash

X, Y = load_iris(return_X_y=True)
MODELS = {
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(1, algorithm="kd_tree"),
    "svm": SVC,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_training_gives_the_same_hash_and_other_data_another(name):
    first = content_hash(MODELS[name]().fit(X, Y))
    assert first is not None
    assert first == content_hash(MODELS[name]().fit(X, Y))
    changed = X.copy()
    changed[0, 0] += 1e-9 if name == "neighbours" else 1
    assert first != content_hash(MODELS[name]().fit(changed, Y))
    assert first != content_hash(MODELS[name]().fit(X, (Y + 1) % 3))


def test_predicting_does_not_change_the_identity():
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    before = content_hash(model)
    model.predict(X)
    assert content_hash(model) == before


def test_parameters_count():
    assert content_hash(SVC(C=1.0)) != content_hash(SVC(C=2.0))


def test_the_hash_is_the_same_in_another_process():
    code = (
        "from sklearn.datasets import load_iris\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "from shaketable.models.identity import content_hash\n"
        "model = RandomForestClassifier(5, random_state=0).fit(*load_iris(return_X_y=True))\n"
        "print(content_hash(model))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == content_hash(MODELS["forest"]().fit(X, Y))


def test_what_cannot_be_seen_has_no_identity():
    secret = 3
    assert content_hash(lambda x: x + secret) is None
    assert content_hash(FunctionTransformer(lambda x: x)) is None
    assert content_hash(threading.Lock()) is None  # an object that cannot be saved


def test_padding_between_fields_is_not_content():
    padded = np.dtype(
        {"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16}
    )
    raw = np.zeros(2, padded)
    dirty = np.frombuffer(bytearray(b"\xff" * 32), padded).copy()
    dirty["a"], dirty["b"] = raw["a"], raw["b"]
    assert content_hash(raw) == content_hash(dirty)


def test_cycles_end():
    loop: list[object] = []
    loop.append(loop)
    assert content_hash(loop) is not None


@pytest.mark.parametrize("name", MODELS)
def test_predicting_and_saving_leave_the_identity_alone(name, tmp_path):
    model = MODELS[name]().fit(X, Y)
    before = content_hash(model)
    model.predict(X)
    assert content_hash(model) == before
    joblib.dump(model, tmp_path / "m.joblib")
    assert content_hash(joblib.load(tmp_path / "m.joblib")) == before


def test_shared_parts_count_like_copies():
    part = np.arange(3)
    assert content_hash([part, part]) == content_hash([part, part.copy()])
    assert content_hash([part, part]) != content_hash([part, part + 1])


def _double(x):
    return x * 2.0


def _treble(x):
    return x * 3.0


def _rooted(x):
    return np.sqrt(x)


def _logged(x):
    return np.log(x)


def test_functions_count_by_what_they_do():
    for one, two in [(_double, _treble), (_rooted, _logged)]:
        one.__qualname__ = two.__qualname__ = "same"
        assert content_hash(FunctionTransformer(one)) != content_hash(FunctionTransformer(two))


def test_classes_of_ones_own_count_by_their_methods():
    def make(threshold):
        code = f"class Mine:\n    def predict(self, x):\n        return x > {threshold}\n"
        scope = {"__name__": "mine"}
        exec(code, scope)
        return scope["Mine"]

    assert content_hash(make(0.5)()) == content_hash(make(0.5)())
    assert content_hash(make(0.5)()) != content_hash(make(0.9)())


def test_constants_and_wrapped_methods_of_ones_own_classes_count():
    def make(factor, shift):
        code = (
            "import functools\n"
            "def logged(f):\n    return functools.wraps(f)(lambda *a: f(*a))\n"
            f"class Mine:\n    factor = {factor}\n"
            f"    @logged\n    def predict(self, x):\n        return x + {shift}\n"
            "    @staticmethod\n    def rule(x):\n        return x\n"
        )
        scope = {"__name__": "mine"}
        exec(code, scope)
        return content_hash(scope["Mine"]())

    assert make(1, 0.5) == make(1, 0.5)
    assert len({make(1, 0.5), make(2, 0.5), make(1, 0.7), None}) == 4


PLAIN = "class Mine:\n    def predict(self, x):\n        return x > 0\n"
SAME_NAME = {  # functions called f, each of which answers differently
    "as it is": "def f(x, scale=1.0, *, shift=0.0):\n    return scale * x + shift",
    "another default": "def f(x, scale=2.0, *, shift=0.0):\n    return scale * x + shift",
    "another keyword default": "def f(x, scale=1.0, *, shift=1.0):\n    return scale * x + shift",
    "another constant": "def f(x, scale=1.0, *, shift=0.0):\n    return scale * x + shift + 1",
    "another operation": "def f(x, scale=1.0, *, shift=0.0):\n    return scale * x - shift",
    "another attribute": "def f(x, scale=1.0, *, shift=0.0):\n    return scale * x.T + shift",
}
BASES = {  # classes called Mine, whose instances answer differently
    "no base": PLAIN,
    "a base": f"{PLAIN.replace('Mine', 'Base')}class Mine(Base):\n    pass\n",
    "another base": f"{PLAIN.replace('Mine', 'Base').replace('0', '1')}"
    "class Mine(Base):\n    pass\n",
    "property": f"{PLAIN}    @property\n    def limit(self):\n        return 1\n",
    "another property": f"{PLAIN}    @property\n    def limit(self):\n        return 2\n",
    "static method": f"{PLAIN}    @staticmethod\n    def limit():\n        return 3\n",
    "another static method": f"{PLAIN}    @staticmethod\n    def limit():\n        return 4\n",
    "class method": f"{PLAIN}    @classmethod\n    def limit(cls):\n        return 5\n",
    "another class method": f"{PLAIN}    @classmethod\n    def limit(cls):\n        return 6\n",
    "constant": f"{PLAIN}    limit = 1\n",
    "another constant": f"{PLAIN}    limit = 2\n",
}


def define(code, name):
    scope = {"__name__": "mine"}
    exec(code, scope)
    return scope[name]


def test_whatever_changes_in_a_function_changes_its_hash():
    hashes = {kind: content_hash(define(code, "f")) for kind, code in SAME_NAME.items()}
    assert None not in hashes.values()
    assert len(set(hashes.values())) == len(SAME_NAME)
    assert hashes["as it is"] == content_hash(define(SAME_NAME["as it is"], "f"))


def test_whatever_changes_in_a_class_changes_the_hash_of_its_objects():
    hashes = {kind: content_hash(define(code, "Mine")()) for kind, code in BASES.items()}
    assert None not in hashes.values()
    assert len(set(hashes.values())) == len(BASES)
    assert hashes["a base"] == content_hash(define(BASES["a base"], "Mine")())


def test_the_version_of_a_package_counts(monkeypatch):
    def hash_under(version):
        module = types.SimpleNamespace(__version__=version)
        monkeypatch.setitem(sys.modules, "mine", module)
        return content_hash(define(PLAIN, "Mine")())

    assert hash_under("1.0") == hash_under("1.0") != hash_under("2.0")


def test_functions_with_a_closure_have_no_identity():
    def make(limit):
        def answer(x):
            return x > limit

        answer.__qualname__ = "answer"
        return answer

    assert content_hash(make(1)) is content_hash(make(2)) is None


def test_a_partial_counts_by_its_function_arguments_and_keywords():
    made = [
        partial(_double),
        partial(_treble),
        partial(_double, 1),
        partial(_double, 2),
        partial(_double, x=1),
        partial(_double, x=2),
    ]
    hashes = [content_hash(each) for each in made]
    assert None not in hashes
    assert len({*hashes}) == len(made)
    assert content_hash(partial(_double, 1)) == hashes[2]


GLOBALS = {  # callable objects that answer differently, though their classes read the same
    "global": ("NET = {0}\n", "NET"),
    "in a function": ("NET = {0}\ndef ask(x):\n    return x > NET\n", "ask(x)"),
    "in a compiled one": ("NET = {0}\n@njit\ndef ask(x):\n    return x > NET\n", "ask(x)"),
    "in a class": ("class Net:\n    limit = {0}\n", "Net().limit"),
    "inside": ("NET = {0}\n", "[NET for _ in x]"),
}


@pytest.mark.parametrize("kind", GLOBALS)
def test_what_a_method_finds_in_its_module_counts(kind):
    before, answer = GLOBALS[kind]
    method = f"class Mine:\n    def __call__(self, x):\n        return {answer}\n"
    header = "from numba import njit\n"
    hashes = [content_hash(define(header + before.format(v) + method, "Mine")()) for v in "112"]
    assert hashes[0] == hashes[1] is not None
    assert hashes[2] not in (hashes[0], None)


def test_what_a_method_finds_around_its_class_counts():
    def make(limit):
        class Mine:
            def __call__(self, x):
                return x > limit

        return Mine()

    assert content_hash(make(1)) == content_hash(make(1)) != content_hash(make(2))
    assert content_hash(make(threading.Lock())) is None


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers(-3, 3) | some.text("ab", max_size=3),
    lambda parts: (
        some.lists(parts, max_size=3)
        | some.lists(parts, max_size=3).map(tuple)
        | some.dictionaries(some.text("ab", max_size=2), parts, max_size=3)
    ),
    max_leaves=6,
)


def describe_type(value):
    """The value with the types of all its parts: True is not 1 here, nor [1] like (1,)."""
    if isinstance(value, dict):
        return "dict", frozenset((key, describe_type(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(describe_type, value))
    return type(value).__name__, value


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_values_have_the_same_hash_exactly_if_they_are_the_same(one, two):
    assert (content_hash(one) == content_hash(two)) == (describe_type(one) == describe_type(two))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2, np.float32), np.zeros(1, np.float64)),
        (np.zeros(2, np.int64), np.zeros(2, np.uint64)),
        (np.array(["a", "bc"], object), np.array(["ab", "c"], object)),
        (["a", "bc"], ["ab", "c"]),
        ([b"a", b""], [b"", b"a"]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, [1, 2]),
        ({1, 2}, {1, 3}),
    ],
)
def test_what_differs_in_shape_type_or_order_differs(one, two):
    assert None is not content_hash(one) != content_hash(two) is not None


def test_cycles_count_by_where_they_lead():
    inner: list[object] = []
    outer = [inner]
    inner.append(outer)  # the inner list leads back to the outer one
    own: list[object] = []
    own.append(own)  # this one to itself
    assert None is not content_hash(outer) != content_hash([own]) is not None


NET = """
import torch
from torch import nn

def net(**options):
    torch.manual_seed(0)
    o = dict(stride=1, rate=0.5, act=nn.functional.relu, dtype=torch.float32) | options
    layer = nn.TransformerEncoderLayer(4, 2, 8, o["rate"], o["act"])
    parts = [nn.Conv2d(1, 4, 3, o["stride"]), nn.BatchNorm2d(4), nn.LSTM(4, 4), layer]
    return nn.Sequential(*parts).to(o["dtype"])
"""


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def net(torch):
    scope = {}
    exec(NET, scope)
    return scope["net"]


def test_modules_of_the_same_weights_have_the_same_hash(torch, net, tmp_path):
    first, other = net(), net()
    other[0].eval()
    for parameter in other.parameters():
        parameter.grad = torch.ones_like(parameter)
    other[0].weight.requires_grad_(False)
    other[0].to(memory_format=torch.channels_last)
    assert content_hash(first) == content_hash(other) is not None
    torch.save(first, tmp_path / "m.pt")
    loaded = torch.load(tmp_path / "m.pt", weights_only=False)
    assert content_hash(loaded) == content_hash(first)


def test_a_module_has_the_same_hash_in_another_process(net):
    code = NET + "from shaketable.models.identity import content_hash\nprint(content_hash(net()))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == content_hash(net())


def test_whatever_changes_in_a_module_changes_its_hash(torch, net):
    def changed(change):
        module = net()
        with torch.no_grad():
            change(module)
        return content_hash(module)

    kinds = {
        "same": content_hash(net()),
        "stride": content_hash(net(stride=2)),
        "dropout": content_hash(net(rate=0.4)),
        "function": content_hash(net(act=torch.nn.functional.gelu)),
        "float16": content_hash(net(dtype=torch.float16)),
        "bfloat16": content_hash(net(dtype=torch.bfloat16)),
        "weight": changed(lambda m: m[0].weight[0, 0, 0, 0].add_(1e-6)),
        "buffer": changed(lambda m: m[1].running_var[0].add_(1e-6)),
        "tensor": changed(lambda m: setattr(m, "mean", torch.zeros(1))),
        "private": changed(lambda m: setattr(m, "_temperature", 2.0)),
        "order": changed(lambda m: setattr(m, "_modules", dict(reversed(m._modules.items())))),
        "class": changed(lambda m: m.append(torch.nn.ReLU())),
        "another class": changed(lambda m: m.append(torch.nn.Tanh())),
    }
    assert None not in kinds.values()
    assert len(set(kinds.values())) == len(kinds)


def test_a_module_that_says_itself_what_its_state_is_counts_by_that(torch):
    class Told(torch.nn.Linear):
        def __getstate__(self):
            return self.weight.tolist()

    torch.manual_seed(0)
    one, other = Told(2, 1), Told(2, 1)
    assert None is not content_hash(one) != content_hash(other)
    other.weight.data.copy_(one.weight)
    assert content_hash(one) == content_hash(other)


def test_numbers_of_any_type_count_in_tensors(torch):
    numbers = torch.arange(6).reshape(2, 3)
    for dtype in (torch.bfloat16, torch.float64, torch.uint8, torch.bool, torch.complex64):
        of_type = numbers.to(dtype)
        assert content_hash(of_type) == content_hash(of_type.T.contiguous().T) is not None
        assert content_hash(of_type) != content_hash(of_type.reshape(3, 2))
    halves = torch.zeros(2, dtype=torch.float16), torch.zeros(2, dtype=torch.bfloat16)
    assert len({content_hash(half) for half in halves}) == 2
    assert content_hash(torch.tensor(1.0)) != content_hash(torch.tensor([1.0]))


def test_a_module_that_cannot_be_seen_into_has_no_identity(torch, net):
    nn = torch.nn

    def hooked(module, kind):
        getattr(module[0], f"register_{kind}")(lambda *_: None)
        return module

    def patched(module):
        module.forward = lambda x: x
        return module

    hidden = [
        hooked(net(), "forward_hook"),
        hooked(net(), "forward_pre_hook"),
        patched(net()),
        nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
        nn.LazyLinear(2),
        nn.Linear(2, 2, device="meta"),
    ]
    assert [content_hash(module) for module in hidden] == [None] * len(hidden)
    special = type("Special", (torch.Tensor,), {})  # may mean more than its numbers
    assert content_hash(torch.eye(2).as_subclass(special)) is None
    assert content_hash(torch.eye(2).to_sparse()) is None
