"""The flags of the command line, and study files, which hold the same settings."""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from shaketable.errors import InputError, unknown

Command: TypeAlias = Callable[[argparse.Namespace], int]

COPY_ENDINGS = (".npz", ".csv", ".csv.gz", ".parquet")
"""Of the files that a corrupted copy can be written to."""

EXIT_CODES = """exit codes:
  0 fine, 1 a requirement is not met, 2 usage or input, 3 inconclusive, 4 anything else,
  130 interrupted"""


def parse_args(argv: Sequence[str], commands: Mapping[str, Command]) -> argparse.Namespace:
    """Settings of one call, its command as ``run``; a study file's settings are filled in."""
    parser, parsers = _parser(commands)
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is not None and name not in parsers:
        raise unknown("command", name, parsers)
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
        raise unknown("option", word.partition("=")[0], known)
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
            raise unknown(f"key in study file {str(path)!r}:", key, allowed)
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


_MAX_CLOSEST = 1000  # one less than separation() takes: the last pair shown needs the next


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors are ours: one line, with the nearest names."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser(
    run: Mapping[str, Command],
) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = _Parser(
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
    _noise_flags(sub)

    sub = command("separation", "how far apart the classes are, and eps_min")
    sub.add_argument("data", metavar="DATA", help="file or built-in set")
    _data_flags(sub)
    _audit_flags(sub)

    sub = command("evaluate", "shake models with noise and other corruptions")
    sub.add_argument(
        "--data", metavar="DATA",
        help="file, folder of pictures or built-in set; without --test, 20 %% of it are drawn as "
        "test points",
    )  # fmt: skip
    _data_flags(sub)
    _model_flag(sub, "file.joblib, file.pt, package.module:attribute or built-in")
    sub.add_argument(
        "--fit", action="store_true", help="train the models on the training part first"
    )
    sub.add_argument("--model-id", help="by which to know a model again that is a bare function")
    sub.add_argument(
        "--corruptions", nargs="+", default=[], metavar="SPEC",
        help="such as 'linf(0.1)' (default: 'linf(eps_min)')",
    )  # fmt: skip
    _suite_flags(sub)
    _noise_flags(sub, k=None)
    _draws_flag(sub, "ladder in suites, else independent")
    _device_noise_flag(sub)
    _bounds_flags(sub)
    _output_flags(sub)

    sub = command("study", "train with noise, test with noise, over many runs")
    sub.add_argument(
        "file", nargs="?", metavar="STUDY.toml", help="flags as a file: train_eps = […] …"
    )
    sub.add_argument("--data", metavar="DATA", help="file or built-in set")
    _data_flags(sub)
    _model_flag(sub, "estimator to train: built-in, package.module:attribute or file.joblib")
    _norm_flag(sub)
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
    _noise_flags(sub)
    _bounds_flags(sub)
    _output_flags(sub)

    sub = command("score", "read a results file again: tables, JSON, page, requirement")
    sub.add_argument("store", metavar="STORE", help="results file")
    _output_flags(sub, store=False)

    _noise_commands(command)
    sub = command("list", "what can be named")
    kinds = ["datasets", "models", "corruptions", "suites", "metrics"]
    sub.add_argument("kind", type=_one_of("kind", kinds), metavar="|".join(kinds))
    sub.add_argument("--json", action="store_true", help="for programs")
    return parser, commands


def _noise_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    sub = command("corrupt", "write a corrupted copy of a data set")
    sub.add_argument("data", metavar="DATA", help="file, folder of pictures or built-in set")
    _data_flags(sub)
    what = sub.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--corruption", metavar="SPEC", help="such as 'l2(1)'; see shaketable list corruptions"
    )
    what.add_argument(
        "--suite", help="all pictures of common-19, common-15 or common-xn, as a folder",
    )  # fmt: skip
    _textures_flag(sub)
    _bounds_flags(sub)
    _seed_flag(sub, "what the noise follows from")
    sub.add_argument(
        "--uint8", action="store_true", help="round pictures to x/255, as uint8 (default: floats)"
    )
    _draws_flag(sub, "ladder for a suite, else independent")
    sub.add_argument(
        "-o", "--out", type=_path, required=True, metavar="FILE|DIR",
        help=f"file to write: {', '.join(COPY_ENDINGS)}; for a suite a new folder",
    )  # fmt: skip
    _quiet_flag(sub)

    sub = command("gallery", "one picture under several corruptions, side by side")
    sub.add_argument("data", metavar="DATA", help="file or built-in set of pictures")
    _data_flags(sub)
    sub.add_argument("--row", type=int, default=0, help="which picture (default: 0)")
    sub.add_argument(
        "--corruptions", nargs="+", default=[], metavar="SPEC",
        help="such as 'l2(1)' (default: the suite ice)",
    )  # fmt: skip
    sub.add_argument(
        "--suite", help="suite of p-norm noise, every size of it on the surface of its ball"
    )
    sub.add_argument(
        "--inside", action="store_true",
        help="noise of the suite inside its balls, as models meet it, not on their surface",
    )  # fmt: skip
    _bounds_flags(sub)
    _seed_flag(sub, "what the noise follows from")
    _out_flag(sub, "what to write", [".html", ".png"], required=True)

    sub = command("balls", "what p-norm balls are like")
    views = ["samples", "volumes", "overlap"]
    sub.add_argument("view", type=_one_of("view", views), metavar="|".join(views))
    sub.add_argument("--norms", type=_words, metavar="LIST", help="such as 0.5,1,2,inf")
    sub.add_argument(
        "--surface", action="store_true", help="samples from the surface (default: inside)"
    )
    sub.add_argument(
        "-d", "--dimensions", type=_wholes, metavar="LIST",
        help="of volumes (default: 3,5,10,20), or one for overlap (default: 3072)",
    )  # fmt: skip
    sub.add_argument(
        "--second", default="l2(4)", metavar="BALL", help="other ball of overlap (default: l2(4))"
    )
    sub.add_argument(
        "--epsilons", type=_numbers, metavar="LIST", help="sizes of the first ball of overlap"
    )
    sub.add_argument("--n", type=int, default=1000, help="points of a ball (default: 1000)")
    _seed_flag(sub, "what the points follow from")
    sub.add_argument("--json", action="store_true", help="for programs")
    _out_flag(sub, "chart to write", [".html", ".json", ".pdf", ".png", ".svg"])


def _audit_flags(sub: argparse.ArgumentParser) -> None:
    _norm_flag(sub)
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
    _seed_flag(sub, "what the split for --one-nn follows from, where the data have none")
    sub.add_argument(
        "--device", metavar="NAME",
        help="where to search: a device of torch's such as cuda (default: all cores, no torch)",
    )  # fmt: skip
    sub.add_argument("--json", action="store_true", help="for programs")
    _page_flag(sub, "--html", "--report", about="write a page with tables, figures and pictures")
    _quiet_flag(sub)


def _norm_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--norm", default="inf", help="inf, 1, 2 or another order (default: inf)")


def _data_flags(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--label", metavar="COLUMN", help="column of a CSV or parquet file with the classes"
    )
    sub.add_argument("--test", metavar="FILE", help="file or folder with a fixed test part")
    sub.add_argument("--scale", action="store_true", help="put every feature on [0, 1]")
    sub.add_argument(
        "--drop-clashes", action="store_true", help="leave out points that coincide across classes"
    )
    sub.add_argument(
        "--non-numeric", default="error", metavar="error|drop|onehot",
        help="what to do with columns that are not numbers (default: error)",
    )  # fmt: skip


def _model_flag(sub: argparse.ArgumentParser, what: str) -> None:
    sub.add_argument(
        "--model", action="append", metavar="MODEL",
        help=f"{what}; more than once to compare. Importing a model runs its code",
    )  # fmt: skip


def _noise_flags(sub: argparse.ArgumentParser, *, k: int | None = 10) -> None:
    default = "10" if k else "10, or what the suite was published with"
    sub.add_argument(
        "--k", type=int, default=k, help=f"noisy copies of every point (default: {default})"
    )
    _seed_flag(sub, "what all randomness follows from")


def _draws_flag(sub: argparse.ArgumentParser, default: str) -> None:
    ways = ["independent", "ladder"]
    sub.add_argument(
        "--draws", type=_one_of("draws", ways), metavar="|".join(ways),
        help=f"whether noise is drawn for every size, or once a norm and scaled (default: "
        f"{default})",
    )  # fmt: skip


def _suite_flags(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--suite", action="append", default=[],
        help="named list of corruptions, such as pnorm; see shaketable list suites",
    )  # fmt: skip
    sub.add_argument(
        "--published", type=_path, metavar="DIR",
        help="take the common corruptions of a suite from a set that you have, such as CIFAR-10-C "
        "or ImageNet-C, and make none",
    )  # fmt: skip
    _textures_flag(sub)


def _textures_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--frost-textures", type=_path, metavar="DIR",
        help="folder with pictures of ice for the frost of a suite (default: drawn here)",
    )  # fmt: skip


def _device_noise_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--device-noise", action="store_true",
        help="make noise on the device of torch modules, not on the CPU: quicker, but never paired "
        "with other models' results",
    )  # fmt: skip


def _seed_flag(sub: argparse.ArgumentParser, about: str) -> None:
    sub.add_argument("--seed", type=int, default=0, help=f"{about} (default: 0)")


def _quiet_flag(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--quiet", action="store_true", help="no progress bar")


def _page_flag(sub: argparse.ArgumentParser, *names: str, about: str) -> None:
    sub.add_argument(*names, type=_page, metavar="FILE.html", help=about)


def out_file(text: str, endings: Sequence[str]) -> str:
    """Path of a file that can be written and has one of the endings."""
    try:
        return _file_to_write(text, endings)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--out {error}") from error


def _file_to_write(text: str, endings: Sequence[str]) -> str:
    if not text.lower().endswith(tuple(endings)):
        raise argparse.ArgumentTypeError(f"must end in {', '.join(endings)}, got {text!r}")
    return _page(text)


def _out_flag(
    sub: argparse.ArgumentParser, about: str, endings: Sequence[str], *, required: bool = False
) -> None:
    def check(text: str) -> str:
        return _file_to_write(text, endings)

    sub.add_argument(
        "-o", "--out", type=check, required=required, metavar="FILE",
        help=f"{about}: {', '.join(endings)}",
    )  # fmt: skip


def _bounds_flags(sub: argparse.ArgumentParser) -> None:
    rules = ["clip", "truncate", "none"]
    sub.add_argument(
        "--bounds", type=_one_of("bounds", rules), metavar="|".join(rules),
        help="what noise does at the edge of the value range (default: as the data declare)",
    )  # fmt: skip
    sub.add_argument(
        "--range", type=_range, metavar="LOW,HIGH", help="the value range, such as 0,1"
    )


def _output_flags(sub: argparse.ArgumentParser, *, store: bool = True) -> None:
    if store:
        sub.add_argument(
            "--store", type=_path, metavar="FILE", help="results file; what is in it is not redone"
        )
        _quiet_flag(sub)
    sub.add_argument("--json", action="store_true", help="for programs; percentages")
    _page_flag(sub, "--report", about="write a page with tables and figures")
    sub.add_argument(
        "--min-mscr", type=_finite, metavar="PERCENT",
        help="require an MSCR of at least this; exit code 1: not met, 3: interval too wide",
    )  # fmt: skip


def _one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(str(unknown(kind, text, names)))
        return text

    return check


def _epsilons(text: str) -> list[float | str]:
    try:
        return [w if w == "eps_min" else float(w) for w in (w.strip() for w in text.split(","))]
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be numbers or eps_min, with commas: {error}"
        ) from error


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be numbers, with commas: {error}") from error


def _wholes(text: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be whole numbers, with commas: {error}") from error


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be LOW,HIGH, such as 0,1, got {text!r}") from error
    return low, high


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must name a file, got an empty text")
    return text


def _page(text: str) -> str:
    """Path of a page that can be written: found out now, not after the work."""
    path = Path(_path(text))
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise argparse.ArgumentTypeError(f"must be a file, but {text!r} {what}")
    return text


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


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}")
    return number
