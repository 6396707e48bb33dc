"""``shaketable separation``: distances between classes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json
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
from shaketable.views.options import PrintOptions
from shaketable.views.terminal import print_lines

ABOUT = "how far apart the classes are, and eps_min"
EXAMPLES = """\
  shaketable separation mydata.csv --label COLUMN --report separation.html"""
SCHEMA = "separations/schema.json"

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
    device: str | None = option(
        "torch device to search on, such as cuda (default: all CPU cores, without torch)",
        metavar="NAME",
        group=RUNNING,
    )
    report: str | None = report_option("write a page with tables, figures and images")
    store: str | None = store_option("it keeps what a long search has found so far, and eps_min")
    cluster: str | None = cluster_option()


OPTIONS = SeparationOptions


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The data, the norm, and what else is computed."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Measure the separation, and print it."""
    from shaketable.core.workers.tasks import use_cluster
    from shaketable.evaluation.store import Store
    from shaketable.separations.audit import audit
    from shaketable.separations.one_nn import one_nn
    from shaketable.separations.separation import SeparationRecord, separation
    from shaketable.separations.table import print_separation, separation_json
    from shaketable.views.terminal import print_notes

    options: SeparationOptions = args.options
    before = options.dataset.load(seed=options.seed, drop_clashes=False, scale=False)
    data = before.drop_clashes() if options.dataset.drop_clashes else before
    data = data.scaled() if options.dataset.scale else data
    progress = not options.quiet
    neighbours = None
    with Store(options.store) as store, use_cluster(options.cluster):
        keep = None if store.in_memory else store
        result = separation(
            data,
            norm=options.norm,
            points=not options.minimum,
            progress=progress,
            device=options.device,
            keep=keep,
            closest=options.closest + 1,  # the last pair shown has an eps_min without it too
        )
        if not options.minimum:  # evaluate needs no other separation then
            store.add_separation(SeparationRecord.of(result, data.fingerprint))
        if options.one_nn:
            neighbours = one_nn(
                data,
                norm=options.norm,
                seed=options.seed,
                progress=progress,
                device=options.device,
                keep=keep,
            )
    findings = audit(
        result,
        data,
        closest=options.closest,
        before=before if options.dataset.drop_clashes else None,
    )
    if options.json:
        print_json(separation_json(result, data, findings, neighbours))
    else:
        print_separation(result, data, findings, neighbours)
        print_notes(result.notes)
    if options.report is not None:
        from shaketable.separations.page import write_separation

        page = write_separation(options.report, result, data, one_nn=neighbours, audited=findings)
        print_lines(f"page: {page}", to_stderr=True)
    return 0
