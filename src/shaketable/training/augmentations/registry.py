"""Augmentations by name: ours, those of installed packages, and ``package.module:name``.

An augmentation declares itself in the module that defines it, with `declare`. Other packages list
theirs as entry points in the group ``shaketable.augmentations``, or users name them as
``package.module:name``. Either refers to a class or function that returns an augmentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from shaketable.core.errors import InputError
from shaketable.core.registry import Maker, Registry
from shaketable.core.spec import Call, parse_call
from shaketable.core.types import KeyArray

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T", bound=type)


class ImageAugmentation(Protocol):
    """Changes every image of a batch on its own.

    One that takes images of any value range, and puts 0 where there is none, says so by a class
    variable ``needs_range = False``; to others, images of other ranges come mapped to [0, 1].
    """

    takes_targets: ClassVar[bool]
    """False."""

    @property
    def spec(self) -> str:
        """Name and parameters, such as ``randaugment(n=2, m=9)``; parses back to the same."""

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images of the same shape and type.

        Parameters
        ----------
        x
            Images (N, C, H, W), floats in [0, 1] or uint8, on any device.
        keys
            One key per image, on the host, and the only source of randomness. Augmentations that
            follow each other need keys of their own, from `shaketable.core.keys.fold`.
        """


class TargetAugmentation(Protocol):
    """Changes the images of a batch and their targets together."""

    takes_targets: ClassVar[bool]
    """True."""

    @property
    def spec(self) -> str:
        """Name and parameters."""

    def __call__(self, x: Tensor, targets: Tensor, keys: KeyArray) -> tuple[Tensor, Tensor]:
        """Return changed images and targets; targets are probabilities of classes, (N, classes)."""


Augmentation: TypeAlias = "ImageAugmentation | TargetAugmentation"
"""`takes_targets` says which of the two it is."""


def declare(name: str, short: str, about: str) -> Callable[[T], T]:
    """Class decorator that declares one of our augmentations, a dataclass, under two names.

    The short one is that of the papers' tables; it may be empty.
    """

    def add(cls: T) -> T:
        arguments = write_spec(name, cls()).removeprefix(name).strip("()")
        line = f"{about}; short: {short}" if short else about
        maker = Maker("augmentation", name, cls, arguments, line, needs="torch")
        for known in filter(None, (name, short)):
            AUGMENTATIONS.add(known, maker)
        _ask_for_keys(cls)
        return cls

    return add


def _ask_for_keys(cls: Any) -> None:
    """Make calls of an augmentation without all of its arguments an `InputError`."""
    call, wanted = cls.__call__, "(x, targets, keys)" if cls.takes_targets else "(x, keys)"

    @wraps(call)
    def check(self: Any, *args: Any, **named: Any) -> Any:
        if len(args) + len(named) <= wanted.count(","):
            raise InputError(
                f"{self.spec} is called with {wanted}, one key per image; for new draws in every "
                f"call use training.Noise({self.spec!r})"
            )
        return call(self, *args, **named)

    cls.__call__ = check


def write_spec(name: str, augmentation: Any) -> str:
    """Return the canonical spec of one of our augmentations: its name and all its fields."""
    values = {field.name: getattr(augmentation, field.name) for field in fields(augmentation)}
    return str(Call(name, (), values))


def describe_augmentations() -> dict[str, str]:
    """How every augmentation is written in a spec, with one line of help."""
    return AUGMENTATIONS.describe(lambda _, maker: {maker.usage: maker.about})


def parse_augmentation(spec: str) -> Augmentation:
    """Return the augmentation that a spec string names.

    >>> parse_augmentation("mixup(0.2)").spec, parse_augmentation("TA").spec
    ('mixup(alpha=0.2)', 'trivialaugment')
    """
    call = parse_call(spec)
    return admit_augmentation(AUGMENTATIONS.get(call.name).create(call))


def as_augmentation(given: str | Augmentation) -> Augmentation:
    """Return an augmentation from a spec or an augmentation.

    >>> as_augmentation("flipcrop") == as_augmentation(as_augmentation("flipcrop(4)"))
    True
    """
    return parse_augmentation(given) if isinstance(given, str) else admit_augmentation(given)


def admit_augmentation(given: Any) -> Augmentation:
    """Return what follows one of the two protocols, or raise an `InputError`."""
    known = isinstance(getattr(given, "spec", None), str)
    if (
        not known
        or not callable(given)
        or not isinstance(getattr(given, "takes_targets", None), bool)
    ):
        raise InputError(
            "an augmentation must be callable and have a spec, a string, and takes_targets, True "
            f"or False; got {given!r}"
        )
    return given  # type: ignore[no-any-return]  # as far as can be seen


AUGMENTATIONS: Registry[Maker] = Registry(
    "augmentation",
    admit=partial(Maker.admit, "augmentation", needs="torch"),
    homes=tuple(
        f"shaketable.training.augmentations.{home}"
        for home in ("flip_crop", "auto_augment", "released", "mixup")
    ),
)
"""All augmentations that a spec can name."""
