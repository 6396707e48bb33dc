"""Buying robustness: noise, augmentations, recipes and a loop for torch networks.

`Noise` is for anyone's loop; `train` is ours. Names are loaded when they are first used: all but
the recipes need torch.
"""

from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.lazy import attach

_get_name, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _get_name(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            f"training.{name} needs torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error
