"""Blocks: what results consist of, as values; every medium shows them in its own way.

A table, a chart, a sentence, cards or images are stated once. The terminal, Markdown, LaTeX and
notebooks (`views.terminal.print_blocks`), pages (`views.page`) and data frames (`Table.to_frame`)
are made from the same values, so no number differs between them, and rows that are left out are
counted everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views import numbers

if TYPE_CHECKING:
    import pandas as pd

    from shaketable.views import drawing

Level: TypeAlias = Literal["headline", "summary", "detail"]
"""How much a block matters. A page has the headline above all notes, and folds long tables of
details; the terminal leaves details out."""

Kind: TypeAlias = Literal[
    "text", "count", "number", "distance", "correlation", "rate", "change", "points", "bound"
]
"""What a column holds. Rates, changes, differences in percentage points and bounds are fractions
that are shown in per cent; a bound is a share with its one-sided upper bound."""

Tone: TypeAlias = Literal["plain", "quiet", "alert", "lost", "kept", "open"]
"""How a sentence or a card looks on a page: what is lost, kept and open has its colour."""

_UNITS: dict[Kind, str] = {"rate": "%", "change": "%", "bound": "%", "points": "points"}


@dataclass(frozen=True)
class Picture:
    """An image in a table or among others, as the address of its data."""

    address: str
    about: str
    """What it shows, for those who cannot see it."""
    note: str = ""
    """Text below it, which stands for it where images are not shown."""


@dataclass(frozen=True)
class Bar:
    """A value and its interval on a scale that a column shares; pages draw it beside the text."""

    value: float
    low: float
    high: float
    start: float
    """Left end of the scale."""
    end: float
    """Right end of the scale."""
    mark: float | None = None
    """A value to compare with, such as 0."""


@dataclass(frozen=True)
class Entry:
    """A value in a table with what is said about it."""

    value: Value
    note: str = ""
    """Short text beside the value."""
    shown: bool = False
    """Whether it is shown to differ: the table says from what (`Table.shown`)."""
    heat: float | None = None
    """Share of colour behind it, 0 to 1, for tables that are read by colour."""
    kind: Kind | None = None
    """What it is, where that differs from the rest of its column."""
    about: str = ""
    """More about it, which pages show on demand."""
    tone: Tone | None = None
    """Pages show the value as a badge of this look."""
    bar: Bar | None = None
    place: str = ""
    """Section that has more about it, which pages link to."""


Value: TypeAlias = "str | float | Estimate | Picture | None"
Cell: TypeAlias = "Value | Entry"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    kind: Kind = "text"
    unit: str | None = None
    """What the numbers count; by default that of the kind."""
    quantity: str = ""
    """Name of the quantity where the heading is the name of a model, say."""


@dataclass(frozen=True)
class Table:
    """One table, however it is shown.

    Columns in which no row has a value are left out.

    Examples
    --------
    >>> columns = Column("model"), Column("accuracy", "rate"), Column("group")
    >>> table = Table("Accuracy", columns, [["rf", 0.9, None], ["1nn", 0.8, None]], limit=1)
    >>> table.header, [*table.texts()], table.left_out
    (['model', 'accuracy, %'], [['rf', '90.00']], 1)
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    level: Level = "summary"
    limit: int = 20
    """Rows that are shown at most; views count the others, data frames have them all."""
    marked: Iterable[int] = ()
    """Rows that stand out."""
    shown: str = ""
    """What it means that an entry is shown."""
    what: str = "rows"
    """What the rows are, where some are left out."""

    @property
    def used(self) -> list[int]:
        """Columns that hold something."""
        return [
            i
            for i in range(len(self.columns))
            if any(_strip(row[i]) not in (None, "") for row in self.rows)
        ]

    @property
    def header(self) -> list[str]:
        """Headings with units."""
        return [name_column(self.columns[i]) for i in self.used]

    @property
    def left_out(self) -> int:
        """Number of rows that views leave out."""
        return max(0, len(self.rows) - self.limit)

    @property
    def is_matrix(self) -> bool:
        """Whether it is read by colour."""
        return any(isinstance(c, Entry) and c.heat is not None for row in self.rows for c in row)

    @property
    def has_shown(self) -> bool:
        """Whether an entry among the rows that views have is shown."""
        rows = self.rows[: self.limit]
        return any(isinstance(cell, Entry) and cell.shown for row in rows for cell in row)

    def texts(self) -> Iterator[list[str]]:
        """Yield the shown rows as texts, numbers without units."""
        used = self.used
        for row in self.rows[: self.limit]:
            yield [format_cell(row[i], self.columns[i]) for i in used]

    def to_frame(self) -> pd.DataFrame:
        """Return every number of all rows as one row of a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The table's title, the texts of the row, the heading of the column, and the value with
            its interval, method and note. Fractions are not in per cent.
        """
        import pandas as pd  # slow to import

        names = ["table", "row", "column", "value", "low", "high", "method", "note"]
        return pd.DataFrame([*self._list_numbers()], columns=names)

    def _list_numbers(self) -> Iterator[tuple[Any, ...]]:
        for row in self.rows:
            cells = [cell if isinstance(cell, Entry) else Entry(cell) for cell in row]
            texts = [cell.value for cell in cells if isinstance(cell.value, str) and cell.value]
            for cell, column in zip(cells, self.columns, strict=True):
                about = self.title, ", ".join(texts), column.heading
                if isinstance(e := cell.value, Estimate):
                    low = None if column.kind == "bound" else e.low
                    yield *about, e.value, low, e.high, e.method, cell.note
                elif isinstance(e, int | float):
                    yield *about, e, None, None, "", cell.note


@dataclass(frozen=True)
class Chart:
    """A chart, drawn where it is shown: pages have it, the terminal does not."""

    draw: Callable[[], drawing.Chart | Sequence[drawing.Chart]]
    """Makes the chart; several are small panels on one scale."""
    caption: str
    """What to see in it."""
    title: str = ""
    """Heading of small panels."""
    legend: Sequence[str] = ()
    """Names of the colours of small panels, in their order."""
    level: Level = "summary"
    min_width: int = 0
    """Pixels below which it scrolls rather than shrinks; 0 for none."""
    own_size: bool = False
    """Whether it keeps its own width; by default it is as wide as the page."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, without the capital at its beginning and the stop at its end."""

    text: str
    about: str = ""
    """Name of what it is about, such as a model; views put it in front."""
    tone: Tone = "plain"
    level: Level = "summary"
    place: str = ""
    """Section that has more about it, which pages link to."""


@dataclass(frozen=True)
class Card:
    """What is said first about a model: one number, and what it means."""

    title: str
    value: Estimate | float | str | None
    """The number; None if it is undefined."""
    name: str
    """What the number is."""
    kind: Kind = "rate"
    sentences: Sequence[str] = ()
    asides: Sequence[str] = ()
    """Sentences that matter less."""
    tone: Tone = "open"


@dataclass(frozen=True)
class Cards:
    """Cards side by side."""

    cards: Sequence[Card]
    level: Level = "summary"


@dataclass(frozen=True)
class Images:
    """Images side by side; the terminal leaves them out."""

    pictures: Sequence[Picture | None]
    """None leaves a place empty."""
    caption: str = ""
    level: Level = "summary"
    beneath: str = ""
    """Address of an image that takes the place of the one that is pointed at; empty for none."""
    columns: int = 0
    """Images per row, up to 10; 0 for as many as there is room for."""


@dataclass(frozen=True)
class Facts:
    """Names with values, such as settings."""

    facts: Sequence[tuple[str, str]]
    title: str = ""
    level: Level = "detail"
    code: bool = False
    """Whether the values are commands."""


@dataclass(frozen=True)
class Definition:
    """A formula and its source, for the end of a page; ``_{…}`` and ``_x`` are written lower."""

    formula: str
    about: str = ""
    level: Level = "detail"


@dataclass(frozen=True)
class Heading:
    """Heading of what follows; with a place it begins a section of a page."""

    title: str
    place: str = ""
    """Name of the section: where it stands among all, and its anchor."""
    contents: str = ""
    """Its entry in the page's table of contents."""
    level: Level = "summary"


Block: TypeAlias = Table | Chart | Sentence | Cards | Images | Facts | Definition | Heading


def tabulate_differences(
    title: str, differences: Sequence[Difference], heading: str = "difference", limit: int = 45
) -> Table:
    """Return paired differences of models as a table, each with what it says in words."""
    return Table(
        title,
        (Column("first"), Column("second"), Column(heading, "points"), Column("in words")),
        [(d.first, d.second, d.value, d.words) for d in differences],
        limit=limit,
        what="differences",
    )


def name_column(column: Column, *, has_units: bool = False) -> str:
    """Heading of a column with its unit, unless the entries have units themselves.

    >>> column = Column("accuracy", "rate")
    >>> name_column(column), name_column(column, has_units=True)
    ('accuracy, %', 'accuracy')
    """
    unit = _UNITS.get(column.kind, "") if column.unit is None else column.unit
    return (
        column.heading if not unit or (has_units and unit == "%") else f"{column.heading}, {unit}"
    )


def format_cell(cell: Cell, column: Column) -> str:
    """Write an entry as one text without its unit, as terminals and papers have it.

    >>> e = Estimate(0.9, 0.824, 0.951, 0.95, "by hand")
    >>> format_cell(Entry(e, "k = 1", shown=True), Column("accuracy", "rate"))
    '90.00 [82.40, 95.10] (k = 1) *'
    """
    entry = cell if isinstance(cell, Entry) else Entry(cell)
    text = _format_value(entry.value, entry.kind or column.kind)
    return f"{text}{f' ({entry.note})' if entry.note else ''}{' *' if entry.shown else ''}"


def split_cell(cell: Cell, column: Column) -> tuple[str, list[str]]:
    """Write an entry with its unit: the value, and the small lines below it, as pages have it.

    >>> e = Estimate(0.9, 0.824, 0.951, 0.95, "by hand")
    >>> split_cell(e, Column("accuracy", "rate")), split_cell(0.9, Column("error", "bound"))
    (('90.00%', ['82.40% to 95.10%']), ('90.00%', []))
    """
    entry = cell if isinstance(cell, Entry) else Entry(cell)
    value, kind = entry.value, entry.kind or column.kind
    small = [entry.note] if entry.note else []
    if not isinstance(value, Estimate):
        text = _format_value(value, kind)
        has_unit = isinstance(value, int | float) and kind in ("rate", "change", "bound")
        return f"{text}%" if has_unit else text, small
    if kind == "bound":
        below = numbers.say_below(value.high)
        return numbers.format_percent(value), [*([below] if below else []), *small]
    if kind == "points":
        return numbers.format_points(value), [numbers.format_points_interval(value), *small]
    if kind == "correlation":
        return f"{value.value:+.2f}", [f"{value.low:+.2f} to {value.high:+.2f}", *small]
    if kind == "number":
        return f"{value.value:.4g}", [f"{value.low:.4g} to {value.high:.4g}", *small]
    show = numbers.format_change if kind == "change" else numbers.format_percent
    return show(value), [numbers.format_interval(value), *small]


def format_card(card: Card) -> str:
    """Write the name and number of a card, with its unit and interval, as one text.

    >>> format_card(Card("rf", Estimate(-0.1, -0.2, 0.0, 0.95, "by hand"), "MSCR", "change"))
    'MSCR -10.00% (95 % interval -20.00% to +0.00%)'
    """
    if card.value is None:
        return f"no {card.name}"
    value, small = split_cell(card.value, Column(card.name, card.kind))
    if small and card.kind != "bound":
        return f"{card.name} {value} (95 % interval {small[0]})"
    return f"{card.name} {', '.join([value, *small])}"


def _format_value(value: Value, kind: Kind) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        return _format_estimate(value, kind)
    if isinstance(value, Picture):
        return value.note
    return "" if value is None else _NUMBERS[kind](value)


def _format_estimate(e: Estimate, kind: Kind) -> str:
    if kind == "bound":
        parts = numbers.format_percent(e), numbers.say_below(e.high)
        return ", ".join(filter(None, parts)).replace("%", "")
    if kind == "correlation":
        return f"{e.value:+.2f} [{e.low:+.2f}, {e.high:+.2f}]"
    if kind == "number":
        return f"{e.value:.4g} [{e.low:.4g}, {e.high:.4g}]"
    return numbers.format_entry(e, signed=kind in ("change", "points"))


def _format_rate(value: float) -> str:
    return f"{100 * value:.2f}"


def _format_signed(value: float) -> str:
    return f"{round(100 * value, 2) + 0.0:+.2f}"  # no negative zero


_NUMBERS: Mapping[Kind, Callable[[float], str]] = {
    "text": str,
    "count": "{:,}".format,
    "number": "{:.4g}".format,
    "distance": numbers.format_distance,
    "correlation": "{:+.3f}".format,
    "rate": _format_rate,
    "bound": _format_rate,
    "change": _format_signed,
    "points": _format_signed,
}


def _strip(cell: Cell) -> Value:
    return cell.value if isinstance(cell, Entry) else cell


def collect_methods(blocks: Iterable[Block]) -> dict[str, list[str]]:
    """Return how the estimates in tables and cards were computed, by the name of the quantity."""
    methods: dict[str, dict[str, None]] = {}
    for block in blocks:
        for name, value in _list_estimates(block):
            methods.setdefault(name, {})[value.method] = None
    return {name: [*texts] for name, texts in methods.items()}


def _list_estimates(block: Block) -> Iterator[tuple[str, Estimate]]:
    if isinstance(block, Cards):
        for card in block.cards:
            if isinstance(card.value, Estimate):
                yield card.name, card.value
    elif isinstance(block, Table):
        for row in block.rows:
            for cell, column in zip(row, block.columns, strict=True):
                if isinstance(value := _strip(cell), Estimate):
                    yield column.quantity or column.heading, value


def order_sections(parts: Iterable[Iterable[Block]], places: Sequence[str]) -> list[Block]:
    """Put the sections of several parts in the order of a list of places.

    A section is what follows a heading with a place. What a part has before its first section comes
    first of all. Sections of other places stand where the list has ``...``.
    """
    sections: list[tuple[int, list[Block]]] = []
    ranks = {place: rank for rank, place in enumerate(places)}
    for part in parts:
        sections.append((-1, []))
        for block in part:
            if isinstance(block, Heading) and block.place:
                sections.append((ranks.get(block.place, ranks.get("...", -1)), []))
            sections[-1][1].append(block)
    ordered = sorted(sections, key=lambda section: section[0])
    return [block for _, section in ordered for block in section]


def number_places(blocks: Iterable[Block]) -> Iterator[Block]:
    """Make places unique: the second section of a place gets the number 2."""
    seen: dict[str, int] = {}
    for block in blocks:
        if isinstance(block, Heading) and block.place:
            seen[block.place] = number = seen.get(block.place, 0) + 1
            yield replace(block, place=f"{block.place}-{number}") if number > 1 else block
        else:
            yield block
