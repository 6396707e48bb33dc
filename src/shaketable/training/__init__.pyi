from shaketable.models.networks.files import load_network as load_network
from shaketable.models.networks.registry import build_network as build_network
from shaketable.training.augmentations.auto_augment import AugMix as AugMix
from shaketable.training.augmentations.auto_augment import RandAugment as RandAugment
from shaketable.training.augmentations.auto_augment import TrivialAugment as TrivialAugment
from shaketable.training.augmentations.flip_crop import FlipCrop as FlipCrop
from shaketable.training.augmentations.mixup import Mixup as Mixup
from shaketable.training.augmentations.released import TorchvisionAugMix as TorchvisionAugMix
from shaketable.training.augmentations.released import (
    TorchvisionRandAugment as TorchvisionRandAugment,
)
from shaketable.training.hardening.result import Hardening as Hardening
from shaketable.training.recipes import Recipe as Recipe
from shaketable.training.recipes import make_recipe as make_recipe
from shaketable.training.regimes import Noise as Noise
from shaketable.training.trained import Trained as Trained
from shaketable.training.trained import UntrainedNetwork as UntrainedNetwork
from shaketable.training.trained import train as train
