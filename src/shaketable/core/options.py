"""Options: declared once, as fields of a dataclass, and read wherever they are given.

A field that `option` declares has its help, its group, and how a word becomes its value. Flags,
the keys of study files and the settings that a results file keeps all follow from it, so they
cannot differ. A field that `contains` declares holds another such dataclass; its options are
options of the whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, ShaketableError
from shaketable.core.spec import join_names, read_multiple, split_top_level
from shaketable.core.writing import check_writable

T = TypeVar("T")

CHART_ENDINGS = (".html", ".json", ".pdf", ".png", ".svg")
"""Endings of the files that a chart can be written to."""

PAGE_ENDINGS = (".html", ".htm", ".pdf")
"""Endings of the files that a page can be written to."""

COMMON = "common options"
"""Group that comes first."""

RESULTS = "results"
RUNNING = "where and how it runs"
"""Groups that come last."""


@dataclass(frozen=True)
class Form:
    """How many words an option takes, and what a file may say in their place."""

    rule: str
    """What a value in a file must be, for messages."""
    fits: Callable[[Any], bool]
    """Whether a value in a file has the right type; its words are then read like those of flags."""
    split: Callable[[Any], list[Any]]
    """Words of a value in a file; lists of words for `GRIDS`."""
    nargs: str | None = None
    """What argparse takes after the flag."""
    repeated: bool = False
    """Whether the flag may be given again."""

    @property
    def several(self) -> bool:
        """Whether the value is a tuple."""
        return self.repeated or self.nargs is not None


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _format_word(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _join_words(value: Any) -> list[str]:
    """One word of a list; those of columns may hold commas themselves."""
    words = list(map(_format_word, _as_list(value)))
    plain = len(words) == 1 or not any(re.search(r'[\\,"]|^\s|\s$', word) for word in words)
    return [",".join(words) if plain else join_names(words)]


def _write_pairs(value: Any) -> list[str]:
    """Words NAME=VALUE of a table, in which names may hold commas."""
    if not isinstance(value, Mapping):
        return _as_list(value)
    names = (re.sub(r"([\\,])", r"\\\1", name) for name in value)
    return [f"{name}={text}" for name, text in zip(names, value.values(), strict=True)]


SWITCH = Form("must be true or false", lambda value: isinstance(value, bool), _as_list)
WHOLE = Form(
    "must be a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    _join_words,
)
TEXT = Form("must be a text or a number", _is_word, _join_words)
LIST = Form(
    "must be a list of texts or numbers",
    lambda value: _is_word(value) or _is_list(value, _is_word),
    _join_words,
)
REPEATED = Form(
    "must be a text or a list of texts",
    lambda value: _is_list(_as_list(value), _is_text),
    _as_list,
    repeated=True,
)
PAIRS = Form(
    'must be a table of texts, such as {age = "0:120"}, or a list of texts',
    lambda value: _is_list(
        [*value.values()] if isinstance(value, Mapping) else _as_list(value), _is_text
    ),
    _write_pairs,
    repeated=True,
)
SEVERAL = replace(REPEATED, repeated=False, nargs="+")
SOME = replace(SEVERAL, nargs="*")
GRIDS = Form(
    "must be a list of texts, the levels of every factor, or a list of such lists",
    lambda value: (
        _is_list(value, _is_text) or _is_list(value, lambda grid: _is_list(grid, _is_text))
    ),
    lambda value: [value] if _is_list(value, _is_text) else value,
    nargs="+",
    repeated=True,
)


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option is, however it is given."""

    help: str
    read: Callable[[str], Any] = str
    """Makes the value of one word; raises `InputError` or `ValueError` if it cannot."""
    form: Form = TEXT
    group: str = ""
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    """How the flag is written; by default as the key, with hyphens."""
    is_argument: bool = False
    """Whether it stands by itself on a command line, without a flag."""
    required: bool = False
    rivals: str = ""
    """Name of a set of options of which one may be given."""
    alone: Any = None
    """Value of the flag without a word after it; None: it needs one."""
    in_files: bool = True
    """Whether a study file may say it; if not, it belongs to one call of a command."""
    kept: bool = True
    """Whether results depend on it, so that a results file keeps it."""
    write: Callable[[Any], Any] | None = None
    """Makes the setting of a value, where this is no text, number or list of them."""
    example: Any = None
    """Setting that a new study file shows where there is no default."""
    key: str = ""
    """Name of its field, filled in by `list_options`."""
    default: Any = None
    """Default of its field, filled in by `list_options`."""

    def read_setting(self, value: Any, where: str) -> Any:
        """Return the value that a setting stands for; `where` names its file in messages."""
        if not self.form.fits(value):
            raise InputError(f"{where}: {self.key} {self.form.rule}, got {format_toml(value)}")
        try:
            return self._read_words(self.form.split(value))
        except (ShaketableError, ValueError) as error:
            reason = str(error)
            if not isinstance(error, ShaketableError):
                reason = f"invalid {self.read.__name__} value: {value!r}"
            raise InputError(f"{where}: {self.key} = {format_toml(value)}: {reason}") from error

    def _read_words(self, words: list[Any]) -> Any:
        if self.form is SWITCH:
            return words[0]
        if self.form is GRIDS:
            return tuple(tuple(map(self.read, grid)) for grid in words)
        return tuple(map(self.read, words)) if self.form.several else self.read(words[0])

    def write_setting(self, value: Any) -> Any:
        """Return the setting of a value, as JSON and TOML have it; None if there is none."""
        if value is None and self.default is None:
            return None
        if self.write is not None:
            return self.write(value)
        if hasattr(value, "tolist"):  # an array, or a number of one
            value = value.tolist()
        return _write_plain(value)


def _write_plain(value: Any) -> Any:
    """Return texts, numbers and lists of them; None for all else."""
    if isinstance(value, str | int | float):
        return value
    if not isinstance(value, list | tuple):
        return None
    items = list(map(_write_plain, value))
    return None if any(item is None for item in items) else items


def option(help: str, default: Any = None, **about: Any) -> Any:
    """Field of a dataclass that is an option; `about` are fields of `Option`.

    >>> @dataclass(frozen=True)
    ... class Options:
    ...     runs: int = whole("how often", 10)
    >>> read_settings(Options, {"runs": 3}, where="here")
    {'runs': 3}
    """
    return field(default=default, metadata={"option": Option(help=help, **about)})


def switch(help: str, **about: Any) -> Any:
    """Field that is an option without a value: true if it is given."""
    return option(help, False, form=SWITCH, **about)


def whole(help: str, default: int | None = None, **about: Any) -> Any:
    """Field that is an option with a whole number."""
    return option(help, default, read=int, form=WHOLE, **about)


def contains(kind: type[Any], *, without: Collection[str] = (), **changes: Any) -> Any:
    """Field that holds the options of another dataclass.

    `without` names those that are no options here, and `changes` are changes to others by key, as
    mappings; a text changes the help.
    """
    metadata = {"contains": kind, "without": frozenset(without), "changes": changes}
    return field(default_factory=kind, metadata=metadata)


def list_options(kind: type[Any]) -> dict[str, Option]:
    """All options of a dataclass, by key; those of dataclasses that it contains come first."""
    options: dict[str, Option] = {}
    for each in sorted(fields(kind), key=lambda each: "contains" not in each.metadata):
        if (declared := each.metadata.get("option")) is not None:
            options[each.name] = replace(declared, key=each.name, default=each.default)
        elif "contains" in each.metadata:
            for key, inner in list_options(each.metadata["contains"]).items():
                if key not in each.metadata["without"]:
                    change = each.metadata["changes"].get(key, {})
                    change = {"help": change} if isinstance(change, str) else change
                    options[key] = replace(inner, **change)
    return options


def make_options(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make a dataclass of options from values by key; other keys are left alone."""
    given: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]  # a dataclass
        if "contains" in each.metadata:
            left = {k: v for k, v in values.items() if k not in each.metadata["without"]}
            given[each.name] = make_options(each.metadata["contains"], left)
        elif "option" in each.metadata and each.name in values:
            given[each.name] = _freeze(values[each.name])
    return kind(**given)


def _freeze(value: Any) -> Any:
    """Return a value with tuples in place of lists."""
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def list_values(options: Any) -> dict[str, Any]:
    """Values of all options by key."""
    values: dict[str, Any] = {}
    for each in fields(options):
        value = getattr(options, each.name)
        if "contains" in each.metadata:
            without = each.metadata["without"]
            values |= {k: v for k, v in list_values(value).items() if k not in without}
        elif "option" in each.metadata:
            values[each.name] = value
    return values


def write_settings(options: Any, *, everything: bool = False) -> dict[str, Any]:
    """Return the settings that are not the defaults: those that results depend on, or all.

    The setting of a value that cannot be written down is None.
    """
    values, settings = list_values(options), {}
    for key, each in list_options(type(options)).items():
        value = values[key]
        if value is each.default or not each.in_files or not (each.kept or everything):
            continue
        setting = each.write_setting(value)
        if setting is None or setting != each.write_setting(each.default):
            settings[key] = setting
    return settings


def write_words(kind: type[Any], settings: Mapping[str, Any]) -> list[str]:
    """Write settings as the words of a command.

    >>> @dataclass(frozen=True)
    ... class Options:
    ...     runs: int = whole("how often", 10)
    >>> write_words(Options, {"runs": 3})
    ['--runs', '3']
    """
    options, words, arguments = list_options(kind), list[str](), list[str]()
    for key, value in settings.items():
        option = options[key]
        flag = next(iter(option.flags), f"--{key.replace('_', '-')}")
        if option.form is SWITCH:
            words += [flag] * bool(value)
            continue
        split = option.form.split(value)
        if option.is_argument:
            arguments += map(_format_word, split)
        elif option.form is GRIDS:
            words += [word for grid in split for word in (flag, *grid)]
        elif option.form.nargs and not option.form.repeated:
            words += [flag, *map(_format_word, split)]
        else:
            for word in map(_format_word, split):
                words += [f"{flag}={word}"] if word.startswith("-") else [flag, word]
    return arguments + words


def read_settings(
    kind: type[Any], settings: Mapping[str, Any], *, where: str, given: Collection[str] = ()
) -> dict[str, Any]:
    """Read settings by key, each checked; return the values of those that `given` does not name.

    Parameters
    ----------
    kind
        Dataclass of the options.
    settings
        What a study file or a results file says, by key.
    where
        Where they come from, for messages, such as ``study file 'a.toml'``.
    given
        Keys that are given otherwise: these win, over their rivals too.
    """
    options = list_options(kind)
    known = {key: each for key, each in options.items() if each.in_files}
    taken = {options[key].rivals for key in given if key in options} - {""}
    values = {}
    for key, value in settings.items():
        _check_key(key, value, known, where)
        read = known[key].read_setting(value, where)
        if key not in given and known[key].rivals not in taken:
            values[key] = read
    _check_rivals([known[key] for key in settings if settings[key] is not False], where)
    return values


def _check_key(key: str, value: Any, known: Mapping[str, Option], where: str) -> None:
    """Raise `InputError` for a key that is no setting."""
    if key == "trust":
        raise InputError(
            f"{where}: trust cannot be given by a file; add --trust to the command if you trust "
            "the model files that it names"
        )
    if key in known:
        return
    if isinstance(value, Mapping) and (inner := [k for k in value if k in known]):
        raise InputError(
            f"{where}: {inner[0]} must not be in a table, got [{key}]; remove the line [{key}]"
        )
    raise unknown_name(f"key in {where}:", key, known)


def _check_rivals(options: Iterable[Option], where: str) -> None:
    """Raise `InputError` if two exclude one another."""
    first: dict[str, str] = {}
    for each in options:
        if each.rivals and first.setdefault(each.rivals, each.key) != each.key:
            raise InputError(
                f"{where}: {each.key} is not allowed with {first[each.rivals]}; leave one out"
            )


def format_toml(value: Any) -> str:
    """Value as TOML.

    >>> print(format_toml({"age": [0, float("inf")], "net income": "low", "text": True}))
    {age = [0, inf], "net income" = "low", text = true}
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in text)
    if isinstance(value, Mapping):
        bare = re.compile(r"[A-Za-z0-9_-]+")
        keys = (key if bare.fullmatch(key) else format_toml(key) for key in value)
        pairs = (f"{k} = {format_toml(v)}" for k, v in zip(keys, value.values(), strict=True))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_toml, value))}]"
    return str(value)


def one_of(kind: str, names: Sequence[str]) -> Callable[[str], str]:
    """Reader of one of these names."""

    def check(text: str) -> str:
        if text not in names:
            raise unknown_name(kind, text, names)
        return text

    return check


def split_words(text: str) -> list[str]:
    """Split a text at its commas."""
    return [word.strip() for word in text.split(",")]


def split_specs(text: str) -> tuple[str, ...]:
    """Split specs at the commas between them, not at those of their arguments."""
    return tuple(split_top_level(text, ","))


def parse_epsilons(text: str) -> tuple[float | str, ...]:
    """Parse numbers, or multiples of ``eps_min``, with commas between them."""
    words = split_words(text)
    try:
        return tuple(float(word) if read_multiple(word) is None else word for word in words)
    except (ValueError, InputError) as error:
        raise InputError(
            "must be numbers, or multiples of eps_min such as 0.5*eps_min, with commas, got "
            f"{text!r}"
        ) from error


def parse_path(text: str) -> str:
    """Check that a text can be the path of a file or folder, which need not exist."""
    if not text:
        raise InputError("must name a file, got an empty text")
    return text


def output_file(*endings: str) -> Callable[[str], str]:
    """Reader of a file to write, which must have one of the endings and be writable."""

    def check(text: str) -> str:
        if not text.lower().endswith(endings):
            raise InputError(f"must end in {', '.join(endings)}, got {text!r}")
        check_writable(text, "it")
        return text

    return check


def parse_finite(text: str) -> float:
    """Parse a number that is not infinite."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"must be a number, got {text!r}")
    return number


def seed_option(purpose: str, group: str = COMMON) -> Any:
    """Field for the seed of random numbers; `purpose` says of which."""
    return whole(f"seed of {purpose} (default: 0)", 0, group=group)


def store_option(about: str) -> Any:
    """Field for a results file."""
    return option(
        f"results file; {about}", read=parse_path, metavar="FILE", group=COMMON, kept=False
    )


def norm_option(default: str, group: str = COMMON) -> Any:
    """Field for the norm in which distances are measured."""
    return option(f"1, 2, inf or another order (default: {default})", default, group=group)


def jobs_option() -> Any:
    """Field for the number of processes."""
    return whole(
        "processes (default: one per core; one per GPU if networks are trained there)",
        group=RUNNING,
        kept=False,
        example=2,
    )


def cluster_option() -> Any:
    """Field for who does the work; `core.workers.tasks.use_cluster` takes its value."""
    return option(
        "who does the work: dask or ray for a cluster started on this machine, dask=ADDRESS or "
        "ray=ADDRESS for one that runs, such as dask=tcp://host:8786; joblib for processes of "
        "this machine, the default of studies",
        metavar="NAME[=ADDRESS]",
        group=RUNNING,
        kept=False,
        example="dask",
    )


def page_file(text: str) -> str:
    """Check a path to write a page to; one that ends in .pdf needs a browser that prints it."""
    path = output_file(*PAGE_ENDINGS)(text)
    if path.lower().endswith(".pdf"):
        from shaketable.core.browsers import find_browser

        find_browser()
    return path


def report_option(about: str) -> Any:
    """Field for a page to write."""
    return option(
        about,
        read=page_file,
        metavar="FILE.html|.pdf",
        group=COMMON,
        kept=False,
        example="study.html",
    )


def out_option(about: str, *endings: str) -> Any:
    """Field for a file to write that has one of the endings."""
    return option(
        f"{about}: {', '.join(endings)}",
        read=output_file(*endings),
        metavar="FILE",
        group=COMMON,
        flags=("-o", "--out"),
        kept=False,
    )
