"""``shaketable figure``: a figure of a paper, with its numbers where it has any.

Draws one of the figures of the papers from your results, as an image, a page or JSON. Some take
other sources than a results file: a table of scores, files of networks, a model with its data, or
nothing. Its title says in words what it shows.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import (
    add_json_flag,
    add_out_flag,
    parse_integers,
    parse_numbers,
)
from shaketable.cli.output import print_json
from shaketable.core.errors import InputError
from shaketable.core.options import CHART_ENDINGS, make_options, split_words
from shaketable.views.terminal import ignore_broken_pipe, print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.evaluation.records import Records
    from shaketable.findings.figures.registry import FigureKind

ABOUT = "a figure of the papers; some print their numbers, too"
SCHEMA = "shaketable.findings.schema:FigureJson"
EXAMPLES = """\
  shaketable figure tradeoff study.sqlite -o tradeoff.pdf
  shaketable figure mcv scores.csv --reference plain -o mcv.svg
  shaketable figure plane --data mydata.csv --label class --model rf -o plane.png"""

_FLAGS = {"arrows": "--arrow"}
"""Flags that are not named as the option of a figure that they set."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which figure, what it is drawn from, the file to write, and its options."""
    parser.add_argument("name", metavar="NAME", help="see shaketable list figures")
    parser.add_argument(
        "source",
        nargs="*",
        metavar="FILE",
        help="results file; for mcv also a table of scores: one row per model, one column per "
        "condition, or columns CV, mean, min and max; for learning: files of networks (.pt) or "
        "folders of them; for plane and balls: none",
    )
    add_out_flag(parser, "chart to write", CHART_ENDINGS)
    add_json_flag(parser)
    options = parser.add_argument_group("options of figures")
    options.add_argument(
        "--metric",
        help="convergence: such as mscr, 'accuracy[linf(0.1)]' or mce_lp (default: mscr); errors: "
        "such as mce or mce_xn (default: that of every suite); correlation: two, such as "
        "mscr,error (default: mscr,mce)",
    )
    options.add_argument(
        "--reference", metavar="MODEL", help="tradeoff, mcv: model that others are compared with"
    )
    options.add_argument(
        "--corruption",
        metavar="SPEC",
        help="k, plane: the noise (default: 'linf(eps_min)', or the only one); balls-overlap: the "
        "second ball (default: 'l2(4)')",
    )
    options.add_argument(
        "--arrow",
        dest="arrows",
        action="append",
        type=_parse_arrow,
        metavar="'FROM -> TO'",
        help="errors: models to join, by their labels; it may be repeated (default: each with the "
        "same network of simpler training)",
    )
    options.add_argument(
        "--suite", help="mcv: which suite of a results file (default: two-factor and its like)"
    )
    options.add_argument("--seed", type=int, help="plane, balls: seed of the noise (default: 0)")
    options.add_argument(
        "--trust",
        action="store_true",
        help="plane, learning: load model files that may hold code: it runs",
    )
    _add_model_flags(parser.add_argument_group("options of plane"))
    _add_table_flags(parser.add_argument_group("options of mcv for tables of scores"))
    _add_ball_flags(parser.add_argument_group("options of balls"))


def _add_model_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--data", help="file or built-in set of points with two features")
    group.add_argument("--label", metavar="COLUMN", help="column of a table with the classes")
    group.add_argument(
        "--model", action="append", metavar="[NAME=]MODEL", help="as in evaluate, one"
    )
    group.add_argument("--k", type=int, help="noisy copies of every point (default: 10)")


def _add_table_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--names", metavar="COLUMN", help="column with the models' names")
    group.add_argument(
        "--clean", metavar="COLUMN", help="column with the clean condition (default: clean)"
    )
    group.add_argument(
        "--conditions",
        type=split_words,
        metavar="LIST",
        help="columns with scores (default: all but the names)",
    )
    group.add_argument(
        "--lower-is-better", action="store_true", help="the scores are errors, such as RMSE"
    )


def _add_ball_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--norms", type=split_words, metavar="LIST", help="such as 0.5,1,2,inf")
    group.add_argument(
        "-d",
        "--dimensions",
        type=parse_integers,
        metavar="LIST",
        help="of volumes (default: 3,5,10,20), or one for overlap (default: 3072)",
    )
    group.add_argument(
        "--epsilons", type=parse_numbers, metavar="LIST", help="sizes of the first ball of overlap"
    )
    group.add_argument("--n", type=int, help="points per ball (default: 1000)")
    group.add_argument(
        "--surface", action="store_true", help="samples from the surface (default: inside)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the numbers, and draw the figure."""
    from shaketable.findings.errata.errata import (
        list_touching,
        name_errata,
        name_subjects,
        note_errata,
    )
    from shaketable.findings.figures.registry import FIGURES
    from shaketable.views.drawing import save_chart

    kind = FIGURES.get(args.name)
    if args.json and not kind.has_numbers:
        raise InputError(f"figure {args.name} has no numbers to print; leave out --json")
    if args.out is None and not kind.has_numbers:
        raise InputError(f"figure {args.name} is a chart; name its file with -o")
    made, records = _make(kind, args)
    subjects = set() if records is None else name_subjects(records)
    errata = list_touching({f"figure:{args.name}", *subjects})
    if kind.has_numbers:
        with ignore_broken_pipe():
            if args.json:
                numbers = made.json()
                has_keys = isinstance(numbers, dict)
                print_json({**numbers, **name_errata(errata)} if has_keys else numbers)
            else:
                made.print()
    if args.out is not None:
        chart = made.plot() if kind.has_numbers else made
        print_lines(f"chart: {save_chart(chart, args.out)}", to_stderr=True)
    print_notes(note_errata(errata))
    return 0


def _read_results(kind: FigureKind, source: list[str]) -> tuple[list[Any], Records | None]:
    """Return the records of a results file in its place, and by themselves."""
    from shaketable.findings.mcv.score_files import ENDINGS
    from shaketable.findings.results import as_records

    if kind.source != "results" or len(source) != 1 or source[0].lower().endswith(ENDINGS):
        return source, None
    records = as_records(source[0])
    return [records], records


def _make(kind: FigureKind, args: argparse.Namespace) -> tuple[Any, Records | None]:
    """Make the figure from what it needs, with the options that were given; also its records."""
    if kind.source == "model":
        return _show_model(kind, args), None
    options = _read_options(kind, args)
    if kind.source == "nothing" and args.source:
        raise InputError(f"figure {args.name} is drawn from no file, got {args.source[0]!r}")
    if kind.source != "nothing" and (
        not args.source or (kind.source == "results" and len(args.source) > 1)
    ):
        one = "one results file" if kind.source == "results" else "files of networks"
        raise InputError(f"figure {args.name} is drawn from {one}, got {len(args.source)}")
    source, records = _read_results(kind, args.source)
    return kind.make(*source, **options), records


def _show_model(kind: FigureKind, args: argparse.Namespace) -> Any:
    """Make a figure of one model and its data."""
    from shaketable.data.files import load
    from shaketable.models.devices import place_model
    from shaketable.models.loading import load_model
    from shaketable.models.options import ModelOptions, run_model

    options = _read_options(kind, args, besides=("data", "label", "model", "trust"))
    if args.source or not args.data:
        got = repr(args.source[0]) if args.source else "no --data"
        raise InputError(f"figure {args.name} is drawn from --data and --model, got {got}")
    ((name, source), *others) = make_options(ModelOptions, vars(args)).named().items()
    if others:
        raise InputError(f"figure {args.name} is about one model, got {len(others) + 1}")
    data = load(args.data, label=args.label)
    with run_model(name):
        model, unfitted = load_model(source, trust=args.trust, shape=data.shape, data=data)
        return kind.make(place_model(model), data, **options, refit=unfitted, name=name)


def _read_options(
    kind: FigureKind, args: argparse.Namespace, besides: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the options that were given; those of other figures are refused."""
    common = {"name", "source", "out", "json", "format", "run", "debug", *besides}
    given = {
        key: x for key, x in vars(args).items() if key not in common and x not in (None, False)
    }
    for key in given:
        if key not in kind.options:
            flag = _FLAGS.get(key, f"--{key.replace('_', '-')}")
            raise InputError(f"{flag} is no option of the figure {args.name}; leave it out")
    return given


def _parse_arrow(text: str) -> tuple[str, str]:
    start, arrow, end = text.partition("->")
    if not arrow or not start.strip() or not end.strip():
        raise argparse.ArgumentTypeError(f"must be 'FROM -> TO' with names of models, got {text!r}")
    return start.strip(), end.strip()
