"""Options of `separation`, as the command takes them."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.core.errors import InputError
from shaketable.core.options import (
    COMMON,
    RUNNING,
    WHOLE,
    cluster_option,
    contains,
    norm_option,
    option,
    report_option,
    seed_option,
    store_option,
    switch,
)
from shaketable.data.options import DataOptions
from shaketable.models.options import embedding_option
from shaketable.views.options import PrintOptions

_MAX_CLOSEST = 1000  # one less than separation() takes: the last pair shown needs the next


def _parse_closest(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"must be a whole number of at least 1, got {text!r}")
    if number > _MAX_CLOSEST:
        raise InputError(f"must be at most {_MAX_CLOSEST}, got {text!r}")
    return number


@dataclass(frozen=True)
class SeparationOptions(PrintOptions):
    """The data, the norm, and what else is computed."""

    dataset: DataOptions = contains(DataOptions, data={"is_argument": True, "required": True})
    norm: str = norm_option("inf")
    closest: int = option(
        "how many of the closest pairs of different classes to show (default: 10)",
        10,
        read=_parse_closest,
        form=WHOLE,
        metavar="N",
        group=COMMON,
    )
    minimum: bool = switch(
        "faster: do not find every point's nearest point of another class", group=COMMON
    )
    one_nn: bool = switch(
        "also report how often the nearest training point has a test point's label", group=COMMON
    )
    seed: int = seed_option("the split for --one-nn, where the data have no test part", RUNNING)
    embedding: str | None = embedding_option("distances")
    trust: bool = switch(
        "load files of networks and transformers that may hold code (.pt, .joblib): it runs",
        group="models",
        in_files=False,
    )
    device: str | None = option(
        "torch device to search on, such as cuda (default: all CPU cores, without torch)",
        metavar="NAME",
        group=RUNNING,
    )
    report: str | None = report_option("write a page with tables, figures and images")
    store: str | None = store_option("it keeps what a long search has found so far, and eps_min")
    cluster: str | None = cluster_option()
