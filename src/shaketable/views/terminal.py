"""Output of the commands: lines, tables that fit the terminal, lists of names, notes.

All text for people is printed here, so that names in it cannot do anything to a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from shaketable.views.text import make_visible

_LINE, _CELL = 2000, 80  # characters that are shown at most


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore that a reader such as ``head`` closes stdout, so that later work is still done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(*lines: object, to_stderr: bool = False) -> None:
    """Print texts, each as one line; what does not show is written out (`make_visible`)."""
    for line in lines:
        print(make_visible(str(line), limit=_LINE), file=sys.stderr if to_stderr else sys.stdout)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, so that stdout holds results only."""
    print_lines(*(f"note: {note}" for note in notes), to_stderr=True)


def print_list(entries: dict[str, str]) -> None:
    """Print names with their descriptions, one per line."""
    shown = [(make_visible(name, limit=_CELL), about) for name, about in entries.items()]
    width = max((len(name) for name, _ in shown), default=0)
    print_lines(*(f"{name:<{width}}  {about}" for name, about in shown))


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, spaces: int = 3
) -> None:
    """Print a table; one that is wider than the terminal is printed in several pieces.

    A cell is one line; one that is longer than 80 characters loses its middle. `spaces` is the
    distance of columns, 1 or more.
    """
    from rich.box import SIMPLE_HEAD  # slow to import, and needed only here
    from rich.console import Console
    from rich.table import Table

    class Output(Console):
        def on_broken_pipe(self) -> None:  # rich would end the program
            raise BrokenPipeError

    def piece(columns: Sequence[int]) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=padding)
        for i in columns:
            justify: Literal["left", "right"] = "left" if i == 0 else "right"
            table.add_column(shown[0][i], justify=justify, no_wrap=True)
        for row in shown[1:]:
            table.add_row(*(row[i] for i in columns))
        return table

    def width(columns: Sequence[int]) -> int:
        return out.measure(piece(columns), options=out.options.update(max_width=10_000)).maximum

    padding = (0, spaces // 2, 0, (spaces - 1) // 2)
    shown = [[make_visible(cell, limit=_CELL) for cell in row] for row in (header, *rows)]
    out = Output(highlight=False, markup=False, emoji=False)
    room = out.width if sys.stdout.isatty() else 10_000
    print_lines("", title)
    todo = list(range(1, len(header)))
    while todo:
        fit = len(todo)
        while fit > 1 and width([0, *todo[:fit]]) > room:
            fit -= 1
        columns = [0, *todo[:fit]]
        out.width = width(columns)
        out.print(piece(columns))
        todo = todo[fit:]
