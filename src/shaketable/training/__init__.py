"""Buying robustness: noise, augmentations, recipes and a loop for torch networks.

`Noise` is for anyone's loop; `train` is ours. Names are loaded when they are first used: all but
the recipes need torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError

if TYPE_CHECKING:  # what __getattr__ does, for type checkers
    from shaketable.models.networks.files import load_network as load_network
    from shaketable.models.networks.registry import build_network as build_network
    from shaketable.training.augmentations.augmix import AugMix as AugMix
    from shaketable.training.augmentations.flip_crop import FlipCrop as FlipCrop
    from shaketable.training.augmentations.mixup import Mixup as Mixup
    from shaketable.training.augmentations.rand_augment import RandAugment as RandAugment
    from shaketable.training.augmentations.trivial_augment import TrivialAugment as TrivialAugment
    from shaketable.training.recipes import Recipe as Recipe
    from shaketable.training.recipes import make_recipe as make_recipe
    from shaketable.training.regimes import Noise as Noise
    from shaketable.training.trained import Trained as Trained
    from shaketable.training.trained import UntrainedNetwork as UntrainedNetwork
    from shaketable.training.trained import train as train

_HOME = {
    "AugMix": "training.augmentations.augmix",
    "FlipCrop": "training.augmentations.flip_crop",
    "Mixup": "training.augmentations.mixup",
    "Noise": "training.regimes",
    "RandAugment": "training.augmentations.rand_augment",
    "Recipe": "training.recipes",
    "Trained": "training.trained",
    "TrivialAugment": "training.augmentations.trivial_augment",
    "UntrainedNetwork": "training.trained",
    "build_network": "models.networks.registry",
    "load_network": "models.networks.files",
    "make_recipe": "training.recipes",
    "train": "training.trained",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shaketable.training' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"shaketable.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            f"training.{name} needs torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
