"""Records: one row per cell, with the counts that all metrics and pages are computed from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.errors import DIVERGED, InputError
from shaketable.core.norms import Level, pnorm_level
from shaketable.core.spec import display_name
from shaketable.core.types import BoolArray, IntArray
from shaketable.corruptions.suites.suite import SuiteKind, suite_kind
from shaketable.evaluation.answers import Answers
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.registrations import Registration
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics.sequences import Unit
from shaketable.views.blocks import Block, Column, Table
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    import pandas as pd

    from shaketable.evaluation.attack_record import AttackRecord
    from shaketable.evaluation.certificate_record import CertificateRecord
    from shaketable.evaluation.rare_record import RareRecord


CLEAN = "clean"
"""Spec of points that are not corrupted."""

AS_GIVEN = "as given"
"""Training noise of a model that was not trained in a study."""

DEVICE = "device"
"""Key in `Record.versions` of where a network computed."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points that a cell was measured on: rows of the data set and their class codes."""

    order: str
    """Hash of the data and of the rows in their order: the same for the first 100 and the first 200
    of them."""
    classes: tuple[Any, ...]
    rows: IntArray
    y: IntArray
    stopped: Unit | None = None
    """What a stopping rule chose the number of; None if it was fixed beforehand."""

    @cached_property
    def id(self) -> str:
        """ID in keys of cells and in results files."""
        end = {None: "", "points": f":{len(self.rows)}", "runs": ":runs"}[self.stopped]
        return self.order + end

    def of_stopped_runs(self) -> Points:
        """Return the same points, for a study whose number of runs a stopping rule chooses."""
        return replace(self, stopped="runs")

    def first(self, n: int) -> Points:
        """Return the first n points of an order."""
        return Points(self.order, self.classes, self.rows[:n], self.y[:n], "points")

    def choose(self, rows: BoolArray, name: str) -> Points:
        """Return some of the points; the name says which, so that others are not taken for them."""
        order = f"{self.order}, {name}"
        return replace(self, order=order, rows=self.rows[rows], y=self.y[rows])


@dataclass(frozen=True)
class Setting:
    """How the points of a cell were corrupted.

    Cells that share it, their points, their corruption and their run have the same noise.
    """

    bounds: str
    draws: str
    noise: str
    """Where noise was drawn: ``cpu``, ``device``, or ``none``."""
    dtype: str
    """Precision of the points."""
    k: int
    """Draws per point."""
    seed: int


SETTING_FIELDS = tuple(f.name for f in fields(Setting))


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """One cell: one model under one corruption, with k draws per point.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> clean, noisy = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.4)", k=5)
    >>> noisy.corruption, noisy.k, noisy.n, noisy.first(1).n
    ('linf(0.4)', 5, 2, 1)
    """

    key: str
    points: Points
    data: str
    fingerprint: str
    model: str
    recipe: str
    """Identifies what models of all runs have in common; for a model given fitted, the model."""
    model_id: str
    """Identifies the model; models of other runs have other IDs."""
    train: str
    """Training noise as a spec; ``clean`` for none, ``as given`` for a model given fitted."""
    corruption: str
    """Its spec; ``clean`` for none."""
    setting: Setting
    run: int
    hits: IntArray
    """Correctly classified draws per point, 0 to k."""
    predictions: IntArray | None = None
    """Predicted class codes of clean points; None under corruptions."""
    answers: Answers | None = None
    """What the model answered, per point and draw; None if only hits were kept."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of libraries; under `DEVICE` where a network computed, which its key leaves out."""
    created: str = ""
    seconds: float = math.nan

    @cached_property
    def n(self) -> int:
        """Number of points."""
        return len(self.hits)

    @cached_property
    def k(self) -> int:
        """Draws per point."""
        return self.setting.k

    @cached_property
    def correct(self) -> int:
        """Number of draws classified correctly."""
        return int(self.hits.sum())

    @property
    def accuracy(self) -> float:
        """Share of draws classified correctly."""
        return self.correct / (self.n * self.k)

    @cached_property
    def is_clean(self) -> bool:
        """Whether the points were not corrupted."""
        return self.corruption == CLEAN

    @cached_property
    def shares_draws(self) -> bool:
        """Whether all points have the same noise, so that one run has no interval."""
        return self.setting.draws == "shared"

    def get(self, name: str) -> Any:
        """Return one of its fields or properties, or one of its setting, by name.

        Parameters
        ----------
        name
            Name of a field or property.

        Returns
        -------
        Any
            Its value.

        Examples
        --------
        >>> import shaketable as st
        >>> data = [[0.2], [0.8]], [False, True]
        >>> clean, noisy = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.4)", k=5)
        >>> noisy.get("corruption"), noisy.get("k")
        ('linf(0.4)', 5)
        """
        return getattr(self.setting if name in SETTING_FIELDS else self, name)

    def first(self, n: int) -> Record:
        """Return what was counted at the first n points.

        Parameters
        ----------
        n
            Number of points.

        Returns
        -------
        Record
            The same cell with fewer points.
        """
        return self._take(self.points.first(n), np.s_[:n])

    def choose(self, rows: BoolArray, name: str) -> Record:
        """Return what was counted at some points, such as those of one group.

        Parameters
        ----------
        rows
            True for the points that are chosen.
        name
            What they have in common, such as ``sex=f``.

        Returns
        -------
        Record
            The same cell with fewer points.

        Examples
        --------
        >>> import numpy as np
        >>> import shaketable as st
        >>> x = np.linspace(0, 1, 10)[:, None]
        >>> (record,) = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "clean")
        >>> record.choose(x[:, 0] < 0.3, "low").n
        3
        """
        return self._take(self.points.choose(rows, name), rows)

    def _take(self, points: Points, rows: BoolArray | slice) -> Record:
        return replace(
            self,
            points=points,
            hits=self.hits[rows],
            predictions=None if self.predictions is None else self.predictions[rows],
            answers=None if self.answers is None else self.answers.choose(rows),
        )

    @cached_property
    def level(self) -> Level | None:
        """Norm and size of its noise; None for clean points and other corruptions."""
        return None if self.is_clean else pnorm_level(self.corruption)

    @property
    def epsilon(self) -> float | None:
        """Size of p-norm noise, 0 for none; None for any other corruption."""
        return 0.0 if self.is_clean else None if self.level is None else self.level.size

    @cached_property
    def network(self) -> str:
        """Name of the model without that of its training noise: ``resnet9`` of ``resnet9(C1)``."""
        return self.model.removesuffix(f"({display_name(self.train)})")

    @property
    def names_training(self) -> bool:
        """Whether the model has the name of its training noise, as in ``resnet9(C1)``."""
        return self.network != self.model

    @cached_property
    def train_level(self) -> Level | None:
        """Norm and size of the training noise, for studies by size; None for all other models."""
        known = self.names_training or self.train in (AS_GIVEN, CLEAN)
        return None if known else pnorm_level(self.train)

    @property
    def train_epsilon(self) -> float | None:
        """Size of the training noise, for studies by size; None for all other models."""
        if self.train == CLEAN and not self.names_training:
            return 0.0
        return None if self.train_level is None else self.train_level.size


def list_devices(records: Iterable[Record]) -> dict[str, str | None]:
    """Where every model computed, by its name; None for models that are no networks."""
    return {record.model: record.versions.get(DEVICE) for record in records}


@dataclass(frozen=True, eq=False)
class Records(Displayed):
    """Cells, the separations and groups of their data, and the suites that they belong to.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.25], [0.75]], [False, True]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, ["linf(eps_min)"], name="step")
    >>> noisy = records.select(model="step", corruption="linf(0.25)")
    >>> len(records), len(noisy), records.at_eps_min(noisy.cells[0])
    (2, 1, True)
    >>> list(records.list_eps_min(noisy.cells[0]))
    [inf]
    >>> records.to_frame().shape[0]
    2
    """

    cells: tuple[Record, ...]
    separations: tuple[SeparationRecord, ...] = ()
    suites: tuple[SuiteRecord, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know about the data; results files do not hold it."""
    groupings: tuple[GroupingRecord, ...] = ()
    failures: tuple[FailureRecord, ...] = ()
    """Cells that are missing because they failed."""
    commands: tuple[CommandRecord, ...] = ()
    """Commands by which they were made."""
    attacks: tuple[AttackRecord, ...] = ()
    """What attacks on models found."""
    data: tuple[DataRecord, ...] = ()
    """Facts about the data."""
    source: str = ""
    """Path of their results file; empty for none."""
    registrations: tuple[Registration, ...] = ()
    """Requirements that were registered in the results file, the last ones at the end."""
    rare: tuple[RareRecord, ...] = ()
    """Probabilities of rare failures."""
    certificates: tuple[CertificateRecord, ...] = ()
    """Certificates of smoothed models."""

    def __iter__(self) -> Iterator[Record]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __add__(self, other: Records) -> Records:
        cells = {c.key: c for c in (*self.cells, *other.cells)}
        known = {(s.fingerprint, s.norm): s for s in (*self.separations, *other.separations)}
        suites = tuple(dict.fromkeys((*self.suites, *other.suites)))
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        groupings = {(g.fingerprint, g.name): g for g in (*self.groupings, *other.groupings)}
        failures = tuple(dict.fromkeys((*self.failures, *other.failures)))
        commands = {c.id: c for c in (*other.commands, *self.commands)}
        attacks = {a.key: a for a in (*self.attacks, *other.attacks)}
        return Records(
            tuple(cells.values()),
            tuple(known.values()),
            suites,
            notes,
            tuple(groupings.values()),
            failures,
            tuple(commands.values()),
            tuple(attacks.values()),
            tuple({d.fingerprint: d for d in (*self.data, *other.data)}.values()),
            self.source or other.source,
            tuple(dict.fromkeys((*self.registrations, *other.registrations))),
            tuple({r.key: r for r in (*self.rare, *other.rare)}.values()),
            tuple({r.key: r for r in (*self.certificates, *other.certificates)}.values()),
        )

    @property
    def beside_cells(self) -> tuple[AttackRecord | RareRecord | CertificateRecord, ...]:
        """What attacks found, probabilities of rare failures, and certificates."""
        return (*self.attacks, *self.rare, *self.certificates)

    @property
    def holds_anything(self) -> bool:
        """Whether there is a cell, a separation, or a result beside the cells."""
        return bool(self.cells or self.separations or self.beside_cells)

    def __repr__(self) -> str:
        return f"<Records: {len(self)} cells, models {', '.join(self.models)}>"

    def blocks(self) -> list[Block]:
        """Return a table with one row per cell."""
        columns = (
            Column("model"),
            Column("corruption"),
            Column("points", "count"),
            Column("draws", "count"),
            Column("accuracy", "rate"),
        )
        rows = [(c.model, c.corruption, c.n, c.k, c.accuracy) for c in self.cells]
        title = f"{len(self)} cells: shares of draws classified correctly"
        return [Table(title, columns, rows, what="cells")]

    @cached_property
    def models(self) -> list[str]:
        """Names of the models, in order of appearance."""
        return list(dict.fromkeys(cell.model for cell in self))

    def select(self, **wanted: object) -> Records:
        """Return the cells whose fields equal the given values, such as ``model="rf"``.

        Parameters
        ----------
        **wanted
            Fields of `Record` and their values.

        Returns
        -------
        Records
            The chosen cells, with all else that the records hold.
        """
        known = {*(f.name for f in fields(Record)), *SETTING_FIELDS, "epsilon", "train_epsilon"}
        if unknown := set(wanted) - known:
            raise InputError(f"records have no field {sorted(unknown)[0]!r}")
        cells = (c for c in self if all(c.get(name) == v for name, v in wanted.items()))
        return replace(self, cells=tuple(cells))

    def at_eps_min(self, cell: Record) -> bool:
        """Whether the cell's noise has size eps_min of its data, in the norm of the noise.

        Parameters
        ----------
        cell
            One of the cells.

        Returns
        -------
        bool
            Whether it is so.
        """
        level = cell.level
        return level is not None and self.list_eps_min(cell).get(level.p) == level.size

    def list_eps_min(self, cell: Record) -> dict[float, float]:
        """Return eps_min of the cell's data by the order of the norm, where it was measured.

        Parameters
        ----------
        cell
            One of the cells.

        Returns
        -------
        dict[float, float]
            Sizes by the order of the norm.
        """
        known = (s for s in self.separations if s.fingerprint == cell.fingerprint)
        return {s.norm: s.epsilon_min for s in known}

    def to_frame(self, *, points: bool = False) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per cell; accuracies are fractions.

        With `points`, it has one row per point of every cell: its row in the data, its class and
        its hits, the number of its k draws that were classified correctly, and in ``by_COLUMN``
        its group by every column that rows are grouped by.

        Parameters
        ----------
        points
            Whether there is one row per point.

        Returns
        -------
        pd.DataFrame
            The table.
        """
        import pandas as pd  # slow to import

        settings = ["data", "model", "train", "corruption", "bounds", "draws", "k", "seed", "run"]
        numbers = ["key"] if points else ["n", "accuracy", "seconds", "key"]
        columns = settings + numbers
        cells = pd.DataFrame([[c.get(name) for name in columns] for c in self], columns=columns)
        if not points:
            return cells
        labels = [c.points.classes[code] for c in self for code in c.points.y]
        if len({type(label) for label in labels}) > 1:  # of several data sets
            labels = [str(label) for label in labels]
        counts = np.array([c.n for c in self], dtype=np.int64)
        frame = cells.loc[np.repeat(cells.index, counts)].reset_index(drop=True)
        none = np.empty(0, dtype=np.int64)  # without cells
        rows = np.concatenate([none, *(c.points.rows for c in self)])
        hits = np.concatenate([none, *(c.hits for c in self)])
        for name, values in (("hits", hits), ("class", labels), ("row", rows)):
            frame.insert(len(settings), name, values)
        for name in dict.fromkeys(g.name for g in self.groupings):
            known = {g.fingerprint: g for g in self.groupings if g.name == name}
            parts = [_list_groups(c, known.get(c.fingerprint)) for c in self]
            frame[f"by_{name}"] = [label for part in parts for label in part]
        return frame


@dataclass(frozen=True)
class SuiteRecord:
    """A suite as evaluated on some data."""

    fingerprint: str
    name: str
    metric: str
    """Metric that is computed from it; empty for none."""
    derived: str
    """How its sizes were derived; empty for published sizes."""
    specs: tuple[str, ...]

    @property
    def kind(self) -> SuiteKind:
        """What the suite consists of; see `suite_kind`."""
        return suite_kind(self.metric)


@dataclass(frozen=True, eq=False)
class GroupingRecord:
    """Groups of the rows of some data, by the values of a column."""

    fingerprint: str
    name: str
    """Name of the column."""
    labels: tuple[str, ...]
    """Names of the groups."""
    codes: IntArray
    """Group of every row of the data, an index into `labels`."""


@dataclass(frozen=True)
class FailureRecord:
    """A cell that could not be measured, or several that need the same training."""

    key: str
    """Key of the cell, of several the first."""
    fingerprint: str
    """Fingerprint of the data."""
    error: str
    """What failed, and why."""
    created: str

    @property
    def is_lasting(self) -> bool:
        """Whether it would fail again in the same way."""
        return DIVERGED in self.error

    def __str__(self) -> str:
        again = "" if self.is_lasting else "; the same command tries it again"
        return f"failed: {self.error}{again}"


def copy_id(identity: str, name: str) -> str:
    """Identity, or recipe, of the copy of a model that has results under two names."""
    return f"{identity} as {name}"


def original_id(identity: str) -> str:
    """Identity, or recipe, of a model, also of such a copy of it.

    >>> original_id(copy_id("7c", "net")), original_id("7c")
    ('7c', '7c')
    """
    return identity.partition(" as ")[0]


def _list_groups(cell: Record, grouping: GroupingRecord | None) -> list[str | None]:
    """Return the group of every point of a cell; None where its data have no such groups."""
    if grouping is None:
        return [None] * cell.n
    return [grouping.labels[code] for code in grouping.codes[cell.points.rows]]
