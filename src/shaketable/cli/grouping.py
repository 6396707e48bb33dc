"""Flags that say how models are grouped, and with which group the others are compared."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.findings.groups import Grouping


def add_grouping_flags(parser: argparse.ArgumentParser) -> None:
    """Add what models are grouped by, and the baseline."""
    parser.add_argument(
        "--group",
        action="append",
        metavar="regime|network|NAME=PATTERN",
        help="what models are grouped by in the table of means and differences: their training "
        "noise, their network, or patterns of their names, such as noisy='*(C?)'; repeat it for "
        "every pattern (default: regime)",
    )
    parser.add_argument(
        "--baseline",
        metavar="GROUP",
        help="training regime, or other group, that the others are compared with (default: clean, "
        "of other groups the first)",
    )


def read_group(args: argparse.Namespace) -> Grouping:
    """Return what ``--group`` asks for."""
    from shaketable.findings.groups import GROUPINGS

    asked = args.group or ["regime"]
    names = [text for text in asked if "=" not in text]
    if names and len(asked) > 1:
        raise InputError(
            f"--group must be one of regime and network, or patterns NAME=PATTERN, got "
            f"{' and '.join(map(repr, asked))}; leave out {names[0]!r}"
        )
    if names:
        if names[0] not in GROUPINGS:
            raise unknown_name("group", names[0], GROUPINGS)
        return str(names[0])
    patterns = dict(text.split("=", maxsplit=1) for text in asked)
    for name, pattern in patterns.items():
        if not (name and pattern):
            raise InputError(
                f"--group must be NAME=PATTERN, got {f'{name}={pattern}'!r}; such as noisy='*(C?)'"
            )
    return patterns
