"""The search on torch devices, against the compiled one."""

import builtins
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaketable.core.errors import InputError
from shaketable.separations.search import blocks
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import pairs_within, search

torch = pytest.importorskip("torch", reason="torch is not installed")
tensors = pytest.importorskip("shaketable.separations.search.tensors")

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
NORMS = [1.0, 2.0, math.inf, 0.5, 1.5, 3.0, 150.0]
DTYPES = ["uint8", "float32", "float64", "float64 in thirds", "float64 far apart"]


def points(rng, n, d, dtype):
    """Few levels, so that many pairs are equally near; floats are no whole numbers."""
    x = rng.integers(0, 4, (n, d))
    if dtype == "uint8":
        return (x * 85).astype(np.uint8)
    if dtype == "float64 in thirds":
        return x / 3
    x = x * 0.1 + rng.normal(size=(n, d)) * rng.integers(0, 2, (n, 1))
    if dtype == "float64 far apart":
        return x * 10.0 ** rng.integers(-6, 7, d) + 1e4
    return x.astype(dtype)


@st.composite
def questions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 90)), draw(st.sampled_from([1, 2, 5, 17, 40]))
    group = rng.integers(0, draw(st.sampled_from([2, 3, 9])), n)
    per_class = draw(st.sampled_from([None, 1, 2]))
    masks = [np.ones(n, bool), group == 0, group == group.max(), rng.random(n) < 0.2]
    alone = draw(st.booleans())
    return Question(
        points(rng, n, d, draw(st.sampled_from(DTYPES))),
        group,
        draw(st.sampled_from(NORMS)),
        nearest_of=draw(st.sampled_from([None, *masks])),
        classes=None if alone or per_class is None else group // per_class,
        parts=None if alone else draw(st.sampled_from([None, rng.integers(0, 2, n)])),
        closest=0 if alone else draw(st.sampled_from([0, 1, 5, n * n])),
    )


def check_same(question, device):
    """Compare what was asked for with the answer of the compiled search."""
    answer, expected = tensors.search(replace(question, device=device)), blocks.search(question)
    assert answer.squared == expected.squared
    wanted = {
        "nearest": True,
        "opponent": True,
        "by_class": question.classes is not None,
        "by_part": question.parts is not None,
        "closest": question.closest > 0,
        "closest_rows": question.closest > 0,
    }
    for name in (name for name in wanted if wanted[name]):
        ours, theirs = getattr(answer, name), getattr(expected, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("small", [False, True], ids=["one block", "many blocks"])
@settings(max_examples=25, deadline=None)
@given(question=questions())
def test_every_answer_is_that_of_the_compiled_search(device, small, question):
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(tensors, "_BLOCK", 16)
            patch.setattr(tensors, "_PENDING", 100)
        check_same(question, device)


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=25, deadline=None)
@given(question=questions(), share=st.sampled_from([0.0, 0.2, 1.0]), seed=st.integers(0, 9))
def test_pairs_within_are_those_of_the_compiled_search(device, question, share, seed):
    radius = blocks.search(replace(question, nearest_of=np.ones(question.n, bool))).nearest
    radius[np.isinf(radius)] = 1.0
    radius[np.random.default_rng(seed).random(question.n) >= share] = -1.0
    expected = blocks.pairs_within(question, radius)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "_BLOCK", 32)
        pairs = tensors.pairs_within(replace(question, device=device), radius)
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, expected.tolist()))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf, 3.0])
@pytest.mark.parametrize("kind", ["bright bytes", "far out", "tiny", "huge"])
def test_sums_keep_every_bit_in_many_dimensions(device, p, kind):
    rng = np.random.default_rng(0)
    n, d = 66, 2500
    x = np.where(rng.random((n, d)) < 0.02, rng.integers(0, 256, (n, d)), 255).astype(np.uint8)
    if kind != "bright bytes":
        x = rng.normal(size=(n, d)) * {"far out": 1.0, "tiny": 1e-120, "huge": 1e155}[kind]
        x[:30] = x[30:60]  # twins
        x[:30, 0] += {"far out": 1e-9, "tiny": 1e-135, "huge": 1e140}[kind]
        x += 1e6 * (kind == "far out")
    group, asked = np.arange(n) // 15, np.arange(n) % 3 > 0
    question = Question(x, group, p, asked, classes=group, parts=np.arange(n) % 2, closest=7)
    check_same(question, device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("p", [1.0, math.inf])
def test_without_triton_torch_finds_the_same(p, monkeypatch):
    x = np.random.default_rng(0).integers(0, 256, (300, 70), np.uint8)
    question = Question(x, np.arange(300) % 3, p, np.ones(300, bool), device="cuda")
    assert tensors._kernel() is not None
    by_kernel = tensors.search(question)
    monkeypatch.setattr(tensors, "_kernel", lambda: None)
    by_torch = tensors.search(question)
    np.testing.assert_array_equal(by_kernel.nearest, by_torch.nearest)
    np.testing.assert_array_equal(by_kernel.opponent, by_torch.opponent)


def test_a_device_routes_the_search_to_torch():
    x, group = np.array([[0.0], [1.0], [4.0]]), np.array([0, 0, 1])
    question = Question(x, group, 2, np.ones(3, bool), device="cpu")
    assert search(question).nearest.tolist() == [4.0, 3.0, 3.0]
    assert pairs_within(question, np.array([-1.0, -1.0, 3.5])).tolist() == [[1, 2]]


@pytest.mark.parametrize("device", ["cuda:99", "tpu9", "meta", ""])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(device):
    with pytest.raises(InputError, match=r"device must be one that torch can use here \(cpu.*got"):
        search(Question(np.zeros((2, 1)), np.arange(2), 2, closest=1, device=device))


def test_without_torch_the_remedy_is_named(monkeypatch):
    original = builtins.__import__

    def missing(name, *rest, **options):
        if name == "torch":
            raise ImportError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install 'shaketable\[torch\]'"):
        search(Question(np.zeros((2, 1)), np.arange(2), 2, closest=1, device="cuda"))
