"""Mixup: images and their targets, mixed in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import betaincinv

from shaketable.core.checks import check_real
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, uniforms
from shaketable.core.types import IntArray, KeyArray
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor


@declare("mixup", "MU", "images and their targets, mixed in pairs")
@dataclass(frozen=True)
class Mixup:
    r"""Mixture of every image with another one of the batch, and of their targets.

    .. math:: \lambda x_i + (1 - \lambda) x_{\pi(i)}, \quad
        \lambda y_i + (1 - \lambda) y_{\pi(i)}, \quad
        \lambda \sim \text{Beta}(\alpha, \alpha)

    Mixup of Zhang et al. (ICLR 2018). As in their code, one :math:`\lambda` and one random
    permutation :math:`\pi` hold for a batch. Both follow from all keys of the batch and their
    order, so here an image's result depends on the batch.

    Targets are probabilities of classes, (N, classes), as `one_hot` makes them from labels; the
    cross entropy of mixed targets is the mixture of the cross entropies, also with label smoothing.

    Parameters
    ----------
    alpha
        Parameter of the distribution of the shares.

    Examples
    --------
    >>> Mixup(0.4).spec
    'mixup(alpha=0.4)'
    """

    alpha: float = 0.2
    """Of the law of the shares; for small ones, most mixtures are nearly one image."""

    takes_targets: ClassVar[bool] = True
    needs_range: ClassVar[bool] = False

    def __post_init__(self) -> None:
        rule = "lie between 0.001 and 1000"
        alpha = check_real("alpha", self.alpha, rule, low=0.001, high=1000)
        object.__setattr__(self, "alpha", alpha)

    @property
    def spec(self) -> str:
        """Name and parameter."""
        return write_spec("mixup", self)

    def draw(self, keys: KeyArray) -> tuple[float, IntArray]:
        """Draw the share of the image itself, and the partner of every image.

        Parameters
        ----------
        keys
            One key per image.

        Returns
        -------
        tuple[float, IntArray]
            The share, and the number of the partner.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> share, partners = Mixup().draw(row_keys(0, np.arange(4), np.arange(1))[:, 0])
        >>> 0 <= share <= 1, sorted(partners.tolist())
        (True, [0, 1, 2, 3])
        """
        batch = np.bitwise_xor.reduce(fold(keys, 0), keepdims=True)
        share = betaincinv(self.alpha, self.alpha, uniforms(fold(batch, 0), 1)[0, 0])
        return float(share), np.argsort(uniforms(fold(keys, 1), 1)[:, 0], kind="stable")

    def __call__(self, x: Tensor, targets: Tensor, keys: KeyArray) -> tuple[Tensor, Tensor]:
        """Return mixed images and targets; see `TargetAugmentation`."""
        import torch

        from shaketable.core.tensors import move
        from shaketable.training.augmentations.operations import as_floats, as_given, check_images

        check_images(x, keys)
        if targets.ndim != 2 or len(targets) != len(x) or not targets.is_floating_point():
            raise InputError(
                "targets must be probabilities of classes, (N, classes), got "
                f"{targets.dtype} of shape {tuple(targets.shape)}; use one_hot(labels, classes)"
            )
        share, others = self.draw(keys)
        partners = move(others, x.device)
        images = as_floats(x)
        mixed = torch.lerp(images.index_select(0, partners), images, share)
        return as_given(mixed, x), torch.lerp(targets.index_select(0, partners), targets, share)


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """Targets of labels: float32, (N, classes), on their device.

    Labels that are no whole numbers from 0 to classes - 1 are refused; on a GPU, which would have
    to be waited for, they are not checked.

    >>> import torch
    >>> one_hot(torch.tensor([1, 0]), 3)
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """
    import torch

    codes = torch.arange(classes, device=labels.device)
    hits = labels[:, None] == codes
    if labels.device.type == "cpu" and not (known := hits.any(dim=1)).all():
        raise InputError(
            f"labels must be whole numbers from 0 to {classes - 1}, got "
            f"{labels[~known][0].item()}; correct classes, the number of classes, or the labels"
        )
    return hits.to(torch.float32)
