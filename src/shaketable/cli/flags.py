"""Flags of a command, from the options that it declares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shaketable.core.options import (
    COMMON,
    RESULTS,
    RUNNING,
    SWITCH,
    Option,
    list_options,
    output_file,
    page_file,
    parse_finite,
    split_words,
)


def add_options(
    parser: argparse.ArgumentParser,
    kind: type[Any],
    *,
    keys: Sequence[str] | None = None,
    defaults: bool = False,
    **helps: str,
) -> None:
    """Add a flag for every option of a dataclass, in groups, the common ones first.

    Parameters
    ----------
    parser
        Takes the flags. Values are left out where a flag is not given, so that it is known which
        were.
    kind
        Dataclass of options; the parser remembers it, as the default of ``options``.
    keys
        Those options alone.
    defaults
        Whether the defaults are filled in where a flag is not given; the command then has other
        flags, too.
    helps
        Other help, by key.
    """
    if not defaults:
        parser.set_defaults(options=kind)
    options = [each for key, each in list_options(kind).items() if keys is None or key in keys]
    groups: dict[str, list[Option]] = {}
    for each in options:
        groups.setdefault(each.group or COMMON, []).append(each)
    # of the common ones, those on which results depend come first
    groups.get(COMMON, []).sort(key=lambda each: (not each.is_argument, not each.kept))
    places = {COMMON: 0, RESULTS: 2, RUNNING: 3}
    for title in sorted(groups, key=lambda title: places.get(title, 1)):
        group = _open_group(parser, title)
        rivals: dict[str, Any] = {}
        for each in groups[title]:
            place: Any = group
            if each.rivals:
                if each.rivals not in rivals:
                    rivals[each.rivals] = group.add_mutually_exclusive_group()
                place = rivals[each.rivals]
            about = helps.get(each.key, each.help)
            _add_flag(place, replace(each, help=about), defaults=defaults)


def _open_group(parser: argparse.ArgumentParser, title: str) -> Any:
    """Return the group of flags with this title; a new one if there is none yet."""
    groups = [group for group in parser._action_groups if group.title == title]
    return groups[0] if groups else parser.add_argument_group(title)


def _add_flag(place: Any, option: Option, *, defaults: bool) -> None:
    """Add the flag of one option to a parser or a group."""
    given: dict[str, Any] = {"help": option.help}
    given["default"] = option.default if defaults else argparse.SUPPRESS
    if option.form is SWITCH:
        given["action"] = "store_true"
    else:
        given |= {"type": option.read, "metavar": option.metavar}
        if option.form.repeated:
            given["action"] = "append"
            if defaults:
                given["default"] = list(option.default or ())
        if option.alone is not None:
            given |= {"nargs": "?", "const": option.alone}
        if option.form.nargs:
            given["nargs"] = option.form.nargs
    if option.is_argument:
        place.add_argument(option.key, **given, **({} if option.required else {"nargs": "?"}))
        return
    if option.required:
        given["required"] = True
    flags = option.flags or (f"--{option.key.replace('_', '-')}",)
    place.add_argument(*flags, dest=option.key, **given)


def add_inputs_flags(parser: argparse.ArgumentParser) -> None:
    """Add which inputs are shown, and the data that they are drawn from."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(
        parser,
        EvaluateOptions,
        keys=["inputs"],
        defaults=True,
        inputs="show the N points per model and corruption that are wrong most often, clean and "
        "corrupted: images, or rows with changed cells marked; needs --data (default: 5)",
    )
    add_again_flags(parser, "of which points are shown")


def add_again_flags(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the data of a results file, for a purpose; `activities.load_given` loads them."""
    from shaketable.data.options import DataOptions

    add_options(
        parser,
        DataOptions,
        defaults=True,
        data=f"the data that were evaluated, {purpose}; what the flags below do not say is taken "
        "from the results file",
    )


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    """Add how data are read."""
    from shaketable.data.options import DataOptions

    keys = [key for key in list_options(DataOptions) if key != "data"]
    add_options(parser, DataOptions, keys=keys, defaults=True)


def add_reference_flag(parser: argparse.ArgumentParser) -> None:
    """Add which model the others are compared with."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(parser, EvaluateOptions, keys=["reference"], defaults=True)


def add_metric_flag(parser: argparse.ArgumentParser) -> None:
    """Add which measure results begin with."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(parser, EvaluateOptions, keys=["metric"], defaults=True)


def add_grouping_flags(parser: argparse.ArgumentParser) -> None:
    """Add what models are grouped by, and the baseline."""
    from shaketable.evaluation.evaluate_options import StudyOptions

    add_options(parser, StudyOptions, keys=["group", "baseline"], defaults=True)


def add_intervals_flag(parser: argparse.ArgumentParser) -> None:
    """Add which intervals are computed from the counts of a results file."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(parser, EvaluateOptions, keys=["intervals"], defaults=True)


def add_copies_flags(parser: argparse.ArgumentParser) -> None:
    """Add the number of noisy copies, and the seed."""
    parser.add_argument(
        "--k", type=int, default=10, help="noisy copies of every point (default: 10)"
    )
    add_seed_flag(parser, "all random numbers")


def add_seed_flag(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the seed; `purpose` says of what."""
    parser.add_argument("--seed", type=int, default=0, help=f"seed of {purpose} (default: 0)")


def add_draws_flag(parser: argparse.ArgumentParser, default: str) -> None:
    """Add whether the sizes of a ladder share their draws."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(
        parser,
        EvaluateOptions,
        keys=["draws"],
        defaults=True,
        draws="independent: noise is drawn for every size; ladder: it is drawn once per norm and "
        f"scaled (default: {default})",
    )


def add_grid_flags(parser: Any) -> None:
    """Add a grid of faults to a parser or a group of it."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    _add_flag(parser, list_options(EvaluateOptions)["grid"], defaults=True)


def add_bounds_flags(parser: argparse.ArgumentParser) -> None:
    """Add the range of values, and what happens at its edge."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(parser, EvaluateOptions, keys=["bounds"], defaults=True)


def add_requirement_flags(parser: argparse.ArgumentParser) -> None:
    """Add what is required of models, and files for the decisions."""
    from shaketable.evaluation.evaluate_options import RequirementOptions

    add_options(parser, RequirementOptions, defaults=True)


def add_json_flag(parser: argparse.ArgumentParser, about: str = "") -> None:
    """Add how results are printed: as JSON for programs, or with tables in another format."""
    from shaketable.views.options import PrintOptions

    helps = {"json": f"print JSON, for programs{about}"}
    add_options(parser, PrintOptions, keys=["json", "format"], defaults=True, **helps)


def add_page_flag(
    parser: argparse.ArgumentParser, *names: str, about: str, dest: str | None = None
) -> None:
    """Add a page to write."""
    parser.add_argument(*names, type=page_file, metavar="FILE.html|.pdf", help=about, dest=dest)


def add_out_flag(parser: argparse.ArgumentParser, about: str, endings: Sequence[str]) -> None:
    """Add a file to write that has one of the endings."""
    parser.add_argument(
        "-o",
        "--out",
        type=output_file(*endings),
        metavar="FILE",
        help=f"{about}: {', '.join(endings)}",
    )


def add_quiet_flag(parser: argparse.ArgumentParser) -> None:
    """Add whether there is a progress bar."""
    from shaketable.views.options import PrintOptions

    add_options(parser, PrintOptions, keys=["quiet"], defaults=True)


def parse_numbers(text: str) -> list[float]:
    """Parse numbers with commas between them."""
    try:
        return [float(word) for word in split_words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be numbers, with commas: {error}") from error


def parse_integers(text: str) -> list[int]:
    """Parse whole numbers with commas between them."""
    try:
        return [int(word) for word in split_words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be whole numbers, with commas: {error}") from error


def parse_confidence(text: str) -> float:
    """Parse a confidence in per cent, as a fraction."""
    percent = parse_finite(text)
    if not 50 <= percent < 100:
        raise argparse.ArgumentTypeError(f"must be at least 50 and below 100, got {text!r}")
    return percent / 100
