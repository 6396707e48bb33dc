"""Commands about noise itself, without a model: copies of data, pictures under noise, balls."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.cli.noise_flags import COPY_ENDINGS, out_file
from shaketable.cli.values import bounds_from, data_from, suites_from
from shaketable.core.errors import InputError

if TYPE_CHECKING:
    from shaketable.corruptions import Corruption
    from shaketable.corruptions.pnorm import Kind
    from shaketable.corruptions.suites.catalogue import Suite
    from shaketable.evaluation.evaluate import Draws


def corrupt(args: argparse.Namespace) -> int:
    """Write a corrupted copy of a data set, or all copies of a suite."""
    from shaketable.corruptions import parse
    from shaketable.evaluation.copies import corrupted, write
    from shaketable.evaluation.evaluate import range_of
    from shaketable.views.terminal import print_notes

    suites = suites_from(args)
    if len(suites) > 1:
        raise InputError("--grid must be given once here: a folder holds one suite")
    if suites:
        if args.uint8:
            raise InputError("--uint8 is for --corruption; a suite of uint8 pictures stays uint8")
        return _corrupt_by_suite(args, suites[0])
    if args.form:
        raise InputError("--form is for --suite and --grid; the ending of --out says it here")
    out_file(args.out, COPY_ENDINGS)
    for source in (args.data, args.test):
        if source and Path(source).exists() and Path(source).resolve() == Path(args.out).resolve():
            raise InputError(f"--out must not be the data themselves, {source!r}; name a new file")
    parse(args.corruption, eps_min=lambda _: 1.0)  # found out before any work
    data = data_from(args)
    limits = range_of(data, bounds_from(args, data)) or "none"
    draws: Draws = args.draws or "independent"
    copy = corrupted(
        data, args.corruption, seed=args.seed, bounds=bounds_from(args, data), draws=draws
    )
    path = write(
        args.out, copy, as_uint8=args.uint8, label=args.label or "label",
        corruption=args.corruption, seed=args.seed, bounds=str(limits), draws=draws,
    )  # fmt: skip
    print_notes(data.notes())
    print(f"{copy.name}: {copy.n} points, bounds {limits}, seed {args.seed}")
    print(f"written to {path}")
    return 0


def _corrupt_by_suite(args: argparse.Namespace, suite: Suite) -> int:
    from shaketable.corruptions.suites.catalogue import COMMON_METRICS
    from shaketable.evaluation.suite_copies import check_target, write_suite

    check_target(args.out, suite)
    data = data_from(args)
    draws: Draws = args.draws or "ladder"
    folder = write_suite(
        args.out, data, suite, seed=args.seed, bounds=bounds_from(args, data), draws=draws,
        form=args.form, progress=not args.quiet,
    )  # fmt: skip
    about = json.loads((folder / "manifest.json").read_text())
    drawn = "" if suite.metric == "mcv" else f"{draws} draws, "  # named sets have their own
    part = "" if data.n_train is None else "training " if suite.part == "train" else "test "
    print(
        f"{data.name} under {suite.name}: {len(about['corruptions'])} corruptions of "
        f"{about['points']} {part}points, {drawn}seed {args.seed}"
    )
    common = suite.metric in COMMON_METRICS
    hint = f"; evaluate --published {folder} reads them" if common else ""
    print(f"written to {folder}, with a manifest{hint}")
    return 0


def gallery(args: argparse.Namespace) -> int:
    """Show one picture under several corruptions."""
    from shaketable.corruptions.gallery.gallery import check_pictures, gallery
    from shaketable.corruptions.suites.catalogue import suite
    from shaketable.evaluation.evaluate import range_of, resolve
    from shaketable.evaluation.store import Store

    data = data_from(args)
    check_pictures(data.x, args.row)
    bounds = range_of(data, bounds_from(args, data))
    with Store(None) as store:
        chosen = resolve([*args.corruptions], data, store, bounds)
        if args.suite or not chosen:
            members = resolve(suite(args.suite or "ice"), data, store, bounds)
            chosen += members if args.inside else [_largest(c) for c in members]
    shown = gallery(data, chosen, row=args.row, rng=args.seed, bounds=bounds)
    print(f"{len(shown.pictures)} pictures written to {shown.save(args.out)}")
    return 0


def _largest(corruption: Corruption) -> Corruption:
    """Return p-norm noise at its largest, as the paper's Fig. 2 shows it."""
    from shaketable.corruptions import PNormNoise

    if not isinstance(corruption, PNormNoise):
        return corruption
    return replace(corruption, kind="vertices" if corruption.p == float("inf") else "surface")


def balls(args: argparse.Namespace) -> int:
    """Show what p-norm balls are like: points of them, their volumes, how they overlap."""
    from shaketable.core.norms import pnorm_level
    from shaketable.corruptions.balls import charts as ball_charts
    from shaketable.corruptions.balls import table as ball_tables
    from shaketable.corruptions.balls.numbers import (
        PAPER_DIMENSIONS,
        PAPER_NORMS,
        overlap,
        volume_table,
    )
    from shaketable.views.drawing import save

    found: list[dict[str, object]] = []
    if args.view == "samples":
        if args.out is None:
            raise InputError("balls samples draws a chart; name its file with -o")
        kind: Kind = "surface" if args.surface else "ball"
        chosen = [(norm, kind) for norm in args.norms or ()] or ball_charts.PAPER_SAMPLES
        chart = ball_charts.samples_chart(ball_charts.sample_panels(chosen, args.n, rng=args.seed))
    elif args.view == "volumes":
        norms = args.norms or ["inf", "2", "1"]
        if len(norms) < 2:
            raise InputError("--norms must name two norms or more, whose volumes are compared")
        pairs = list(pairwise(norms))
        table = volume_table(args.dimensions or PAPER_DIMENSIONS, pairs)
        found = [v.json() for v in table]
        chart = ball_charts.volumes_chart(volume_table(args.dimensions or range(1, 101), pairs))
    else:
        second = pnorm_level(args.second)
        if second is None or not second[0] > 0:
            raise InputError(f"--second must be a ball such as 'l2(4)', got {args.second!r}")
        if args.dimensions is not None and len(args.dimensions) != 1:
            raise InputError(f"overlap is found in one dimension at a time, got {args.dimensions}")
        (d,) = args.dimensions or (3072,)
        both = [
            overlap(p, second[0], epsilon_q=second[1], epsilons=args.epsilons, d=d, n=args.n,
                    rng=args.seed)
            for p in args.norms or PAPER_NORMS
        ]  # fmt: skip
        found = [o.json() for o in both]
        chart = ball_charts.overlap_chart(both)
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.view == "volumes":
        ball_tables.print_volumes(table)
    elif args.view == "overlap":
        (ball_tables.print_shares if args.epsilons else ball_tables.print_overlap)(both)
    if args.out is not None:
        print(f"chart: {save(chart, args.out)}", file=sys.stderr)
    return 0
