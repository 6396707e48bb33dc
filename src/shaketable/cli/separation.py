"""``shaketable separation``: distances between classes."""

from __future__ import annotations

import argparse

from shaketable.cli.cluster import add_cluster_flags, use_cluster
from shaketable.cli.flags import (
    add_data_flags,
    add_json_flag,
    add_norm_flag,
    add_page_flag,
    add_quiet_flag,
    add_seed_flag,
    add_store_flag,
)
from shaketable.cli.output import print_json
from shaketable.cli.values import load_data
from shaketable.views.terminal import print_lines

ABOUT = "how far apart the classes are, and eps_min"
SCHEMA = "separations/schema.json"

_MAX_CLOSEST = 1000  # one less than separation() takes: the last pair shown needs the next


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The data, the norm, and what else is computed."""
    parser.add_argument("data", metavar="DATA", help="file, folder or built-in set")
    add_data_flags(parser)
    add_norm_flag(parser)
    parser.add_argument(
        "--closest",
        type=_parse_closest,
        default=10,
        metavar="N",
        help="how many of the closest pairs of different classes to show (default: 10)",
    )
    parser.add_argument(
        "--minimum",
        action="store_true",
        help="faster: do not find every point's nearest point of another class",
    )
    parser.add_argument(
        "--one-nn",
        action="store_true",
        help="also report how often the nearest training point has a test point's label",
    )
    add_seed_flag(parser, "the split for --one-nn, where the data have no test part")
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="torch device to search on, such as cuda (default: all CPU cores, without torch)",
    )
    add_json_flag(parser)
    add_page_flag(
        parser, "--html", "--report", about="write a page with tables, figures and images"
    )
    add_store_flag(parser, "it keeps what a long search has found so far, and eps_min")
    add_cluster_flags(parser)
    add_quiet_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Measure the separation, and print it."""
    from shaketable.evaluation.store import Store
    from shaketable.separations.audit import audit
    from shaketable.separations.one_nn import one_nn
    from shaketable.separations.separation import SeparationRecord, separation
    from shaketable.separations.table import print_separation, separation_json
    from shaketable.views.terminal import print_notes

    before = load_data(args, drop_clashes=False, scale=False)
    data = before.drop_clashes() if args.drop_clashes else before
    data = data.scaled() if args.scale else data
    progress = not args.quiet
    neighbours = None
    with Store(args.store) as store, use_cluster(args):
        keep = None if store.in_memory else store
        result = separation(
            data,
            norm=args.norm,
            points=not args.minimum,
            progress=progress,
            device=args.device,
            keep=keep,
            closest=args.closest + 1,  # so that the last pair shown has an eps_min without it too
        )
        if not args.minimum:  # evaluate needs no other separation then
            store.add_separation(SeparationRecord.of(result, data.fingerprint))
        if args.one_nn:
            neighbours = one_nn(
                data,
                norm=args.norm,
                seed=args.seed,
                progress=progress,
                device=args.device,
                keep=keep,
            )
    findings = audit(
        result, data, closest=args.closest, before=before if args.drop_clashes else None
    )
    if args.json:
        print_json(separation_json(result, data, findings, neighbours))
    else:
        print_separation(result, data, findings, neighbours)
        print_notes(result.notes)
    if args.html is not None:
        from shaketable.separations.page import write_separation

        page = write_separation(args.html, result, data, one_nn=neighbours, audited=findings)
        print_lines(f"page: {page}", to_stderr=True)
    return 0


def _parse_closest(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    if number > _MAX_CLOSEST:
        raise argparse.ArgumentTypeError(f"must be at most {_MAX_CLOSEST}, got {text!r}")
    return number
