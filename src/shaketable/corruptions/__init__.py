"""Corruptions: what is done to the inputs.

Every corruption is a frozen dataclass with one canonical spec string. A family of them is a module,
which declares them in the registry; to add one, copy such a module (see `registry`), or decorate a
function (see `custom`).
"""

from shaketable.core.lazy import attach
from shaketable.corruptions.corrupt import corrupt as corrupt  # not the module of this name
from shaketable.corruptions.parse import parse as parse

__getattr__, __dir__, __all__ = attach(__name__, __file__)
