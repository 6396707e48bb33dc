"""Content hashes: two objects with the same content have the same identity, in any process."""

from __future__ import annotations

import dis
import hashlib
import inspect
import io
import pickle
import sys
import types
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

_KNOWN = frozenset(
    {"builtins", "copyreg", "joblib", "numpy", "pandas", "scipy", "sklearn", "torch"}
)
"""Packages whose classes count by name alone; their versions are recorded elsewhere."""

_UNSAVABLE = (TypeError, ValueError, AttributeError, RuntimeError)
"""What objects raise that cannot be saved."""

_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, np.ufunc)
"""What counts by its name where it is used."""


def content_hash(obj: Any) -> str | None:
    """Return a hash of what pickle would save of `obj`, and of code outside the known packages.

    None if that does not determine what the object does. The bytes of a pickle cannot be hashed
    instead: they depend on which parts are shared, and the padding inside structured arrays
    (scikit-learn's trees) holds whatever was in memory.

    >>> content_hash({"a": 1, "b": np.arange(3)}) == content_hash({"b": np.arange(3), "a": 1})
    True
    >>> content_hash(lambda x: x) is None
    True
    """
    try:
        return _Hasher().digest(obj).hex()
    except (_NoIdentityError, pickle.PickleError, *_UNSAVABLE):
        return None


def is_module(obj: Any) -> bool:
    """Whether this is a torch module; torch is not imported to find out.

    >>> is_module(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")  # imported already if there is a module
    return torch is not None and isinstance(obj, torch.nn.Module)


class Identified(ABC):
    """A model with a name and an identity of its own, such as one that was read from a file."""

    name: str

    @property
    @abstractmethod
    def identity(self) -> str | None:
        """Hash of the content; None if it is not known."""


class _NoIdentityError(Exception):
    """The object has parts whose content is unknown."""


class _Hasher:
    """Hashes parts first, then wholes from their hashes, so that shared parts count like copies."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, bytes]] = {}  # the object is kept, so ids stay unique
        self.open: list[int] = []

    def digest(self, obj: Any) -> bytes:
        if obj is None or isinstance(obj, bool | int | float | complex | str | bytes):
            return _hash(type(obj).__name__, [repr(obj).encode()])
        if id(obj) in self.done:
            return self.done[id(obj)][1]
        if id(obj) in self.open:  # a cycle: counts by how far back it leads
            return _hash("cycle", [str(len(self.open) - self.open.index(id(obj))).encode()])
        self.open.append(id(obj))
        result = self._digest(obj)
        self.open.pop()
        self.done[id(obj)] = (obj, result)
        return result

    def _digest(self, obj: Any) -> bytes:  # noqa: PLR0911  (one return per kind of object)
        match obj:
            case np.ndarray():
                return self._array(obj)
            case dict():
                items = sorted(self._all("item", item) for item in obj.items())
                return _hash("dict", items)
            case list() | tuple():
                return self._all(type(obj).__name__, obj)
            case set() | frozenset():
                return _hash("set", sorted(map(self.digest, obj)))
            case type():
                return self._class(obj)
            case types.FunctionType():
                return self._function(obj)
            case types.CodeType():
                return self._all("code", (obj.co_code, obj.co_consts, obj.co_names))
            case partial():
                return self._all("partial", (obj.func, obj.args, obj.keywords))
            case types.BuiltinFunctionType() | np.ufunc():
                return self._named(obj, obj.__qualname__)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.Tensor):
            return self._tensor(obj, torch)
        if torch is not None and isinstance(obj, torch.jit.ScriptModule):
            return _hash("script", _script_content(obj))
        if hasattr(obj, "get_arrays"):  # scikit-learn's neighbour trees hold a counter of calls
            return self._all("tree", (type(obj), *obj.get_arrays()))
        return self._object(obj)

    def _object(self, obj: Any) -> bytes:
        """Objects count by their class and by what pickle would save of them."""
        reduced = obj.__reduce_ex__(4)
        if isinstance(reduced, str):  # a global, known by its name
            return self._named(obj, reduced)
        maker, args, *rest = reduced
        state, *iterators = [*rest, None, None, None][:3]
        if is_module(obj):
            state = _module_content(obj, state)
        parts = (list(i) if i is not None else None for i in iterators)
        return self._all("object", (type(obj), maker, args, state, *parts))

    def _all(self, kind: str, parts: Iterable[Any]) -> bytes:
        return _hash(kind, [self.digest(part) for part in parts])

    def _named(self, obj: Any, name: str) -> bytes:
        return _hash("name", [f"{getattr(obj, '__module__', '')}.{name}".encode()])

    def _array(self, a: np.ndarray[Any, Any]) -> bytes:
        about = f"{a.dtype.descr} {a.shape}".encode()
        if a.dtype.names:  # field by field: the padding between them is not content
            return _hash("array", [about, *(self.digest(a[name]) for name in a.dtype.names)])
        if a.dtype.hasobject:
            return _hash("array", [about, self.digest(a.tolist())])
        return _hash("array", [about, np.ascontiguousarray(a).tobytes()])

    def _tensor(self, t: Any, torch: Any) -> bytes:
        """Tensors count by type, shape and bytes, on any device; subclasses may hold more."""
        if type(t) not in {torch.Tensor, torch.nn.Parameter} or t.is_quantized:
            raise _NoIdentityError(type(t).__name__)
        raw = t.detach().cpu().reshape(-1).view(torch.uint8).numpy()
        return _hash("tensor", [f"{t.dtype} {tuple(t.shape)}".encode(), raw.tobytes()])

    def _class(self, cls: type) -> bytes:
        """Classes count by name; those outside the known packages also by version and code."""
        name = self._named(cls, cls.__qualname__)
        package = cls.__module__.partition(".")[0]
        if package in _KNOWN or package in sys.stdlib_module_names:
            return name
        version = repr(_find_version(package))
        parts = {key: _class_part(key, value) for key, value in vars(cls).items()}
        content = {key: part for key, part in parts.items() if part is not None}
        return _hash(
            "class", [name, version.encode(), self._all("class", (content, cls.__bases__))]
        )

    def _function(self, function: types.FunctionType) -> bytes:
        """Functions count by name and code; closures and lambdas have no identity."""
        if function.__closure__ or "<" in function.__qualname__:
            raise _NoIdentityError(function.__qualname__)
        defaults = (function.__defaults__, function.__kwdefaults__)
        name = self._named(function, function.__qualname__)
        code = (function.__code__, *defaults, *_used_objects(function))
        return _hash("function", [name, self._all("code", code)])


def _class_part(name: str, value: Any) -> Any:
    """Return the code of a method or the value of a constant; None for other attributes."""
    value = getattr(value, "fget", getattr(value, "__func__", value))  # properties, static methods
    if isinstance(value, types.FunctionType):
        inner = inspect.unwrap(value)
        return (value.__code__, inner.__code__, *_used_objects(value), *_used_objects(inner))
    constant = isinstance(value, int | float | complex | str | bytes | tuple)
    return value if constant and not name.startswith("__") else None


def _used_objects(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Objects that a function finds outside itself, by name.

    A method may call a network that is a global of its module, or of the function around it. Code
    counts only if it is of the same module; other code is known by the names in the function. A
    package that has a version is known by that.
    """
    if _find_version(function.__module__) is not None:
        return []
    found = []
    for name in dict.fromkeys(_global_names(function.__code__)):
        value = function.__globals__.get(name)
        value = getattr(value, "py_func", value)  # what numba compiles
        here = getattr(value, "__module__", None) == function.__module__
        if value is not None and (here or not isinstance(value, _CODE)):
            found.append((name, value))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # of a name that is not set yet
            if not isinstance(cell.cell_contents, _CODE):
                found.append((name, cell.cell_contents))
    return found


def _find_version(module: str | None) -> Any:
    """Version of the package of a module; None if it has none."""
    package = (module or "").partition(".")[0]
    return getattr(sys.modules.get(package), "__version__", None)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Globals that the code of a function, and of those inside it, refers to."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
        elif isinstance(step.argval, types.CodeType):
            yield from _global_names(step.argval)


def _module_content(module: Any, state: Any) -> Any:
    """Return the state of a torch module without what it keeps about training and saving.

    The order of parts counts: a ``Sequential`` applies them in that order.
    """
    if module._forward_hooks or module._forward_pre_hooks:
        raise _NoIdentityError("hooks")
    if not isinstance(state, dict):
        return state
    kept = vars(sys.modules["torch"].nn.Module()).keys()
    parts = [list(state.get(k, {}).items()) for k in ("_parameters", "_buffers", "_modules")]
    return (*parts, {k: value for k, value in state.items() if k not in kept})


def _script_content(module: Any) -> Iterator[bytes]:
    """Code, weights and attributes of a TorchScript module, without places in source files."""
    with zipfile.ZipFile(io.BytesIO(module.save_to_buffer())) as archive:
        for entry in sorted(archive.namelist()):
            if not entry.endswith((".debug_pkl", "serialization_id")):
                yield entry.partition("/")[2].encode()
                yield archive.read(entry)


def _hash(kind: str, parts: Iterable[bytes]) -> bytes:
    h = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        h.update(len(part).to_bytes(8, "little") + part)
    return h.digest()
