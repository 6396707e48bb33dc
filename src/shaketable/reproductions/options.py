"""Options of `reproduce`, as the command takes them."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.core.options import (
    COMMON,
    RESULTS,
    RUNNING,
    jobs_option,
    norm_option,
    one_of,
    option,
    parse_finite,
    parse_path,
    seed_option,
    whole,
)
from shaketable.evaluation.noise import Draws
from shaketable.models.options import device_option
from shaketable.reproductions.registry import FORMS
from shaketable.views.options import PrintOptions


@dataclass(frozen=True)
class ReproduceOptions(PrintOptions):
    """What is reproduced, with which data, and how it is carried out."""

    name: str | None = option(
        "which numbers; without it, all are listed with what they need",
        metavar="NAME",
        is_argument=True,
        group=COMMON,
    )
    data: str | None = option(
        "the data of the paper, where they are not part of this package: a file or folder",
        read=parse_path,
        metavar="PATH",
        group=COMMON,
    )
    form: str | None = option(
        "fast: on two cores; gpu: in minutes on a large GPU; full: as in the paper. The first that "
        "a name has is the default",
        read=one_of("form", FORMS),
        metavar="|".join(FORMS),
        group=COMMON,
    )
    runs: int | None = whole("runs, or groups of runs (default: those of the form)", group=COMMON)
    norm: str = norm_option("inf")
    draws: Draws = option(
        "mscr-table2: shared, as published: all points of a run get the same offsets; or "
        "independent (default: shared)",
        "shared",
        read=one_of("draws", ("shared", "independent")),
        metavar="KIND",
        group=COMMON,
    )
    seed: int = seed_option("all random numbers")
    out: str = option(
        "folder for the page, JSON, figure and results file of every name; the same command goes "
        "on with what is there (default: reproduced)",
        "reproduced",
        read=parse_path,
        metavar="DIR",
        group=RESULTS,
        flags=("-o", "--out"),
        kept=False,
    )
    minutes: float | None = option(
        "begin no run after so many minutes; the same command goes on",
        read=parse_finite,
        metavar="N",
        group=RUNNING,
        kept=False,
    )
    jobs: int | None = jobs_option()
    device: str | None = device_option()
