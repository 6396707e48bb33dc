"""Output of the commands: tables that fit the terminal, lists of names, notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore that a reader such as ``head`` closes stdout, so that later work is still done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, so that stdout holds results only."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def print_list(entries: dict[str, str]) -> None:
    """Print names with their descriptions, one per line."""
    width = max(map(len, entries), default=0)
    for name, about in entries.items():
        print(f"{name:<{width}}  {about}")


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, spaces: int = 3
) -> None:
    """Print a table; one that is wider than the terminal is printed in several pieces.

    `spaces` is the distance of columns, 1 or more.
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
            table.add_column(header[i], justify="left" if i == 0 else "right", no_wrap=True)
        for row in rows:
            table.add_row(*(row[i] for i in columns))
        return table

    def width(columns: Sequence[int]) -> int:
        return out.measure(piece(columns), options=out.options.update(max_width=10_000)).maximum

    padding = (0, spaces // 2, 0, (spaces - 1) // 2)
    out = Output(highlight=False, markup=False)
    room = out.width if sys.stdout.isatty() else 10_000
    print(f"\n{title}")
    todo = list(range(1, len(header)))
    while todo:
        fit = len(todo)
        while fit > 1 and width([0, *todo[:fit]]) > room:
            fit -= 1
        shown = [0, *todo[:fit]]
        out.width = width(shown)
        out.print(piece(shown))
        todo = todo[fit:]
