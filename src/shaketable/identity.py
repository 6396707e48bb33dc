"""Content hashes: two objects with the same content have the same identity, in any process."""

from __future__ import annotations

import hashlib
import pickle
import types
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np


def content_hash(obj: Any) -> str | None:
    """Hash of all that pickle would save of `obj`; None where that is not enough to go by.

    A pickle itself will not do: it depends on which parts are shared, and the padding inside
    structured arrays (scikit-learn's trees) holds whatever was in memory.

    >>> content_hash({"a": 1, "b": np.arange(3)}) == content_hash({"b": np.arange(3), "a": 1})
    True
    >>> content_hash(lambda x: x) is None
    True
    """
    h = hashlib.blake2b(digest_size=16)
    try:
        _feed(h, obj, {})
    except (_NoIdentityError, pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return None
    return h.hexdigest()


class _NoIdentityError(Exception):
    """The object has parts whose content cannot be seen."""


def _feed(h: hashlib.blake2b, obj: Any, seen: dict[int, tuple[int, Any]]) -> None:
    if obj is None or isinstance(obj, bool | int | float | complex | str | bytes):
        _tag(h, type(obj).__name__, repr(obj).encode())
        return
    if id(obj) in seen:  # a cycle, or a part that is shared: its number stands for it
        _tag(h, "seen", str(seen[id(obj)][0]).encode())
        return
    seen[id(obj)] = (len(seen), obj)  # kept alive, so that ids stay unique
    match obj:
        case np.ndarray():
            _feed_array(h, obj, seen)
        case dict():
            items = [(repr(key), key, value) for key, value in obj.items()]
            ordered = sorted(items, key=lambda item: item[0])
            _feed_all(h, "dict", (part for _, key, value in ordered for part in (key, value)), seen)
        case list() | tuple():
            _feed_all(h, type(obj).__name__, obj, seen)
        case set() | frozenset():
            _feed_all(h, "set", sorted(obj, key=repr), seen)
        case type() | types.BuiltinFunctionType() | np.ufunc():
            _tag(h, "name", f"{getattr(obj, '__module__', '')}.{obj.__qualname__}".encode())
        case types.FunctionType():
            _feed_function(h, obj)
        case partial():
            _feed_all(h, "partial", (obj.func, obj.args, obj.keywords), seen)
        case _:
            reduced = obj.__reduce_ex__(4)
            if isinstance(reduced, str):  # a global, known by its name
                _tag(h, "name", f"{getattr(obj, '__module__', '')}.{reduced}".encode())
                return
            maker, args, *rest = reduced
            state, *iterators = [*rest, None, None, None][:3]
            parts = [list(i) if i is not None else None for i in iterators]
            _feed_all(h, "object", (type(obj), maker, args, state, *parts), seen)


def _feed_all(
    h: hashlib.blake2b, kind: str, parts: Iterable[Any], seen: dict[int, tuple[int, Any]]
) -> None:
    _tag(h, kind, b"(")
    for part in parts:
        _feed(h, part, seen)
    _tag(h, kind, b")")


def _feed_array(
    h: hashlib.blake2b, a: np.ndarray[Any, Any], seen: dict[int, tuple[int, Any]]
) -> None:
    _tag(h, "array", f"{a.dtype.descr} {a.shape}".encode())
    if a.dtype.names:
        for name in a.dtype.names:  # field by field: the padding between them is not content
            _feed(h, a[name], seen)
    elif a.dtype.hasobject:
        _feed(h, a.tolist(), seen)
    else:
        h.update(np.ascontiguousarray(a).tobytes())


def _feed_function(h: hashlib.blake2b, function: types.FunctionType) -> None:
    """Functions count by name and code; one that closes over values shows neither."""
    if function.__closure__ or "<" in function.__qualname__:
        raise _NoIdentityError(function.__qualname__)
    _tag(h, "function", f"{function.__module__}.{function.__qualname__}".encode())
    h.update(function.__code__.co_code)


def _tag(h: hashlib.blake2b, kind: str, data: bytes) -> None:
    h.update(f"{kind}:{len(data)}:".encode() + data)
