"""Write the pages of the errata, ``errata/``, from the data that commands use, too.

    python docs/make_errata.py

The pages are committed, so that they can be read where the files are; a test compares them.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from shaketable.findings.errata.errata import Erratum, load_errata

FOLDER = Path(__file__).parent / "errata"
HEAD = "<!-- Written by docs/make_errata.py; change errata.toml, not this page. -->"

_INDEX = """\
# Errata

*What is wrong in the papers that `shaketable` follows, and in their code? Which claims did not
hold?*

```console
$ shaketable list errata pnorm-table6
...
where:
  Table 6, rows d = 5, 10 and 20
printed:
  the two columns are swapped
...
command:
  shaketable figure balls-volumes
```

A **slip** is a number, formula or procedure that is wrong as it stands, or that can be read in two
ways. A **claim** is a conclusion that did not hold here. The measurements are those of
[data in the plane](../../benchmarks/results/table2.md),
[CIFAR-10](../../benchmarks/results/table3.md) and
[two-factor sets](../../benchmarks/results/twofactor_training.md).

Results that show such a number say so: pages have a section on errata, other output has a note, and
JSON has the key `errata`.

In the commands, words in capitals stand for files and models of yours. `BANDS2D` is the data of
Siedel et al. (2022), [table3.csv](table3.csv) is Table III of Dai & Berleant (2022), and `TINY` is
Tiny ImageNet. All other commands run as they are.
"""


def make_pages() -> dict[str, str]:
    """Make all pages, by the names of their files."""
    groups: dict[str, list[Erratum]] = {}
    for erratum in load_errata().values():
        groups.setdefault(erratum.group, []).append(erratum)
    pages = {f"{group}.md": _make_page(errata) for group, errata in groups.items()}
    return {"index.md": _make_index(groups), **pages}


def _make_index(groups: dict[str, list[Erratum]]) -> str:
    lines = [HEAD, *_INDEX.splitlines(), ""]
    for group, errata in groups.items():
        lines.append(f"- [{errata[0].paper}]({group}.md): {_count(errata)}")
    lines += ["", "```{toctree}", ":hidden:", "", *groups, "```"]
    return "\n".join(lines) + "\n"


def _count(errata: list[Erratum]) -> str:
    claims = sum(erratum.kind == "claim" for erratum in errata)
    numbers = {"slip": len(errata) - claims, "claim": claims}
    parts = [f"{n} {kind}{'s' * (n > 1)}" for kind, n in numbers.items() if n]
    return " and ".join(parts)


def _make_page(errata: list[Erratum]) -> str:
    lines = [HEAD, f"# {errata[0].paper}"]
    for erratum in errata:
        about = erratum.facts()
        del about["paper"], about["kind"]
        place, command = about.pop("where"), about.pop("command")
        lines += [
            "",
            f"## {erratum.id}",
            "",
            *_fill(f"**{erratum.kind.capitalize()}:** {place}."),
            "",
        ]
        for what, text in about.items():
            lines += _fill(f"- {what.capitalize()}: {_end(text)}")
        lines += _fill(f"- Command: `{command}`", mark=False)
    return "\n".join(lines) + "\n"


def _end(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _fill(text: str, *, mark: bool = True) -> list[str]:
    """Return lines of a paragraph, or of an item of a list, with flags as code."""
    if mark:
        text = re.sub(r"--[a-z]+( [a-z]+)?|table3\.csv", lambda found: f"`{found[0]}`", text)
    indent = "  " * text.startswith("- ")
    tied = text.replace(" %", "\0%")  # a line that begins with % is a comment, which no site shows
    lines = textwrap.wrap(
        tied, 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return [line.replace("\0", " ") for line in lines]


def main() -> None:
    """Write all pages, and remove those of papers that are gone."""
    pages = make_pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
