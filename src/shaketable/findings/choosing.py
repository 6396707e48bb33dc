"""Choosing the one series or suite result that a metric is about, and what to do if it is unclear.

Every message names an argument that works as it stands, so that nobody has to try twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.corruptions.parse import parse
from shaketable.corruptions.registry import EpsMin
from shaketable.corruptions.table_faults import fit_to_frame
from shaketable.evaluation.records import Record, Records
from shaketable.findings.series import Series, group_series
from shaketable.findings.subjects import name_noise
from shaketable.findings.suite_results import SuiteResult, group_suites, take_part

SHARED_FIELDS = "data", "model", "train"
"""Fields that a model's cells and its clean cells share, so that it can be selected by them."""


class _HasFirst(Protocol):
    @property
    def first(self) -> Record: ...


_Result = TypeVar("_Result", bound=_HasFirst)


def choose_series(
    records: Records | Series,
    metric: str,
    *,
    corruption: str | None = None,
    wanted: Callable[[Series], bool] = lambda s: not s.first.is_clean,
    needs_clean: bool = True,
) -> Series:
    """Return the only series under `corruption`, or else the only one that is wanted.

    Raise an `InputError` if there is none or more than one, or if `needs_clean` is true and the
    records lack the clean cells of the series.
    """
    if isinstance(records, Series):
        return records
    series = group_series(records, needs_clean=False)
    candidates = [
        s for s in series if (wanted(s) if corruption is None else matches(s, corruption))
    ]
    if not candidates:
        known = dict.fromkeys(name_noise(s) for s in series)
        missing = "a corruption" if corruption is None else repr(corruption)
        raise InputError(
            f"{metric} needs {missing} on record, got {list_first(map(repr, known))}; evaluate the "
            "model under it, or name one of these with corruption="
        )
    if len(candidates) > 1:
        raise InputError(
            f"{metric} needs exactly one model under one corruption, got "
            f"{list_first(candidates)}; pass {_suggest_series(candidates, series)}"
        )
    (chosen,) = candidates
    if needs_clean and not chosen.clean:
        selection = _select({"model": chosen.first.model})
        raise InputError(
            f"{metric} needs the clean cells too, which are not among these records; do not select "
            f"by corruption, but pass {selection} and corruption={name_noise(chosen)!r}"
        )
    return chosen


def matches(series: Series, corruption: str) -> bool:
    """Whether a series is that of a corruption, given as a spec or by its name.

    ``linf(eps_min)`` stands for the size of the data, as far as it is on record.
    """
    recorded = series.first.corruption
    ways = list_ways(corruption, series.get_eps_min)
    return not ways.isdisjoint({recorded, display_name(recorded)})


def list_ways(spec: str, eps_min: EpsMin | None = None) -> set[str]:
    """Return a spec as it is written, and in its canonical forms if it has any.

    >>> sorted(list_ways("linf( eps_min / 2 )", lambda p: 0.2)), list_ways("RO30")
    (['linf( eps_min / 2 )', 'linf(0.1)'], {'RO30'})
    >>> sorted(list_ways("missing(0.10)"))  # on arrays, and on data frames
    ['missing(0.1)', 'missing(0.1, empty)', 'missing(0.10)']
    """
    try:
        corruption = parse(spec, eps_min=eps_min)
        return {spec, corruption.spec, fit_to_frame(corruption).spec}
    except InputError:  # the name of a set, or eps_min is not known
        return {spec}


def choose_suite_result(records: Records | SuiteResult, metric: str) -> SuiteResult:
    """Return the only result of a suite for `metric`; raise if there is none or more than one.

    Where there is none, the part of a larger suite that the metric is computed from is taken.
    """
    if isinstance(records, SuiteResult):
        return records if records.suite.metric == metric else take_part(records, metric) or records
    all_results = group_suites(records)
    results = [r for r in all_results if r.suite.metric == metric]
    if not results:
        results = [r for r in all_results if take_part(r, metric) is not None]
    if not results:
        raise InputError(
            f"{metric} needs exactly one model under one whole suite for it, got none; evaluate "
            f"the model with a suite for {metric} (shaketable list suites)"
        )
    if len(results) > 1:
        names = list_first(f"{r.first.model} under {r.suite.name}" for r in results)
        fields, rest = _tell_apart(results)
        one = f"metrics.suite_results(records)[{all_results.index(results[0])}]"
        raise InputError(
            f"{metric} needs exactly one model under one whole suite, got {names}; pass "
            f"{_select(fields) if len(rest) == 1 else one}"
        )
    (result,) = results
    return result if result.suite.metric == metric else take_part(result, metric) or result


def list_first(items: Iterable[object]) -> str:
    """Return the first three items as text, and the number of others.

    >>> list_first("abcde"), list_first([])
    ('a; b; c and 2 more', 'none')
    """
    names = [str(item) for item in items]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more or "none"


def _suggest_series(candidates: Sequence[Series], series: Sequence[Series]) -> str:
    """Return arguments of a metric that choose the first candidate."""
    fields, rest = _tell_apart(candidates)
    chosen, name = candidates[0], name_noise(candidates[0])
    arguments = _select(fields) if fields else "records"
    if len(rest) > 1:
        rest, arguments = (
            [s for s in rest if matches(s, name)],
            f"{arguments} and corruption={name!r}",
        )
    return arguments if len(rest) == 1 else f"metrics.series(records)[{series.index(chosen)}]"


def _tell_apart(results: Sequence[_Result]) -> tuple[dict[str, str], list[_Result]]:
    """Return the shared fields in which results differ, as in the first, and those equal to it."""
    first, rest = results[0].first, list(results)
    fields: dict[str, str] = {}
    for name in SHARED_FIELDS:
        value = getattr(first, name)
        same = [r for r in rest if getattr(r.first, name) == value]
        if len(same) < len(rest):
            fields[name], rest = value, same
    return fields, rest


def _select(fields: dict[str, str]) -> str:
    """Return the call that selects records by fields.

    >>> _select({"model": "rf"})
    "records.select(model='rf')"
    """
    return f"records.select({', '.join(f'{name}={value!r}' for name, value in fields.items())})"
