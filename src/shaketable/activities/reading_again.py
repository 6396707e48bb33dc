"""Load the data of a results file again, as its commands read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shaketable.activities.held_out import take_held_out
from shaketable.core.errors import InputError
from shaketable.core.options import list_options, make_options, read_settings
from shaketable.data.dataset import Dataset
from shaketable.data.options import DataOptions
from shaketable.evaluation.store import Store
from shaketable.models.options import ModelOptions


def load_again(path: str, given: Mapping[str, Any]) -> Dataset:
    """Load data as the options say and, where they say nothing, as a command of the file did.

    If the file holds several data sets, the way to read them counts by which these are of the file.
    """
    with Store(path, must_exist=True) as store:
        commands = store.commands()
    problem: InputError | None = None
    read: Dataset | None = None
    known = list_options(DataOptions).keys() - {"data"}  # which must be given again
    for command in commands:
        settings = {key: command.settings[key] for key in known & command.settings.keys()}
        values = read_settings(DataOptions, settings, where=f"results file {path!r}")
        try:
            data = make_options(DataOptions, values | dict(given)).load(seed=command.seed)
            if command.settings.get("held_out"):  # the files of the networks tell which points
                models = make_options(ModelOptions, {"model": command.settings["model"]})
                data, _ = take_held_out(models.named(), data)
        except InputError as error:
            problem = problem or error
            continue
        if data.fingerprint == command.fingerprint:
            return data
        read = read or data
    if read is None and problem is not None:
        raise problem
    return read or make_options(DataOptions, given).load()


def load_given(path: str, values: Mapping[str, Any]) -> Dataset | None:
    """Load the data that flags name; None if they name none. `values` are all, with defaults."""
    given = {
        key: values[key]
        for key, option in list_options(DataOptions).items()
        if values[key] not in (option.default, [])
    }
    return load_again(path, given) if given else None
