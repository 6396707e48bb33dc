"""Programs of torch.export as modules."""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from shaketable.core.errors import InputError
from shaketable.models.identity import Identified, content_hash
from shaketable.models.onnx_models import fit_shape

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
