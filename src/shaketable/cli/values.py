"""What the flags of several commands stand for: data, models, bounds and suites."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.cli.columns import choose_columns
from shaketable.core.errors import InputError, ModelError, describe_error

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.data.bounds import Bounds
    from shaketable.data.dataset import Dataset


def load_data(args: argparse.Namespace, **changes: Any) -> Dataset:
    """Load the data as the flags say, or otherwise where `changes` say so."""
    from shaketable.data.files import load

    if args.data is None:
        raise InputError("--data must name a file or a built-in set; see shaketable list datasets")
    names = "label", "test", "non_numeric", "drop", "types", "scale", "drop_clashes", "points"
    given = {name: getattr(args, name) for name in names} | {"seed": getattr(args, "seed", 0)}
    given |= changes
    scale = given.pop("scale")
    data = choose_columns(args, load(args.data, **given))
    return data.scaled() if scale else data


def read_models(args: argparse.Namespace) -> dict[str, str]:
    r"""Models by name, at least one; a model without a name of its own is named as it is given.

    ``NAME=MODEL`` names a model. What stands before the first ``=`` outside brackets is its name,
    unless it contains one of ``/ \ : @``: then the ``=`` is part of a path or of
    ``package.module:attribute@file``.
    """
    if not args.model:
        raise InputError("--model must name a model; see shaketable list models")
    models: dict[str, str] = {}
    for text in args.model:
        name, model = _split_name(text)
        if models.setdefault(name, model) != model:
            raise InputError(
                f"--model {name}={model}: the name {name!r} is taken by {models[name]!r}; choose "
                "another name"
            )
    return models


def _split_name(text: str) -> tuple[str, str]:
    """Split ``NAME=MODEL`` into name and model."""
    starts = (text[:i] for i, sign in enumerate(text) if sign == "=")
    name = next((start for start in starts if start.count("(") == start.count(")")), None)
    if name is None or any(mark in name for mark in "/\\:@"):
        return text, text
    model = text[len(name) + 1 :]
    if Path(text).exists():
        raise InputError(
            f"--model {text!r} could name a model or be a file of that name; for the file write "
            f"./{text}"
        )
    if not name.strip() or not model.strip():
        raise InputError(f"--model must be MODEL or NAME=MODEL, got {text!r}; add what is missing")
    return name.strip(), model.strip()


def load_declared(
    source: str, args: argparse.Namespace, data: Dataset | None = None, *, place: bool = True
) -> tuple[Any, bool]:
    """Load a model with what the flags declare; and return whether it still has to be fitted.

    `data` are those that it will get; without them a network is refused whose form they decide, and
    a built-in model has no preparation. A fitted network is put on the device of the flags; for a
    cluster, whose devices are not known here, only if they name one. With `place` false it stays
    where it is.
    """
    from shaketable.models.adapted import adapt, parse_classes
    from shaketable.models.loading import load_model
    from shaketable.models.preprocess import Preprocess

    words = getattr(args, "preprocess", None)
    preprocess = Preprocess.parse(words) if words else None
    shape = None if data is None else data.shape
    if shape is not None and preprocess is not None:
        shape = preprocess.change_shape(shape)
    model, unfitted = load_model(source, trust=args.trust, shape=shape, data=data)
    if args.classes or preprocess is not None:
        classes = parse_classes(args.classes) if args.classes else None
        model = adapt(model, classes=classes, preprocess=preprocess)
    device = getattr(args, "device", None)
    if place and (device is not None or getattr(args, "backend", None) is None):
        from shaketable.models.devices import place_model

        model = place_model(model, device)
    return model, unfitted


def note_devices(args: argparse.Namespace, devices: Mapping[str, str | None]) -> list[str]:
    """Say where networks computed, from the device of every model; None for one that is none."""
    names: dict[str, list[str]] = {}
    for name, device in devices.items():
        if device is not None:
            names.setdefault(device, []).append(name)
    notes = [f"computed on {device}: {', '.join(models)}" for device, models in names.items()]
    if args.device is not None and not notes:
        notes.append("--device changed nothing: no model is a network")
    return notes


@contextmanager
def run_model(name: str) -> Iterator[None]:
    """Context for code of a model: what it prints stays out of results, and it cannot exit."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        raise ModelError(f"model {name} failed: {describe_error(error)}; correct it") from error


def read_bounds(args: argparse.Namespace, data: Dataset) -> Bounds | Literal["declared"] | None:
    """Bounds as the flags say; None for none, and ``declared`` where they say nothing."""
    from shaketable.data.bounds import Bounds

    if args.range is None and args.bounds is None:
        return "declared"
    declared = data.bounds if args.range is None else Bounds(*args.range)
    if args.bounds == "none":
        return None
    if declared is None:
        hint = "--range 0,1: the features are scaled" if data.scaling else "--range LOW,HIGH"
        raise InputError(f"--bounds {args.bounds} needs a value range; add {hint}")
    return replace(declared, rule=args.bounds or declared.rule)


def read_suites(args: argparse.Namespace) -> list[Suite]:
    """Suites and grids as the flags say."""
    from shaketable.corruptions.suites.grids import grid
    from shaketable.corruptions.suites.suite import suite

    names = [args.suite] if isinstance(args.suite, str) else args.suite or []
    suites = [suite(name) for name in names]
    if args.orders and not args.grid:
        raise InputError("--orders goes with --grid; leave it out")
    for factors in args.grid or ():
        if len(factors) < 2:
            raise InputError(
                "--grid must have levels of two factors or more, each in quotes, such as 'sp(0.1), "
                f"sp(0.2)' 'rotation(30)', got {len(factors)}; one factor is no grid"
            )
        suites.append(grid(*factors, orders=args.orders or "both"))
    return suites
