"""Output of the commands: lines, tables that fit the terminal, lists of names, notes.

All text for people is printed here, so that names in it cannot do anything to a terminal. What
prints its tables here is also written as Markdown, LaTeX or HTML: `write_as` and `render`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from shaketable.core.errors import either
from shaketable.views.blocks import Block, Card, Cards, Facts, Heading, Sentence, Table, format_card
from shaketable.views.formats import Html, TableFormat
from shaketable.views.text import make_visible

_LINE, _CELL = 2000, 80  # characters that are shown at most


@dataclass(frozen=True)
class _Output:
    """Where lines and tables go, if not as text to stdout."""

    format: TableFormat
    parts: list[str] | None = None
    """What was written so far; None if it is printed."""

    def write(self, text: str) -> None:
        """Print a piece of output, or keep it."""
        if self.parts is None:
            print_text(text)
        else:
            self.parts.append(text)


_OUTPUT: ContextVar[_Output | None] = ContextVar("output", default=None)


@contextmanager
def write_as(table_format: TableFormat | None) -> Iterator[None]:
    """Context in which lines and tables are printed in a format; None stands for text."""
    with _send_to(None if table_format is None else _Output(table_format)):
        yield


def render(show: Callable[[], None], table_format: TableFormat) -> str:
    """Call a function that prints here, and return its lines, tables and notes in a format.

    >>> render(lambda: print_lines("a < b"), Html())
    '<p>a &lt; b</p>'
    """
    parts: list[str] = []
    with _send_to(_Output(table_format, parts)):
        show()
    return "\n".join(parts)


def render_facts(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Names and facts as an HTML table, for notebooks."""
    return render(lambda: print_table(title, ["", ""], facts), Html())


@contextmanager
def _send_to(output: _Output | None) -> Iterator[None]:
    token = _OUTPUT.set(output)
    try:
        yield
    finally:
        _OUTPUT.reset(token)


class Displayed:
    """A result made of blocks: printed to the terminal, and shown as HTML in a notebook.

    >>> class Answer(Displayed): ...
    >>> Answer()
    <Answer; .print() shows it>
    """

    def __init_subclass__(cls) -> None:
        # Dataclasses keep the repr that stands in the class; their own may have megabytes, which a
        # notebook stores beside the HTML
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}; .print() shows it>"

    def blocks(self) -> list[Block]:
        """Return its tables, charts, sentences, cards and images, for all views."""
        raise NotImplementedError

    def print(self) -> None:
        """Print its tables, cards and sentences to the terminal."""
        print_blocks(self.blocks())

    def _repr_html_(self) -> str:
        return render(self.print, Html())


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
    output = None if to_stderr else _OUTPUT.get()
    for line in lines:
        if output is not None:
            if text := str(line).strip():
                output.write(output.format.write_line(make_visible(text)))
            continue
        print(make_visible(str(line), limit=_LINE), file=sys.stderr if to_stderr else sys.stdout)


def print_text(text: str) -> None:
    """Print a text that was rendered, so that nothing in it has to be escaped or written out."""
    print(text)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, so that stdout holds results only; `render` returns them, too."""
    output = _OUTPUT.get()
    to_stderr = output is None or output.parts is None
    print_lines(*(f"note: {note}" for note in notes), to_stderr=to_stderr)


def print_list(entries: dict[str, str]) -> None:
    """Print names with their descriptions, one per line."""
    if _OUTPUT.get() is not None:
        print_table("", ["name", "description"], [[*entry] for entry in entries.items()])
        return
    shown = [(make_visible(name, limit=_CELL), about) for name, about in entries.items()]
    width = max((len(name) for name, _ in shown), default=0)
    print_lines(*(f"{name:<{width}}  {about}" for name, about in shown))


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print tables, cards and sentences; charts, images and details are left to pages."""
    for block in blocks:
        if block.level == "detail":
            continue
        if isinstance(block, Table):
            _print_table_block(block)
        elif isinstance(block, Sentence):
            print_lines(f"{block.about}: {block.text}" if block.about else block.text)
        elif isinstance(block, Cards):
            for card in block.cards:
                _print_card(card)
        elif isinstance(block, Facts):
            print_list(dict(block.facts))
        elif isinstance(block, Heading) and block.title and not block.place:
            print_lines("", block.title)


def _print_table_block(table: Table) -> None:
    if not table.rows:
        return
    left = [j for j, i in enumerate(table.used) if table.columns[i].kind == "text"]
    print_table(table.title, table.header, [*table.texts()], left=left)
    if table.shown and table.has_shown:
        print_lines(f"* {table.shown}")
    if table.left_out:
        more = either("--json has all", "to_frame() of the table has all")
        print_lines(f"{table.left_out} more {table.what} are left out; {more}")


def _print_card(card: Card) -> None:
    print_lines(f"{card.title}: {format_card(card)}")
    print_lines(*(f"  {sentence}" for sentence in (*card.sentences, *card.asides)))


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
) -> None:
    """Print a table; one that is wider than the terminal is printed in several pieces.

    A cell is one line; one that is longer than 80 characters loses its middle. `left` are
    columns that are aligned there, the others are aligned right.
    """
    if (output := _OUTPUT.get()) is not None:
        visible = [[make_visible(cell) for cell in row] for row in (header, *rows)]
        output.write(output.format.write_table(make_visible(title), visible[0], visible[1:]))
        return
    from rich.box import SIMPLE_HEAD  # slow to import, and needed only here
    from rich.console import Console
    from rich.table import Table

    class Output(Console):
        def on_broken_pipe(self) -> None:  # rich would end the program
            raise BrokenPipeError

    def piece(columns: Sequence[int]) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=padding)
        for i in columns:
            justify: Literal["left", "right"] = "left" if i in left else "right"
            table.add_column(shown[0][i], justify=justify, no_wrap=True)
        for row in shown[1:]:
            table.add_row(*(row[i] for i in columns))
        return table

    def width(columns: Sequence[int]) -> int:
        return out.measure(piece(columns), options=out.options.update(max_width=10_000)).maximum

    padding = (0, 1, 0, 1)
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
