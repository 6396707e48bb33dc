"""Steps of training on CUDA as graphs: one call starts all kernels of a step.

A step of a small network has hundreds of kernels, and on a large GPU starting them takes longer
than running them. A graph (``torch.cuda.CUDAGraph``) records them once, and gives the same results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

Work: TypeAlias = Callable[[Tensor, Tensor], None]
"""What is done with points and targets, all of it on the device."""

WARM_UP = 3
"""Calls that are not recorded: libraries set themselves up in them."""


@dataclass(frozen=True, eq=False)
class _Recording:
    """A graph, and the memory that it reads."""

    graph: Any
    x: Tensor
    targets: Tensor


class Replay:
    """Work on points and targets that is recorded for every shape of them, and replayed.

    It must not wait for the device, and must leave its results in tensors that stay where they are.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.calls: Counter[tuple[object, ...]] = Counter()
        self.recordings: dict[tuple[object, ...], _Recording] = {}

    def __call__(self, x: Tensor, targets: Tensor) -> None:
        """Do the work."""
        shapes = x.shape, x.stride(), targets.shape, targets.dtype
        recording = self.recordings.get(shapes)
        if recording is None:
            self.calls[shapes] += 1
            if self.calls[shapes] <= WARM_UP:
                self._work_beside(x, targets)
                return
            recording = self.recordings[shapes] = self._record(x, targets)
        recording.x.copy_(x)
        recording.targets.copy_(targets)
        recording.graph.replay()

    def _work_beside(self, x: Tensor, targets: Tensor) -> None:
        """Do the work on another stream, as it will be recorded."""
        here: Any = torch.cuda.current_stream()
        beside: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            self.work(x, targets)
        here.wait_stream(beside)

    def _record(self, x: Tensor, targets: Tensor) -> _Recording:
        x, targets, graph = x.clone(), targets.clone(), torch.cuda.CUDAGraph()
        others = next(iter(self.recordings.values()), None)
        with torch.cuda.graph(graph, pool=None if others is None else others.graph.pool()):
            self.work(x, targets)
        return _Recording(graph, x, targets)
