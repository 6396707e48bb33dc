"""What a reproduction shows: claims, numbers beside print, deviations; as page, JSON and figure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypedDict

from shaketable.core.schemas import NotesJson, add_version
from shaketable.core.writing import make_folder, write_beside
from shaketable.findings.errata.errata import ErrataJson, load_errata, show_errata
from shaketable.reproductions.claims import (
    EXIT_CODES,
    ClaimJson,
    Judgement,
    Verdict,
    find_worst,
)
from shaketable.reproductions.numbers import Number, Numbers, NumberTable, NumberTableJson
from shaketable.reproductions.registry import Form, FormName, Measured, Reproduction
from shaketable.views import page
from shaketable.views.blocks import (
    Block,
    Chart,
    Column,
    Entry,
    Facts,
    Heading,
    Sentence,
    Table,
    Tone,
)
from shaketable.views.terminal import Displayed, print_blocks

TONES: Mapping[str, Tone] = {"holds": "kept", "fails": "lost", "inconclusive": "open"}
_FAR = 4.0  # z-score of the fullest colour
_ABOUT_Z = (
    "z is how many standard errors ours lies from print: the normal quantile that Student's t "
    "stands for, with the degrees of freedom of both sides (Welch)."
)


class ReproducedJson(TypedDict):
    """Published numbers beside those measured here."""

    name: str
    form: Annotated[str, "fast, gpu or full."]
    source: Annotated[str, "Paper and place."]
    about: str
    verdict: Annotated[str, "The worst of all claims: holds, fails or inconclusive."]
    unfinished: Annotated[str, "What is not done yet; empty if all is."]
    claims: list[ClaimJson]
    tables: list[NumberTableJson]
    sentences: Annotated[list[str], "What the numbers say."]
    deviations: Annotated[list[str], "What differs from the paper, and why."]
    errata: ErrataJson
    settings: Annotated[dict[str, str], "How it was measured, on what, and when."]
    notes: NotesJson


@dataclass(frozen=True, eq=False)
class Reproduced(Displayed):
    """Published numbers made again, beside print.

    Examples
    --------
    >>> import shaketable as st
    >>> found = st.reproduce("pnorm-table6")
    >>> found.verdict, found.exit_code
    ('holds', 0)
    """

    reproduction: Reproduction
    form_name: FormName
    measured: Measured
    settings: Mapping[str, str]
    """How it was measured, on what, and when."""
    choices: str = ""
    """What was chosen other than by default, in names of files: ``.l2.seed1``."""

    @property
    def form(self) -> Form:
        """The form that was carried out."""
        return self.reproduction.forms[self.form_name]

    @cached_property
    def numbers(self) -> Numbers:
        """All numbers, by the names that claims use."""
        return Numbers(self.measured.tables)

    @cached_property
    def judgements(self) -> list[Judgement]:
        """Every declared claim, and whether it holds."""
        own = self.measured.claims
        claims = self.form.claims if own is None else own
        return [claim.judge(self.numbers.by_name) for claim in claims]

    @cached_property
    def verdict(self) -> Verdict:
        """The worst verdict of all claims; inconclusive at best while something is not done."""
        worst = find_worst(self.judgements)
        return "inconclusive" if worst == "holds" and self.measured.unfinished else worst

    @property
    def exit_code(self) -> int:
        """0: all claims hold; 1: one fails; 3: inconclusive, or nothing is claimed."""
        return EXIT_CODES[self.verdict]

    def blocks(self) -> list[Block]:
        """Return the section of a page: claims, numbers, figure, deviations, errata, method.

        Returns
        -------
        list of Block
            What all views show.

        Examples
        --------
        >>> import shaketable as st
        >>> len(st.reproduce("pnorm-table6").blocks()) > 4
        True
        """
        blocks: list[Block] = [
            Sentence(self._summarise(), self.reproduction.name, TONES[self.verdict], "headline"),
            Heading(self.reproduction.source, "reproduced", "Claims"),
            Sentence(f"{self.reproduction.about}: {self.form.about}"),
            self._tabulate_claims(),
            *(show_numbers(table) for table in self.measured.tables if table.numbers),
            *([Sentence(_ABOUT_Z, level="detail")] * self._has_scores),
            *self.measured.blocks,
        ]
        if self.measured.figure is not None:
            own_size = self.measured.own_size
            blocks.append(Chart(self.measured.figure, self.reproduction.about, own_size=own_size))
        if self.form.deviations:
            blocks += [Heading("What differs from the paper", "deviations", "Deviations")]
            blocks += map(Sentence, self.form.deviations)
        errata = [load_errata()[name] for name in self.reproduction.errata]
        return [*blocks, *show_errata(errata), *self._show_method()]

    def print(self) -> None:
        """Print its tables and sentences to the terminal, and the names of errata."""
        print_blocks([*self.blocks(), *self._name_errata()])

    def _name_errata(self) -> list[Block]:
        """Return one line with names of errata, for where there is no table of them."""
        if not self.reproduction.errata:
            return []
        names = ", ".join(self.reproduction.errata)
        return [Sentence(f"Errata: {names} (`shaketable list errata NAME` shows one)")]

    @property
    def _has_scores(self) -> bool:
        return any(number.score for _, number in self.numbers)

    def _summarise(self) -> str:
        """Say in one line how many claims hold."""
        verdicts = [judgement.verdict for judgement in self.judgements]
        if not verdicts:
            done = self.measured.unfinished or "measured"
            return f"nothing is claimed of this choice of data, norm or draws; {done}"
        held = verdicts.count("holds")
        parts = [f"{held} of {len(verdicts)} claims hold"]
        parts += [
            f"{verdicts.count(v)} {words}"
            for v, words in (("fails", "failed"), ("inconclusive", "inconclusive"))
            if v in verdicts
        ]
        left = self.measured.unfinished
        return "; ".join([f"not finished: {left}", *parts] if left else parts)

    def _tabulate_claims(self) -> Table:
        return Table(
            "Claims",
            (Column("claim"), Column("verdict"), Column("number that decides")),
            [(j.claim, Entry(j.verdict, tone=TONES[j.verdict]), j.why) for j in self.judgements],
            limit=100,
        )

    def _show_method(self) -> list[Block]:
        facts = [*self.settings.items()]
        notes = list(map(Sentence, self.measured.notes))
        return [Heading("How it was made", "method", "Method"), *notes, Facts(facts, "Settings")]

    def json(self) -> ReproducedJson:
        """Return claims and numbers for programs.

        Returns
        -------
        dict
            Its keys are described by ``shaketable list schema reproduce``.

        Examples
        --------
        >>> import shaketable as st
        >>> st.reproduce("pnorm-table6").json()["verdict"]
        'holds'
        """
        return {
            "name": self.reproduction.name,
            "form": self.form_name,
            "source": self.reproduction.source,
            "about": self.reproduction.about,
            "verdict": self.verdict,
            "unfinished": self.measured.unfinished,
            "claims": [judgement.json() for judgement in self.judgements],
            "tables": [table.json() for table in self.measured.tables],
            "sentences": [
                each.text
                for each in self.measured.blocks
                if isinstance(each, Sentence) and each.level != "detail"
            ],
            "deviations": [*self.form.deviations],
            "errata": [*self.reproduction.errata],
            "settings": dict(self.settings),
            "notes": [*self.measured.notes],
        }

    def report(self, path: str | Path) -> Path:
        """Write one page that needs no other file, ``.html`` or ``.pdf``.

        Parameters
        ----------
        path
            File to write; an existing one is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> import shaketable as st
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(st.reproduce("pnorm-table6").report(Path(folder) / "page.html").name)
        page.html
        """
        lead = "Published numbers made again, beside print, and which declared claims hold."
        blocks = self.blocks()
        return page.write_blocks(path, blocks, title=self.reproduction.name, lead=lead)

    def write(self, folder: str | Path) -> list[Path]:
        """Write page, JSON and figure into a folder, named as the reproduction.

        Parameters
        ----------
        folder
            Folder, which is made if there is none.

        Returns
        -------
        list of pathlib.Path
            The files.

        Examples
        --------
        >>> import tempfile
        >>> import shaketable as st
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(*[path.name for path in st.reproduce("pnorm-table6").write(folder)])
        pnorm-table6.full.html pnorm-table6.full.json pnorm-table6.full.svg
        """
        make_folder(folder, "the folder")
        page_path, json_path, *figures = self.list_files(folder)
        self.report(page_path)
        with write_beside(json_path, "JSON") as beside:
            text = json.dumps(add_version(self.json()), indent=1)
            beside.write_text(f"{text}\n", encoding="utf-8")
        if self.measured.figure is not None:
            from shaketable.views.drawing import save_chart

            save_chart(self.measured.figure(), figures[0])
        else:  # that of an earlier call
            json_path.with_suffix(".svg").unlink(missing_ok=True)
        return [page_path, json_path, *figures]

    def list_files(self, folder: str | Path) -> list[Path]:
        """Return the paths of the page, JSON and figure, if it has one.

        They are named by the reproduction, its form, and what was chosen other than by default, so
        that other choices have other files.

        Parameters
        ----------
        folder
            Where they are written.

        Returns
        -------
        list of pathlib.Path
            Whether or not they exist.

        Examples
        --------
        >>> import shaketable as st
        >>> [path.name for path in st.reproduce("pnorm-table6").list_files("out")][:2]
        ['pnorm-table6.full.html', 'pnorm-table6.full.json']
        """
        kinds = ["html", "json", *(["svg"] if self.measured.figure is not None else [])]
        stem = f"{self.reproduction.name}.{self.form_name}{self.choices}"
        return [Path(folder) / f"{stem}.{kind}" for kind in kinds]


def show_numbers(table: NumberTable) -> Table:
    """Return numbers as a table: a matrix of ours with z, or one row per number."""
    if table.is_matrix:
        return _show_matrix(table)
    rows = [
        (
            number.row,
            table.format(number.value),
            _format_interval(table, number),
            _format_printed(table, number),
            _format_difference(table, number),
            number.score,
        )
        for number in table.numbers
    ]
    names = "ours", "95 % interval", table.against, f"ours minus {table.against}", "z"
    columns = Column(table.corner), *(Column(name) for name in names)
    return Table(_name(table), columns, rows, limit=200)


def _show_matrix(table: NumberTable) -> Table:
    columns = list(dict.fromkeys(number.column for number in table.numbers))
    rows: dict[str, dict[str, Number]] = {}
    for number in table.numbers:
        rows.setdefault(number.row, {})[number.column] = number
    cells = [
        [row, *(_enter(table, own[c]) if c in own else None for c in columns)]
        for row, own in rows.items()
    ]
    heads = Column(table.corner), *map(Column, columns)
    scores = [number.z is not None for number in table.numbers if number.printed]
    beside = [table.against] * bool(scores) + ["z"] * any(scores)
    title = _name(table) + (f" (ours; {', '.join(beside)})" if beside else "")
    return Table(title, heads, cells, limit=200)


def _enter(table: NumberTable, number: Number) -> Entry:
    note = _format_printed(table, number, brief=number.z is not None) or number.note
    note += f", {number.score}" if number.z is not None else ""
    about = [
        f"{what} {text}"
        for what, text in (
            ("95 % interval", _format_interval(table, number)),
            (table.against, _format_printed(table, number)),
        )
        if text
    ]
    heat = number.heat if number.z is None else min(abs(number.z) / _FAR, 1.0)
    return Entry(table.format(number.value), note, heat=heat, about="; ".join(about))


def _name(table: NumberTable) -> str:
    return f"{table.title}, {table.unit}" if table.unit else table.title


def _format_interval(table: NumberTable, number: Number) -> str:
    e = number.estimate
    return "" if e is None else f"{table.format(e.low)} to {table.format(e.high)}"


def _format_printed(table: NumberTable, number: Number, *, brief: bool = False) -> str:
    if number.printed is None:
        return ""
    printed = number.printed
    text = printed.text or table.format(printed.value)
    if printed.half and not printed.text:
        text += f" ± {table.format(printed.half)}"
    if brief:
        return text.partition(" ±")[0]
    return f"{text} (as printed: {printed.slip})" if printed.slip else text


def _format_difference(table: NumberTable, number: Number) -> str:
    gap = number.difference
    if gap is None:
        gap = None if number.printed is None else number.value - number.printed.value
    value: Any = getattr(gap, "value", gap)
    return "" if value is None else f"{round(value, table.digits) + 0.0:+.{table.digits}f}"
