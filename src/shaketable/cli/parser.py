"""The flags of the command line, and study files, which hold the same settings."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from shaketable.cli.flags import (
    CHART_ENDINGS,
    Parser,
    bounds_flags,
    copies_flags,
    data_flags,
    draws_flag,
    file_to_write,
    grid_flags,
    model_flag,
    norm_flag,
    one_of,
    out_flag,
    output_flags,
    page_flag,
    path_name,
    quiet_flag,
    seed_flag,
    textures_flag,
    words,
)
from shaketable.cli.noise_flags import noise_commands
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

Command: TypeAlias = Callable[[argparse.Namespace], int]

EXIT_CODES = """exit codes:
  0 fine, 1 a requirement is not met, 2 usage or input, 3 inconclusive, 4 anything else,
  130 interrupted"""


def parse_args(argv: Sequence[str], commands: Mapping[str, Command]) -> argparse.Namespace:
    """Settings of one call, its command as ``run``; a study file's settings are filled in."""
    parser, parsers = _parser(commands)
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is not None and name not in parsers:
        raise unknown_name("command", name, parsers)
    args, rest = parser.parse_known_args(argv)
    if rest and name is not None:
        _refuse(rest[0], parsers[name])
    if getattr(args, "file", None) is not None:
        settings = _study_file(Path(args.file), vars(args))
        if args.model:  # flags win over the file
            settings.pop("model", None)
        parsers["study"].set_defaults(**settings)
        args = parser.parse_args(argv)
    if getattr(args, "model", ...) is None:
        raise InputError("--model must name a model; see shaketable list models")
    return args


def _refuse(word: str, parser: argparse.ArgumentParser) -> NoReturn:
    """Raise for a word that the command does not take."""
    known = [flag for action in parser._actions for flag in action.option_strings]
    if word.startswith("-"):
        raise unknown_name("option", word.partition("=")[0], known)
    raise InputError(f"unexpected argument {word!r}; see {parser.prog} --help")


def _study_file(path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Read a study file: the flags' names, with underscores."""
    try:
        settings = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"study file {str(path)!r} cannot be read: {error}") from error
    allowed = set(known) - {"run", "file", "debug", "version"}
    defaults: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in allowed:
            raise unknown_name(f"key in study file {str(path)!r}:", key, allowed)
        values = value if isinstance(value, list) else [value]
        if isinstance(value, bool) != isinstance(known[key], bool):
            raise InputError(f"study file {str(path)!r}: {key} must not be {value!r}")
        if key == "model":
            defaults[key] = [str(v) for v in values]
        elif isinstance(value, bool):
            defaults[key] = value
        else:  # as text, so that argparse checks it like a flag
            defaults[key] = ",".join(map(str, values))
    return defaults


def _parser(
    run: Mapping[str, Command],
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = Parser(
        prog="shaketable",
        description="How robust is a classifier? Shake it with noise of the size its data allow.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    commands: dict[str, argparse.ArgumentParser] = {}

    def command(name: str, about: str) -> argparse.ArgumentParser:
        commands[name] = sub = subparsers.add_parser(name, help=about, description=about)
        sub.set_defaults(run=run[name])
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        return sub

    sub = command("demo", "the main job on built-in data: separation, two models, MSCR, a page")
    sub.add_argument("--out", default="shaketable-demo", metavar="DIR", help="where the files go")
    sub.set_defaults(quiet=False)
    copies_flags(sub)

    sub = command("separation", "how far apart the classes are, and eps_min")
    sub.add_argument("data", metavar="DATA", help="file or built-in set")
    data_flags(sub)
    _audit_flags(sub)

    sub = command("evaluate", "shake models with noise and other corruptions")
    _subject_flags(sub)
    sub.add_argument("--model-id", help="by which to know a model again that is a bare function")
    sub.add_argument(
        "--corruptions", nargs="+", default=[], metavar="SPEC",
        help="such as 'linf(0.1)' (default: 'linf(eps_min)')",
    )  # fmt: skip
    _suite_flags(sub)
    copies_flags(sub, k=None)
    draws_flag(sub, "ladder in suites, else independent")
    _device_noise_flag(sub)
    bounds_flags(sub)
    _reference_flag(sub)
    output_flags(sub)

    _study_flags(command("study", "train with noise, test with noise, over many runs"))

    sub = command("score", "read a results file again: tables, JSON, page, requirement")
    sub.add_argument("store", metavar="STORE", help="results file")
    _reference_flag(sub)
    output_flags(sub, store=False)

    sub = command("mcv", "mean score against its variation over conditions: the mCV plot")
    sub.add_argument(
        "source", metavar="STORE|TABLE",
        help="results file, or a table of scores: one row a model, one column a condition",
    )  # fmt: skip
    _mcv_flags(sub)
    _adversary_flags(command("adversary", "the worst point around every point, or in its cell"))
    _agreement_flags(command("agreement", "which of two models labels more like 1-NN"))
    noise_commands(command)
    sub = command("list", "what can be named")
    kinds = ["datasets", "models", "corruptions", "suites", "attacks", "metrics"]
    sub.add_argument("kind", type=one_of("kind", kinds), metavar="|".join(kinds))
    sub.add_argument("--json", action="store_true", help="for programs")
    return parser, commands


def _audit_flags(sub: argparse.ArgumentParser) -> None:
    norm_flag(sub)
    sub.add_argument(
        "--closest", type=_closest, default=10, metavar="N",
        help="how many of the closest pairs of different classes to show (default: 10)",
    )  # fmt: skip
    sub.add_argument(
        "--minimum", action="store_true",
        help="quicker: not every point's nearest point of another class",
    )  # fmt: skip
    sub.add_argument(
        "--one-nn", action="store_true",
        help="also how often the nearest training point has a test point's label",
    )  # fmt: skip
    seed_flag(sub, "what the split for --one-nn follows from, where the data have none")
    sub.add_argument(
        "--device", metavar="NAME",
        help="where to search: a device of torch's such as cuda (default: all cores, no torch)",
    )  # fmt: skip
    sub.add_argument("--json", action="store_true", help="for programs")
    page_flag(sub, "--html", "--report", about="write a page with tables, figures and pictures")
    quiet_flag(sub)


def _suite_flags(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--suite", action="append", default=[],
        help="named list of corruptions, such as pnorm; see shaketable list suites",
    )  # fmt: skip
    grid_flags(sub, sub)
    sub.add_argument(
        "--published", type=path_name, metavar="DIR",
        help="take the common corruptions of a suite from a set that you have, such as CIFAR-10-C "
        "or ImageNet-C, and make none",
    )  # fmt: skip
    textures_flag(sub)


def _study_flags(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "file", nargs="?", metavar="STUDY.toml", help="flags as a file: train_eps = […] …"
    )
    sub.add_argument("--data", metavar="DATA", help="file or built-in set")
    data_flags(sub)
    model_flag(sub, "estimator to train: built-in, package.module:attribute or file.joblib")
    norm_flag(sub)
    for part in ("train", "test"):
        sub.add_argument(
            f"--{part}-eps", type=_epsilons, default="0,eps_min", metavar="LIST",
            help=f"sizes of the {part} noise (default: 0,eps_min)",
        )  # fmt: skip
    sub.add_argument("--runs", type=int, default=10, help="how often all is repeated (default: 10)")
    sub.add_argument(
        "--draws", default="independent", metavar="independent|shared",
        help="shared: the same k offsets for all points, to reproduce the paper only",
    )  # fmt: skip
    sub.add_argument("--jobs", type=int, default=-1, help="processes (default: one a core)")
    copies_flags(sub)
    bounds_flags(sub)
    output_flags(sub)


def _subject_flags(sub: argparse.ArgumentParser, how_many: str = "") -> None:
    """What is measured: data, and models that come fitted or are trained first."""
    sub.add_argument(
        "--data", metavar="DATA",
        help="file, folder of pictures or built-in set; without --test, 20 %% of it are drawn as "
        "test points where models are trained here",
    )  # fmt: skip
    data_flags(sub)
    files = "file.joblib, file.pt, file.onnx, package.module:attribute or built-in"
    model_flag(sub, files + how_many)
    sub.add_argument(
        "--fit", action="store_true", help="train the models on the training part first"
    )


def _adversary_flags(sub: argparse.ArgumentParser) -> None:
    _subject_flags(sub)
    sub.add_argument(
        "--own", action="store_true", help="train on all points, and attack the same points"
    )
    sub.add_argument("--norm", default="2", help="1, 2, inf or another order (default: 2)")
    sub.add_argument(
        "--eps", type=_epsilons, required=True, metavar="LIST",
        help="how far the adversary may go: numbers or eps_min, with commas",
    )  # fmt: skip
    kinds = ["none", "genuine-max", "genuine-exact"]
    sub.add_argument(
        "--constraint", type=one_of("constraint", kinds), action="append", metavar="|".join(kinds),
        help="none: the whole ball; genuine: only what is nearer to the point than to any other "
        "test point, up to epsilon or exactly epsilon away; more than once to compare (default: "
        "none)",
    )  # fmt: skip
    sub.add_argument(
        "--attack", action="append", default=[], metavar="SPEC",
        help="such as 'pgd(steps=20)', 'apgd(loss=ce)', 'random(queries=1000)', 'rays', 'cover'; "
        "more than once for several (default: what suits the model)",
    )  # fmt: skip
    sub.add_argument("--points", type=int, metavar="N", help="only the first N test points")
    sub.add_argument(
        "--random", type=int, default=0, metavar="K",
        help="also accuracy under random noise of the same sizes, K copies of every point",
    )  # fmt: skip
    bounds_flags(sub)
    seed_flag(sub, "what random starts follow from")
    sub.add_argument("--json", action="store_true", help="for programs; percentages")
    out_flag(sub, "chart to write", CHART_ENDINGS)
    sub.add_argument(
        "--map", type=path_name, metavar="FILE", help="chart of points of two features, one model "
        "and one constraint: regions, cells, and where the adversary went",
    )  # fmt: skip
    sub.add_argument(
        "--examples", type=partial(file_to_write, endings=(".npz",)), metavar="FILE.npz",
        help="adversarial examples found at the largest epsilon: rows, points, labels",
    )  # fmt: skip
    page_flag(sub, "--report", about="write a page with tables, figures and examples")
    quiet_flag(sub)


def _agreement_flags(sub: argparse.ArgumentParser) -> None:
    _subject_flags(sub, "; two or more")
    sub.add_argument("--norm", default="2", help="1, 2, inf or another order (default: 2)")
    ties = ["neither", "majority"]
    sub.add_argument(
        "--ties", type=one_of("ties", ties), default="neither", metavar="|".join(ties),
        help="points with several nearest neighbours agree with neither model (default), or have "
        "the label of the majority of them",
    )  # fmt: skip
    seed_flag(sub, "what the split follows from, where the data have none")
    sub.add_argument("--json", action="store_true", help="for programs; percentages")
    quiet_flag(sub)


def _mcv_flags(sub: argparse.ArgumentParser) -> None:
    _reference_flag(sub)
    sub.add_argument(
        "--suite", help="which suite of a results file (default: two-factor and its like)"
    )
    sub.add_argument("--names", metavar="COLUMN", help="column of a table with the models' names")
    sub.add_argument(
        "--clean", metavar="COLUMN",
        help="column of a table with the clean condition (default: clean)",
    )  # fmt: skip
    sub.add_argument(
        "--conditions", type=words, metavar="LIST",
        help="columns of a table with scores (default: all but the names)",
    )  # fmt: skip
    sub.add_argument(
        "--lower-is-better", action="store_true", help="scores of a table are errors, such as RMSE"
    )
    sub.add_argument("--json", action="store_true", help="for programs")
    out_flag(sub, "chart to write", CHART_ENDINGS)


def _reference_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--reference", metavar="MODEL",
        help="model that others are compared with on the mCV plot (default: the only one whose "
        "name is clean or ends in (clean), else the first)",
    )  # fmt: skip


def _device_noise_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--device-noise", action="store_true",
        help="make noise on the device of torch modules, not on the CPU: quicker, but never paired "
        "with other models' results",
    )  # fmt: skip


def _epsilons(text: str) -> list[float | str]:
    try:
        return [w if w == "eps_min" else float(w) for w in (w.strip() for w in text.split(","))]
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be numbers or eps_min, with commas: {error}"
        ) from error


_MAX_CLOSEST = 1000  # one less than separation() takes: the last pair shown needs the next


def _closest(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    if number > _MAX_CLOSEST:
        raise argparse.ArgumentTypeError(f"must be at most {_MAX_CLOSEST}, got {text!r}")
    return number
