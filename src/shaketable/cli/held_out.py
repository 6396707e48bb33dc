"""Points that networks from files were not trained on: such a file tells which these are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.core.types import IntArray
    from shaketable.data.dataset import Dataset

_PASS_OTHERS = "pass held-out data with --test"


def add_held_out_flag(parser: argparse.ArgumentParser) -> None:
    """Add whether only points are evaluated that were held out in training."""
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="evaluate only the points that were held out when the models, files of networks "
        "(train -o), were trained on these data; the others are the training part",
    )


def find_held_out(models: Mapping[str, str], data: Dataset, *, trust: bool) -> dict[str, IntArray]:
    """Rows that models were not trained on, by name: of files of networks trained on these data."""
    import numpy as np  # slow to import, as is what follows

    from shaketable.models.networks.files import is_network_file, load_network

    held_out = {}
    for name, source in models.items():
        info = load_network(source, trust=trust).info if is_network_file(Path(source)) else {}
        if info.get("data") == data.fingerprint and isinstance(info.get("held_out"), list):
            held_out[name] = np.array(info["held_out"], dtype=np.int64)
    return held_out


def take_held_out(models: Mapping[str, str], data: Dataset, *, trust: bool) -> Dataset:
    """Return the data with a fixed test part: the points that none of the models was trained on."""
    import numpy as np

    from shaketable.data.parts import fix_test_part

    if data.n_train is not None:
        raise InputError(
            "--held-out is for data without a test part, which these have; leave it out"
        )
    held_out = find_held_out(models, data, trust=trust)
    if not held_out:
        raise InputError(
            "--held-out needs a file of a network that was trained on these very data, with the "
            f"same --points and --scale (train -o); else {_PASS_OTHERS}"
        )
    rows = reduce(np.intersect1d, held_out.values())
    if len(rows) == 0:
        raise InputError(
            f"--held-out leaves no points: each was used to train one of {', '.join(held_out)}; "
            "evaluate them one at a time, or train them with the same --seed"
        )
    return fix_test_part(data, rows)


def note_training_points(models: Mapping[str, str], data: Dataset, *, trust: bool) -> list[str]:
    """Say of which models it is known that they were trained on points that were evaluated."""
    from shaketable.models.builtin import BUILTIN

    if data.n_train is not None:
        return []
    known = find_held_out(models, data, trust=trust)
    notes = [
        f"{name} was trained on {data.n - len(rows)} of these {data.n} points; "
        + (f"evaluate the other {len(rows)} with --held-out" if len(rows) else _PASS_OTHERS)
        for name, rows in known.items()
    ]
    if any(source not in BUILTIN for name, source in models.items() if name not in known):
        notes.append(
            f"all {data.n} points were used; if a model was trained on some of them, {_PASS_OTHERS}"
        )
    return notes
