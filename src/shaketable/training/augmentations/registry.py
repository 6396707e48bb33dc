"""Augmentations by name: ours, those of installed packages, and ``package.module:name``.

An augmentation declares itself in the module that defines it, with `declare`. Other packages list
theirs as entry points in the group ``shaketable.augmentations``, or users name them as
``package.module:name``. Either refers to a class or function that returns an augmentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from shaketable.core.errors import FOREIGN_ERRORS, InputError, ShaketableError, describe_error
from shaketable.core.registry import Registry
from shaketable.core.spec import Call, Value, parse_call
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


@dataclass(frozen=True)
class AugmentationEntry:
    """What the registry knows of an augmentation."""

    name: str
    make: Callable[..., Any]
    """Takes the arguments of a spec and returns an augmentation."""
    arguments: str = ""
    """Arguments with their defaults, as they are written in a spec."""
    about: str = ""
    """One line of help."""

    @property
    def usage(self) -> str:
        """How it is written in a spec."""
        return f"{self.name}({self.arguments})" if self.arguments else self.name

    def create(self, call: Call) -> Augmentation:
        """Make the augmentation with the arguments of a spec; whole numbers are passed as int."""
        if find_spec("torch") is None:
            raise InputError(
                f"augmentation {self.name} needs torch, which is not installed; "
                "pip install 'shaketable[torch]'"
            )
        args = map(_as_whole, call.args)
        options = {name: _as_whole(value) for name, value in call.options.items()}
        try:
            made = self.make(*args, **options)
        except ShaketableError:
            raise
        except TypeError as error:
            raise InputError(
                f"augmentation {call} is not understood; write {self.usage}"
            ) from error
        except FOREIGN_ERRORS as error:
            raise InputError(
                f"augmentation {call} cannot be made: {describe_error(error)}; correct its "
                "arguments or its code"
            ) from error
        return admit(made)


def declare(name: str, short: str, about: str) -> Callable[[T], T]:
    """Class decorator that declares one of our augmentations, a dataclass, under two names.

    The short one is that of the papers' tables; it may be empty.
    """

    def add(cls: T) -> T:
        arguments = write_spec(name, cls()).removeprefix(name).strip("()")
        entry = AugmentationEntry(
            name, cls, arguments, f"{about}; short: {short}" if short else about
        )
        for known in filter(None, (name, short)):
            AUGMENTATIONS.add(known, entry)
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
    return AUGMENTATIONS.describe(lambda _, entry: {entry.usage: entry.about})


def parse_augmentation(spec: str) -> Augmentation:
    """Return the augmentation that a spec string names.

    >>> parse_augmentation("mixup(0.2)").spec, parse_augmentation("TA").spec
    ('mixup(alpha=0.2)', 'trivialaugment')
    """
    call = parse_call(spec)
    return AUGMENTATIONS.get(call.name).create(call)


def as_augmentation(given: str | Augmentation) -> Augmentation:
    """Return an augmentation from a spec or an augmentation.

    >>> as_augmentation("flipcrop") == as_augmentation(as_augmentation("flipcrop(4)"))
    True
    """
    return parse_augmentation(given) if isinstance(given, str) else admit(given)


def admit(given: Any) -> Augmentation:
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


def _as_whole(value: Value) -> Any:
    """Whole numbers as integers, everything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _admit_entry(name: str, thing: Any) -> AugmentationEntry:
    """Entry of what another package declared: a class or a function, or an augmentation."""
    if not callable(thing):
        raise InputError(
            f"augmentation {name!r} must be a class or a function that returns an augmentation, "
            f"got {thing!r}"
        )
    made = not isinstance(thing, type) and hasattr(thing, "spec")
    about = (thing.__doc__ or "").strip().partition("\n")[0]
    return AugmentationEntry(name, (lambda: thing) if made else thing, about=about)


AUGMENTATIONS: Registry[AugmentationEntry] = Registry(
    "augmentation",
    admit=_admit_entry,
    homes=tuple(
        f"shaketable.training.augmentations.{home}"
        for home in ("flip_crop", "trivial_augment", "rand_augment", "augmix", "mixup")
    ),
)
"""All augmentations that a spec can name."""
