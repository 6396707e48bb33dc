"""Recipes: how a network is trained, as data. The published ones are in ``recipes.toml``.

Learning rates over a training are specs such as ``onecycle(0.2)`` or ``steps(20, 25)``.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from shaketable.core.checks import HUGE, TINY, check_real, check_whole, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.spec import Value, parse_call
from shaketable.data.bounds import Rule

Rate = Callable[[float], float]
"""Share of the highest learning rate, by the epoch, which may be broken, as 2.5."""

SCHEDULES = {
    "constant": "the same rate all the time",
    "cosine": "falls to 0 along half a cosine",
    "onecycle(0.2)": "rises over this share of the training, then falls to 0, both linearly",
    "restarts(10, 2)": "cosine of 10 epochs, then starts again, each time 2 times as long (SGDR)",
    "steps(20, 25, factor=0.2)": "times the factor from each of these epochs on",
}
"""Forms of the specs with what they mean."""


def read_schedule(spec: str, epochs: float) -> Rate:
    """Return the learning rate that a spec names, in a training of so many epochs.

    >>> rate = read_schedule("steps(20, 25, factor=0.2)", 30)
    >>> [round(rate(epoch), 3) for epoch in (0, 19.9, 20, 29)]
    [1.0, 1.0, 0.2, 0.04]
    >>> rate = read_schedule("restarts(10, 2)", 150)
    >>> [round(rate(epoch), 3) for epoch in (0, 5, 10, 20, 30)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    call = parse_call(spec)
    numbers = [_check_number(value, spec) for value in call.args]
    named = [(key, _check_number(value, spec)) for key, value in call.options.items()]
    match call.name, numbers, named:
        case "constant", [], []:
            return lambda _: 1.0
        case "cosine", [], []:
            return lambda epoch: _fall(epoch / epochs)
        case "onecycle", [share], [] if 0 < share < 1:
            top = share * epochs
            return lambda epoch: min(epoch / top, (epochs - epoch) / (epochs - top))
        case "steps", [_, *_], [("factor", factor)]:
            return lambda epoch: factor ** sum(epoch >= first for first in numbers)
        case "restarts", [first, growth], [] if first > 0 and growth >= 1:
            return lambda epoch: _fall(_place_in_cycle(epoch, first, growth))
    form = next((form for form in SCHEDULES if parse_call(form).name == call.name), None)
    if form is None:
        raise unknown_name("schedule", call.name, [parse_call(form).name for form in SCHEDULES])
    raise InputError(f"schedule must read like {form}: {SCHEDULES[form]}; got {spec}")


def _check_number(value: Value, spec: str) -> float:
    return check_real(f"schedule {spec}", value, "have numbers from 0 up", low=0, high=HUGE)


def _fall(share: float) -> float:
    """Half a cosine from 1 to 0."""
    return (1 + math.cos(math.pi * share)) / 2


def _place_in_cycle(epoch: float, first: float, growth: float) -> float:
    """Share of the present cycle that has passed."""
    length = first
    while epoch >= length:
        epoch, length = epoch - length, length * growth
    return epoch / length


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained: stochastic gradient descent with momentum, and what comes before.

    Parameters
    ----------
    about
        What the recipe is, in one line.
    network
        Spec of the network.
    epochs
        Number of epochs.
    batch
        Number of points per step.
    rate
        Highest learning rate.
    schedule
        Learning rate over the training.
    planned
        Epochs that the schedule was made for; it is stretched to `epochs`.
    momentum
        Momentum of the gradients.
    nesterov
        Whether it is Nesterov's.
    weight_decay
        Weight decay.
    smoothing
        Label smoothing.
    shift
        Whether images are mirrored and cropped at random, before all else.
    margin
        Pixels of black margin before a crop; None for an eighth of the height.
    rule
        How noise is kept in the value range; see `Bounds`.
    fresh
        Whether noise is drawn anew in every epoch; else once for every image.
    pretrained
        Whether it is for networks that start from weights.

    Examples
    --------
    >>> make_recipe("mscr-cifar", epochs=6).epochs
    6
    """

    about: str = ""
    network: str = "resnet9"
    epochs: int = 16
    batch: int = 512
    rate: float = 0.4
    """Highest learning rate."""
    schedule: str = "onecycle(0.2)"
    """Learning rate over the training; its epochs are those of `planned`."""
    planned: int | None = None
    """Epochs that the schedule was made for: it is stretched to `epochs`."""
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 5e-4
    smoothing: float = 0.0
    """Label smoothing."""
    shift: bool = True
    """Whether images are mirrored and cropped at random, before all else."""
    margin: int | None = None
    """Pixels of black margin before a crop; None: an eighth of the height, 4 for 32 pixels."""
    rule: Rule = "clip"
    """How noise is kept in the value range; see `Bounds`."""
    fresh: bool = True
    """Whether noise is drawn anew in every epoch; else once for every image."""
    pretrained: bool = False
    """Whether it is for networks that start from weights; `train` has to be given these."""

    def __post_init__(self) -> None:
        if not isinstance(self.network, str):
            raise InputError(
                "network of a recipe must be a spec such as 'resnet9', got "
                f"{type(self.network).__name__}"
            )
        check_whole("epochs", self.epochs, least=1)
        check_whole("batch", self.batch, least=1)
        if self.planned is not None:
            check_whole("planned", self.planned, least=1)
        if self.margin is not None:
            check_whole("margin", self.margin, least=0)
        check_real("rate", self.rate, "be a positive number of float32", low=TINY, high=3.4e38)
        for name in ("momentum", "smoothing"):
            check_real(name, getattr(self, name), "lie in [0, 1)", low=0, high=1 - 2**-53)
        if self.nesterov and self.momentum == 0:
            raise InputError(
                f"momentum must be above 0 with nesterov, got {self.momentum!r}; leave nesterov out"
            )
        check_real("weight_decay", self.weight_decay, "be 0 or more", low=0, high=HUGE)
        self.make_schedule()

    def make_schedule(self) -> Callable[[float], float]:
        """Return the learning rate after a share of the training.

        Returns
        -------
        Callable[[float], float]
            Function from the share to the rate.

        Examples
        --------
        >>> rate = make_recipe("mscr-cifar", epochs=3).make_schedule()
        >>> rate(0.5), rate(0.7)  # falls after 2/3 and 5/6 of it, as published
        (0.01, 0.002)
        """
        planned = self.planned or self.epochs
        rate = read_schedule(self.schedule, planned)
        return lambda share: self.rate * rate(share * planned)

    def fit_to(self, n: int) -> Recipe:
        """Return the recipe for n points: batches of a twentieth of them at most, but 16 at least.

        The learning rate falls with the root of their size.

        Parameters
        ----------
        n
            Number of training points.

        Returns
        -------
        Recipe
            The recipe for them.

        Examples
        --------
        >>> recipe = make_recipe("fast").fit_to(640)
        >>> recipe.batch, round(recipe.rate, 6)
        (32, 0.1)
        """
        most = max(16, n // 20)
        if self.batch <= most:
            return self
        return replace(self, batch=most, rate=self.rate * math.sqrt(most / self.batch))

    @property
    def settings(self) -> dict[str, Any]:
        """All that the trained weights depend on."""
        words = ("about", "pretrained")  # which change no training
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in words}

    def note_weights(self, weights: object) -> list[str]:
        """Say that a training starts from random weights, where it is not meant to.

        Parameters
        ----------
        weights
            Weights that were given; None for none.

        Returns
        -------
        list[str]
            Notes.

        Examples
        --------
        >>> make_recipe("fast").note_weights(None)
        []
        """
        if not self.pretrained or weights is not None:
            return []
        return [
            "the recipe is for trained weights, and none are given "
            f"({either('--network SPEC@FILE.pt', 'weights=')}): {self.network} starts from random "
            "ones"
        ]


def choose_recipe(shape: tuple[int, ...]) -> str:
    """Return the name of the recipe for points of a shape, where none is named.

    >>> choose_recipe((32, 32, 3)), choose_recipe((4,))
    ('fast', 'points')
    """
    return "fast" if len(shape) > 1 else "points"


def make_recipe(
    name: str | Recipe = "fast",
    *,
    network: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    shift: bool | None = None,
) -> Recipe:
    """Return a recipe by its name, with other values where they are given.

    A schedule is stretched to another number of epochs.

    Parameters
    ----------
    name
        Name of the recipe, or a recipe.
    network
        Another network.
    epochs
        Another number of epochs.
    batch
        Another number of points per step.
    rate
        Another highest learning rate.
    shift
        Whether points are shifted at random.

    Returns
    -------
    Recipe
        The recipe with these values.

    Examples
    --------
    >>> make_recipe("fast", epochs=2).epochs
    2
    """
    recipe = name if isinstance(name, Recipe) else _read_named(name)
    values = {"network": network, "epochs": epochs, "batch": batch, "rate": rate, "shift": shift}
    given: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    if epochs is not None:
        given["planned"] = recipe.planned or recipe.epochs
    return replace(recipe, **given)


def _read_named(name: str) -> Recipe:
    tables = _read_tables()
    if name not in tables:
        raise unknown_name("recipe", name, tables)
    values = dict(tables[name])
    if like := values.pop("like", None):
        values = {**tables[like], **values}
    return Recipe(**values)


@cache
def _read_tables() -> Mapping[str, Mapping[str, Any]]:
    text = files("shaketable.training").joinpath("recipes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def describe_recipes() -> dict[str, str]:
    """Names of the recipes, with what they are."""
    return {name: _read_named(name).about for name in _read_tables()}
