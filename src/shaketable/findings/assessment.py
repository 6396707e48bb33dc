"""`assess`: separation, noise, MSCR and its meaning in one call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from shaketable.core.errors import InputError
from shaketable.core.norms import as_p, norm_name, norm_title
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import By, Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import list_usual
from shaketable.findings.mscr.view import describe_mscr, describe_risk
from shaketable.findings.results import Results, find
from shaketable.findings.series import ErrorProbability, Series
from shaketable.findings.subjects import Subject
from shaketable.separations.opponents import check_moving
from shaketable.separations.pair import note_eps_min
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_distance, format_full
from shaketable.views.terminal import render_facts


@dataclass(frozen=True, eq=False)
class Assessment:
    """How robust one model is on its data; it can be printed or written as a page.

    On a table in which noise moves no column, eps_min and what depends on it are undefined; `clean`
    and `records` tell what was measured instead.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 101)[:, None]
    >>> result = st.assess(lambda x: x[:, 0] > 0.51, (x, x[:, 0] > 0.5), (x[::3], x[::3, 0] > 0.5))
    >>> round(result.epsilon_min, 4), round(result.clean.value, 3)
    (0.005, 0.971)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(result.report(Path(folder) / "page.html").name)
    page.html
    """

    data: Dataset
    records: Records

    @cached_property
    def results(self) -> Results:
        """All findings."""
        return find(self.records, notes=note_eps_min(self.data, self.records.separations))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, one sentence per note."""
        return self.results.notes

    @property
    def separation(self) -> SeparationRecord:
        """The class separation that set the size of the noise."""
        check_moving(self.data)
        assert self._subject.separation is not None, "assess measures it"
        return self._subject.separation

    @property
    def epsilon_min(self) -> float:
        """Size of the noise: half the separation."""
        return self.separation.epsilon_min

    @property
    def clean(self) -> Estimate:
        """Accuracy on the test points as they are."""
        return self._subject.clean[0].accuracy

    @property
    def robust(self) -> Estimate:
        """Accuracy under the noise."""
        return self._series.accuracy

    @property
    def mscr(self) -> Estimate:
        """Change of the accuracy under the noise, relative to the clean accuracy."""
        return self._series.relative_loss

    @property
    def error(self) -> ErrorProbability:
        """Probability of a wrong answer under the noise."""
        return self._series.error_probability

    @property
    def verdict(self) -> str:
        """Meaning of the MSCR, as a sentence."""
        return describe_mscr(self.mscr)

    def report(self, path: str | Path) -> Path:
        """Write the assessment as one HTML page.

        Parameters
        ----------
        path
            HTML file.

        Returns
        -------
        Path
            Path of the page.
        """
        from shaketable.findings.page import write_report  # loads the charts

        return write_report(path, self.results, dataset=self.data)

    @property
    def _subject(self) -> Subject:
        (subject,) = self.results.groups.subjects
        return subject

    @property
    def _series(self) -> Series:
        check_moving(self.data)
        (series,) = self._subject.noisy
        return series

    def _repr_html_(self) -> str:
        return render_facts(self._title, self._facts)

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {name:<10}  {fact}" for name, fact in self._facts)])

    @property
    def _title(self) -> str:
        cell = self.records.cells[-1]
        return f"{cell.model} on {cell.data}: {cell.n} test points, {cell.k} noisy copies each"

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """Names and facts, in the order in which they are shown."""
        if self._subject.separation is None:
            measured = [s for s in self._subject.all_series if s not in self._subject.clean]
            return [
                ("accuracy", f"clean  {format_full(self.clean)}"),
                *(("", f"under {s.first.corruption}  {format_full(s.accuracy)}") for s in measured),
                *(("note", note) for note in self.notes),
            ]
        first, second = self.separation.pair
        title, bounds = norm_title(self.separation.norm), self.records.cells[-1].setting.bounds
        return [
            (
                "separation",
                f"{title} 2r = {format_distance(self.separation.two_r)} (rows {first} and "
                f"{second}), so eps_min = {format_distance(self.epsilon_min)}",
            ),
            ("noise", f"uniform in the {title} ball of radius eps_min, bounds: {bounds}"),
            ("accuracy", f"clean  {format_full(self.clean)}"),
            ("", f"noisy  {format_full(self.robust)}"),
            ("MSCR", format_full(self.mscr)),
            ("risk", describe_risk(self.error)),
            ("verdict", self.verdict),
            *(("note", note) for note in self.notes),
        ]


def assess(
    model: Any,
    train: Any,
    test: Any = None,
    *,
    norm: str | float = "inf",
    k: int = 10,
    seed: int = 0,
    refit: bool = False,
    scale: bool = False,
    bounds: BoundsLike | Literal["declared"] = "declared",
    store: str | Path | None = None,
    model_id: str | None = None,
    by: By = (),
    progress: bool = False,
) -> Assessment:
    """Measure the separation, evaluate the model under noise of size eps_min, and compute MSCR.

    On a table in which noise moves no column, such as one of categories alone, MSCR is undefined;
    ``swap(0.1)`` and ``missing(0.1)`` are measured instead.

    Parameters
    ----------
    model
        Fitted estimator, or a callable from points to labels or scores.
    train, test
        ``(x, y)`` or a file each; uint8 images count as x/255. The separation is that of both, the
        accuracy that on `test`. Or one `Dataset` with a fixed test part, such as one whose columns
        were chosen (`Dataset.touching`).
    norm
        Norm of separation and noise.
    k, seed
        Number of noisy copies per test point, and the seed of the noise.
    refit
        Train a copy of the model on `train` first.
    scale
        Scale every feature to [0, 1] before distances are measured; a fitted model still gets its
        features in raw units.
    bounds, store, model_id, progress
        As in `evaluate`.
    by
        As in `evaluate`; values are those of the rows of `train` and then of `test`.

    Returns
    -------
    Assessment
        The result: print it, read its numbers, or write it as a page.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 101)[:, None]
    >>> result = st.assess(lambda x: x[:, 0] > 0.51, (x, x[:, 0] > 0.5), (x[::3], x[::3, 0] > 0.5))
    >>> print(result.mscr)
    0.015 (95 % interval -0.081 to 0.126)
    """
    data = as_dataset(train, test=test)
    if data.n_train is None:
        raise InputError("test must be given, as the data have no fixed test part")
    data = data.scaled() if scale else data
    records = evaluate(
        model,
        data,
        list_usual(data, norm_name(as_p(norm))),
        k=k,
        seed=seed,
        store=store,
        bounds=bounds,
        model_id=model_id,
        refit=refit,
        unscale=scale,
        by=by,
        progress=progress,
    )
    return Assessment(data, records)
