"""Layers of torch networks: points in, what one layer returns out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.models.preprocess import Preprocess
from shaketable.models.torch_modules import AdaptedModule, ModuleAnswer


class Layer(nn.Module):
    """A network that returns what one of its layers returns, read by a forward hook."""

    def __init__(self, name: str, network: nn.Module, layer: str) -> None:
        super().__init__()
        parts = dict(network.named_modules())
        if layer not in parts or not layer:
            raise unknown_name(f"layer of {name.rpartition('@')[0] or name}:", layer, [*parts][1:])
        self.name, self.network, self.layer = name, network, layer

    def forward(self, x: Tensor) -> Any:
        """Output of the layer for points."""
        seen: list[Any] = []
        part = self.network.get_submodule(self.layer)
        hook = part.register_forward_hook(lambda _part, _given, output: seen.append(output))
        try:
            self.network(x)
        finally:
            hook.remove()
        if len(seen) != 1:
            times = "not at all" if not seen else f"{len(seen)} times"
            raise InputError(
                f"layer {self.layer!r} of embedding {self.name} must run once per call, and runs "
                f"{times} (TorchScript and exported programs show none); wrap the network in a "
                "function from points to vectors"
            )
        return seen[0]


@dataclass(frozen=True, eq=False)
class LayerAnswer(ModuleAnswer):
    """Vectors of a network in evaluation mode: its output, or that of a layer, flattened.

    >>> network = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> LayerAnswer.of("net@0", network, "0", None)(__import__("numpy").zeros((5, 2))).shape
    (5, 3)
    """

    @classmethod
    def of(
        cls, name: str, network: nn.Module, layer: str | None, preprocess: Preprocess | None
    ) -> LayerAnswer:
        """Return the answer of a network or of one of its layers, behind its preprocessing."""
        module = network if layer is None else Layer(name, network, layer)
        if preprocess is not None:
            module = AdaptedModule(module, preprocess, None)
        return cls(name, module)

    def _scores(self, answer: Any) -> Tensor:
        vectors = getattr(answer, "logits", answer)
        if isinstance(vectors, Tensor) and vectors.ndim > 0 and vectors.is_floating_point():
            wide = vectors if vectors.dtype == torch.float64 else vectors.to(torch.float32)
            return wide.flatten(1) if wide.ndim > 1 else wide[:, None]
        got = f"{vectors.dtype}" if isinstance(vectors, Tensor) else type(vectors).__name__
        raise InputError(
            f"embedding {self.name} must return a tensor of floats, got {got}; name another layer, "
            "or wrap the network in a function from points to vectors"
        )
