"""From specs and suites to corruptions that are ready for the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import split_calls
from shaketable.corruptions import Corruption, parse
from shaketable.corruptions.images import check_finite_range
from shaketable.corruptions.only import fit_to_columns
from shaketable.corruptions.parse import as_corruption
from shaketable.corruptions.published import open_published
from shaketable.corruptions.suites.suite import Suite
from shaketable.corruptions.table_faults import fit_to_frame
from shaketable.data.bounds import Bounds, BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.noise import Draws, Noise, choose_range
from shaketable.evaluation.records import SuiteRecord
from shaketable.evaluation.store import Store
from shaketable.separations.opponents import check_moving, is_moving
from shaketable.separations.separation import Separation, SeparationRecord, separation

Corruptions: TypeAlias = "Iterable[str | Corruption | Suite] | str | Corruption | Suite"


WITHOUT_NUMBERS = ("swap(0.1)", "missing(0.1)")
"""What is measured by default on a table in which noise moves no column."""


def list_usual(data: Dataset, norm: str = "linf") -> list[str]:
    """Corruptions that are measured if none are named: noise of size eps_min, where it is defined.

    >>> from shaketable import load
    >>> list_usual(load("iris"))
    ['linf(eps_min)']
    """
    if data.table is None or is_moving(data):
        return [f"{norm}(eps_min)"]
    kinds = {column.kind for column in data.table.columns if column.touched}
    return [spec for spec in WITHOUT_NUMBERS if not kinds.isdisjoint(parse(spec).traits.kinds)]


@dataclass(frozen=True, eq=False)
class Resolved:
    """Corruptions with everything filled in that the data decide, except the value range."""

    corruptions: tuple[Corruption, ...]
    separations: tuple[SeparationRecord, ...]
    """Measured here, because a spec contains ``eps_min``."""
    suites: tuple[SuiteRecord, ...]


def resolve(
    corruptions: Corruptions,
    data: Dataset,
    bounds: Bounds | None,
    *,
    find_separation: Callable[[str, float], SeparationRecord | None] | None = None,
) -> Resolved:
    """Make corruptions from specs, suites and corruptions, for these data.

    Parameters
    ----------
    corruptions
        As in `evaluate`.
    data
        Decides eps_min, the severities for the size of images, column means and so on.
    bounds
        The value range, from which suites derive their sizes.
    find_separation
        Returns the separation of the data with a given fingerprint in a norm if it is known, so
        that it is not measured again.
    """
    measured: dict[float, SeparationRecord] = {}

    def eps_min(p: float) -> float:
        known = measured.get(p)
        if known is None and find_separation is not None:
            known = find_separation(data.fingerprint, p)
        if known is None:
            known = SeparationRecord.of(_measure(data, p), data.fingerprint)
            measured[p] = known
        return known.epsilon_min

    ready: list[Corruption] = []
    suites: list[SuiteRecord] = []
    for item in list_items(corruptions):
        if isinstance(item, Suite):
            suite = item.on(_find_shape(data), bounds)
            members = _fit_to_data((parse(name, eps_min=eps_min) for name in suite.names), data)
            specs = tuple(member.spec for member in members)
            suites.append(
                SuiteRecord(data.fingerprint, suite.name, suite.metric, suite.derived, specs)
            )
            ready += members
        else:
            ready += _fit_to_data([as_corruption(item, eps_min=eps_min)], data)
    for c in ready:
        if c != c.bind(None):
            raise InputError(f"bounds of {c.spec} must be left out; give them to evaluate instead")
    return Resolved(tuple(ready), tuple(measured.values()), tuple(suites))


def _measure(data: Dataset, p: float) -> Separation:
    """Measure the separation; where it is undefined, noise that does without is named."""
    check_moving(data)
    try:
        return separation(data, norm=p)
    except UndefinedError as error:
        raise UndefinedError(
            f"{error}; or measure noise that needs no eps_min, such as jitter(0.1) or swap(0.1)"
        ) from error


def resolve_and_record(
    corruptions: Corruptions, data: Dataset, bounds: Bounds | None, store: Store
) -> tuple[Corruption, ...]:
    """Resolve with the separations that are in `store`, and add new ones and suites to it.

    Metrics need both: the separation tells which cells are at eps_min, and the suite which cells
    belong to it.
    """
    resolved = resolve(corruptions, data, bounds, find_separation=store.separation)
    if not store.in_memory:
        for corruption in resolved.corruptions:
            _refuse_script(corruption)
    store.add_data(DataRecord.of(data))
    for measured in resolved.separations:
        store.add_separation(measured)
    for suite in resolved.suites:
        store.add_suite(suite)
    return resolved.corruptions


def plan_noise(
    items: Iterable[str | Corruption | Suite],
    data: Dataset,
    noise: Noise,
    store: Store,
    *,
    bounds: BoundsLike | Literal["declared"],
    k: int | None = None,
    draws: Draws | None = None,
) -> list[tuple[Corruption, Noise]]:
    """Resolve specs and suites, and say how each corruption is drawn and bounded.

    Suites have the k that they were published with, and ladder draws, unless `k` and `draws` say
    otherwise; those that need a value range get one.
    """
    planned: list[tuple[Corruption, Noise]] = []
    for item in items:
        own = noise
        if isinstance(item, Suite):
            own = replace(
                noise,
                k=item.k if k is None else k,
                draws=draws or "ladder",
                bounds=choose_range(data, bounds) if item.needs_range else noise.bounds,
            )
        for corruption in resolve_and_record([item], data, own.bounds, store):
            check_range(corruption, own.bounds)
            planned.append((corruption, own))
    return planned


def check_range(corruption: Corruption, bounds: Bounds | None) -> None:
    """Raise an `InputError` for a corruption that needs a value range if none is declared."""
    if corruption.traits.needs_range:
        check_finite_range(bounds, corruption)


def _refuse_script(corruption: Corruption) -> None:
    """Raise an `InputError` for a corruption of a script: another script may use the same spec."""
    if any(call.startswith("__main__:") for call in split_calls(corruption.spec)):
        raise InputError(
            f"corruption {corruption.spec} is defined in a script or notebook, so a results file "
            "cannot tell it from others of that name; put it into a module that the script imports"
        )


def list_items(corruptions: Corruptions) -> list[str | Corruption | Suite]:
    """List what users give as `corruptions`: one or many."""
    if isinstance(corruptions, str) or not isinstance(corruptions, Iterable):
        return [corruptions]
    return list(corruptions)


def _fit_to_data(corruptions: Iterable[Corruption], data: Dataset) -> list[Corruption]:
    """Fill in what the data decide, except the value range, and open folders of images."""
    if data.schema is not None and data.table is None:
        corruptions = map(fit_to_frame, corruptions)
    return open_published(
        [fit_to_columns(c.for_shape(_find_shape(data)), data.columns) for c in corruptions], data
    )


def _find_shape(data: Dataset) -> tuple[int, ...]:
    """Return the shape of a point; of a table, the number of columns that noise moves."""
    return data.shape if data.table is None else (int(data.table.moved.sum()),)
