"""Corruptions of other people: functions with the decorator `corruption`, and classes.

A decorated function of a module has the spec ``package.module:name(argument=value)``, which can be
used wherever specs are allowed. A package can add a short name by an entry point in the group
``shaketable.corruptions``::

    [project.entry-points."shaketable.corruptions"]
    rain = "mypackage.noise:rain"

A corruption named ``rain(0.2)`` has the spec ``rain(strength=0.2)``. Named by its module, or called
in Python, it keeps the spec ``mypackage.noise:rain(strength=0.2)``, whatever is installed. Results
are recorded by spec, so shaketable does not notice a change of the function's code: after one, use
a new name or a new results file.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

import numpy as np

from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.importing import import_object, is_reference
from shaketable.core.spec import Call, Value, format_value, parse_call, split_top_level
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.corruption import Corruption, Traits, on_arrays
from shaketable.corruptions.foreign import ONE_AT_A_TIME, admit_corruption, check_result
from shaketable.corruptions.registry import Declaration, EpsMin, check_bare
from shaketable.data.bounds import Bounds


@overload
def corruption(function: Callable[..., Any], /) -> CorruptionFunction: ...


@overload
def corruption(*, on_steps: bool = False) -> Callable[[Callable[..., Any]], CorruptionFunction]: ...


def corruption(
    function: Callable[..., Any] | None = None, /, *, on_steps: bool = False
) -> CorruptionFunction | Callable[[Callable[..., Any]], CorruptionFunction]:
    """Turn a function ``f(x, rng, *, strength, …)`` into a corruption: a decorator.

    The function is called once per point and draw. It gets `x`, a copy of one point's array, of
    float32 or float64 in the units of the data, and `rng`, a numpy Generator with a seed of its own
    for every point and draw. It returns the corrupted point, of the same shape. If all randomness
    comes from `rng`, results do not depend on batch size, order, workers or number of draws.

    Called with its other arguments, in order or by name, the decorated function returns a
    corruption. They can be numbers, words, True, False or None. A whole number is passed as int,
    unless the argument is annotated as float or its default is a float. The spec of the corruption
    contains all arguments, also those left at their defaults. The function must be at the top level
    of its module; one of a script or notebook cannot be evaluated with a results file.

    Results are clipped to the bounds of the data, if there are any. A result of another shape, or
    with values that are not finite, is an error. Results are recorded by spec: a change of the
    function's code is not noticed, so after one use a new name or a new results file.

    Parameters
    ----------
    function
        The function to decorate.
    on_steps
        Round results to the values that the data can hold, such as the 256 levels of uint8.

    Returns
    -------
    CorruptionFunction | Callable[[Callable[..., Any]], CorruptionFunction]
        The function as a corruption; or a decorator, if options are given.

    Examples
    --------
    >>> @corruption
    ... def dim(x, rng, *, strength=0.5):
    ...     return x * (1 - strength * rng.random())
    >>> dim(strength=0.2).spec
    'shaketable.corruptions.custom:dim(strength=0.2)'
    >>> from shaketable.corruptions import corrupt
    >>> corrupt(np.ones((2, 3)), dim(), rng=0).round(2)
    array([[0.61, 0.61, 0.61],
           [0.92, 0.92, 0.92]])
    """
    if function is None:
        return lambda decorated: CorruptionFunction(decorated, on_steps=on_steps)
    return CorruptionFunction(function, on_steps=on_steps)


class CorruptionFunction:
    """A decorated function: called with arguments, it returns a corruption.

    Attributes
    ----------
    function
        The function itself, ``f(x, rng, …)``.
    reference
        Where to find it: ``package.module:name``.
    on_steps
        Whether results are rounded to the values that the data can hold.
    """

    def __init__(self, function: Callable[..., Any], *, on_steps: bool = False) -> None:
        if not inspect.isfunction(function):
            raise InputError(f"@corruption is for functions, got {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.function = function
        self.on_steps = on_steps
        self.reference = f"{function.__module__}:{function.__qualname__}"
        if not is_reference(self.reference):
            raise InputError(
                f"corruption {self.reference} must be defined at the top level of its module, so "
                "that its spec can name it"
            )
        try:
            self._arguments = read_signature(function)
        except InputError as error:
            raise InputError(f"corruption {self.reference}: {error}") from None

    def __call__(self, *args: ArgumentValue, **options: ArgumentValue) -> FunctionCorruption:
        """Return the corruption with these arguments."""
        return self._make(self.reference, args, options)

    def read(self, call: Call) -> FunctionCorruption:
        """Return the corruption that a spec names; arguments are given by place or by name."""
        name = self.reference if is_reference(call.name) else call.name
        return self._make(name, call.args, call.options)

    def form(self, name: str) -> str:
        """Its spec under a name, with the names of its arguments."""
        return f"{name}({', '.join(self._arguments)})" if self._arguments else name

    def __repr__(self) -> str:
        return f"<corruption {self.reference}({', '.join(map(str, self._arguments.values()))})>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Be unpickled by name, as functions are; those of a script or notebook are copied."""
        if self.function.__module__ == "__main__":
            return (_decorate, (self.function, self.on_steps))
        return (import_object, ("corruption", self.reference))

    @property
    def _usage(self) -> str:
        names = ", ".join(argument.describe() for argument in self._arguments.values())
        return f"its arguments are {names}" if names else "it takes no arguments"

    def _make(
        self, name: str, args: Sequence[Any], options: Mapping[str, Any]
    ) -> FunctionCorruption:
        """Return the corruption with these arguments and the defaults of all others."""
        given = dict(zip(self._arguments, args, strict=False)) | dict(options)
        if len(given) != len(args) + len(options) or not {*given} <= {*self._arguments}:
            words = [*map(repr, args), *(f"{key}={value!r}" for key, value in options.items())]
            raise InputError(
                f"corruption {self.reference}: {self._usage}; got ({', '.join(words)})"
            )
        module = sys.modules.get(self.function.__module__)
        if getattr(module, self.function.__name__, None) is self.function:
            raise InputError(
                f"corruption {self.reference} is decorated under another name; put "
                "@shaketable.corruption on its definition"
            )
        values: list[tuple[str, ArgumentValue]] = []
        for key, argument in self._arguments.items():
            if key not in given and argument.is_required:
                raise InputError(
                    f"corruption {self.reference}: argument {key} is missing; {self._usage}"
                )
            try:
                value = argument.convert(given.get(key, argument.parameter.default))
            except InputError as error:
                raise InputError(f"corruption {self.reference}: {error}") from None
            values.append((key, value))
        return FunctionCorruption(name, tuple(values), self)


def _decorate(function: Callable[..., Any], on_steps: bool) -> CorruptionFunction:
    return CorruptionFunction(function, on_steps=on_steps)


@dataclass(frozen=True)
class FunctionCorruption(Corruption):
    """A corruption that calls a decorated function, point by point."""

    name: str
    arguments: tuple[tuple[str, ArgumentValue], ...]
    decorated: CorruptionFunction = field(compare=False, repr=False)
    bounds: Bounds | None = None

    @property
    def spec(self) -> str:
        """Canonical spec string, with all arguments by name."""
        options: dict[str, Value] = {name: write_value(value) for name, value in self.arguments}
        return str(Call(self.name, (), options))

    @property
    def ladder(self) -> str:
        """Name of the function: whatever its arguments, a point gets the same generators."""
        return self.name

    @property
    def size(self) -> float:
        """Always 0: one draw serves all arguments."""
        return 0.0

    @property
    def traits(self) -> Traits:
        """Results are rounded if the function says so."""
        return Traits(on_steps=self.decorated.on_steps)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Call the function on every point, with a generator seeded by the point's key."""
        out = np.empty_like(x)
        for row, (point, key) in enumerate(zip(x, drawn, strict=True)):
            out[row] = check_result(self.spec, self._call(point, key), point, np.isfinite(point))
        if self.bounds is None:
            return out
        if self.decorated.on_steps:
            return np.asarray(self.bounds.enforce(out))
        return np.asarray(out.clip(self.bounds.low, self.bounds.high))

    def _call(self, point: Array, key: np.uint64) -> Any:
        """Call the function on a copy of one point; what it raises is an error of one line."""
        rng = np.random.default_rng(int(key))
        failure = f"failed on a point of shape {np.shape(point)}: {{error}}; correct the function"
        with guard_foreign(f"corruption {self.spec} {failure}", but=()), ONE_AT_A_TIME:
            return self.decorated.function(np.array(point), rng, **dict(self.arguments))


def admit(name: str, thing: Any) -> Declaration:
    """Declaration of what another package has under a name: a decorated function or a class."""
    if isinstance(thing, CorruptionFunction):
        return Declaration(
            read=lambda call, _: thing.read(call),
            forms={thing.form(name): _first_line(thing.function)},
        )
    kind = thing if isinstance(thing, type) else type(thing)
    if not issubclass(kind, Corruption) or thing is Corruption:
        raise explain_refusal(name, thing)

    def read(call: Call, eps_min: EpsMin | None) -> Corruption:  # noqa: ARG001  (of p-norms alone)
        return _make_from_class(call, thing)

    return Declaration(read=read, forms={name: _first_line(thing)})


def _first_line(documented: Any) -> str:
    text = inspect.getdoc(documented) or "a corruption of another package"
    return text.partition("\n")[0]


def explain_refusal(name: str, thing: Any) -> InputError:
    """Error to raise for something that is no corruption; it says what to do."""
    if inspect.isroutine(thing):
        return InputError(
            f"corruption {name} is a plain function; decorate it with @shaketable.corruption: "
            f"def {thing.__name__}(x, rng, …)"
        )
    return InputError(
        "corruption must be a spec such as 'linf(0.1)', a function with @shaketable.corruption, or "
        f"a subclass of shaketable.corruptions.Corruption, got {thing!r}"
    )


def _make_from_class(call: Call, thing: Any) -> Corruption:
    """Return the corruption of a class with the arguments of a spec, or one that is ready."""
    if isinstance(thing, type):
        with guard_foreign(f"corruption {call}: {{error}}; check its arguments", but=()):
            made: Corruption = thing(*call.args, **call.options)
    else:
        check_bare(call)
        made = thing
    made = admit_corruption(made)
    if made.spec.partition("(")[0] != call.name and not _parses_back(made):
        raise InputError(
            f"corruption {call.name} has the spec {made.spec!r}, which does not parse back to it; "
            f"its spec must begin with {call.name}"
        )
    return made


def _parses_back(corruption: Corruption) -> bool:
    from shaketable.corruptions.parse import parse  # it builds on the registry

    try:
        return parse(corruption.spec) == corruption
    except InputError:
        return False


ArgumentValue: TypeAlias = "float | bool | str | None"

_WORDS: dict[str, ArgumentValue] = {"True": True, "False": False, "None": None}
_TYPES: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}
_RULES: dict[type | None, str] = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "a word",
    None: "a number, a word, True, False or None",
}
_UNFIT = object()
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Argument:
    """An argument of a decorated function, beside the point and the generator."""

    parameter: inspect.Parameter

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.parameter.default is inspect.Parameter.empty

    def __str__(self) -> str:
        name, default = self.parameter.name, self.parameter.default
        return name if self.is_required else f"{name}={write_value(default)}"

    def describe(self) -> str:
        """Its name, and its default if it has one."""
        name, default = self.parameter.name, self.parameter.default
        return name if self.is_required else f"{name} (default {write_value(default)})"

    def convert(self, value: Any) -> ArgumentValue:
        """Return a value in the type that the function gets, from Python or from a spec.

        Raises `InputError` for a value that a spec cannot contain.
        """
        converted = self._cast(value)
        if converted is _UNFIT or not self._parses_back(converted):
            raise InputError(f"{self.parameter.name} must be {_RULES[self._type]}, got {value!r}")
        checked: ArgumentValue = converted
        return checked

    def _parses_back(self, value: ArgumentValue) -> bool:
        """Whether a spec that contains the value, among others, gives the same value."""
        call = f"f({self.parameter.name}={write_value(value)}, _=0)"
        try:
            options = parse_call(call).options
        except InputError:
            return False
        alone = all(split_top_level(f"{call} {s} g", s) == [call, "g"] for s in "+|")
        again = self._cast(options.get(self.parameter.name))
        return alone and len(options) == 2 and bool(again == value)

    @property
    def _type(self) -> type | None:
        """Type that the annotation or the default asks for; None for any."""
        note, default = self.parameter.annotation, self.parameter.default
        asked = _TYPES.get(note if isinstance(note, str) else getattr(note, "__name__", ""))
        return asked or (type(default) if isinstance(default, bool | float | str) else None)

    def _cast(self, value: Any) -> Any:
        """Return the value as int, float, bool, text or None; `_UNFIT` if that is not possible."""
        asked = self._type
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, str) and asked is not str:
            value = _WORDS.get(value, value)
        if value is None or (isinstance(value, bool) and asked in (bool, None)):
            return value
        if isinstance(value, str):
            return value if asked in (str, None) else _UNFIT
        if isinstance(value, bool) or asked is bool or not isinstance(value, int | float):
            return _UNFIT
        if asked is str:
            return format_value(value)
        whole = float(value).is_integer()
        if asked is float or not whole:
            return _UNFIT if asked is int else float(value)
        return int(value)


def write_value(value: Any) -> str:
    """Text of an argument in a spec.

    >>> write_value(2.0), write_value(True), write_value("left")
    ('2', 'True', 'left')
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return format_value(value) if is_number else str(value)


def read_signature(function: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments of ``f(x, rng, …)`` after the first two, by name.

    Raises `InputError` for a function of another form.
    """
    first: list[inspect.Parameter] = []
    others: dict[str, Argument] = {}
    for parameter in inspect.signature(function).parameters.values():
        if len(first) < 2:
            first.append(parameter)
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"all arguments must have names, got {parameter}")
        else:
            others[parameter.name] = Argument(parameter)
    if len(first) < 2 or first[1].name != "rng" or any(p.kind not in _BY_PLACE for p in first):
        name = getattr(function, "__name__", "f")
        raise InputError(f"it must take the point and a generator first: def {name}(x, rng, …)")
    if "only" in others:
        raise InputError("no argument may be called only, which names columns; rename it")
    for argument in others.values():
        if not argument.is_required:
            argument.convert(argument.parameter.default)
    return others
