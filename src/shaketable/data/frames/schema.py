"""Tables whose columns are not all plain numbers: data frames, and which columns may change."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import describe_lacks, list_names, quote, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.data.frames.columns import NUMBERS, Column, merge_one_hot, read_column

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


Others: TypeAlias = Literal["agree", "gower"]
Names: TypeAlias = "str | Iterable[str] | None"

NO_NUMBERS = "no column holds numbers that noise may change, so eps_min and MSCR are undefined"

_ROUNDING = 1e-6  # of a step


@dataclass(frozen=True, eq=False)
class TableSchema:
    """What the numbers of every column of a data set stand for, and which of them may change."""

    columns: tuple[Column, ...]
    labels: tuple[Any, ...] = ()
    """Labels of the frame's columns, in their order; empty for arrays."""
    others: Others = "agree"
    """How columns that noise does not change count between points: see `touching`."""
    raw: TableSchema | None = None
    """The same before features were scaled to [0, 1]; None if they were not."""
    complete: bool = False
    """Whether no value is missing."""
    chosen: bool = False
    """Whether columns that may change, their limits, or groups of them were chosen."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every column."""
        return tuple(column.name for column in self.columns)

    @property
    def is_frame(self) -> bool:
        """Whether models get a data frame, and not an array."""
        return bool(self.labels)

    @property
    def decodes(self) -> bool:
        """Whether models get something else than the numbers of the columns."""
        return self.is_frame or any(column.kind == "one-hot" for column in self.columns)

    @property
    def flat_names(self) -> tuple[str, ...]:
        """Names of the columns that models get, in their order."""
        if self.is_frame:
            return tuple(map(str, self.labels))
        named = [
            pair
            for column in self.columns
            for pair in zip(column.labels, column.values or (column.name,), strict=True)
        ]
        return tuple(name for _, name in sorted(named))

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, none is missing, and all may change."""
        return self.complete and not self.chosen and bool(self.numeric.all())

    @cached_property
    def moved(self) -> Array:
        """Mask of the columns that noise changes."""
        return np.array([column.moved for column in self.columns])

    @cached_property
    def numeric(self) -> Array:
        """Mask of the columns that hold numbers."""
        return np.array([column.kind in NUMBERS for column in self.columns])

    @cached_property
    def ordered(self) -> Array:
        """Mask of the columns that hold numbers or dates."""
        return np.array([column.kind in (*NUMBERS, "date") for column in self.columns])

    @property
    def text(self) -> str:
        """All that decides what the numbers mean and which may change; for fingerprints."""
        kinds = {column.kind for column in self.columns}
        plain = self.is_frame and self.complete and kinds <= {*NUMBERS, "one-hot"}
        columns = tuple(column.write(plain=plain) for column in self.columns)
        return repr((columns, self.others, self.is_frame and not plain))

    def take(self, places: Sequence[int]) -> TableSchema:
        """Return the schema of some columns."""
        return replace(self, columns=tuple(self.columns[i] for i in places))

    def decode(self, x: Array) -> Any:
        """Return rows as models take them: a data frame with the very columns and types.

        Whole numbers that noise has changed are floats, and so are those with missing values, and
        booleans with missing values, unless their types have a sign for missing values.
        """
        if not self.decodes:
            return x
        import pandas as pd  # slow to import

        if all(column.holds(x[:, i]) for i, column in enumerate(self.columns)):
            return pd.DataFrame(x.copy(), columns=list(self.labels), copy=False)  # in one piece
        decoded: dict[Any, Any] = {}
        for i, column in enumerate(self.columns):
            decoded |= column.decode(np.ascontiguousarray(x[:, i]))
        if not self.is_frame:
            return np.stack([decoded[i] for i in range(len(decoded))], axis=1).astype(x.dtype)
        return pd.DataFrame({label: decoded[label] for label in self.labels})

    def enforce(self, x: Array) -> Array:
        """Return values within the bounds and on the steps of their columns."""
        low, high, step, anchor = self._limits
        if not (np.isfinite(low).any() or np.isfinite(high).any() or step.any()):
            return x
        stepped = np.rint((x - anchor) / np.where(step > 0, step, 1.0)) * step + anchor
        return np.clip(np.where(step > 0, stepped, x), low, high).astype(x.dtype)

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value that every column may be changed to."""
        return self._limits[:2]

    @cached_property
    def _limits(self) -> tuple[FloatArray, ...]:
        """Low and high ends, steps and their anchors, one value per column each.

        In a column with steps, the ends are the first and the last step within its bounds.
        """
        limits = [(c.low, c.high, c.step, c.anchor) for c in self.columns]
        low, high, step, anchor = np.array(limits, dtype=np.float64).T
        grain = np.where(step > 0, step, 1.0)
        # ends that are on a step up to rounding, as those of scaled features, are on it
        first = np.ceil((low - anchor) / grain - _ROUNDING) * grain + anchor
        last = np.floor((high - anchor) / grain + _ROUNDING) * grain + anchor
        return np.where(step > 0, first, low), np.where(step > 0, last, high), step, anchor

    def scaled(self, low: FloatArray, span: FloatArray) -> TableSchema:
        """Return the schema of the data with numbers scaled by (x - low) / span."""
        widths = np.where(span > 0, span, 1)
        columns = (
            replace(
                column,
                kind="number",
                dtypes=(np.dtype(np.float64),),
                low=(column.low - start) / width,
                high=(column.high - start) / width,
                step=column.step / width,
                anchor=(column.anchor - start) / width,
            )
            if column.kind in NUMBERS
            else column
            for column, start, width in zip(self.columns, low, widths, strict=True)
        )
        return replace(self, columns=tuple(columns), raw=self)

    def touching(self, *, only: Names, keep: Names, others: Others | None) -> TableSchema:
        """Return the schema with these columns to change; see `touching`."""
        if others is not None and others not in get_args(Others):
            raise unknown_name("others", others, get_args(Others))
        wanted = None if only is None else {self._place(name) for name in list_columns(only)}
        kept = {self._place(name) for name in list_columns(keep)}
        if wanted is not None and wanted & kept:
            name = self.columns[min(wanted & kept)].name
            raise InputError(f"column {name!r} is in only and in keep; leave it out of one of them")
        columns = []
        for i, column in enumerate(self.columns):
            touched = column.touched and i not in kept and (wanted is None or i in wanted)
            asked = wanted is not None and i in wanted and column.kind == "date"
            columns.append(
                replace(column, touched=touched, moved=touched and (column.moved or asked))
            )
        if not any(column.touched for column in columns):
            raise InputError("at least one column must be left that may change; keep fewer columns")
        return replace(self, columns=tuple(columns), others=others or self.others, chosen=True)

    def with_limits(
        self, x: Array, bounds: Mapping[str, tuple[float, float]], steps: Mapping[str, float]
    ) -> TableSchema:
        """Return the schema with bounds and steps of columns, which the values of `x` must keep."""
        columns = list(self.columns)
        for name, (low, high) in bounds.items():
            i = self._place(name, numeric=True)
            if not low < high:
                raise InputError(
                    f"bounds of column {name!r} must have low < high, got {low}, {high}"
                )
            columns[i] = replace(columns[i], low=float(low), high=float(high))
        for name, step in steps.items():
            i = self._place(name, numeric=True)
            if not 0 < step < math.inf:
                raise InputError(f"step of column {name!r} must be positive, got {step!r}")
            low = columns[i].low
            anchor = low if math.isfinite(low) else 0.0
            columns[i] = replace(columns[i], step=float(step), anchor=anchor)
        changed = replace(self, columns=tuple(columns))
        off = ~np.isclose(changed.enforce(x), x, rtol=1e-9, atol=0, equal_nan=True)
        if off.any():
            row, i = np.argwhere(off)[0]
            column = columns[i]
            raise InputError(
                f"column {column.name!r} must keep its bounds and steps, got {x[row, i]:g} in row "
                f"{row} (from 0) for [{column.low:g}, {column.high:g}] in steps of "
                f"{column.step:g}; widen the bounds, or choose another step"
            )
        return changed

    def merge_groups(
        self, x: Array, groups: Iterable[Iterable[str]]
    ) -> tuple[TableSchema, FloatArray]:
        """Return schema and numbers with every one-hot group as one column, in its first place."""
        columns: list[Column | None] = list(self.columns)
        numbers = np.array(x)
        for group in groups:
            places = [self._place(name) for name in group]
            if len(set(places)) < max(2, len(places)) or any(columns[i] is None for i in places):
                raise InputError(
                    f"a one-hot group must be two or more columns, each once, got {list(group)}"
                )
            members = [self.columns[i] for i in places]
            columns[places[0]], numbers[:, places[0]] = merge_one_hot(
                members, x[:, places], _name_group([member.name for member in members])
            )
            for i in places[1:]:
                columns[i] = None
        left = [i for i, column in enumerate(columns) if column is not None]
        kept = tuple(column for column in columns if column is not None)
        return replace(self, columns=kept), np.ascontiguousarray(numbers[:, left])

    def note(self, *, distances: bool = True) -> list[str]:
        """What a reader should know: which columns noise changes, and how the others count.

        How they count is left out if no `distances` matter.
        """
        moved = [column.name for column in self.columns if column.moved]
        still = [column.name for column in self.columns if not column.moved]
        notes = [] if moved else [NO_NUMBERS]
        if moved and still:
            them = quote(still[0]) if len(still) == 1 else "them"
            how = f"; distances are between points that agree in {them}"
            if self.others == "gower":
                how = (
                    "; they count between points by Gower's distance: 0 or 1 for categories, the "
                    "difference divided by the range for numbers"
                )
            notes.append(
                f"numeric noise changes {_list_columns(moved)} and leaves {_list_columns(still)}"
                + (how if distances else "")
            )
        whole = [c.name for c in self.columns if c.kind == "integer" and c.moved and not c.step]
        if whole:
            notes.append(
                f"whole numbers become floats under noise in {_list_columns(whole)}; "
                + either(
                    f"--column {shlex.quote(f'{whole[0]}=step 1')}", f"steps={{{whole[0]!r}: 1}}"
                )
                + " keeps them whole"
            )
        return notes

    def _place(self, name: str, *, numeric: bool = False) -> int:
        if name not in self.names:
            raise unknown_name("column", name, self.names)
        place = self.names.index(name)
        kind = self.columns[place].kind
        if numeric and kind not in NUMBERS:
            raise InputError(f"bounds and steps are for numbers, but column {name!r} holds {kind}")
        return place


def find_least(x: Array) -> Array:
    """Least value of every column without missing ones; infinite if all are missing."""
    return np.asarray(np.where(np.isnan(x), np.inf, x).min(axis=0))


def read_frame(frame: Any) -> tuple[TableSchema, FloatArray]:
    """Return what the columns of a data frame hold, and their numbers."""
    labels = tuple(frame.columns)
    if len(set(map(str, labels))) < len(labels):
        names = [str(label) for label in labels]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"columns must have different names, got {twice!r} twice; rename one")
    columns, numbers = [], np.empty((len(frame), len(labels)))
    for i, label in enumerate(labels):
        column, numbers[:, i] = read_column(label, frame[label])
        columns.append(column)
    complete = not np.isnan(numbers).any()
    return TableSchema(tuple(columns), labels, complete=complete), numbers


def concat_frames(first: Any, second: Any) -> Any:
    """Return the rows of two frames as one, with the columns and the types of the first.

    Raises `InputError` if their columns differ, or for values that are no category of the first.
    """
    import pandas as pd  # slow to import

    names = [list(map(str, frame.columns)) for frame in (first, second)]
    if lacks := describe_lacks("train", names[0], "test", names[1]):
        raise InputError(f"train and test must have the same columns, but {lacks}")
    second = second[list(first.columns)].copy()
    for label, dtype in first.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype) and second[label].dtype != dtype:
            strange = second[label].notna() & ~second[label].isin(dtype.categories)
            if strange.any():
                raise InputError(
                    f"column {label!r} of test must hold categories of train, got "
                    f"{second[label][strange].iloc[0]!r}; add it to the categories of both"
                )
            second[label] = second[label].astype(object).astype(dtype)
    return pd.concat([first, second], ignore_index=True)


def schema_of_array(x: Array, features: Sequence[str] | None) -> TableSchema:
    """Schema of an array of numbers; columns without names are numbered from 0."""
    names = features or tuple(map(str, range(x.shape[1])))
    return TableSchema(tuple(Column(n, "number", (i,), moved=True) for i, n in enumerate(names)))


def is_frame(x: Any) -> bool:
    """Whether this is a data frame of pandas; `InputError` for one of another library.

    >>> is_frame([0.5])
    False
    """
    if not hasattr(x, "columns"):
        return False
    if not hasattr(x, "iloc"):
        raise InputError(
            f"x must be an array or a data frame of pandas, got {type(x).__name__} of "
            f"{type(x).__module__.partition('.')[0]}; convert it, as in x.to_pandas()"
        )
    return True


def find_strata(x: Array, free: Array, gapped: Array | None = None) -> IntArray:
    """Number of every row's stratum: rows that agree in all columns that are not `free`.

    Rows of a stratum also have the same values of the columns `gapped` missing, by default of all
    that are free.
    """
    gaps = np.isnan(x[:, free if gapped is None else gapped])
    held = np.where(np.isnan(x[:, ~free]), np.inf, x[:, ~free])
    key = np.ascontiguousarray(np.hstack([held + 0.0, gaps.astype(np.float64)]))
    strata = np.arange(len(x))
    for rows in find_equal_rows(key):
        strata[rows] = rows[0]
    return strata


def list_columns(names: Names) -> list[str]:
    """Names of columns, from one or many."""
    return [] if names is None else [names] if isinstance(names, str) else [*map(str, names)]


def _name_group(names: Sequence[str]) -> str:
    """Name of a one-hot group: what its columns' names begin with, or all of them."""
    same = [len(set(signs)) == 1 for signs in zip(*names, strict=False)]
    shared = names[0][: (*same, False).index(False)]
    return shared.rstrip("=_-. :") or "|".join(names)


def _list_columns(names: Sequence[str]) -> str:
    return list_names([quote(name) for name in names])


def touching(
    data: Dataset,
    *,
    only: Names = None,
    keep: Names = None,
    column_bounds: Mapping[str, tuple[float, float]] | None = None,
    steps: Mapping[str, float] | None = None,
    one_hot: Names | Iterable[Iterable[str]] = (),
    others: Others | None = None,
) -> Dataset:
    """Return the data with a choice of the columns that corruptions may change, and how.

    Parameters
    ----------
    data
        Data of a table.
    only, keep
        Columns that alone may change, and columns that must not. Without them noise changes
        every column of numbers; columns of dates are changed only if `only` names them.
    column_bounds
        (low, high) by column: corrupted values are clipped to it.
    steps
        Step by column, such as 1 for whole numbers: corrupted values are rounded to it.
    one_hot
        Groups of 0/1 columns with at most one 1 per row, by their names, or by a text that the
        names begin with: each group is one category, which stays valid whatever is corrupted.
    others
        How columns that noise does not change count in distances between points. ``"agree"``,
        the default: only points that agree in them are opponents. ``"gower"``: they add
        Gower's distance, 0 or 1 for categories and the difference divided by the range for
        numbers.

    Returns
    -------
    Dataset
        The data with this choice.

    Examples
    --------
    >>> from shaketable import load
    >>> data = load("iris").touching(keep="petal length (cm)")
    >>> data.table.moved
    array([ True,  True, False,  True])
    """
    if data.scaling is not None:
        raise InputError("columns must be chosen before the data are scaled; scale last")
    if data.x.ndim != 2 or data.x.dtype == np.uint8:
        raise InputError(f"columns are those of tables, got points of shape {data.shape}")
    table, x = data.schema or schema_of_array(data.x, data.features), data.x
    groups = [
        [name for name in table.names if name.startswith(group)]
        if isinstance(group, str)
        else list_columns(group)
        for group in ([one_hot] if isinstance(one_hot, str) else one_hot or ())
    ]
    if groups:
        table, x = table.merge_groups(x, groups)
    table = table.with_limits(x, column_bounds or {}, steps or {})
    table = table.touching(only=only, keep=keep, others=others)
    features = table.names if groups or data.features else None
    return replace(data, x=x, schema=table, features=features)
