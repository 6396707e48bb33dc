"""Lines and tables as Markdown, LaTeX and HTML, with every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Protocol


class TableFormat(Protocol):
    """A way to write lines and tables, other than as text for a terminal."""

    def write_line(self, line: str) -> str:
        """Write a line as a paragraph."""

    def write_table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write a table; its title may be empty, and columns of numbers are aligned right."""


class Markdown:
    r"""Markdown with the tables of GitHub.

    >>> print(Markdown().write_table("title", ["model", "error, %"], [["a|b", "1.00"]]))
    title
    <BLANKLINE>
    | model | error, % |
    |:---|---:|
    | a\|b | 1.00 |
    <BLANKLINE>
    """

    def write_line(self, line: str) -> str:
        """Write a line as a paragraph."""
        return f"{_MARKDOWN_START.sub(_put_backslash, _escape_markdown(line.strip()))}\n"

    def write_table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write the title as a paragraph, then the table."""
        shown = [[_escape_markdown(cell.strip()) for cell in row] for row in (header, *rows)]
        names, *entries = [f"| {' | '.join(row)} |" for row in shown]
        align = "".join("---:|" if right else ":---|" for right in _find_numbers(rows, len(header)))
        paragraph = [self.write_line(title)] if title else []
        return "\n".join([*paragraph, names, f"|{align}", *entries, ""])


_MARKDOWN_SIGNS = re.compile(r"[\\`*|~$]|(?<!\w)_|_(?!\w)|\[(?![-+.\d, ]*\])")
_MARKDOWN_START = re.compile(r"^(#|\+|-|=|>|\d+(?=[.)]))")


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_SIGNS.sub(_put_backslash, html.escape(text, quote=False))


def _put_backslash(match: re.Match[str]) -> str:
    sign = match.group()
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


class Latex:
    r"""LaTeX with the tables of the package booktabs.

    >>> Latex().write_line("1 → 2")
    '1 $\\to$ 2\n'
    >>> print(Latex().write_table("title", ["model", "error, %"], [["a_b", "-1.00"]]))
    \begin{table}[htbp]
    \centering
    \caption{title}
    \begin{tabular}{lr}
    \toprule
    model & error, \% \\
    \midrule
    a\_b & $-$1.00 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """

    def write_line(self, line: str) -> str:
        """Write a line as a paragraph."""
        return f"{_escape_latex(line.strip())}\n"

    def write_table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write a floating table with its title as the caption."""
        names, *entries = [
            " & ".join(_escape_latex(cell.strip()) for cell in row) + r" \\"
            for row in (header, *rows)
        ]
        align = "".join("r" if right else "l" for right in _find_numbers(rows, len(header)))
        lines = [
            r"\begin{table}[htbp]",
            r"\centering",
            *([rf"\caption{{{_escape_latex(title)}}}"] if title else []),
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            names,
            r"\midrule",
            *entries,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
        return "\n".join(lines)


_LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "{}$&#_%"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "ε": r"$\varepsilon$",
    "→": r"$\to$",
}
_LATEX_PLACES = {"-": "$-$", "[": "{[}", "*": "{*}"}
_LATEX = re.compile(
    rf"[{re.escape(''.join(_LATEX_SIGNS))}]"
    r"|(?<!\w)-(?=\d)"  # a minus, not a hyphen
    r"|^[\[*]"  # after the end of a row they would be an option of it
)


def _escape_latex(text: str) -> str:
    return _LATEX.sub(lambda m: _LATEX_SIGNS.get(m[0]) or _LATEX_PLACES[m[0]], text)


class Html:
    """HTML for notebooks: no scripts, no links, no styles but alignment and padding.

    >>> Html().write_line("<b>")
    '<p>&lt;b&gt;</p>'
    """

    def write_line(self, line: str) -> str:
        """Write a line as a paragraph."""
        return f"<p>{html.escape(line.strip())}</p>"

    def write_table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write the title as a paragraph, as wide as the page, then the table."""
        sides = ["right" if right else "left" for right in _find_numbers(rows, len(header))]
        head = _write_html_row("th", header, sides)
        body = "\n".join(_write_html_row("td", row, sides) for row in rows)
        paragraph = self.write_line(title) if title else ""
        return f"{paragraph}<table>\n<thead>{head}</thead>\n<tbody>{body}</tbody></table>"


def _write_html_row(tag: str, row: Sequence[str], sides: Sequence[str]) -> str:
    cells = (
        f'<{tag} style="text-align:{side};padding:0 8px">{html.escape(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _find_numbers(rows: Sequence[Sequence[str]], columns: int) -> list[bool]:
    """Which columns hold numbers: every entry but empty ones begins like one."""
    return [
        all(_NUMBER.match(row[i]) for row in rows if row[i].strip() not in ("", "undefined"))
        for i in range(columns)
    ]


_NUMBER = re.compile(r"\s*\[?[+-]?\d[\d.,]*+(e[+-]?\d++)?(?![^\W\d])|–$")


TABLE_FORMATS: Mapping[str, TableFormat] = {"markdown": Markdown(), "latex": Latex()}
"""Formats of ``--format``, besides text."""
