"""Losses that gradient attacks raise, and a torch module that returns their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from shaketable.adversary.attacks.gradients import Loss
from shaketable.core.errors import InputError
from shaketable.models.classifier import Classifier
from shaketable.models.failures import is_out_of_memory
from shaketable.models.torch_modules import ModuleAnswer, arrange_images


def compute_losses(kind: Loss, scores: Tensor, y: Tensor, targets: Tensor) -> Tensor:
    r"""How close scores z are to a misclassification, one value per row; higher is closer.

    .. math::

        \text{ce}       &= \log \textstyle\sum_{j \ne y} e^{z_j} - z_y \\
        \text{margin}   &= \max_{j \ne y} z_j - z_y \\
        \text{dlr}      &= \text{margin} / (z_{(1)} - z_{(3)}) \\
        \text{targeted} &= z_t - z_y

    All but ce are above 0 where the label is wrong. ce grows with cross-entropy, which is
    :math:`\log(1 + e^{ce})`: its gradients have the same directions, but do not vanish when the
    model is confident. margin is that of Carlini & Wagner (S&P 2017), dlr the difference of logits
    ratio (Croce & Hein, ICML 2020, Eq. 6), which needs three classes: with two it is the margin.
    targeted aims at one class t per row (Gowal et al. 2019).

    >>> z, y = torch.tensor([[3.0, 1.0, -1.0]]), torch.tensor([0])
    >>> compute_losses("margin", z, y, y), compute_losses("dlr", z, y, y)
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
class ModuleGradients:
    """Scores of a module and gradients of losses; the module is called as `ModuleAnswer` does."""

    answer: ModuleAnswer
    shape: tuple[int, ...]
    """Shape of a point, as the model takes it."""

    @property
    def device(self) -> torch.device:
        """Device of the module."""
        return self.answer.device

    def score(self, points: Tensor) -> Tensor:
        """Scores of flat points, in float32 or float64."""
        given = arrange_images(points.reshape(-1, *self.shape), self.answer.module)
        given = given.to(self.answer.dtype).clone(memory_format=torch.contiguous_format)
        answer = self.answer.module(given)
        scores: Tensor = getattr(answer, "logits", answer)
        return scores if scores.dtype == torch.float64 else scores.float()

    def differentiate(
        self, kind: Loss, points: Tensor, y: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of flat points, losses, and gradients, which are 0 if the loss has none."""
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            scores = self.score(points)
            loss = compute_losses(kind, scores, y, targets)
            gradient = None
            if loss.requires_grad:
                try:
                    (gradient,) = torch.autograd.grad(loss.sum(), points, allow_unused=True)
                except RuntimeError as error:
                    if is_out_of_memory(error):
                        raise
                    reason = str(error).partition("\n")[0]
                    raise InputError(
                        f"model {self.answer.name} gives no gradients: {reason}; use an attack "
                        "that needs labels only, such as random or rays"
                    ) from error
        gradient = torch.zeros_like(points) if gradient is None else gradient
        return scores.detach(), loss.detach(), gradient.detach()


@contextmanager
def open_gradients(model: Classifier, shape: tuple[int, ...]) -> Iterator[ModuleGradients]:
    """Gradients of a torch module; on exit its modes and flags are restored.

    Inside, the module is in evaluation mode and its parameters need no gradients: none is computed
    for them, and none is left behind.
    """
    if not isinstance(model.answer, ModuleAnswer):
        raise InputError(
            f"model must be a torch module for an attack by gradients, got {model.name}; use an "
            "attack that needs labels only, such as random or rays"
        )
    with torch.inference_mode(False), torch.no_grad(), freeze(model.answer.module):
        yield ModuleGradients(model.answer, shape)


@contextmanager
def freeze(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients of parameters, restored on exit."""
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
