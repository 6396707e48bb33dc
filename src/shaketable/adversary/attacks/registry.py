"""Attacks by name: ours, those of installed packages, and ``package.module:name``.

An attack declares itself in the module that defines it, with `declare`. Other packages list theirs
as entry points in the group ``shaketable.attacks``, or users name them as ``package.module:name``.
Either refers to a class or function that returns an `Attack`, or to an attack itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from shaketable.adversary.attacks.attack import Attack, AttackResult, confirm
from shaketable.adversary.region import Region
from shaketable.core.errors import FOREIGN_ERRORS, InputError, ShaketableError, describe_error
from shaketable.core.registry import Registry
from shaketable.core.spec import Call, Value
from shaketable.core.types import IntArray, KeyArray
from shaketable.models.classifier import Classifier

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class AttackEntry:
    """What the registry knows of an attack."""

    name: str
    make: Callable[..., Any]
    """Takes the arguments of a spec and returns an attack."""
    arguments: str = ""
    """Arguments with their defaults, as they are written in a spec."""
    about: str = ""
    """One line of help."""
    needs: str = ""
    """Package that must be installed, the name of an extra of ours."""

    @property
    def usage(self) -> str:
        """How it is written in a spec."""
        return f"{self.name}({self.arguments})" if self.arguments else self.name

    def create(self, call: Call) -> Attack:
        """Make the attack with the arguments of a spec; whole numbers are passed as int."""
        if self.needs and find_spec(self.needs) is None:
            raise InputError(
                f"attack {self.name} needs {self.needs}, which is not installed; "
                f"pip install 'shaketable[{self.needs}]'"
            )
        args = map(_as_whole, call.args)
        options = {name: _as_whole(value) for name, value in call.options.items()}
        try:
            attack = self.make(*args, **options)
        except ShaketableError:
            raise
        except TypeError as error:
            hint = f"; write {self.usage}" if self.arguments else f": {error}"
            raise InputError(f"attack {call} is not understood{hint}") from error
        except FOREIGN_ERRORS as error:
            raise InputError(
                f"attack {call} cannot be made: {describe_error(error)}; correct its arguments or "
                "its code"
            ) from error
        return admit(attack, self.name)


def declare(name: str, arguments: str, about: str, *, needs: str = "") -> Callable[[T], T]:
    """Class decorator that declares one of our attacks under a name."""

    def add(cls: T) -> T:
        ATTACKS.add(name, AttackEntry(name, cls, arguments, about, needs))
        return cls

    return add


def describe_attacks() -> dict[str, str]:
    """How every attack is written in a spec, with one line of help."""
    return ATTACKS.describe(lambda _, entry: {entry.usage: entry.about})


def admit(attack: Any, name: str = "") -> Attack:
    """Return an attack that can be run: one of ours as it is, others as a `ForeignAttack`."""
    if type(attack).__module__.startswith("shaketable."):
        return attack  # type: ignore[no-any-return]  # ours follow the protocol
    try:
        spec = getattr(attack, "spec", None)
    except FOREIGN_ERRORS as error:
        shown = repr(name) if name else type(attack).__name__
        raise InputError(
            f"attack {shown}: its spec cannot be read: {describe_error(error)}; correct its code"
        ) from error
    if not callable(attack) or not isinstance(spec, str):
        shown = f"{name!r} returned" if name else "got"
        raise InputError(
            f"an attack must be callable and have a spec, a string; {shown} {attack!r}"
        )
    return ForeignAttack(attack, spec)


@dataclass(frozen=True)
class ForeignAttack:
    """An attack of another package: what it returns is checked, and what it finds confirmed."""

    attack: Attack
    spec: str
    """As the attack itself states it."""

    def covers(self, region: Region) -> str:
        """How closely it claims to have searched a region; empty if it does not say."""
        try:
            describe = getattr(self.attack, "covers", None)
            return str(describe(region)) if describe else ""
        except FOREIGN_ERRORS as error:
            raise self._explain(error, " in covers()") from error

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Run the attack, and keep the points that `confirm` finds to count."""
        try:
            result = self.attack(model, region, rows, y, keys)
        except ShaketableError:
            raise
        except FOREIGN_ERRORS as error:
            raise self._explain(error) from error
        try:
            moved = np.array(result.moved, np.float64).reshape(len(rows), region.x.shape[1])
            hit = np.array(result.hit, bool).reshape(len(rows))
            proven = None if result.proven is None else np.array(result.proven, bool)
            settled = None if proven is None else proven.reshape(len(rows))
            queries = int(result.queries)
        except FOREIGN_ERRORS as error:  # it may be anything
            raise InputError(
                f"attack {self.spec} must return an AttackResult for {len(rows)} rows of "
                f"{region.x.shape[1]} values: {error}"
            ) from error
        claimed = np.flatnonzero(hit)
        hit[claimed] = confirm(model, region, rows[claimed], y[claimed], moved[claimed])
        if settled is not None:
            settled[claimed] &= hit[claimed]
        return AttackResult(moved, hit, queries + len(claimed), settled)

    def _explain(self, error: BaseException, where: str = "") -> InputError:
        return InputError(
            f"attack {self.spec} failed{where} with {describe_error(error)}; correct its code or "
            "choose another attack"
        )


def _as_whole(value: Value) -> Any:
    """Whole numbers as integers, everything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _admit_entry(name: str, thing: Any) -> AttackEntry:
    """Entry of what another package declared: a class, a function, or an attack."""
    if not callable(thing):
        raise InputError(
            f"attack {name!r} must be a class or a function that returns an attack, got {thing!r}"
        )
    made = not isinstance(thing, type) and hasattr(thing, "spec")
    about = (thing.__doc__ or "").strip().partition("\n")[0]
    return AttackEntry(name, (lambda: thing) if made else thing, about=about)


ATTACKS: Registry[AttackEntry] = Registry(
    "attack",
    admit=_admit_entry,
    homes=tuple(
        f"shaketable.adversary.attacks.{home}"
        for home in ("gradients", "random_search", "rays", "cover")
    ),
)
"""All attacks that a spec can name, in the order in which they are listed."""
