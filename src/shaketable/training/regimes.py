"""Training regimes: what is done to points before the network gets them, as specs.

`Noise` applies one in anyone's loop. ``trivialaugment + C1`` is an augmentation and then noise, in
the published order (Siedel et al. 2024); ``pgd_at(0.03)`` trains against an adversary; ``clean``
does nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, ModelError, either
from shaketable.core.image_layout import CHANNELS, counts_as_images, find_channels
from shaketable.core.importing import import_object, is_reference
from shaketable.core.keys import digest, fold, make_key, row_keys
from shaketable.core.spec import parse_call, split_calls, split_name, split_top_level
from shaketable.core.types import IntArray, KeyArray
from shaketable.corruptions import Clean, Corruption, corrupt, parse
from shaketable.corruptions.custom import CorruptionFunction
from shaketable.corruptions.parse import as_corruption
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.data.bounds import ROUNDING, Bounds, BoundsLike, as_bounds
from shaketable.data.dataset import Dataset
from shaketable.evaluation.resolve import resolve
from shaketable.models.failures import report_failures
from shaketable.models.torch_modules import arrange_images
from shaketable.separations.separation import separation
from shaketable.training.adversaries import (
    AdversarialLoss,
    AdversarialTraining,
    read_adversary,
)
from shaketable.training.augmentations.flip_crop import FlipCrop
from shaketable.training.augmentations.mixup import one_hot
from shaketable.training.augmentations.operations import find_range, map_from_unit, map_to_unit
from shaketable.training.augmentations.registry import (
    AUGMENTATIONS,
    Augmentation,
    admit_augmentation,
    parse_augmentation,
)
from shaketable.training.loop import Batch, StepOutcome
from shaketable.training.recipes import Recipe


@dataclass(frozen=True)
class Regime:
    """Augmentations, then noise, then an adversary; each may be left out.

    >>> parse_regime("TA + linf(0.1)").spec
    'trivialaugment + linf(0.1)'
    """

    augmentations: tuple[Augmentation, ...] = ()
    noise: Corruption = field(default_factory=Clean)
    adversary: AdversarialTraining | None = None

    def __post_init__(self) -> None:
        mixing = [a.spec for a in self.augmentations if a.takes_targets]
        if self.adversary is not None and mixing:
            raise InputError(
                f"{self.spec}: adversaries need one label per image, but {mixing[0]} mixes labels; "
                "leave one of the two out"
            )
        if self.confined and (self.augmentations or not isinstance(self.noise, Clean)):
            raise InputError(
                f"{self.spec}: Voronoi cells are those of the training points as they are, so "
                "augmentation and noise must be left out"
            )

    @property
    def confined(self) -> bool:
        """Whether an adversary stays in the Voronoi cells of the training points."""
        return self.adversary is not None and self.adversary.constraint != "none"

    @property
    def spec(self) -> str:
        """Canonical spec; parses back to the same regime."""
        parts = [augmentation.spec for augmentation in self.augmentations]
        parts += [] if isinstance(self.noise, Clean) else [self.noise.spec]
        parts += [] if self.adversary is None else [self.adversary.spec]
        return " + ".join(parts) or "clean"


def parse_regime(
    spec: str,
    *,
    read_noise: Callable[[str], Corruption] = parse,
    eps_min: Callable[[float], float] | None = None,
) -> Regime:
    """Return the regime that a spec names: augmentations first, then noise, then an adversary.

    These are split first, so ``TA + linf(0.1) | clean`` is TA, then one of the two.

    Parameters
    ----------
    spec
        Such as ``mixup(0.2) + C1``, ``linf(0.1)``, ``trades(0.03)`` or ``clean``.
    read_noise
        Makes a corruption of the spec of the noise.
    eps_min
        Gives the value of ``eps_min`` for adversaries in the p-norm.
    """
    if not isinstance(spec, str):
        raise InputError(f"training noise must be a spec such as 'linf(0.1)', got {spec!r}")
    parts = [_spell_name(part) for part in split_top_level(spec, "+")]
    if not parts:
        raise InputError("training noise must not be empty; write clean for none")
    augmentations: list[Augmentation] = []
    while parts and _names_augmentation(parts[0]):
        augmentations.append(_read_augmentation(parts.pop(0)))
    adversary = None
    if parts and _find_name(parts[-1]) in AdversarialTraining.WEIGHTS:
        adversary = read_adversary(parse_call(parts.pop()), eps_min)
    rest = " + ".join(parts)
    for call in split_calls(rest):
        part = _spell_name(split_name(call)[0])
        name = _find_name(part)
        known = name in CORRUPTIONS or name in _list_names() or is_reference(name)
        if name and not known:
            raise unknown_name("training noise", name, [*CORRUPTIONS, *_list_names()])
        if name in AdversarialTraining.WEIGHTS or _names_augmentation(part):
            raise InputError(
                f"{call} cannot stand at its place in {spec!r}: augmentations come first, then "
                "noise, then an adversary, joined by + without brackets"
            )
    noise = read_noise(rest) if parts else Clean()
    return Regime(tuple(augmentations), noise, adversary)


def _find_name(part: str) -> str:
    """Name of what is called in a part of a spec; empty if that is one of several."""
    return "" if len(split_top_level(part, "|")) > 1 else part.partition("(")[0].strip()


def _list_names() -> tuple[str, ...]:
    """Names of all augmentations and adversaries."""
    return (*AUGMENTATIONS, *AdversarialTraining.WEIGHTS)


def _spell_name(part: str) -> str:
    """Return a part with the usual spelling of an augmentation or adversary, such as ta for TA."""
    name = _find_name(part)
    spelled = {known.lower(): known for known in _list_names()}.get(name.lower(), name)
    return part if name in CORRUPTIONS or name in AUGMENTATIONS else part.replace(name, spelled, 1)


def _names_augmentation(part: str) -> bool:
    """Whether a part of a spec is an augmentation; ``package.module:name`` is imported to see."""
    name = _find_name(part)
    if not is_reference(name):
        return name in AUGMENTATIONS
    thing = import_object("training noise", name)
    if inspect.isroutine(thing):  # that of a corruption lacks its decorator, which parse says
        return "rng" not in inspect.signature(thing).parameters
    kind = thing if isinstance(thing, type) else type(thing)
    return kind is not CorruptionFunction and Corruption not in kind.__mro__


def _read_augmentation(part: str) -> Augmentation:
    """Return the augmentation of a part of a spec; its own spec must be that of one, too."""
    made = parse_augmentation(part)
    if not _names_augmentation(made.spec):
        raise InputError(
            f"augmentation {part} has the spec {made.spec!r}, which does not parse back to it; its "
            f"spec must begin with {_find_name(part)}"
        )
    return made


def as_regime(given: str | Regime | Corruption | Augmentation) -> Regime:
    """Return the regime of a spec, of a corruption, which is noise alone, or of an augmentation.

    >>> as_regime("linf(0.1)") == as_regime(parse("linf(0.1)"))
    True
    """
    if isinstance(given, str):
        return parse_regime(given)
    if isinstance(given, Regime):
        return given
    if hasattr(given, "takes_targets"):
        return Regime((admit_augmentation(given),))
    return Regime(noise=as_corruption(given))


def make_regime(
    given: str | Regime | Corruption | Augmentation, data: Dataset, bounds: Bounds | None
) -> Regime:
    """Return a regime for these data, with everything filled in but the value range."""

    def read_noise(spec: str) -> Corruption:
        return resolve([spec], data, bounds).corruptions[0]

    def eps_min(p: float) -> float:
        return separation(data, norm=p).epsilon_min

    if isinstance(given, str):
        regime = parse_regime(given, read_noise=read_noise, eps_min=eps_min)
    else:
        regime = as_regime(given)
        regime = replace(regime, noise=resolve([regime.noise], data, bounds).corruptions[0])
    refuse_gaps(regime.noise)
    return regime


def refuse_gaps(noise: Corruption) -> None:
    """Raise `InputError` for noise that makes values missing."""
    if noise.traits.leaves_gaps:
        raise InputError(
            f"{noise.spec} leaves values empty, which networks cannot take; write missing(share, "
            "mean), or train an estimator that takes NaN"
        )


@dataclass(frozen=True, eq=False)
class RegimeStep:
    """A regime as what is done with a batch, up to the loss."""

    augmentations: tuple[Augmentation, ...]
    """Of the recipe, then of the regime."""
    noise: Corruption
    adversary: AdversarialLoss | None
    shape: tuple[int, ...]
    """Shape of a point of the data."""
    classes: int
    smoothing: float
    span: Bounds | None
    """Value range of images that augmentations need in [0, 1]; None: as they are."""

    @classmethod
    def of(
        cls,
        regime: Regime,
        recipe: Recipe,
        data: Dataset,
        rows: IntArray,
        bounds: Bounds | None,
        *,
        device: torch.device | None = None,
    ) -> RegimeStep:
        """Return what is done with batches of these rows; what is found first, on a device."""
        images = len(data.shape) > 1
        if regime.augmentations and not images:
            raise InputError(
                f"{regime.augmentations[0].spec} is for images, got points of {data.d} values; "
                "leave it out"
            )
        augmentations = regime.augmentations
        if images and recipe.shift and not regime.confined:
            height = data.shape[0 if find_channels(data.shape) in ("absent", "last") else 1]
            margin = height // 8 if recipe.margin is None else recipe.margin
            augmentations = (FlipCrop(margin), *augmentations)
        adversary = None
        if regime.adversary is not None:
            adversary = regime.adversary.on(data, rows, bounds, device=device)
        span = None  # of uint8, which comes as x/255
        if data.x.dtype != np.uint8:
            span = find_range(augmentations, data.bounds or bounds)
        return cls(
            augmentations,
            regime.noise.bind(bounds),
            adversary,
            data.shape,
            len(data.classes),
            recipe.smoothing,
            span,
        )

    @property
    def replayable(self) -> bool:
        """Whether `compute` uses nothing but points and targets: it is so without an adversary."""
        return self.adversary is None

    def change(self, network: nn.Module, batch: Batch) -> Batch:
        """Return a batch with augmented and corrupted points."""
        x, targets = batch.x, batch.targets
        if self.augmentations:
            images = arrange_images(x, network)
            images = images[:, None] if images.ndim == 3 else images
            x, targets = augment(
                self.augmentations,
                images,
                targets,
                batch.keys,
                classes=self.classes,
                span=self.span,
            )
            x = x.permute(0, 2, 3, 1) if find_channels(self.shape) == "last" else x
            x = x.reshape(len(x), *self.shape)
        if not isinstance(self.noise, Clean):
            corrupt: Any = self.noise  # which takes tensors for arrays
            x = corrupt(x, fold(batch.noise_keys, len(self.augmentations)))
        return batch._replace(x=x, targets=targets)

    def compute(self, network: nn.Module, batch: Batch) -> StepOutcome:
        """Compute scores and loss."""

        def ask(points: Tensor) -> Tensor:
            return score_points(network, points, self.classes)

        if self.adversary is not None:
            return self.adversary(network, ask, batch, self.smoothing)
        scores = ask(batch.x)
        loss = cross_entropy(scores.float(), batch.targets, label_smoothing=self.smoothing)
        return StepOutcome(loss, scores, batch.targets)


def score_points(network: nn.Module, x: Tensor, classes: int) -> Tensor:
    """Return the scores of points in training, one column per class; it waits for no device."""
    points = arrange_images(x, network)
    try:
        with report_failures("network"):
            scores: Any = network(points)
    except ModelError as error:
        refused = len(x) == 1 and isinstance(error.__cause__, ValueError)
        if not refused or not any(isinstance(part, _BatchNorm) for part in network.modules()):
            raise
        raise InputError(
            "a step must have 2 points or more for batch normalisation, which this network has, "
            f"got 1; give a larger {either('batch in --recipe', 'batch=')}, or a network without it"
        ) from error
    if not isinstance(scores, Tensor) or scores.shape != (len(x), classes):
        got = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise InputError(
            f"network must return a tensor with one score per class, of shape {(len(x), classes)} "
            f"for {len(x)} points, got {got}; give its last layer {classes} outputs"
        )
    return scores


def augment(
    augmentations: Sequence[Augmentation],
    x: Tensor,
    targets: Any,
    keys: KeyArray,
    *,
    classes: int | None,
    span: Bounds | None,
) -> tuple[Tensor, Any]:
    """Return augmented images (n, C, H, W), and their targets, which Mixup mixes.

    Mixup needs targets: labels and the number of classes, or one share per class. `span` is what
    `find_range` returns.
    """
    if span is not None:
        mapped = map_to_unit(x, span)
        mapped, targets = augment(augmentations, mapped, targets, keys, classes=classes, span=None)
        return map_from_unit(mapped, span, x.dtype), targets
    for i, augmentation in enumerate(augmentations):
        change: Any = augmentation  # it says itself which of the two forms it has
        own = fold(keys, i)
        if not augmentation.takes_targets:
            x = change(x, own)
            continue
        if not isinstance(targets, Tensor) or (targets.ndim == 1 and classes is None):
            raise InputError(
                f"{augmentation.spec} mixes labels too: pass them after the images, and declare "
                "classes, the number of classes"
            )
        shares = one_hot(targets, classes or 0) if targets.ndim == 1 else targets
        x, targets = change(x, shares, own)
    return x, targets


class Noise:
    """A change of training batches: one fresh draw per image and call, on the batch's device.

    Also a transform in the style of torchvision's v2: it takes one image or a batch, and passes on
    whatever else it is given, such as labels. Draws follow from the seed and the number of calls;
    in a worker process of a ``DataLoader``, from the seed that torch gives to that worker. The
    result is always a copy, and no gradient is followed.

    Parameters
    ----------
    noise
        A corruption, or a spec such as ``linf(0.1)``, ``C2`` or ``l2(1) | sp(0.1) + ga(0.1)``, with
        augmentations before it if any, as in ``trivialaugment + C1``; or an augmentation. Noise
        that depends on the columns of the data, such as ``jitter(0.2)``, is refused.
    bounds
        Value range of the images, which noise is clipped to, or a `Bounds` for another rule; None:
        no bounds. Augmentations of floats need it, except FlipCrop and Mixup. Values beyond it are
        refused; on a GPU they are not checked, as that would make it wait, and noise clips them.
    seed
        A whole number for the same noise again; None for other noise every time.
    classes
        Number of classes, for Mixup, which mixes labels too: it is given them after the images,
        and returns one share per class.

    Examples
    --------
    >>> noise = Noise("linf(0.1)", seed=0)
    >>> images = torch.full((4, 3, 8, 8), 0.5)
    >>> noisy = noise(images)
    >>> noisy.shape, bool((noisy - images).abs().max() <= 0.1), bool((noise(images) == noisy).all())
    (torch.Size([4, 3, 8, 8]), True, False)
    """

    def __init__(
        self,
        noise: str | Corruption | Augmentation | Regime,
        *,
        bounds: BoundsLike = (0.0, 1.0),
        seed: int | None = None,
        classes: int | None = None,
    ) -> None:
        self.regime = as_regime(noise)
        if self.regime.adversary is not None:
            raise InputError(
                f"{self.regime.adversary.spec} needs the network; use train, or attack the network "
                "in your own loop"
            )
        refuse_gaps(self.regime.noise)
        if self.regime.noise.traits.by_column:
            raise InputError(
                f"{self.regime.noise.spec} depends on the columns of the data, which batches do "
                "not show; use train, study or NoiseAugmented"
            )
        self.bounds = as_bounds(bounds)
        self.classes = None if classes is None else check_whole("classes", classes, least=1)
        self.key = make_key(seed)
        self.calls = 0

    def __call__(self, x: Tensor, *others: Any) -> Any:
        """Return a changed image (C, H, W) of 1, 3 or 4 channels, or a batch of images or points.

        A tensor of two axes holds points (n, d), one per row, and one of a single axis is a point;
        a grey image (H, W) is given as ``x[None]``. Anything else that was given follows it.
        """
        single = _is_single(x)
        rows = x.detach()[None] if single else x.detach()
        self._check_values(rows)
        key = self._next_key()
        mixed = others[0] if others else None
        if augmentations := self.regime.augmentations:
            keys = row_keys(key, np.arange(len(rows)), np.arange(1))[:, 0]
            levels = x.dtype == torch.uint8
            span = None if levels else find_range(augmentations, self.bounds)
            rows, mixed = augment(augmentations, rows, mixed, keys, classes=self.classes, span=span)
        elif isinstance(self.regime.noise, Clean):
            rows = rows.clone()
        if not isinstance(self.regime.noise, Clean):
            rows = corrupt(rows, self.regime.noise, rng=key, bounds=self.bounds)
        changed = rows[0] if single else rows
        return (changed, mixed, *others[1:]) if others else changed

    def _check_values(self, x: Tensor) -> None:
        """Raise `InputError` for finite values beyond the bounds, which would be clipped."""
        bounds = self.bounds
        if bounds is None or x.device.type != "cpu" or not x.numel() or x.is_complex():
            return
        if counts_as_images(x) and (bounds.low, bounds.high) == (0, 1):
            return
        ends = np.array([float(end) for end in torch.aminmax(x)])
        if np.isfinite(ends).all():  # else `corrupt` says where
            precision = torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
            bounds.check(ends, slack=max(ROUNDING, 8 * precision))

    def _next_key(self) -> int:
        worker = torch.utils.data.get_worker_info()
        self.calls += 1
        return digest("training noise", self.key, worker.seed if worker else 0, self.calls)

    def __repr__(self) -> str:
        return f"Noise({self.regime.spec!r}, bounds={self.bounds})"


def _is_single(x: Any) -> bool:
    """Whether a tensor is one image or point, and no batch; `InputError` if neither is clear."""
    if not isinstance(x, Tensor):
        raise InputError(f"x must be a tensor, an image or a batch, got {type(x).__name__}")
    if x.ndim < 1:
        raise InputError("x must be an image or a batch, got a tensor without axes; give x[None]")
    if x.ndim == 3 and x.shape[0] not in CHANNELS:
        raise InputError(
            f"x with three axes must be one image (C, H, W) of 1, 3 or 4 channels, got shape "
            f"{tuple(x.shape)}; give x[:, None] for a batch of grey images, or x[None] for one "
            "image of many channels"
        )
    return x.ndim in (1, 3)
