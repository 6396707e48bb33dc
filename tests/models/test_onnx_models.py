"""Models in ONNX files, against the same functions in numpy and torch."""

import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_failing, run_json
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.models import onnx_models
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model
from shaketable.models.onnx_models import OnnxModel, fit_shape

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
node = onnx.helper.make_node

pytestmark = pytest.mark.usefixtures("own_directory")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.arange(60) % 3
WEIGHT, BIAS = RNG.normal(size=(5, 3)), RNG.normal(size=3)
IN_NUMPY = X @ WEIGHT + BIAS
GEMM = node("Gemm", ["x", "w", "b"], ["y"])


def ends(declared):
    """Inputs or outputs from ``{name: (type, shape)}``; no shape where it is not declared."""
    kinds = onnx.TensorProto
    return [
        onnx.helper.make_tensor_value_info(name, getattr(kinds, kind.upper()), shape)
        for name, (kind, shape) in declared.items()
    ]


def model_of(nodes, inputs, outputs, weights):
    """Whole model; `outputs` as for `ends`, or what onnx makes of other types."""
    outputs = ends(outputs) if isinstance(outputs, dict) else outputs
    stored = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in weights.items()]
    graph = onnx.helper.make_graph(nodes, "graph", ends(inputs), outputs, stored)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)


def saved(*parts, path="net.onnx"):
    onnx.save_model(model_of(*parts), path)
    return path


def linear(*, kind="double", batch="n", weight=WEIGHT, bias=BIAS, path="net.onnx"):
    """File of ``x @ weight + bias``."""
    dtype = {"double": "f8", "float": "f4", "float16": "f2"}[kind]
    weights = {"w": weight.astype(dtype), "b": bias.astype(dtype)}
    inputs, outputs = {"x": (kind, [batch, 5])}, {"y": (kind, [batch, len(bias)])}
    return saved([GEMM], inputs, outputs, weights, path=path)


def answering(nodes, outputs, *, path="net.onnx"):
    """File of a linear graph that goes on to `outputs`."""
    weights = {"w": WEIGHT.astype("f4"), "b": BIAS.astype("f4")}
    return saved([GEMM, *nodes], {"x": ("float", ["n", 5])}, outputs, weights, path=path)


@pytest.mark.parametrize("batch", ["n", None, 1, 8, 60, 100])
@pytest.mark.parametrize(("kind", "off"), [("double", 1e-12), ("float", 1e-5), ("float16", 0.05)])
def test_scores_are_those_of_the_same_function_whatever_batch_is_declared(kind, off, batch):
    model = OnnxModel(linear(kind=kind, batch=batch))
    assert model(X).shape == (60, 3)
    assert np.allclose(model(X), IN_NUMPY, atol=off)
    assert np.allclose(model(X[:3].astype(np.float32)), IN_NUMPY[:3], atol=max(off, 1e-5))
    classifier = as_classifier(model, make_dataset(X, Y))
    assert classifier.name == "net.onnx"
    assert classifier.device is None


def test_a_model_on_the_cpu_is_the_same_model():
    model = OnnxModel(linear())
    moved = pickle.loads(pickle.dumps(model.on("cpu")))
    assert (moved.device, model.device, moved.identity) == ("cpu", "cpu", model.identity)
    assert np.array_equal(moved(X), model(X))
    assert as_classifier(moved, make_dataset(X, Y)).computed_on == "cpu"
    assert model.on(None).device in ("cpu", "cuda:0 (CUDAExecutionProvider)")


def test_evaluation_gives_the_counts_of_the_same_function():
    kinds = [
        evaluate(model, (X, Y), ["linf(0.1)", "l2(1.0)"], k=4)
        for model in (st.models.OnnxModel(linear()), lambda x: x @ WEIGHT + BIAS)
    ]
    for ours, reference in zip(*kinds, strict=True):
        assert ours.corruption == reference.corruption
        assert np.array_equal(ours.hits, reference.hits)


@pytest.mark.parametrize("shape", [["n", 3, 9, 8], [4, 3, 9, 8], ["n", 3, None, None], ["n"] * 4])
def test_a_net_of_convolutions_answers_like_the_same_torch_module(shape):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from shaketable.models.torch_modules import ModuleAnswer

    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 6, 3), torch.nn.Linear(6, 4)
    pooled = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    module = torch.nn.Sequential(layers[0], torch.nn.ReLU(), *pooled, layers[1])
    names = ["w1", "b1", "w2", "b2"]
    weights = {n: p.detach().numpy() for n, p in zip(names, module.parameters(), strict=True)}
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c"]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "w2", "b2"], ["y"], transB=1),
    ]
    file = saved(nodes, {"x": ("float", shape)}, {"y": ("float", [shape[0], 4])}, weights)
    x = RNG.uniform(size=(10, 9, 8, 3))
    expected = ModuleAnswer("torch", module)(x)
    assert np.allclose(OnnxModel(file)(x), expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 1e-3  # so that a wrong layout would show


@pytest.mark.parametrize(
    ("points", "declared", "axes"),
    [
        ((9, 8, 3), [0, 3, 9, 8], (0, 3, 1, 2)),
        ((9, 8, 3), [0, 9, 8, 3], (0, 1, 2, 3)),
        ((9, 8, 3), [0, 0, 0, 0], (0, 3, 1, 2)),
        ((9, 8, 3), [], (0, 3, 1, 2)),
        ((8, 8, 8), [0, 8, 8, 8], (0, 1, 2, 3)),
        ((3, 9, 8), [0, 3, 9, 8], (0, 1, 2, 3)),
        ((3, 9, 4), [0, 0, 0, 0], (0, 1, 2, 3)),
        ((9, 8, 2), [0, 2, 9, 8], (0, 3, 1, 2)),
        ((9, 8, 2), [0, 0, 0, 0], (0, 1, 2, 3)),
        ((9, 8), [0, 9, 8], (0, 1, 2)),
        ((9, 8), [], (0, 1, 2)),
    ],
)
def test_axes_come_as_declared_and_channels_first_where_nothing_is(points, declared, axes):
    x = RNG.normal(size=(2, *points))
    assert np.array_equal(fit_shape(x, declared), x.transpose(axes))


@pytest.mark.parametrize(
    ("points", "declared", "shape"),
    [
        ((9, 8), [0, 1, 9, 8], (1, 9, 8)),
        ((9, 8), [0, 9, 8, 1], (9, 8, 1)),
        ((9, 8), [0, 0, 0, 0], (1, 9, 8)),
        ((9, 8, 3), [0, 216], (216,)),
        ((9, 8), [0, 0], (72,)),
        ((5,), [0, 1, 5], (1, 5)),
    ],
)
def test_axes_are_added_and_tables_are_flat(points, declared, shape):
    x = RNG.normal(size=(2, *points))
    assert np.array_equal(fit_shape(x, declared), x.reshape(2, *shape))


@pytest.mark.parametrize(
    ("points", "declared"),
    [((5,), [0, 4]), ((9, 8, 3), [0, 4, 9, 8]), ((9, 8, 3), [0, 215]), ((72,), [0, 1, 9, 8])],
)
def test_what_does_not_fit_is_not_made_to(points, declared):
    assert fit_shape(np.zeros((2, *points)), declared) is None


@pytest.mark.parametrize("keep", [0, 1])
def test_whole_numbers_are_labels(keep):
    last = node("ArgMax", ["y"], ["label"], axis=1, keepdims=keep)
    file = answering([last], {"label": ("int64", ["n", 1][: keep + 1])})
    found = as_classifier(OnnxModel(file), make_dataset(X, Y))(X)
    assert np.array_equal(found, IN_NUMPY.argmax(axis=1))


def zipped(labels):
    """Graph as scikit-learn's converter makes it: labels, and a list of dictionaries."""
    key, kind = ("strings", "string") if isinstance(labels[0], str) else ("int64s", "int64")
    kinds = onnx.TensorProto
    classify = node(
        "LinearClassifier",
        ["x"],
        ["output_label", "p"],
        domain="ai.onnx.ml",
        multi_class=1,
        coefficients=WEIGHT.T.reshape(-1).tolist(),
        intercepts=BIAS.tolist(),
        **{("classlabels_strings" if key == "strings" else "classlabels_ints"): labels},
    )
    last = node(
        "ZipMap",
        ["p"],
        ["output_probability"],
        domain="ai.onnx.ml",
        **{f"classlabels_{key}": labels},
    )
    value = onnx.helper.make_tensor_type_proto(kinds.FLOAT, None)
    table = onnx.helper.make_map_type_proto(getattr(kinds, kind.upper()), value)
    sequence = onnx.helper.make_sequence_type_proto(table)
    outputs = [
        *ends({"output_label": (kind, [None])}),
        onnx.helper.make_value_info("output_probability", sequence),
    ]
    return saved([classify, last], {"x": ("float", [None, 5])}, outputs, {})


@pytest.mark.parametrize("labels", [["no", "perhaps", "yes"], [3, 5, 9]])
def test_labels_are_taken_from_what_scikit_learns_converter_makes(labels):
    data = make_dataset(X, np.array(labels)[Y])
    assert as_classifier(OnnxModel(zipped(labels)), data)(X).tolist() == [*IN_NUMPY.argmax(axis=1)]


@pytest.mark.parametrize(
    ("more", "declared"),
    [
        (
            [node("Constant", [], ["k"], value_ints=[2]), node("Unsqueeze", ["y", "k"], ["more"])],
            ("float", ["n", 3, 1]),
        ),
        (
            [node("Constant", [], ["k"], value_ints=[2]), node("TopK", ["y", "k"], ["_", "more"])],
            ("int64", ["n", 2]),
        ),
    ],
    ids=["features", "best two"],
)
def test_of_several_outputs_the_only_table_of_scores_counts(more, declared):
    file = answering(more, {"more": declared, "y": ("float", ["n", 3])})
    assert np.allclose(OnnxModel(file)(X), IN_NUMPY, atol=1e-5)


def test_a_single_column_of_scores_is_no_answer():
    file = linear(weight=WEIGHT[:, :1], bias=BIAS[:1])
    message = "net.onnx must answer with the data's labels, got .*scores of one column are not"
    with pytest.raises(InputError, match=message):
        as_classifier(OnnxModel(file), make_dataset(X, Y % 2))(X)


def uint8_graph():
    nodes = [node("Cast", ["raw"], ["x"], to=onnx.TensorProto.DOUBLE), GEMM]
    inputs, outputs = {"raw": ("uint8", ["n", 5])}, {"y": ("double", ["n", 3])}
    return OnnxModel(saved(nodes, inputs, outputs, {"w": WEIGHT, "b": BIAS}))


def test_a_graph_of_uint8_gets_whole_numbers():
    x = RNG.integers(0, 256, (40, 5)).astype(float)
    x[0], x[1] = 0, 255
    assert np.allclose(uint8_graph()(x), x @ WEIGHT + BIAS)


@pytest.mark.parametrize("odd", [0.5, -1.0, 256.0, np.nan])
def test_a_graph_of_uint8_refuses_all_else(odd):
    x = np.ones((4, 5))
    x[2, 3] = odd
    with pytest.raises(InputError, match=rf"net.onnx takes uint8.*got {odd:g} \(uint8 data count"):
        uint8_graph()(x)


def forest(trees):
    """Sums of many stumps, one of two scores each."""
    trees_of_nodes = np.arange(trees).repeat(3).tolist()
    stump = node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=2,
        nodes_treeids=trees_of_nodes,
        nodes_nodeids=[0, 1, 2] * trees,
        nodes_featureids=[0, 0, 0] * trees,
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * trees,
        nodes_values=RNG.normal(size=3 * trees).tolist(),
        nodes_truenodeids=[1, 0, 0] * trees,
        nodes_falsenodeids=[2, 0, 0] * trees,
        target_treeids=np.arange(trees).repeat(2).tolist(),
        target_nodeids=[1, 2] * trees,
        target_ids=[0, 0, 1, 1] * (trees // 2),
        target_weights=RNG.normal(size=2 * trees).tolist(),
    )
    return saved([stump], {"x": ("float", ["n", 5])}, {"y": ("float", ["n", 2])}, {})


def test_batches_and_threads_change_nothing(monkeypatch):
    model = OnnxModel(forest(300))  # onnxruntime's own threads would share the trees of few points
    x = RNG.normal(size=(600, 5))
    whole = model(x)
    assert np.array_equal(np.concatenate([model(x[i : i + 7]) for i in range(0, 600, 7)]), whole)
    used = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads):
            used.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(onnx_models, "ThreadPoolExecutor", Pool)
    for threads in (1, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))  # as joblib does in its workers
        assert np.array_equal(model(x), whole)
    assert used == [1, 3]


def test_workers_give_the_same_records(tmp_path):
    model, noise = OnnxModel(linear()), ["linf(0.1)", "l2(1.0)"]
    (tmp_path / "net.onnx").unlink()  # workers need no file
    there = joblib.Parallel(n_jobs=2)(
        joblib.delayed(evaluate)(model, (X, Y), [spec], k=4) for spec in noise
    )
    for spec, records in zip(noise, there, strict=True):
        for a, b in zip(evaluate(model, (X, Y), [spec], k=4), records, strict=True):
            assert (a.key, a.hits.tolist()) == (b.key, b.hits.tolist())
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again(X), model(X))
    assert again.identity == model.identity


def measured(store, path="net.onnx"):
    """Keys of the cells of this file, and how long each was measured."""
    records = evaluate(OnnxModel(path), (X, Y), ["linf(0.1)"], store=store)
    return {c.key: c.seconds for c in records}


def test_cells_of_the_same_file_are_reused_and_no_others(tmp_path):
    first = measured("r.sqlite", linear())
    shutil.copy("net.onnx", "copy.onnx")
    assert measured("r.sqlite", "copy.onnx") == first
    changed = WEIGHT.copy()
    changed[0, 0] += 1e-9
    other = measured("r.sqlite", linear(weight=changed))
    assert not other.keys() & first.keys()


def test_weights_in_files_of_their_own_belong_to_the_model(tmp_path, monkeypatch):
    model = model_of(
        [GEMM], {"x": ("double", ["n", 5])}, {"y": ("double", ["n", 3])}, {"w": WEIGHT, "b": BIAS}
    )
    name = "w" * 140 + ".bin"  # names of more than 127 bytes are stored otherwise
    (tmp_path / "sub").mkdir()
    onnx.save_model(
        model, "sub/net.onnx", save_as_external_data=True, location=name, size_threshold=0
    )
    (tmp_path / name).write_bytes(bytes(8 * 18))  # not beside the file, so none of its weights
    assert np.allclose(OnnxModel("sub/net.onnx")(X), IN_NUMPY)
    first = measured("r.sqlite", "sub/net.onnx")
    assert measured("r.sqlite", "sub/net.onnx") == first
    stored = np.fromfile(f"sub/{name}")
    (stored + 1).tofile(f"sub/{name}")
    assert not measured("r.sqlite", "sub/net.onnx").keys() & first.keys()
    (tmp_path / "sub" / name).unlink()
    with pytest.raises(InputError, match="does not exist; net.onnx keeps weights there, so move"):
        OnnxModel("sub/net.onnx")


def two_inputs():
    weights = {"b": BIAS.astype("f4")}
    inputs = {"x": ("float", ["n", 5]), "w": ("float", [5, 3])}
    return saved([GEMM], inputs, {"y": ("float", ["n", 3])}, weights)


def of_words():
    same = node("Identity", ["x"], ["y"])
    return saved([same], {"x": ("string", [None, 5])}, {"y": ("string", [None, 5])}, {})


def two_tables():
    twice = node("Add", ["y", "y"], ["z"])
    return answering([twice], {"y": ("float", ["n", 3]), "z": ("float", ["n", 3])})


def nonsense():
    with open("net.onnx", "wb") as file:
        file.write(b"nothing of the kind")
    return "net.onnx"


def misspelt():
    content = Path(linear()).read_bytes()
    Path("net.onnx").write_bytes(content.replace(b"Gemm", b"Ge\xcdm"))
    return "net.onnx"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            misspelt,
            r"^model file 'net.onnx' cannot be loaded by onnxruntime [0-9.]+: 'utf-8' codec",
        ),
        (lambda: "none.onnx", r"^model file 'none.onnx' does not exist; check the path$"),
        (lambda: ".", r"^model file '.' cannot be read: .*; check the path$"),
        (nonsense, r"^model file 'net.onnx' cannot be loaded by onnxruntime [0-9.]+: [A-Z][^\n]+$"),
        (
            two_inputs,
            r"must take one input, of floats, uint8, int32 or int64, got x tensor\(float\) "
            r"\(n, 5\), w tensor\(float\) \(5, 3\); export it with one",
        ),
        (
            of_words,
            r"must take one input, of floats, uint8, int32 or int64, got x tensor\(string\) "
            r"\(\?, 5\)",
        ),
        (
            two_tables,
            r"net.onnx must have one output of labels, or one of scores with one column per class, "
            r"got y tensor\(float\) \(n, 3\), z tensor\(float\) \(n, 3\); export it with one",
        ),
    ],
)
def test_what_is_no_classifier_is_refused_in_a_line(make, message, capfd):
    with pytest.raises(InputError, match=message):
        OnnxModel(make())
    assert capfd.readouterr() == ("", "")


def test_points_that_do_not_fit_are_refused_in_a_line(capfd):
    with pytest.raises(InputError, match=r"refused points of shape \(4,\): it takes \(5,\); give"):
        OnnxModel(linear())(X[:, :4])
    loose = saved(  # what it takes shows only when it runs
        [GEMM], {"x": ("double", ["n", "d"])}, {"y": ("double", ["n", 3])}, {"w": WEIGHT, "b": BIAS}
    )
    with pytest.raises(InputError, match=r"net.onnx refused points of shape \(4,\): [A-Z][^\n]+$"):
        OnnxModel(loose)(X[:, :4])
    assert capfd.readouterr() == ("", "")


def test_without_onnxruntime_it_is_said_what_to_install(monkeypatch):
    linear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"not installed; pip install 'shaketable\[onnx\]'$"):
        load_model("net.onnx")


def margins():
    """L2 distance of every point to the next linear boundary."""
    top = IN_NUMPY.argmax(axis=1)
    lead = IN_NUMPY[np.arange(60), top][:, None] - IN_NUMPY
    slope = np.linalg.norm(WEIGHT[:, top].T[:, :, None] - WEIGHT, axis=1)
    return np.divide(lead, slope, out=np.full((60, 3), np.inf), where=slope > 0).min(axis=1)


def test_commands_take_files_of_onnx(capsys):
    np.savez("data.npz", x=X, y=IN_NUMPY.argmax(axis=1))
    linear()
    asked = ("--model", "net.onnx", "--data", "data.npz", "--quiet")
    noise = ("--corruptions", f"l2({margins().min() / 2})", "--store", "r.sqlite")
    for _ in range(2):  # the second time from the store
        (found,) = run_json(capsys, "evaluate", *asked, *noise)["models"]
        assert found["model"] == "net.onnx"
        assert [cell["mean"] for cell in found["cells"]] == [100, 100]

    near, far = margins().min() / 2, 100 * margins().max()
    attack = ("--eps", f"{near},{far}", "--points", "8", "--attack", "rays(queries=60)")
    (curve,) = run_json(capsys, "adversary", *asked, *attack)["curves"]
    assert curve["model"] == "net.onnx"
    assert [point["mean"] for point in curve["points"]] == [100, 0]


def test_commands_name_what_is_wrong_with_a_file(capfd):
    np.savez("data.npz", x=X[:, :4], y=Y)
    asked = ("--data", "data.npz", "--quiet", "--model")
    assert "'none.onnx' does not exist" in run_failing(capfd, "evaluate", *asked, "none.onnx")
    assert "'file.onnx'" in run_failing(capfd, "evaluate", *asked, "net.onx")
    assert "it takes (5,)" in run_failing(capfd, "evaluate", *asked, linear())
    assert "cannot be loaded" in run_failing(capfd, "evaluate", *asked, nonsense())
    assert "net.onnx cannot be fitted" in run_failing(capfd, "evaluate", *asked, linear(), "--fit")


@pytest.mark.parametrize("zipmap", [False, True])
@pytest.mark.parametrize("names", [None, np.array(["c", "a", "b"])])
def test_labels_of_scikit_learns_converter_come_with_their_scores(zipmap, names):
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx
    from sklearn.linear_model import LogisticRegression

    labels = Y if names is None else names[Y]
    model = LogisticRegression().fit(X, labels)
    graph = to_onnx(model, X[:1].astype("f4"), options={"zipmap": zipmap})
    Path("model.onnx").write_bytes(graph.SerializeToString())
    record, *_ = evaluate(OnnxModel("model.onnx"), (X, labels), "linf(0.1)")
    expected = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(record.answers.predicted[:, 0], expected)
    assert np.allclose(record.answers.scores[:, 0], model.predict_proba(X), atol=1e-5)


def test_maps_of_scores_say_which_class_they_are_of():
    to_onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(X, Y)
    graph = to_onnx(model, X[:1].astype("f4"), options={"zipmap": True})
    Path("model.onnx").write_bytes(graph.SerializeToString())
    some = np.flatnonzero((Y != 0) & (model.predict(X) != 0))  # the data lack the first class
    record, *_ = evaluate(OnnxModel("model.onnx"), (X[some], Y[some]), "clean")
    scores = model.predict_proba(X[some])[np.arange(len(some)), Y[some]]
    assert np.allclose(record.answers.true_score[:, 0], scores, atol=1e-5)


def test_scores_beside_labels_may_be_logits():
    top = node("ArgMax", ["y"], ["label"], axis=1, keepdims=0)
    product = node("MatMul", ["x", "w"], ["y"])
    outputs = {"label": ("int64", ["n"]), "y": ("float", ["n", 3])}
    given = {"x": ("float", ["n", 5])}
    model = OnnxModel(saved([product, top], given, outputs, {"w": WEIGHT.astype("f4")}))
    record, *_ = evaluate(model, (X, Y), "clean")
    logits = X @ WEIGHT
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.allclose(record.answers.scores[:, 0], softmax, atol=1e-4)
    assert np.array_equal(record.answers.predicted[:, 0], logits.argmax(axis=1))


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_whole_numbers_reach_graphs_that_take_integers(kind):
    cast = node("Cast", ["x"], ["z"], to=onnx.TensorProto.FLOAT)
    product = node("MatMul", ["z", "w"], ["y"])
    outputs = {"y": ("float", ["n", 3])}
    weights = {"w": WEIGHT.astype("f4")}
    model = OnnxModel(saved([cast, product], {"x": (kind, ["n", 5])}, outputs, weights))
    whole = np.rint(X * 1000)
    assert np.allclose(model(whole), whole @ WEIGHT, rtol=1e-3, atol=1e-2)
    for odd in (0.5, np.nan, 1e30):
        with pytest.raises(InputError, match=f"takes {kind}, so values must be whole numbers"):
            model(np.where(np.arange(5) == 2, odd, whole))
