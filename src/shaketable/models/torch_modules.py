"""Torch modules and exported programs as models: points in, scores out, on their device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn.modules.conv import _ConvNd

from shaketable.core.errors import InputError, ModelError
from shaketable.core.image_layout import find_channels
from shaketable.core.threads import count_threads
from shaketable.core.types import Array
from shaketable.models.failures import ModelMemoryError, is_out_of_memory, report_failures
from shaketable.models.identity import Identified, content_hash
from shaketable.models.onnx_models import fit_shape
from shaketable.models.preprocess import Preprocess

_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError, AttributeError)
"""What layers raise for points of the wrong shape, and if a damaged file left out parts."""


@dataclass(frozen=True, eq=False)
class ModuleAnswer:
    """Scores of a module in evaluation mode, one column per class.

    The module gets points in the layout of `arrange_images`, on its device and in the type of its
    first floating parameter (float32 if it has none). They are copies: layers may work in place.

    >>> answer = ModuleAnswer("sign", nn.Linear(1, 2))
    >>> answer(np.zeros((5, 1))).shape, answer.device
    ((5, 2), device(type='cpu'))
    """

    name: str
    module: nn.Module

    @cached_property
    def device(self) -> torch.device:
        """Device of the module; the CPU if it has neither parameters nor buffers."""
        tensors = chain(self.module.parameters(), self.module.buffers())
        devices = list(dict.fromkeys(tensor.device for tensor in tensors))
        if len(devices) > 1:
            raise InputError(
                f"model {self.name} must be on one device, got {', '.join(map(str, devices))}; "
                "wrap it in a function from points to scores"
            )
        return devices[0] if devices else torch.device("cpu")

    @cached_property
    def dtype(self) -> torch.dtype:
        """Floating type that the module takes."""
        dtypes = (parameter.dtype for parameter in self.module.parameters())
        return next((dtype for dtype in dtypes if dtype.is_floating_point), torch.float32)

    def __call__(self, x: Array | Tensor) -> Array:
        """Return the scores of every row; a tensor on the module's device is not moved."""
        return self.start(x)()

    def start(self, x: Array | Tensor) -> Callable[[], Array]:
        """Start to compute the scores; the function returned waits for them.

        uint8 stands for x/255.
        """
        device = self.device
        with self.report_refusals(x):
            points = arrange_images(to_floats(as_tensor(x).to(device)), self.module).to(
                self.dtype, copy=True, memory_format=torch.contiguous_format
            )
            with _evaluation_mode(self.module), torch.inference_mode():
                scores = self._scores(self.module(points))
                here = scores.to("cpu", non_blocking=scores.is_cuda)
            done = torch.cuda.current_stream(device).record_event() if scores.is_cuda else None

        def wait() -> Array:
            with self.report_refusals(x):
                if done is not None:
                    done.synchronize()
                return np.asarray(here.numpy())

        return wait

    def sender(self) -> Sender:
        """Return what sends points to the module; to be called in the thread that uses them."""
        user = torch.cuda.current_stream(self.device) if self.device.type == "cuda" else None
        return Sender(self, user)

    def _scores(self, answer: Any) -> Tensor:
        scores = getattr(answer, "logits", answer)  # Hugging Face's models return a record
        if not isinstance(scores, Tensor):
            got = type(scores).__name__
        elif scores.ndim != 2 or scores.shape[1] < 2 or scores.is_complex():
            got = f"{scores.dtype} of shape {tuple(scores.shape)}"
        else:
            small = scores.dtype.is_floating_point and scores.dtype != torch.float64
            return scores.to(torch.float32 if small else torch.float64)
        raise InputError(
            f"model {self.name} must return a tensor of scores, one column per class, got {got}; "
            "wrap it in a function from points to scores or labels"
        )

    @contextmanager
    def report_refusals(self, x: Array | Tensor) -> Iterator[None]:
        """Report errors of the module as `ModelError`."""
        with report_failures(self.name):
            try:
                yield
            except InputError:
                raise
            except (*_REFUSALS, MemoryError) as error:
                raise self._refusal(x, error) from error

    def _refusal(self, x: Array | Tensor, error: Exception) -> ModelError:
        lines = str(error).splitlines() or [type(error).__name__]
        reason = lines[-1 if "TorchScript" in lines[0] else 0]
        message = f"model {self.name} refused points of shape {tuple(x.shape[1:])}: {reason}"
        if not is_out_of_memory(error):
            return ModelError(message)
        message += f"; {len(x)} points are too many for it on {self.device}: use a smaller "
        return ModelMemoryError(message + "model, or move it to another device")


def to_floats(x: Tensor) -> Tensor:
    """Return values as modules take them: uint8 becomes x/255, to the bit as for arrays."""
    if x.dtype != torch.uint8:
        return x
    # a plain number on the right would be turned into a product with its inverse on a GPU
    return x.float() / torch.full((), 255.0, device=x.device)


@dataclass(frozen=True, eq=False)
class Sender:
    """Sends points to the device of a module, from any thread, while the module works on others."""

    answer: ModuleAnswer
    user: torch.cuda.Stream | None
    """Stream that uses the points; None if the device is not CUDA."""

    @property
    def overlaps(self) -> bool:
        """Whether the device works on others while points are sent."""
        return self.user is not None

    @cached_property
    def _stream(self) -> Any:
        make: Any = torch.cuda.Stream  # which has no types
        return make(self.answer.device)

    def __call__(self, x: Array, *, floats: bool = False) -> Tensor:
        """Return points on the device: as they are, or uint8 as floats."""
        device = self.answer.device
        with self.answer.report_refusals(x):
            here = as_tensor(x)
            if self.user is None:
                there = here.to(device)
                return to_floats(there) if floats else there
            here = here.to(self.answer.dtype) if here.dtype == torch.float64 else here
            with torch.cuda.stream(self._stream):
                try:
                    there = here.pin_memory().to(device, non_blocking=True)
                except torch.cuda.OutOfMemoryError:
                    if floats:
                        raise
                    return here  # the module gets it in parts
                there = to_floats(there) if floats else there
            self._stream.synchronize()
            there.record_stream(self.user)  # keeps its memory until that stream is done with it
            return there

    def batches_ahead(self, size: int) -> int:
        """Number of batches of `size` bytes to send in advance: up to 2 GB, on CUDA alone.

        There may be more than threads, so that slow corruptions among fast ones do not hold it up.
        """
        if self.user is None:
            return 0
        total: int = torch.cuda.get_device_properties(self.answer.device).total_memory
        return min(max(1, min(2 << 30, total // 10) // size), 4 * count_threads())


def as_tensor(x: Array | Tensor) -> Tensor:
    """Return points as a tensor; an array becomes one on the CPU, without a copy if possible."""
    return x if isinstance(x, Tensor) else torch.from_numpy(np.require(x, None, ["C", "W"]))


def arrange_images(x: Tensor, module: nn.Module) -> Tensor:
    """Return a view of points in the layout that convolutions take: channels first.

    Points of shape (H, W, C), with a last axis of 1, 3 or 4 and a first axis that is none of these,
    become (C, H, W). Points of shape (H, W) become (1, H, W) if the module's first convolution is
    two-dimensional. All others stay as they are. For a module that takes another layout, pass a
    function that calls it.

    >>> arrange_images(torch.zeros(5, 32, 32, 3), nn.Flatten()).shape
    torch.Size([5, 3, 32, 32])
    """
    shape = x.shape[1:]
    if find_channels(shape) == "last":
        return x.permute(0, 3, 1, 2)
    if len(shape) == 2:
        kinds = (_name_convolution(part) for part in module.modules())
        if next(filter(None, kinds), "") in ("Conv2d", "ConvTranspose2d"):
            return x[:, None]
    return x


def _name_convolution(part: nn.Module) -> str:
    """Class of a convolution, also in TorchScript; empty for other parts."""
    if isinstance(part, nn.Conv2d | nn.ConvTranspose2d):
        return "Conv2d"
    name: str = getattr(part, "original_name", type(part).__name__)
    return name if isinstance(part, _ConvNd) or name.startswith("Conv") else ""


class AdaptedModule(nn.Module):
    """A module behind its preprocessing, with its scores, or some of them, in another order."""

    def __init__(
        self,
        module: nn.Module,
        preprocess: Preprocess | None,
        order: Sequence[int] | None,
        classes: int | None = None,
    ) -> None:
        super().__init__()
        self.module = module
        self.preprocess = preprocess
        self.order = [] if order is None else list(order)
        self.classes = len(self.order) if classes is None else classes

    def forward(self, x: Tensor) -> Any:
        """Scores of points; what is no table of scores is returned as it is."""
        if self.preprocess is not None:
            x = self.preprocess(x).contiguous()
        answer = self.module(x)
        scores = getattr(answer, "logits", answer)
        if not self.order or not isinstance(scores, Tensor) or scores.ndim != 2:
            return answer
        if scores.shape[1] != self.classes:
            raise InputError(
                f"classes of a model must be as many as its scores, got {self.classes} for "
                f"{scores.shape[1]} scores"
            )
        if len(self.order) < self.classes:  # the softmax of logarithms is the share
            whole = (scores.amin(1) >= 0) & ((scores.sum(1) - 1).abs() < 1e-3)
            scores = torch.where(whole[:, None], scores.clamp_min(1e-38).log(), scores)
        return scores[:, self.order]


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards every part is back in the mode it was in before."""
    modes = [(part, part.training) for part in module.modules()]
    if not any(training for _, training in modes):
        yield
        return
    try:
        module.eval()
        yield
    finally:
        for part, training in modes:
            part.training = training


_IN_TRAINING = {"dropout": 2, "batch_norm": 5, "feature_dropout": 2}
"""Operations that work otherwise in training, and the position of the argument that says so."""


class ExportedModule(nn.Module, Identified):
    """An exported program, which gets points in the shape and the batches that it declares.

    A batch that is too small is filled up with its first points.
    """

    def __init__(self, program: ExportedProgram, name: str) -> None:
        super().__init__()
        self.name = name
        given = program.graph_signature.user_inputs
        inputs = [node for node in program.graph.nodes if node.name in given]
        if len(inputs) != 1:
            raise InputError(
                f"model {name} must take one input, got {len(inputs)}; export it with one input of "
                "all features, or wrap it in a function from points to scores"
            )
        for node in program.graph.nodes:
            kind = str(node.target).removeprefix("aten.").partition(".")[0]
            at = _IN_TRAINING.get(kind)
            if at is not None and len(node.args) > at and node.args[at] is True:
                raise InputError(
                    f"model {name} was exported in training mode ({kind}); call eval() before "
                    "torch.export.export"
                )
        shape = inputs[0].meta["val"].shape
        self.input_shape = [int(n) if isinstance(n, int) else 0 for n in shape]
        self._identity = content_hash(
            [
                program.graph_module.code,
                {name: tensor.detach() for name, tensor in program.state_dict.items()},
                {k: v for k, v in program.constants.items() if isinstance(v, Tensor)},
            ]
        )
        module: Any = program.module()
        module.train = MethodType(lambda self, _=True: self, module)  # it has no modes
        self.module = module

    @property
    def identity(self) -> str | None:
        """Hash of the code, the weights and the constants."""
        return self._identity

    def forward(self, x: Tensor) -> Any:
        """Scores of points."""
        points = fit_shape(x, self.input_shape)
        if points is None:
            raise ValueError(f"it takes points of shape {tuple(self.input_shape[1:])}")
        size = self.input_shape[0] if self.input_shape else 0
        if not size or len(x) == size:
            return self.module(points.contiguous())
        parts = []
        for i in range(0, len(points), size):
            rows = torch.arange(i, i + size, device=x.device) % len(points)
            parts.append(self.module(points[rows]))
        return torch.cat([getattr(part, "logits", part) for part in parts])[: len(x)]
