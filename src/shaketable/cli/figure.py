"""``shaketable figure``: a figure of a paper, drawn from results."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import (
    CHART_ENDINGS,
    add_bounds_flags,
    add_out_flag,
    add_seed_flag,
    add_subject_flags,
)
from shaketable.cli.values import (
    load_data,
    load_declared,
    note_devices,
    read_bounds,
    read_models,
    run_model,
)
from shaketable.core.errors import InputError
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.findings.figures.registry import FigureKind
    from shaketable.views.drawing import Chart

ABOUT = "draw a figure from results, as PNG, SVG, PDF or HTML"

_OPTIONS = ("baseline", "metric", "corruption", "arrows")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which figure, what it is drawn from, its options, and the file to write."""
    parser.add_argument("name", metavar="NAME", help="see shaketable list figures")
    parser.add_argument(
        "source",
        nargs="*",
        metavar="FILE",
        help="results file; for learning: files of networks (.pt) or folders of them; for plane: "
        "none, but --data and --model",
    )
    parser.add_argument(
        "--baseline", metavar="MODEL", help="tradeoff: model that others are compared with"
    )
    parser.add_argument(
        "--metric",
        help="convergence: such as mscr, 'accuracy[linf(0.1)]' or mce_lp (default: mscr); errors: "
        "such as mce or mce_xn (default: that of every suite)",
    )
    parser.add_argument(
        "--corruption",
        metavar="SPEC",
        help="k, plane: the noise (default: 'linf(eps_min)', or the only one)",
    )
    parser.add_argument(
        "--arrow",
        dest="arrows",
        action="append",
        type=_parse_arrow,
        metavar="'FROM -> TO'",
        help="errors: models to join, by their labels; it may be repeated (default: each with the "
        "same network of simpler training)",
    )
    add_subject_flags(parser)
    parser.add_argument(
        "--k", type=int, default=10, help="plane: noisy copies of every point (default: 10)"
    )
    add_seed_flag(parser, "the noise of plane, and of training")
    add_bounds_flags(parser)
    add_out_flag(parser, "chart to write", CHART_ENDINGS, required=True)


def run(args: argparse.Namespace) -> int:
    """Draw the figure."""
    from shaketable.findings.figures.registry import FIGURES
    from shaketable.views.drawing import save_chart

    kind = FIGURES.get(args.name)
    options = {name: value for name in _OPTIONS if (value := getattr(args, name)) is not None}
    for name in options:
        if name not in kind.options:
            flag = "--arrow" if name == "arrows" else f"--{name}"
            raise InputError(f"{flag} is no option of the figure {args.name}; leave it out")
    chart = _draw_model(kind, args, options) if kind.source == "model" else None
    if chart is None:
        if not args.source or (kind.source == "results" and len(args.source) > 1):
            one = "one results file" if kind.source == "results" else "files of networks"
            raise InputError(f"figure {args.name} is drawn from {one}, got {len(args.source)}")
        trust = {"trust": args.trust} if "trust" in kind.options else {}
        chart = kind.draw(*args.source, **options, **trust)
    print_lines(f"chart: {save_chart(chart, args.out)}", to_stderr=True)
    return 0


def _draw_model(kind: FigureKind, args: argparse.Namespace, options: dict[str, Any]) -> Chart:
    """Draw a figure of one model and its data."""
    from shaketable.models.devices import find_device

    if args.source:
        raise InputError(
            f"figure {args.name} is drawn from --data and --model, got {args.source[0]!r}"
        )
    ((name, source), *others) = read_models(args).items()
    if others:
        raise InputError(f"figure {args.name} is about one model, got {len(others) + 1}")
    data = load_data(args)
    with run_model(name):
        model, unfitted = load_declared(source, args, data)
        chart = kind.draw(
            model,
            data,
            **options,
            k=args.k,
            seed=args.seed,
            bounds=read_bounds(args, data),
            refit=unfitted or args.fit,
            name=name,
        )
    print_notes(note_devices(args, {name: find_device(model)}))
    return chart


def _parse_arrow(text: str) -> tuple[str, str]:
    start, arrow, end = text.partition("->")
    if not arrow or not start.strip() or not end.strip():
        raise argparse.ArgumentTypeError(f"must be 'FROM -> TO' with names of models, got {text!r}")
    return start.strip(), end.strip()
