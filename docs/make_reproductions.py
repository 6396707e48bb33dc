"""Write the pages of the reproductions, ``reproductions/``, from what was last measured.

    python docs/make_reproductions.py           # pages of what the package holds
    python docs/make_reproductions.py FOLDER    # takes new results first

FOLDER is what ``shaketable reproduce NAME --out FOLDER`` wrote: its JSON files become those of the
package, and its figures those of the pages, unless they are large. The pages are committed, so that
they can be read where the files are; a test compares them.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import shaketable.reproductions
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.reproductions.claims import Claim, Order, select
from shaketable.reproductions.listing import load_measured
from shaketable.reproductions.numbers import NumberTable
from shaketable.reproductions.registry import (
    PAPERS,
    REPRODUCTIONS,
    Form,
    Reproduction,
    list_in_order,
)

FOLDER = Path(__file__).parent / "reproductions"
MEASURED = Path(shaketable.reproductions.__file__).parent / "measured"
LINES = 150
"""Lines of a page at most; rows of long tables are left out until it fits."""
FIGURE = 60_000
"""Bytes of a figure at most; those that are larger are not on the pages."""
HEAD = "<!-- Written by docs/make_reproductions.py from what was last measured; not by hand. -->"

_INDEX = """\
# Reproductions

*Which numbers of the papers can be made again, and do they agree?*

```console
$ shaketable reproduce pnorm-table6
pnorm-table6: 1 of 1 claims hold
...
```

`shaketable reproduce` lists all names with what they need; with a name it makes the numbers again,
prints them beside print, and writes a page, JSON and the figure. Whatever takes minutes goes on
when an interrupted command is run again. Exit code 0: all claims hold; 1: one fails; 3: one
is inconclusive, or some of the data or runs are lacking. One run decides nothing.

For every form, the code declares **claims**, and what differs from the paper and why. The interval
of a number decides. A claim about a value, a sign or an order *holds* if the interval lies within
what is claimed, *fails* if it lies outside, and is *inconclusive* otherwise. A claim that numbers
agree with print fails if one of them differs. Wide intervals agree with anything, so a second claim
says how precise the numbers are. The numbers of one claim share an error probability of 5 %
(Bonferroni). Below five runs there is no z-score. Some claims are about print alone: what follows
from printed numbers. Claims on small networks and on independent draws were chosen after trials of
other sizes or seeds, since no paper says what these do.

Forms: `fast` needs two cores and minutes, `gpu` minutes on a large GPU, `full` is as large as in
the paper. Numbers that the papers got wrong are corrected before they are compared; they are among
the [errata](../errata/index.md). `shaketable list published` has the printed tables.

Names of one study share it: the first takes its time, the others seconds.

The same command with the same seed makes the same numbers. On another kind of processor sums are
rounded otherwise, so networks that are trained there differ a little, and so do answers at ties.

Paths in commands are those of files that are not part of the package: the points in the plane come
with the code of Siedel et al. (2022), CIFAR-10 and MNIST are public.
"""

_HEAD = ("| name | published | form | claims | time | when, where |", "|---|---|---|---|---|---|")


def make_pages() -> dict[str, str]:
    """Make all pages, by the names of their files: an index, and one for every name."""
    pages = {f"{each.name}.md": _make_page(each) for each in list_in_order()}
    return {"index.md": _make_index(), **pages}


def _make_index() -> str:
    groups: dict[str, list[Reproduction]] = {paper: [] for paper in PAPERS}
    for each in list_in_order():
        groups[each.name.partition("-")[0]].append(each)
    lines = [HEAD, *_INDEX.splitlines()]
    for paper, found in groups.items():
        if found:
            lines += ["", f"## {_capitalise(PAPERS[paper])}", "", *_HEAD]
            lines += [_list_row(each, form) for each in found for form in each.forms]
    names = [each.name for found in groups.values() for each in found]
    lines += ["", "```{toctree}", ":hidden:", "", *names, "```"]
    return "\n".join(lines) + "\n"


def _list_row(each: Reproduction, form: str) -> str:
    found = load_measured().get((each.name, form))
    first = form == next(iter(each.forms))
    cells = [f"[{each.name}]({each.name}.md)" if first else "", each.place if first else "", form]
    if found is None:
        cells += ["not measured", each.forms[form].takes, ""]
    else:
        about = found["settings"]
        cells += [_count(found), about["Time"], f"{about['Date']}, {about['Machine']}"]
    return f"| {' | '.join(cells)} |"


def _count(found: Mapping[str, Any]) -> str:
    """Say how many claims hold."""
    verdicts = [claim["verdict"] for claim in found["claims"]]
    parts = [f"{verdicts.count('holds')} of {len(verdicts)} hold"]
    parts += [f"{verdicts.count(v)} {v}" for v in ("fails", "inconclusive") if v in verdicts]
    parts += [found["unfinished"]] * bool(found["unfinished"])
    return ", ".join(parts)


def _make_page(each: Reproduction) -> str:
    """Make the page of a name, with as many rows of its tables as fit."""
    for rows in (40, 30, 24, 20, 16, 12, 9, 6, 4, 2, 0):
        lines = [*_list_lines(each, rows)]
        if len(lines) <= LINES:
            break
    return "\n".join(lines) + "\n"


def _list_lines(each: Reproduction, rows: int) -> Iterator[str]:
    yield from (HEAD, f"# {each.name}", "", *_fill(_end(_capitalise(each.about))), "")
    errata = [f"[{e}](../errata/{e.partition('-')[0]}.md#{e})" for e in each.errata]
    about = f"{_end(each.source)} Errata: {', '.join(errata)}." if errata else _end(each.source)
    yield from _fill(_capitalise(about))
    for name, form in each.forms.items():
        yield from ("", f"## {_capitalise(name)} form", "", *_describe(each, name, form, rows))


def _describe(each: Reproduction, name: str, form: Form, rows: int) -> Iterator[str]:
    """Yield the lines about one form: what it does, its claims and numbers, what differs."""
    found = load_measured().get((each.name, name))
    needs = f" Needs {form.needs}." if form.needs else ""
    yield from _fill(f"{_end(_capitalise(form.about))}{needs} Takes {_end(form.takes)}")
    yield ""
    if found is None:
        yield "Not measured yet. It claims:"
        yield ""
        for claim in form.claims:
            yield from _fill(f"- {_end(_escape(claim.text))}")
    else:
        yield from _fill(f"`{found['settings']['Command']}`")
        yield ""
        yield from ("| claim | | number that decides |", "|---|---|---|")
        for claim in found["claims"]:
            yield f"| {_escape(claim['claim'])} | {claim['verdict']} | {_escape(claim['why'])} |"
        for table in found["tables"]:
            yield from show_table(table, form.claims, rows)
        if found.get("sentences"):
            yield ""
        for text in found.get("sentences", ()):
            yield from _fill(f"- {_end(_escape(_capitalise(text)))}")
        figure = f"{each.name}.{name}.svg"
        if (FOLDER / "images" / figure).exists():
            yield from ("", *_fill(f"![{_end(_capitalise(each.about))}](images/{figure})"))
        yield ""
        yield from _fill(_describe_making(found["settings"]))
    if form.deviations:
        yield from ("", "What differs from the paper:", "")
        for text in form.deviations:
            yield from _fill(f"- {_end(_escape(text))}")


def show_table(table: Mapping[str, Any], claims: Sequence[Claim], rows: int) -> Iterator[str]:
    """Yield the lines of a table of numbers, ours beside print.

    Of a long one, rows that claims are about are shown, and of these the first ones.
    """
    numbers = table["numbers"]
    if not numbers or not rows:
        return
    named = {_name(table, number): number for number in numbers}
    claimed = {number["row"] for name in _list_claimed(claims, named) if (number := named[name])}
    every = list(dict.fromkeys(number["row"] for number in numbers))
    chosen = every if len(every) <= rows else [row for row in every if row in claimed] or every
    chosen = chosen[:rows]
    title = f"{table['title']}, {table['unit']}" if table["unit"] else table["title"]
    more = len(every) - len(chosen)
    yield ""
    yield from _fill(f"**{_escape(_capitalise(title))}**{f' ({more} more rows)' if more else ''}")
    yield ""
    form = NumberTable("", "", (), digits=table.get("digits", 2)).format
    shown = [number for number in numbers if number["row"] in set(chosen)]
    corner = table.get("corner", "")
    show = _show_matrix if any(number["column"] for number in shown) else _show_rows
    yield from show(shown, corner, form, table["against"])


def _show_matrix(
    numbers: Sequence[Mapping[str, Any]], corner: str, form: Any, against: str
) -> Iterator[str]:
    columns = list(dict.fromkeys(number["column"] for number in numbers))
    cells: dict[str, dict[str, str]] = {}
    for number in numbers:
        text, note = form(number["ours"]), number.get("note", "")
        if number["printed"] is not None:
            text += f" ({form(number['printed'])})"
        elif note:
            text += f" {note}" if note.startswith("±") else f" ({_escape(note)})"
        cells.setdefault(number["row"], {})[number["column"]] = text
    if any(number["printed"] is not None for number in numbers):
        corner = f"{corner}, ours ({against})".removeprefix(", ")
    yield _make_row([_escape(corner), *map(_escape, columns)])
    yield "|---" * (len(columns) + 1) + "|"
    for row, own in cells.items():
        yield _make_row([_escape(row), *(own.get(column, "") for column in columns)])


def _show_rows(
    numbers: Sequence[Mapping[str, Any]], corner: str, form: Any, against: str
) -> Iterator[str]:
    entries = {
        "ours": [form(number["ours"]) for number in numbers],
        "95 % interval": [
            "" if number["low"] is None else f"{form(number['low'])} to {form(number['high'])}"
            for number in numbers
        ],
        against: [
            "" if number["printed"] is None else form(number["printed"]) for number in numbers
        ],
        "z": ["" if number["z"] is None else f"{number['z']:+.1f}" for number in numbers],
    }
    used = {name: texts for name, texts in entries.items() if any(texts)}
    yield _make_row([_escape(corner), *used])
    yield "|---" * (len(used) + 1) + "|"
    for place, number in enumerate(numbers):
        yield _make_row([_escape(number["row"]), *(texts[place] for texts in used.values())])


def _name(table: Mapping[str, Any], number: Mapping[str, Any]) -> str:
    """Return the name that claims use."""
    column = f" / {number['column']}" if number["column"] else ""
    return f"{table.get('key', '')}: {number['row']}{column}"


def _list_claimed(claims: Sequence[Claim], named: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of numbers that a claim is about."""
    for claim in claims:
        if isinstance(claim, Order):
            yield from (name for name in claim.numbers if name in named)
        else:
            yield from select(named, getattr(claim, "numbers", ""))


def _make_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _describe_making(settings: Mapping[str, str]) -> str:
    """Say how a result was made, without the command, which stands above it."""
    facts = {key: text for key, text in settings.items() if key not in ("Command", "Versions")}
    return "; ".join(f"{key.lower()}: {text}" for key, text in facts.items()) + "."


def _capitalise(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _end(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _escape(text: str) -> str:
    """Text for a cell of a table."""
    return re.sub(r"([|*<>_])", r"\\\1", text)


def _fill(text: str) -> list[str]:
    """Return lines of a paragraph, or of an item of a list."""
    tied = text.replace(" %", "\0%")  # a line that begins with % is a comment, which no site shows
    indent = "  " * text.startswith("- ")
    lines = textwrap.wrap(
        tied, 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace("\0", " ") for line in lines]


def take_results(folder: Path) -> list[str]:
    """Take JSON and figures of a folder; return what was left out, and why."""
    left = []
    (FOLDER / "images").mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        name, form = found.get("name"), found.get("form")
        if found.get("schema_version") != SCHEMA_VERSION or name not in REPRODUCTIONS:
            left.append(f"{path.name}: not what this version of reproduce writes")
            continue
        if path.stem != f"{name}.{form}":
            left.append(f"{path.name}: not of the default choices")
            continue
        (MEASURED / f"{name}.{form}.json").write_bytes(path.read_bytes())
        image = FOLDER / "images" / f"{name}.{form}.svg"
        image.unlink(missing_ok=True)
        figure = path.with_suffix(".svg")
        if figure.exists() and figure.stat().st_size > FIGURE:
            left.append(f"{figure.name}: larger than {FIGURE // 1000} kB")
        elif figure.exists():
            image.write_text(figure.read_text(encoding="utf-8").rstrip() + "\n", encoding="utf-8")
    load_measured.cache_clear()
    return left


def main(arguments: Sequence[str] = ()) -> None:
    """Take new results, write all pages, and remove those of names that are gone."""
    for folder in arguments:
        print(*take_results(Path(folder)), sep="\n")
    pages = make_pages()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
