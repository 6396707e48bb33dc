"""Registries: corruptions, suites, attacks, findings, model loaders and commands by name.

Ours declare themselves in the module that defines them. Other people's are found in two ways: by
the entry points of installed packages, in a group such as ``shaketable.corruptions``, and by
``package.module:name``, which is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.importing import import_object, is_reference

T = TypeVar("T")


@dataclass(eq=False)
class Registry(Generic[T]):
    """Things of one kind by name.

    >>> colours: Registry[int] = Registry("colour", admit=lambda name, thing: int(thing))
    >>> colours.add("red", 0xFF0000)
    16711680
    >>> colours.get("red"), list(colours)
    (16711680, ['red'])
    >>> colours.get("rad")
    Traceback (most recent call last):
        ...
    shaketable.core.errors.InputError: unknown colour 'rad'; did you mean 'red'? Known: red
    """

    kind: str
    """What they are called in messages; the entry points' group is ``shaketable.{kind}s``."""
    admit: Callable[[str, Any], T]
    """Turns what another package declared under a name into one of them, or raises `InputError`."""
    homes: tuple[str, ...] = ()
    """Modules in which ours declare themselves; imported when a name is first looked up."""
    _declared: dict[str, T] = field(default_factory=dict)

    def add(self, name: str, thing: T) -> T:
        """Declare one of ours, and return it."""
        if name in self._declared:
            raise InputError(f"{self.kind} {name!r} is declared already; choose another name")
        self._declared[name] = thing
        return thing

    def get(self, name: str) -> T:
        """Return what is declared under a name, or is named as ``package.module:name``."""
        if name in self._ours:
            return self._declared[name]
        if name in self._installed:
            return self.admit(name, self._load(self._installed[name]))
        if is_reference(name):
            return self.admit(name, import_object(self.kind, name))
        raise unknown_name(self.kind, name, self)

    def __iter__(self) -> Iterator[str]:
        """All names, ours first, in the order they were declared."""
        yield from self._ours
        yield from (name for name in self._installed if name not in self._declared)

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in self._installed

    def items(self) -> list[tuple[str, T]]:
        """Every name with what it stands for."""
        return [(name, self.get(name)) for name in self]

    @property
    def group(self) -> str:
        """Group of the entry points of other packages."""
        return f"shaketable.{self.kind.replace(' ', '_')}s"

    @property
    def _ours(self) -> dict[str, T]:
        for home in self.homes:
            import_module(home)
        return self._declared

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _load(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"{self.kind} {point.name!r} of an installed package cannot be loaded: {error}; "
                "update the package or uninstall it"
            ) from error
