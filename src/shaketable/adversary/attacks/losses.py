"""What gradients climb: losses of scores, and a torch module that tells their slopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from shaketable.core.errors import InputError
from shaketable.models.classifier import Classifier
from shaketable.models.torch_modules import ModuleAnswer, arrange_images

Loss: TypeAlias = Literal["ce", "margin", "dlr", "targeted"]


def losses(kind: Loss, scores: Tensor, y: Tensor, targets: Tensor) -> Tensor:
    r"""How close scores z are to a wrong label, one value a row; higher is more wrong.

    .. math::

        \text{ce}       &= \log \textstyle\sum_{j \ne y} e^{z_j} - z_y \\
        \text{margin}   &= \max_{j \ne y} z_j - z_y \\
        \text{dlr}      &= \text{margin} / (z_{(1)} - z_{(3)}) \\
        \text{targeted} &= z_t - z_y

    All but ce are above 0 where the label is wrong. ce grows with cross-entropy, which is
    :math:`\log(1 + e^{ce})`: its gradients have the same directions, and do not vanish when the
    model is sure. margin is that of Carlini & Wagner (S&P 2017), dlr the difference of logits ratio
    (Croce & Hein, ICML 2020, Eq. 6), which takes three classes: with two it is the margin.
    targeted aims at one class t a row (Gowal et al. 2019).

    >>> z, y = torch.tensor([[3.0, 1.0, -1.0]]), torch.tensor([0])
    >>> losses("margin", z, y, y), losses("dlr", z, y, y)
    (tensor([-2.]), tensor([-0.5000]))
    """
    right = scores.gather(1, y[:, None])[:, 0]
    if kind == "targeted":
        return scores.gather(1, targets[:, None])[:, 0] - right
    wrong = scores.scatter(1, y[:, None], -torch.inf)
    if kind == "ce":
        return wrong.logsumexp(dim=1) - right
    margin = wrong.amax(dim=1) - right
    if kind == "margin" or scores.shape[1] < 3:
        return margin
    first, _, third = scores.topk(3, dim=1).values.unbind(dim=1)
    return margin / (first - third).clamp(min=torch.finfo(scores.dtype).tiny)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Scores of a module with their gradients: as its `ModuleAnswer` asks it, copies included."""

    answer: ModuleAnswer
    shape: tuple[int, ...]
    """Of a point, as the model takes it."""

    @property
    def device(self) -> torch.device:
        """Where the module is."""
        return self.answer.device

    def scores(self, points: Tensor) -> Tensor:
        """Scores of flat points, in float32 or float64."""
        given = arrange_images(points.reshape(-1, *self.shape), self.answer.module)
        given = given.to(self.answer.dtype).clone(memory_format=torch.contiguous_format)
        scored = self.answer.module(given)
        scores: Tensor = getattr(scored, "logits", scored)
        return scores if scores.dtype == torch.float64 else scores.float()

    def __call__(
        self, kind: Loss, points: Tensor, y: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of flat points, their losses, and the gradients, zero where there are none."""
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            scores = self.scores(points)
            loss = losses(kind, scores, y, targets)
            gradient = None
            if loss.requires_grad:
                try:
                    (gradient,) = torch.autograd.grad(loss.sum(), points, allow_unused=True)
                except RuntimeError as error:
                    reason = str(error).partition("\n")[0]
                    raise InputError(
                        f"model {self.answer.name} gives no gradients: {reason}; search without "
                        "them, by an attack that asks for labels alone"
                    ) from error
        gradient = torch.zeros_like(points) if gradient is None else gradient
        return scores.detach(), loss.detach(), gradient.detach()


@contextmanager
def slopes(model: Classifier, shape: tuple[int, ...]) -> Iterator[Slopes]:
    """Gradients of a model that is a torch module; its modes and flags come back as they were.

    Inside, the module is in evaluation mode and its parameters need no gradients: none is computed
    for them, and none is left behind.
    """
    if not isinstance(model.answer, ModuleAnswer):
        raise InputError(
            f"model must be a torch module for an attack by gradients, got {model.name}; use an "
            "attack that asks for labels alone"
        )
    with torch.inference_mode(False), torch.no_grad(), _at_rest(model.answer.module):
        yield Slopes(model.answer, shape)


@contextmanager
def _at_rest(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    flags = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
    try:
        module.eval()
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for part, training in modes:
            part.training = training
        for parameter, needed in flags:
            parameter.requires_grad_(needed)
