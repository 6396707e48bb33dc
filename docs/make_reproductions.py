"""Write the pages of the reproductions, ``reproductions/``, from what was last measured.

    python docs/make_reproductions.py

The numbers are those of the JSON files that `shaketable reproduce` wrote, which the package holds.
The pages are committed, so that they can be read where the files are; a test compares them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shaketable.reproductions.listing import load_measured
from shaketable.reproductions.registry import PAPERS, REPRODUCTIONS, Form, Reproduction

FOLDER = Path(__file__).parent / "reproductions"
HEAD = (
    "<!-- Written by docs/make_reproductions.py from what was last measured; change the "
    "declarations, not this page. -->"
)

_INDEX = """\
# Reproductions

*Which numbers of the papers can be made again, and do they agree?*

```console
$ shaketable reproduce pnorm-table6
pnorm-table6: 1 of 1 claims hold
...
```

`shaketable reproduce` lists all names with what they need; with a name it makes the numbers again,
prints them beside print, and writes a page, JSON and the figure. An interrupted command goes on
when it is run again. Exit code 0: all claims hold; 1: one fails; 3: one is inconclusive.

Every name declares **claims**, before anything is measured and apart for every form, and what
differs from the paper and why. The interval of a number decides: a claim *holds* if the interval
lies within what is claimed, *fails* if it lies outside, and is *inconclusive* otherwise. Claims on
several numbers share an error probability of 5 % (Bonferroni). Below five runs there is no z-score.

Forms: `fast` needs two cores and minutes, `gpu` minutes on a large GPU, `full` does what the paper
did. Numbers that the papers got wrong are corrected before they are compared; they are among the
[errata](../errata/index.md). `shaketable list published` has the printed tables.

Paths in commands are those of files that are not part of the package: the points in the plane come
with the code of Siedel et al. (2022), CIFAR-10 and MNIST are public.

| name | published | form | claims | time | when, where |
|---|---|---|---|---|---|
"""


def make_pages() -> dict[str, str]:
    """Make all pages, by the names of their files."""
    groups: dict[str, list[Reproduction]] = {paper: [] for paper in PAPERS}
    for each in REPRODUCTIONS.values():
        groups[each.name.partition("-")[0]].append(each)
    groups = {paper: found for paper, found in groups.items() if found}
    pages = {f"{paper}.md": _make_page(paper, found) for paper, found in groups.items()}
    return {"index.md": _make_index(groups), **pages}


def _make_index(groups: Mapping[str, list[Reproduction]]) -> str:
    rows = [
        _list_row(paper, each, form)
        for paper, found in groups.items()
        for each in found
        for form in each.forms
    ]
    links = [f"- [{_capitalise(PAPERS[paper])}]({paper}.md)" for paper in groups]
    toctree = ["```{toctree}", ":hidden:", "", *groups, "```"]
    lines = [HEAD, *_INDEX.splitlines(), *rows, "", *links, "", *toctree]
    return "\n".join(lines) + "\n"


def _list_row(paper: str, each: Reproduction, form: str) -> str:
    found = load_measured().get((each.name, form))
    first = form == next(iter(each.forms))
    name = f"[{each.name}]({paper}.md#{each.name})" if first else ""
    cells = [name, each.place if first else "", form]
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


def _make_page(paper: str, found: list[Reproduction]) -> str:
    lines = [HEAD, f"# {_capitalise(PAPERS[paper])}"]
    for each in found:
        lines += ["", f"## {each.name}", "", *_fill(_end(_capitalise(each.about)))]
        if each.errata:
            links = (
                f"[{erratum}](../errata/{erratum.partition('-')[0]}.md#{erratum})"
                for erratum in each.errata
            )
            lines += ["", *_fill(f"{each.place}. Errata: {', '.join(links)}.")]
        elif each.place:
            lines += ["", f"{each.place}."]
        for name, form in each.forms.items():
            lines += ["", f"### {each.name}, {name}", "", *_describe(each, name, form)]
    return "\n".join(lines) + "\n"


def _describe(each: Reproduction, name: str, form: Form) -> Iterator[str]:
    """Yield the lines about one form: what it does and needs, its claims, what differs."""
    found = load_measured().get((each.name, name))
    needs = f" Needs {form.needs}." if form.needs else ""
    yield from _fill(f"{_end(_capitalise(form.about))}{needs} Takes {_end(form.takes)}")
    yield ""
    if found is None:
        yield "Not measured yet. It claims:"
        yield ""
        for claim in form.claims:
            yield from _fill(f"- {_end(claim.text)}")
    else:
        yield from _fill(f"`{found['settings']['Command']}`")
        yield ""
        yield from ("| claim | | number that decides |", "|---|---|---|")
        for claim in found["claims"]:
            yield f"| {_escape(claim['claim'])} | {claim['verdict']} | {_escape(claim['why'])} |"
        yield ""
        yield from _fill(_describe_making(found["settings"]))
    if form.deviations:
        yield from ("", "What differs from the paper:", "")
        for text in form.deviations:
            yield from _fill(f"- {_end(text)}")


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


def main() -> None:
    """Write all pages, and remove those of papers that are gone."""
    pages = make_pages()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
