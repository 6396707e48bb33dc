"""Points that networks from files were not trained on: such a file tells which these are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.core.types import IntArray
    from shaketable.data.dataset import Dataset

_PASS_OTHERS = "pass held-out data with --test"


def _list_held_out(models: Mapping[str, str], data: Dataset) -> dict[str, IntArray]:
    """Rows that models were not trained on, by name: of files of networks trained on these data."""
    from shaketable.models.networks.files import find_held_out  # slow to import

    found = {name: find_held_out(source, data.fingerprint) for name, source in models.items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def take_held_out(models: Mapping[str, str], data: Dataset) -> tuple[Dataset, list[str]]:
    """Return the data with a fixed test part, points that no model was trained on, and notes.

    These name the models of which that is not known.
    """
    import numpy as np

    from shaketable.data.arrays import fix_test_part
    from shaketable.models.builtin import BUILTIN
    from shaketable.views.text import name_notes

    if data.n_train is not None:
        raise InputError(
            "--held-out is for data without a test part, which these have; leave it out"
        )
    held_out = _list_held_out(models, data)
    if not held_out:
        raise InputError(
            "--held-out needs a file of a network that was trained on these very data, with the "
            f"same --points and --scale (train -o); else {_PASS_OTHERS}"
        )
    for name, rows in held_out.items():
        if len(rows) == 0:
            raise InputError(
                f"--held-out leaves no points: {name} was trained on all of them; {_PASS_OTHERS}"
            )
    rows = reduce(np.intersect1d, held_out.values())
    if len(rows) == 0:
        raise InputError(
            f"--held-out leaves no points: each was used to train one of {', '.join(held_out)}; "
            "evaluate them one at a time, or train them with the same --seed"
        )
    unknown = [name for name in models if name not in held_out and models[name] not in BUILTIN]
    notes = name_notes(
        (
            name,
            "it is not known on which points the model was trained; if on some of those that were "
            f"held out, its accuracy is too high: {_PASS_OTHERS}",
        )
        for name in unknown
    )
    return fix_test_part(data, rows), notes


def note_training_points(models: Mapping[str, str], data: Dataset) -> list[str]:
    """Say of which models it is known that they were trained on points that were evaluated."""
    from shaketable.models.builtin import BUILTIN
    from shaketable.views.text import name_notes

    if data.n_train is not None:
        return []
    known = _list_held_out(models, data)
    remedies = {
        name: f"evaluate the other {len(rows)} with --held-out" if len(rows) else _PASS_OTHERS
        for name, rows in known.items()
    }
    notes = name_notes(
        (name, f"trained on {data.n - len(rows)} of these {data.n} points; {remedies[name]}")
        for name, rows in known.items()
    )
    if any(source not in BUILTIN for name, source in models.items() if name not in known):
        notes.append(
            f"all {data.n} points were used; if a model was trained on some of them, {_PASS_OTHERS}"
        )
    return notes
