"""Networks by name: ours, those of installed packages, and ``package.module:factory``.

A network declares itself in the module that defines it, with `declare`: a function with the keyword
arguments ``shape``, of a point without the axis of rows, and ``classes``, and with options of its
own. Other packages list such functions as entry points in the group ``shaketable.networks``, or
users name them as ``package.module:factory``; these need not take all of the arguments. Torch is
imported when a name is first looked up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.core.spec import Call, Value, parse_call
from shaketable.models.failures import report_failures
from shaketable.models.identity import is_module

if TYPE_CHECKING:
    from torch import nn

F = TypeVar("F", bound=Callable[..., Any])

_GIVEN = ("shape", "classes")
"""Arguments that the data decide."""


@dataclass(frozen=True)
class NetworkEntry:
    """What the registry knows of a network."""

    name: str
    make: Callable[..., Any]
    """Returns a module; takes `_GIVEN`, or some of them, and the options of a spec."""
    about: str = ""
    """One line of help."""
    example: tuple[int, ...] = (32, 32, 3)
    """Shape for which the list states the number of parameters."""

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        try:
            return inspect.signature(self.make).parameters
        except (TypeError, ValueError):  # compiled code may have none
            return {}

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {
            name: parameter.default
            for name, parameter in self._parameters.items()
            if parameter.kind in named and name not in _GIVEN
        }

    @property
    def _takes_all(self) -> bool:
        return any(p.kind is p.VAR_KEYWORD for p in self._parameters.values())

    @property
    def usage(self) -> str:
        """How it is written in a spec."""
        return str(self.resolve(Call(self.name)))

    def resolve(self, call: Call) -> Call:
        """Return the call with all options that have a simple value, in the order of the network.

        Options that the network does not have are an `InputError`.
        """
        known = self.options
        if call.args:
            raise InputError(
                f"network {call}: options must be written name=value"
                + (f"; known: {', '.join(known)}" if known else "; it has none")
            )
        unknown = [name for name in call.options if name not in known]
        if unknown and not self._takes_all:
            raise InputError(
                f"network {call} has no option {unknown[0]!r}; "
                + (f"known: {', '.join(known)}" if known else "it has none")
            )
        simple = {name: value for name, value in known.items() if type(value) in (int, float, str)}
        order = {name: call.options[name] for name in known if name in call.options}
        return Call(call.name, (), {**simple, **order, **call.options})

    def create(self, call: Call, *, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Make the network with the options of a spec; whole numbers are passed as int."""
        options = self.resolve(call).options
        arguments = {name: _as_whole(value) for name, value in options.items()}
        given = {"shape": shape, "classes": classes}
        arguments |= {
            name: value
            for name, value in given.items()
            if name in self._parameters or self._takes_all
        }
        with report_failures(str(call), "could not be made"):
            module: nn.Module = self.make(**arguments)
        if not is_module(module):
            raise InputError(
                f"network {self.name!r} must be a torch module, or a class or function that makes "
                f"one, got {type(module).__name__}"
            )
        return module


def declare(name: str, *, example: tuple[int, ...] = (32, 32, 3)) -> Callable[[F], F]:
    """Decorator that declares one of our networks; the first line of its docstring is its help."""

    def add(make: F) -> F:
        NETWORKS.add(name, NetworkEntry(name, make, _first_line(make), example))
        return make

    return add


def build_network(
    spec: str, *, shape: Sequence[int], classes: int, seed: int | None = None
) -> nn.Module:
    """Return the network that a spec names, with new weights.

    Parameters
    ----------
    spec
        Name of a network, with options if any, as in ``resnet9(width=16)``; or
        ``package.module:factory``, which is imported and called.
    shape
        Shape of a point: (H, W, C), (C, H, W), (H, W) or (d,).
    classes
        Number of classes, which is that of scores.
    seed
        Seed of the weights. The state of torch's random numbers is the same afterwards. By default
        the weights depend on that state, and change it.

    Returns
    -------
    nn.Module
        The network, on the CPU.

    Examples
    --------
    >>> network = build_network("resnet9(width=4)", shape=(8, 8, 3), classes=10, seed=0)
    >>> count_parameters(network)
    26350
    """
    import_torch()
    call = parse_call(spec)
    entry = NETWORKS.get(call.name)
    classes = check_whole("classes", classes, least=2)
    sides = tuple(check_whole("sides of a shape", side, least=1) for side in shape)
    with nullcontext() if seed is None else _seeded(seed):
        return entry.create(call, shape=sides, classes=classes)


def check_network(spec: str, *, shape: Sequence[int], classes: int) -> None:
    """Raise an `InputError` if one of our networks cannot be made for these points.

    It takes no memory. Networks of other packages may not know how to be made so.
    """
    torch = import_torch()
    if parse_call(spec).name in NETWORKS.declared:
        with torch.device("meta"):
            build_network(spec, shape=shape, classes=classes)


def is_network(spec: str) -> bool:
    """Whether a text is the spec of one of our networks, or of one of an installed package.

    >>> is_network("resnet9(width=8)"), is_network("resnet 9")
    (True, False)
    """
    try:
        call = parse_call(spec)
    except InputError:
        return False
    import_torch()
    return call.name in NETWORKS


def resolve_network(spec: str) -> str:
    """Return the spec of a network with all its options, so that equal networks have equal specs.

    >>> resolve_network("resnet9"), resolve_network(" wrn-28-10( dropout=.3 )")
    ('resnet9(width=64)', 'wrn-28-10(dropout=0.3)')
    """
    import_torch()
    call = parse_call(spec)
    return str(NETWORKS.get(call.name).resolve(call))


def name_network(spec: str) -> str:
    """Return the spec of a network with those options alone that are not the defaults.

    >>> name_network("resnet9(width=64)"), name_network("mlp(width=128, depth=2)")
    ('resnet9', 'mlp(depth=2)')
    """
    import_torch()
    call = parse_call(spec)
    entry = NETWORKS.get(call.name)
    usual = entry.resolve(Call(call.name)).options
    given = entry.resolve(call).options
    return str(Call(call.name, (), {k: v for k, v in given.items() if usual.get(k) != v}))


def count_parameters(network: nn.Module) -> int:
    """Return the number of values that training changes."""
    return sum(parameter.numel() for parameter in network.parameters())


def describe_networks() -> dict[str, str]:
    """How every network is written in a spec, with its help and number of parameters."""
    torch = import_torch()

    def describe(_: str, entry: NetworkEntry) -> dict[str, str]:
        with torch.device("meta"):
            network = entry.create(Call(entry.name), shape=entry.example, classes=10)
        size = count_parameters(network) / 1e6
        shape = "x".join(map(str, entry.example))
        return {entry.usage: f"{entry.about} ({size:.3g} M parameters at {shape}, 10 classes)"}

    return NETWORKS.describe(describe)


def import_torch() -> Any:
    """Return torch; an error says how to install it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise InputError(
            "networks need torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Context with random numbers of its own on the CPU, where the weights are drawn."""
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(check_whole("seed", seed, least=0))
        yield


def _as_whole(value: Value) -> Any:
    """Whole numbers as integers, truth values by name, everything else as it is."""
    words: dict[Any, bool] = {"true": True, "false": False}
    if isinstance(value, str):
        return words.get(value.lower(), value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _first_line(documented: Any) -> str:
    return (getattr(documented, "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")


def _admit(name: str, thing: Any) -> NetworkEntry:
    """Entry of what another package declared: a class, a function, or a module."""
    if is_module(thing):
        return NetworkEntry(name, lambda: deepcopy(thing), type(thing).__name__)
    if not callable(thing):
        raise InputError(
            f"network {name!r} must be a torch module, or a class or function that makes one, got "
            f"{thing!r}"
        )
    return NetworkEntry(name, thing, _first_line(thing))


NETWORKS: Registry[NetworkEntry] = Registry(
    "network",
    admit=_admit,
    homes=tuple(
        f"shaketable.models.networks.{home}"
        for home in (
            *("residual", "multilayer", "wide_resnet", "densenet", "resnext"),
            *("resnet", "vgg", "alexnet"),
        )
    ),
)
"""All networks that a spec can name, in the order in which they are listed."""
