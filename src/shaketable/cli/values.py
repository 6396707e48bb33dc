"""What the flags of several commands stand for: data, models, bounds and suites."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.core.options import make_options

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.data.dataset import Dataset
    from shaketable.models.options import ModelOptions


def load_data(args: argparse.Namespace, **changes: Any) -> Dataset:
    """Load the data as the flags say, or otherwise where `changes` say so."""
    from shaketable.data.options import DataOptions

    changes = {"seed": getattr(args, "seed", 0)} | changes
    return make_options(DataOptions, vars(args)).load(**changes)


def get_models(args: argparse.Namespace) -> ModelOptions:
    """Return which models the flags name, and what they declare."""
    from shaketable.models.options import ModelOptions

    return make_options(ModelOptions, vars(args))


def read_suites(args: argparse.Namespace) -> list[Suite]:
    """Suites and grids as the flags say."""
    from shaketable.corruptions.suites.suite import suite
    from shaketable.evaluation.options import make_grid

    names = [args.suite] if isinstance(args.suite, str) else args.suite or []
    return [*map(suite, names), *map(make_grid, args.grid or ())]
