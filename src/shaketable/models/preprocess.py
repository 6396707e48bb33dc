"""Preprocessing of images for a model: size, channel order, range of values, mean and deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.types import Array

Resample: TypeAlias = Literal["bilinear", "bicubic"]
Order: TypeAlias = Literal["rgb", "bgr"]
Layout: TypeAlias = Literal["first", "last"]


@dataclass(frozen=True)
class Preprocess:
    """What a model expects to be done to images, in this order; give it to `adapt`.

    Noise is added before, to the images of the data, and so is in the units of the data.

    Parameters
    ----------
    size
        Height and width to resize to; one number for a square.
    resample
        How: ``"bilinear"`` or ``"bicubic"``, both with a wider kernel where images shrink, as in
        Pillow.
    crop
        Height and width of the central part that is kept.
    order
        Order of the channels that the model takes; ``"bgr"`` reverses those of the data.
    scale
        Factor of all values, such as 255 for a model of values from 0 to 255.
    mean, std
        Subtracted from the scaled values, and divided by; one number, or one per channel.
    layout
        Where the model takes channels: ``"first"`` or ``"last"``. By default torch modules get
        them first, and other models as the data have them.

    Examples
    --------
    >>> halve = Preprocess(mean=[0.5], std=[0.5])
    >>> halve(np.array([[[0.0, 0.5], [1.0, 1.0]]])).tolist()
    [[[-1.0, 0.0], [1.0, 1.0]]]
    """

    size: int | Sequence[int] | None = None
    resample: Resample = "bilinear"
    crop: int | Sequence[int] | None = None
    order: Order = "rgb"
    scale: float = 1.0
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    layout: Layout | None = None

    def __post_init__(self) -> None:
        for name in ("size", "crop"):
            object.__setattr__(self, name, _read_size(name, getattr(self, name)))
        for name in ("scale", "mean", "std"):
            object.__setattr__(self, name, _read_numbers(name, getattr(self, name)))
        for name, known in (("resample", Resample), ("order", Order), ("layout", Layout)):
            value = getattr(self, name)
            if value is not None and value not in get_args(known):
                raise unknown_name(f"{name} of preprocess", str(value), get_args(known))
        if 0 in self._per_channel("std"):
            raise InputError("std of preprocess must not be 0: values are divided by it")

    @classmethod
    def parse(cls, words: Sequence[str]) -> Preprocess:
        """Read options such as ``size=224`` and ``mean=0.485,0.456,0.406``.

        Parameters
        ----------
        words
            Options, as on the command line.

        Returns
        -------
        Preprocess
            What they say.

        Examples
        --------
        >>> Preprocess.parse(["size=32,48", "scale=255"]).size
        (32, 48)
        """
        options: dict[str, Any] = {}
        known = [field.name for field in fields(cls)]
        for word in words:
            name, equals, text = word.partition("=")
            if name not in known:
                raise unknown_name("option of preprocess", name, known)
            if not equals or not text or name in options:
                raise InputError(f"preprocess must have each option once, as {name}=VALUE")
            try:
                options[name] = [float(n) for n in text.split(",")]
            except ValueError:
                options[name] = text
            else:
                options[name] = [int(n) if n.is_integer() else n for n in options[name]]
        return cls(**options)

    def __call__(self, x: Any) -> Any:
        """Return points as the model takes them: an array of an array, a tensor of a tensor.

        Points that are no images have only `scale`, `mean` and `std` applied, per column.
        """
        if x.ndim < 3:
            self._require_images(x)
            return self._normalise(x, (-1,))
        at = find_channels(x.shape[1:])
        planes = x[:, None] if at == "absent" else _move(x, 3, 1) if at == "last" else x
        if self.size is not None:
            height, width = (
                _like(planes, _make_weights(old, new, self.resample))
                for old, new in zip(planes.shape[2:], self._pair("size"), strict=True)
            )
            planes = height @ planes @ _move(width, 1, 0)
        if self.crop is not None:
            planes = self._cut(planes)
        if self.order == "bgr":
            planes = planes[:, list(range(planes.shape[1]))[::-1]]
        planes = self._normalise(planes, (-1, 1, 1))
        layout = self.layout or ("first" if at in ("either", "unknown") else at)
        if layout == "last":
            return _move(planes, 1, 3)
        return planes[:, 0] if layout == "absent" else planes

    def change_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape in which the model gets points of this shape.

        Parameters
        ----------
        shape
            Shape of a point.

        Returns
        -------
        tuple[int, ...]
            Shape that the model gets.

        Examples
        --------
        >>> Preprocess(size=256, crop=224).change_shape((32, 48, 3))
        (224, 224, 3)
        """
        return tuple(self(np.zeros((1, *shape), np.float32)).shape[1:])

    def _normalise(self, x: Any, shape: tuple[int, ...]) -> Any:
        scale, mean, std = (self._per_channel(name) for name in ("scale", "mean", "std"))
        for name, values in (("mean", mean), ("std", std)):
            if len(values) not in (1, x.shape[1]):
                raise InputError(
                    f"{name} of preprocess must be one number or one per channel, got "
                    f"{len(values)} for {x.shape[1]} channels"
                )
        x = x if scale == (1.0,) else x * scale[0]
        x = x if not any(mean) else x - _like(x, np.reshape(mean, shape))
        return x if set(std) == {1.0} else x / _like(x, np.reshape(std, shape))

    def _cut(self, planes: Any) -> Any:
        starts = []
        for old, new in zip(planes.shape[2:], self._pair("crop"), strict=True):
            if new > old:
                raise InputError(f"crop of preprocess must fit into the images, got {new} of {old}")
            starts.append(((old - new) // 2, new))
        (top, height), (left, width) = starts
        return planes[:, :, top : top + height, left : left + width]

    def _require_images(self, x: Any) -> None:
        if self.size or self.crop or self.layout or self.order != "rgb":
            raise InputError(
                "preprocess must have only scale, mean and std for points that are no images, got "
                f"points of shape {tuple(x.shape[1:])}"
            )

    def _pair(self, name: str) -> tuple[int, int]:
        value: tuple[int, int] = getattr(self, name)
        return value

    def _per_channel(self, name: str) -> tuple[float, ...]:
        value: tuple[float, ...] = getattr(self, name)
        return value if isinstance(value, tuple) else (value,)


@lru_cache(maxsize=16)
def _make_weights(old: int, new: int, resample: Resample) -> Array:
    """Weights (new, old) of the old pixels in every new one.

    The kernel is stretched by the factor by which the image shrinks, as Pillow does it.
    """
    stretch = max(old / new, 1.0)
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    distance = np.abs(np.arange(old) - centres[:, None]) / stretch
    if resample == "bilinear":
        weights = np.clip(1 - distance, 0, None)
    else:  # the cubic of Catmull and Rom, a = -1/2
        near = (1.5 * distance - 2.5) * distance**2 + 1
        far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
        weights = np.where(distance < 1, near, np.where(distance < 2, far, 0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _like(x: Any, values: Array) -> Any:
    """Return values as an array or a tensor of the type, and on the device, of `x`."""
    if isinstance(x, np.ndarray):
        return values.astype(x.dtype)
    return x.new_tensor(values)


def _move(x: Any, source: int, target: int) -> Any:
    """Move an axis of an array or a tensor."""
    return (
        np.moveaxis(x, source, target) if isinstance(x, np.ndarray) else x.movedim(source, target)
    )


def _read_size(name: str, value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    pair = [value, value] if np.ndim(value) == 0 else list(value)
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2 or not all(isinstance(n, int | np.integer) and n >= 1 for n in pair):
        raise InputError(f"{name} of preprocess must be one or two whole numbers, got {value!r}")
    return int(pair[0]), int(pair[1])


def _read_numbers(name: str, value: Any) -> tuple[float, ...] | float:
    try:
        numbers = tuple(float(number) for number in np.atleast_1d(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} of preprocess must be numbers, got {value!r}") from error
    if not numbers or not all(map(math.isfinite, numbers)) or (name == "scale" and numbers[1:]):
        how_many = "one finite number" if name == "scale" else "finite numbers"
        raise InputError(f"{name} of preprocess must be {how_many}, got {value!r}")
    return numbers if name != "scale" else numbers[0]
