"""What every command shows in a terminal: tables as wide as it is, lists of names, notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def showing() -> Iterator[None]:
    """Where a reader, such as ``head``, may have seen enough: what comes after is still done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_notes(notes: Iterable[str]) -> None:
    """Notes on stderr, where they disturb no program."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def print_list(entries: dict[str, str]) -> None:
    """Names with their descriptions."""
    width = max(map(len, entries), default=0)
    for name, about in entries.items():
        print(f"{name:<{width}}  {about}")


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, spaces: int = 3
) -> None:
    """Show a table, in several pieces where it is wider than the terminal; nothing is cut.

    Columns are `spaces` apart, 1 or more.
    """
    from rich.box import SIMPLE_HEAD  # only where something is shown
    from rich.console import Console
    from rich.table import Table

    class Output(Console):
        def on_broken_pipe(self) -> None:  # its own ends the program
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
        fit = 1
        while fit < len(todo) and width([0, *todo[: fit + 1]]) <= room:
            fit += 1
        shown = [0, *todo[:fit]]
        out.width = width(shown)
        out.print(piece(shown))
        todo = todo[fit:]
