"""Write the pages of the commands, ``reference/commands/``, from their parsers.

    python docs/make_reference.py

The pages are committed, so that they can be read where the files are; a test compares them. A page
has the docstring of the command's module, its EXAMPLES, its flags, and links from here.
"""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from shaketable.cli.commands import COMMANDS, GROUPS
from shaketable.cli.parser import make_parser
from shaketable.core.options import COMMON

FOLDER = Path(__file__).parent / "reference" / "commands"

LINKS: Mapping[str, Mapping[str, str]] = {
    "demo": {"Start here": "start/index"},
    "separation": {
        "what separation and eps_min are": "measures/separation",
        "1-NN": "measures/one-nn",
        "distances in an embedding": "howto/embedding",
        "kinds of data": "reference/data",
    },
    "evaluate": {
        "kinds of data": "reference/data",
        "columns of a table": "reference/columns",
        "models": "reference/models",
        "noise": "reference/noise",
        "suites": "reference/suites",
        "what the numbers mean": "measures/index",
        "JSON": "reference/json",
    },
    "adversary": {
        "what the worst case is": "measures/worst-case",
        "genuine adversarial accuracy": "measures/genuine",
        "certificates by smoothing": "measures/smoothing",
        "how to attack a model": "howto/worst-case",
        "how hard": "howto/attacks",
    },
    "risk": {
        "what rare failures are": "measures/rare-failures",
        "how to show that failures are rare": "howto/rare-failures",
        "requirements": "reference/requirements",
    },
    "study": {
        "how to run a study": "howto/study",
        "how to go on after an interruption": "howto/resume",
        "training noise": "reference/training-noise",
        "networks": "reference/networks",
        "clusters": "howto/cluster",
    },
    "train": {
        "how to train with noise": "howto/train-with-noise",
        "training noise": "reference/training-noise",
        "augmentations": "reference/augmentations",
        "networks": "reference/networks",
    },
    "harden": {
        "how to harden a model": "howto/harden",
        "training noise": "reference/training-noise",
    },
    "check": {
        "requirements": "reference/requirements",
        "how to gate a pipeline": "howto/gate",
        "requirements in pytest": "howto/gate-in-pytest",
    },
    "compare": {
        "how to compare two versions": "howto/compare-versions",
        "differences": "measures/differences",
    },
    "rerun": {"how to make results again": "howto/rerun"},
    "report": {
        "what the numbers mean": "measures/index",
        "results files": "reference/results-file",
        "JSON": "reference/json",
    },
    "dossier": {"how to write a dossier": "howto/dossier"},
    "figure": {"figures and what they show": "howto/figures"},
    "export": {
        "results files": "reference/results-file",
        "tables for documents": "howto/documents",
    },
    "merge": {"how to use several results files": "howto/results-files"},
    "corrupt": {
        "noise": "reference/noise",
        "suites": "reference/suites",
        "kinds of data": "reference/data",
    },
    "list": {"JSON": "reference/json", "how to add names": "howto/own-plugin"},
    "reproduce": {
        "what was last measured": "reproductions/index",
        "errata": "errata/index",
        "how to go on after an interruption": "howto/resume",
    },
}
"""Pages to read beside that of a command."""

CODES: Mapping[str, Mapping[str, str]] = {
    "check": {
        "0": "all requirements are met",
        "1": "a requirement is not met",
        "3": "no requirement is known to be violated, but one is inconclusive",
    },
    "risk": {
        "0": "the probability is at most --below, or nothing is required",
        "1": "it is above",
        "3": "the interval is too wide to decide",
    },
    "rerun": {
        "0": "it agrees",
        "1": "it does not agree",
        "2": "the data or a model are gone, or others than then",
    },
    "reproduce": {
        "0": "all declared claims hold",
        "1": "a claim fails",
        "3": "no claim fails, but one is inconclusive, or not all runs are done",
    },
}

HEAD = "<!-- Written by docs/make_reference.py; change it or the command's file, not this page. -->"


_INDEX = """\
# Commands

```console
$ shaketable list models
rf        random forest, 100 trees
1nn       nearest neighbour
...
```

Every command prints its flags with `--help`, and the traceback of an error with `--debug`. What may
be written for `DATA`, `MODEL`, `SPEC`, `SUITE` and `REQUIREMENT` is in the tables of
[data](../data.md), [models](../models.md), [noise](../noise.md), [suites](../suites.md) and
[requirements](../requirements.md). [Exit codes](../exit-codes.md) mean the same for all commands.
"""


def make_pages() -> dict[str, str]:
    """Make all pages, by the names of their files."""
    pages = {f"{name}.md": _make_page(name) for name in COMMANDS}
    return {"index.md": _make_index(), **pages}


def _make_index() -> str:
    lines = [HEAD, *_INDEX.splitlines()]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}", "", "| command | what it does |", "|---|---|"]
        about = {name: _escape(COMMANDS.get(name).ABOUT) for name in names}
        lines += [f"| [{name}]({name}.md) | {text} |" for name, text in about.items()]
    every = [name for names in GROUPS.values() for name in names]
    lines += ["", "```{toctree}", ":hidden:", "", *every, "```"]
    return "\n".join(lines) + "\n"


def _make_page(name: str) -> str:
    command = COMMANDS.get(name)
    _, parser = make_parser(name, command)
    about = (inspect.getdoc(command) or "").partition("\n")[2].strip()
    for term in ("eps_min", "MSCR"):
        about = re.sub(rf"\b{term}\b", f"[{term}](../glossary.md)", about, count=1)
    lines = [
        HEAD,
        f"# shaketable {name}",
        "",
        f"{_capitalise(command.ABOUT)}.",
        "",
        _fill(_mark_code(about)),
        "",
        "<!-- not run: examples name files of yours -->",
        "```sh",
        textwrap.dedent(command.EXAMPLES),
        "```",
        "",
        f"Usage: `{_make_usage(parser)}`",
    ]
    for title, actions in _group_actions(parser):
        lines += ["", f"## {_capitalise(title)}", "", *_make_table(parser, actions)]
    links = ", ".join(f"[{words}]({_link(page)})" for words, page in LINKS[name].items())
    lines += ["", "## Exit codes", "", *_list_codes(name, parser), "", _fill(f"See also: {links}.")]
    return "\n".join(lines) + "\n"


def _link(page: str) -> str:
    return f"../../{page}.md".replace("../../reference/", "../")


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _fill(text: str) -> str:
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False)


def _make_usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage with what must be given; there are tables for the rest."""
    words = [parser.prog]
    required = [action for action in parser._actions if action.option_strings and action.required]
    words += [f"{action.option_strings[0]} {action.metavar}" for action in required]
    for action in parser._actions:
        if not action.option_strings:
            one = str(action.metavar)
            words.append({"?": f"[{one}]", "*": f"[{one} …]", "+": f"{one} …"}.get(
                str(action.nargs), one))  # fmt: skip
    return " ".join([*words, "[OPTION …]"])


def _group_actions(
    parser: argparse.ArgumentParser,
) -> list[tuple[str, list[argparse.Action]]]:
    """Return the flags by group: arguments, common options, those of the command, the others."""
    groups = {
        str(group.title): [a for a in group._group_actions if a.dest not in ("help", "debug")]
        for group in parser._action_groups
    }
    arguments, own = groups.pop("positional arguments"), groups.pop("options")
    common = groups.pop(COMMON, [])
    arguments += [action for action in common if not action.option_strings]
    common = [action for action in common if action.option_strings]
    parts = {"arguments": arguments, "options": own, COMMON: common} | groups
    return [(title, group) for title, group in parts.items() if group]


def _make_table(parser: argparse.ArgumentParser, actions: Iterable[argparse.Action]) -> list[str]:
    rows = [["flag", "meaning"], ["---"] * 2]
    for action in actions:
        help, default = _split_default(parser._get_formatter()._expand_help(action))
        if not default and action.default not in (None, False, [], (), argparse.SUPPRESS):
            default = str(action.default)
        if isinstance(action, argparse._AppendAction) and "repeat" not in help.lower():
            help += "; it may be repeated"
        if rivals := _list_rivals(parser, action):
            help += f"; not with {' or '.join(rivals)}"
        about = _escape(help) + (f" *(default: {_escape(default)})*" if default else "")
        rows.append([_write_flag(action), about])
    if not rows[2][0].startswith("`-"):
        rows[0][0] = "argument"
    return [f"| {' | '.join(row)} |" for row in rows]


def _write_flag(action: argparse.Action) -> str:
    """Return a flag as it is typed, with what stands after it."""
    if not action.option_strings:
        return f"`{action.metavar}`"
    flags = ", ".join(f"`{flag}`" for flag in action.option_strings[:-1])
    value = ""
    if action.nargs != 0:
        value = " " + (action.dest.upper() if action.metavar is None else str(action.metavar))
    value = {"+": f"{value} …", "*": f" [{value[1:]} …]", "?": f" [{value[1:]}]"}.get(
        str(action.nargs), value
    )
    last = f"`{action.option_strings[-1]}{value}`".replace("|", "\\|")
    return f"{flags}, {last}" if flags else last


def _split_default(help: str) -> tuple[str, str]:
    """Split a help text into what it says, and the default that it names.

    >>> _split_default("how often (default: 10 (or so)); may be repeated")
    ('how often; may be repeated', '10 (or so)')
    """
    start = help.find(" (default: ")
    if start < 0 or help.count("(default: ") > 1:
        return help, ""
    depth, end = 0, start
    for end in range(start + 1, len(help)):
        depth += {"(": 1, ")": -1}.get(help[end], 0)
        if depth == 0:
            break
    return help[:start] + help[end + 1 :], help[start + len(" (default: ") : end]


def _list_rivals(parser: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    """Flags of which only this or another may be given."""
    return [
        f"{rival.option_strings[0]}"
        for group in parser._mutually_exclusive_groups
        if action in group._group_actions
        for rival in group._group_actions
        if rival is not action
    ]


_CODE = re.compile(
    r"(?<!\w)'([^']+)'(?!\w)|(?<![\w-])(--[a-z][\w-]*|-o)(?![\w-])|(shaketable (?:list )?[a-z]+)"
)


def _mark_code(text: str) -> str:
    """Text with what is typed as code: commands, flags, and what is in quotes."""
    return _CODE.sub(lambda found: f"`{found[1] or found[2] or found[3]}`", text)


def _escape(text: str) -> str:
    """Text for a cell of a table."""
    parts = re.split(r"(`[^`]*`)", _mark_code(text))
    plain = [part if part.startswith("`") else re.sub(r"([*<>])", r"\\\1", part) for part in parts]
    return "".join(plain).replace("|", "\\|")


def _list_codes(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the exit codes of a command as a list."""
    flags = {action.dest for action in parser._actions}
    codes = dict(CODES.get(name, {}))
    if "require" in flags and not codes:
        codes["0, 1, 3"] = "with `--require`, as of [check](check.md)"
    if name in ("evaluate", "study"):
        codes["4"] = "a training or a cell failed; the others are kept"
    every = "as of [every command](../exit-codes.md)"
    if not codes:
        return [f"Those {every[3:]}."]
    return [f"- {code}: {text}" for code, text in (codes | {"others": every}).items()]


def main() -> None:
    """Write all pages, and remove those of commands that are gone."""
    pages = make_pages()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
