"""Models in ONNX files: points in, labels or scores out; onnxruntime runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.threads import count_threads
from shaketable.core.types import Array
from shaketable.models.answers import Labelled
from shaketable.models.failures import is_out_of_memory
from shaketable.models.identity import Identified, content_hash
from shaketable.models.loading import ModelLoader, declare_loader

_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
_WHOLE = {"tensor(uint8)": np.uint8, "tensor(int32)": np.int32, "tensor(int64)": np.int64}
_TAKEN: dict[str, Any] = {**_FLOATS, **_WHOLE}
_LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
_ROWS = 256  # per batch, if the graph takes any number: more are no faster on a CPU
_GPU_ROWS = 2048
_GPU_PROVIDERS = ("CUDAExecutionProvider", "ROCMExecutionProvider")
_WRAP = "wrap it in a function from points to labels or scores"


class OnnxModel(Identified):
    """Classifier in an ONNX file, which returns labels or scores as its graph does.

    The graph's one input gets points in the type and shape that it declares (`fit_shape`), in
    batches of the size that it declares, the last one filled up. Of several outputs the labels are
    the answer, with the scores beside them, as scikit-learn's converter writes both (a table, or
    maps from classes to scores); else the only table of scores. On the CPU, one thread works on one
    batch, several threads on several batches; neither changes the answers. `on` returns the same
    model on a GPU.

    The identity of the model is its content, which is pickled with it: the file, and the files of
    weights that it names, such as the ``net.onnx.data`` of torch's exporter.

    Parameters
    ----------
    path
        The ``.onnx`` file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import onnx
    >>> import onnx.helper as make
    >>> import shaketable as st
    >>> ends = [make.make_tensor_value_info(name, 1, [None, 2]) for name in ("points", "scores")]
    >>> node = make.make_node("Neg", ["points"], ["scores"])
    >>> graph = make.make_graph([node], "g", ends[:1], ends[1:])
    >>> opset = [make.make_opsetid("", 17)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "net.onnx"
    ...     onnx.save(make.make_model(graph, opset_imports=opset, ir_version=8), path)
    ...     model = st.models.OnnxModel(path).on("cpu")
    >>> model(np.array([[1.0, 2.0]])), model.score(np.array([[1.0, 2.0]]))  # it has scores alone
    (array([[-1., -2.]], dtype=float32), array([[-1., -2.]], dtype=float32))
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        file = Path(path)
        self.name, self._graph = file.name, _read(file, "check the path")
        self._asked: str | None = "cpu"
        self._weights = {
            name: _read(file.parent / name, f"{self.name} keeps weights there, so move both")
            for name in find_weight_files(self._graph)
        }
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or inputs[0].type not in _TAKEN:
            raise InputError(
                f"model {self.name} must take one input, of floats, uint8, int32 or int64, got "
                f"{_describe(inputs)}; export it with one input of all features, or {_WRAP}"
            )
        self._input, self._dtype = inputs[0].name, _TAKEN[inputs[0].type]
        self._shape = [d if isinstance(d, int) and d > 0 else 0 for d in inputs[0].shape]
        tensors = [o for o in outputs if o.type.startswith("tensor")]
        labels = [o for o in tensors if o.type in _LABELS and o.shape[1:] in ([], [1])]
        scores = [o for o in tensors if o.type in _FLOATS and len(o.shape) in (0, 2)]
        answers = tensors if len(outputs) == 1 else labels or scores
        if len(answers) != 1:
            raise InputError(
                f"model {self.name} must have one output of labels, or one of scores with one "
                f"column per class, got {_describe(outputs)}; export it with one output, or {_WRAP}"
            )
        self._output = answers[0].name
        scores += [o for o in outputs if o.type.startswith("seq(map(")]
        self._scores = scores[0].name if answers == labels and len(scores) == 1 else None

    def on(self, device: str | None = None) -> OnnxModel:
        """Return the same model on a device: ``cpu``, ``cuda`` or ``cuda:1``.

        By default on a GPU, if onnxruntime is installed with what runs models there.

        Parameters
        ----------
        device
            ``cpu``, ``cuda`` or ``cuda:1``; None for a GPU if there is one.

        Returns
        -------
        OnnxModel
            The model there.
        """
        other = copy(self)
        vars(other).pop("_session", None)  # one that was unpickled has none
        other._asked = device
        if device is not None and not other.device.startswith(device.partition(":")[0]):
            raise InputError(
                f"device {device!r} must be one that onnxruntime can use here, and it fell back to "
                "the CPU; check its CUDA libraries, or name cpu"
            )
        return other

    @property
    def device(self) -> str:
        """Where the model is run: ``cpu``, or the GPU and what runs it there."""
        provider: str = self._session.get_providers()[0]
        if provider not in _GPU_PROVIDERS:
            return "cpu"
        index = self._session.get_provider_options()[provider].get("device_id", "0")
        return f"cuda:{index} ({provider})"

    def __call__(self, x: Array) -> Array:
        """Return labels or scores of every row."""
        return self._run(x, [self._output])[0]

    def score(self, x: Array) -> Array | Labelled:
        """Return labels with their scores, if the graph has both; else as a call does.

        Parameters
        ----------
        x
            Points.

        Returns
        -------
        Array | Labelled
            Labels and scores, or what a call returns.
        """
        if self._scores is None:
            return self(x)
        labels, scores = self._run(x, [self._output, self._scores])
        classes = None
        if scores.dtype == object:  # maps from classes to scores, all with the same keys
            classes = [*scores[0]]
            scores = np.array([[row[label] for label in classes] for row in scores])
        usable = scores.ndim == 2 and scores.shape[1] > 1 and bool(np.isfinite(scores).all())
        return Labelled(labels, scores, classes) if usable else labels

    def _run(self, x: Array, names: list[str]) -> list[Array]:
        """Return outputs of the graph with these names."""
        points = fit_shape(x, self._shape)
        if points is None:
            raise InputError(
                f"model {self.name} refused points of shape {x.shape[1:]}: it takes "
                f"{_format_shape(self._shape[1:])}; give it such points, or {_WRAP}"
            )
        n, run, on_cpu = len(x), self._session.run, self.device == "cpu"
        count, most = (count_threads(), _ROWS) if on_cpu else (1, _GPU_ROWS)
        size = next(iter(self._shape), 0) or min(most, -(-n // count))
        batches = [np.arange(i, i + size) % n for i in range(0, n, size)]
        with ThreadPoolExecutor(count) as pool:
            answers = pool.map(lambda rows: self._ask(run, points[rows], names), batches)
            return [np.concatenate(parts)[:n] for parts in zip(*answers, strict=True)]

    @cached_property
    def identity(self) -> str | None:
        """Hash of the file and of its weights; the same for a copy under another name."""
        parts = [self._graph, *(part for _, part in sorted(self._weights.items()))]
        return content_hash(["onnx", *(np.frombuffer(part, np.uint8) for part in parts)])

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_session"}

    @cached_property
    def _session(self) -> Any:
        onnxruntime = ONNX.import_needed()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised, so they need not be printed too
        options.intra_op_num_threads = 1  # several would sum in varying order
        names, parts = [*self._weights], [*self._weights.values()]
        options.add_external_initializers_from_files_in_memory(names, parts, [*map(len, parts)])
        providers = choose_providers(onnxruntime.get_available_providers(), self._asked)
        try:
            return onnxruntime.InferenceSession(
                self._graph, options, providers=providers, enable_fallback=0
            )
        except Exception as error:  # its errors have no type of their own
            raise InputError(
                f"model file {self.name!r} cannot be loaded by onnxruntime "
                f"{onnxruntime.__version__}: {_reason(error)}; give an ONNX file that it knows"
            ) from error

    def _ask(self, run: Callable[..., Any], points: Array, names: list[str]) -> list[Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            given = np.ascontiguousarray(points, self._dtype)
        if self._dtype in _WHOLE.values() and (odd := points[given != points]).size:
            kind = np.iinfo(self._dtype)
            raise InputError(
                f"model {self.name} takes {kind.dtype}, so values must be whole numbers from "
                f"{kind.min} to {kind.max}, got {odd[0]:g} (uint8 data count as x/255); export it "
                f"for floats, or {_WRAP}"
            )
        try:
            return [np.asarray(each) for each in run(names, {self._input: given})]
        except Exception as error:  # its errors have no type of their own
            if is_out_of_memory(error):
                raise MemoryError(_reason(error)) from error
            raise InputError(
                f"model {self.name} refused points of shape {given.shape[1:]}: {_reason(error)}"
            ) from error


def choose_providers(available: Sequence[str], device: str | None) -> list[Any]:
    """Return by what onnxruntime shall run a model, of what is installed.

    `device` is ``cpu``, ``cuda`` or ``cuda:1``; None for a GPU if one of its providers is there.

    >>> choose_providers(["CUDAExecutionProvider", "CPUExecutionProvider"], "cuda:1")
    [('CUDAExecutionProvider', {'device_id': '1'}), 'CPUExecutionProvider']
    >>> choose_providers(["AzureExecutionProvider", "CPUExecutionProvider"], None)
    ['CPUExecutionProvider']
    """
    found = [provider for provider in _GPU_PROVIDERS if provider in available]
    kind, _, index = (
        ("cuda" if found else "cpu", "", "") if device is None else device.partition(":")
    )
    if kind == "cpu":
        return ["CPUExecutionProvider"]
    if kind != "cuda" or not found or not (index or "0").isdigit():
        raise InputError(
            f"device of an ONNX model must be cpu, or cuda where onnxruntime-gpu is installed, got "
            f"{device!r} (installed: {', '.join(available)}); name cpu, or leave it out"
        )
    return [(found[0], {"device_id": index or "0"}), "CPUExecutionProvider"]


def fit_shape(x: Any, shape: Sequence[int]) -> Any:
    """Return a view of points that fits a declared shape (batch first), or None if none does.

    Points of shape (H, W, C), with a last axis of 1, 3 or 4 and a first axis that is none of these,
    come channels first if that fits, as for torch modules; others as they are, or else channels
    first or last. (H, W) may get an axis for its one channel, and all points are flattened if that
    is what fits. An axis of 0 fits all, and so does an empty shape. Tensors work like arrays.

    >>> fit_shape(np.zeros((5, 32, 32, 3)), [0, 3, 0, 0]).shape
    (5, 3, 32, 32)
    >>> fit_shape(np.zeros((5, 8, 8)), [1, 64]).shape
    (5, 64)
    """
    views = [x, x[:, None], x[..., None], x.reshape(len(x), -1)]
    if x.ndim == 4:
        arrange = x.transpose if isinstance(x, np.ndarray) else x.permute
        channels_last = find_channels(x.shape[1:]) == "last"
        views.insert(0 if channels_last else 1, arrange(0, 3, 1, 2))
        views.append(arrange(0, 2, 3, 1))
    for view in views:
        axes = zip(shape[1:], view.shape[1:], strict=False)
        if not shape or (len(shape) == view.ndim and all(a in (0, b) for a, b in axes)):
            return view
    return None


def find_weight_files(graph: bytes) -> list[str]:
    r"""Return the names of the files that hold weights of a graph, found in its bytes.

    The entry of a tensor that is stored elsewhere is ``j``, length, ``\n``, length, key, ``\x12``,
    length, value; a length above 127 takes two bytes.

    >>> find_weight_files(b"\x01j\x11\n\x08location\x12\x05a.bin\x01")
    ['a.bin']
    """
    names: dict[str, None] = {}
    entry = rb"j[\x80-\xff]?[\x00-\x7f]\n\x08location\x12([\x80-\xff]?)([\x00-\x7f])"
    for match in re.finditer(entry, graph):
        low, high = match[1], match[2][0]
        size = (low[0] & 127) + 128 * high if low else high
        names[graph[match.end() : match.end() + size].decode(errors="replace")] = None
    return list(names)


def _read(file: Path, remedy: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        what = "does not exist" if missing else f"cannot be read: {error.strerror}"
        raise InputError(f"model file {str(file)!r} {what}; {remedy}") from error


def _format_shape(shape: Sequence[Any]) -> str:
    text = ", ".join(str(dim or "?") for dim in shape)
    return f"({text},)" if len(shape) == 1 else f"({text})"


def _describe(ends: Sequence[Any]) -> str:
    return ", ".join(f"{end.name} {end.type} {_format_shape(end.shape)}" for end in ends)


def _reason(error: Exception) -> str:
    """Return onnxruntime's message without its codes: ``[ONNXRuntimeError] : 2 : INVALID : …``."""
    return str(error).partition("\n")[0].split(" : ", 3)[-1].rstrip(".") or type(error).__name__


ONNX = declare_loader(
    ModelLoader(
        (".onnx",),
        OnnxModel,
        help="ONNX graph with one input, and labels, scores or both as output",
        needs="onnxruntime",
        install="shaketable[onnx]",
    )
)
