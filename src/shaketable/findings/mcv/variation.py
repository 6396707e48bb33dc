"""Variation: mean scores of models over several conditions, and how much the scores vary.

The scores can be from any task: accuracies under noise, errors of forecasts by season. Means and
deviations are exactly rounded (Python's `statistics`), so that neither the order of the conditions
nor a tie can move a model to another group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean, pstdev
from typing import Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.checks import HUGE, check_real, list_names, unknown_name
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import FloatArray
from shaketable.findings.subjects import choose_references

Group: TypeAlias = Literal["I", "II", "III", "IV"]
Row: TypeAlias = "Variation | Summary"


class VariationJson(TypedDict):
    """Scores of a model in the units of their table."""

    label: str
    group: str | None
    reference: str
    mean: float
    least: float
    most: float
    cv: float
    clean: float | None
    lowest: NotRequired[str]
    highest: NotRequired[str]
    scores: NotRequired[dict[str, float]]


class ScoreCorrelationJson(TypedDict):
    """Correlation of two quantities over models."""

    spearman: float
    pearson: float
    models: int


class VariationTableJson(TypedDict):
    """Scores of all models."""

    reference: str | None
    reference_words: str
    lower_is_better: bool
    models: list[VariationJson]
    correlations: dict[str, ScoreCorrelationJson | None]


@dataclass(frozen=True)
class Summary:
    """Mean, CV and range of a model whose single scores are not known, such as published ones."""

    label: str
    mean: float
    cv: float
    """Coefficient of variation, in per cent."""
    least: float
    most: float
    clean: float | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "cv", "least", "most", *(() if self.clean is None else ("clean",))):
            what = f"{name} of {self.label!r}"
            check_real(what, getattr(self, name), "be a finite number", low=-HUGE, high=HUGE)
        if not self.least <= self.mean <= self.most:
            raise InputError(
                f"mean of {self.label!r} must lie between its lowest and highest score, got "
                f"{self.mean:g}, {self.least:g} and {self.most:g}"
            )
        if self.cv < 0:
            raise InputError(f"CV of {self.label!r} must be 0 or more, got {self.cv:g}")
        if self.mean > 0 and not self._fits_range():
            raise InputError(
                f"CV of {self.label!r} must be in per cent of its mean, got {self.cv:g} for scores "
                f"from {self.least:g} to {self.most:g} with mean {self.mean:g}; a fraction such as "
                "0.02 is 2 %"
            )

    def _fits_range(self) -> bool:
        """Whether scores with this range can have this CV.

        A standard deviation is at most 0.71 of the range, with n - 1, and at least 0.005 of it
        unless there are 20,000 scores or more; all numbers may be rounded.
        """
        spread = 100 * (self.most - self.least) / self.mean
        return 0.005 * spread <= self.cv <= 0.71 * spread + 0.1


@dataclass(frozen=True)
class Variation:
    r"""Scores of one model under several conditions: their mean, and how much they vary.

    .. math:: CV = 100\,\sigma / \mu, \quad \sigma^2 = \frac{1}{n} \sum_i (x_i - \mu)^2

    Dai & Berleant (2022), Eq. 1, 2 and 4. The mean is over all n conditions, including the clean
    one. Their Eq. 3 divides by n - 1, which must be a misprint: four means of their Table III would
    be below the minimum. 0: the same score everywhere. Lower means steadier, not better: a model
    that is always wrong is steady.

    Parameters
    ----------
    label
        Name of the model.
    scores
        Score under every condition.
    clean
        Score on clean points; None if it is not known.

    Examples
    --------
    >>> steady = Variation("rf", {"clean": 0.9, "rain": 0.8, "fog": 0.7}, clean=0.9)
    >>> round(steady.mean, 3), round(steady.cv, 2), steady.lowest
    (0.8, 10.21, 'fog')
    """

    label: str
    scores: Mapping[str, float]
    """Score under every condition, in order."""
    clean: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.scores, Mapping) or not self.scores:
            raise InputError(
                f"scores of {self.label!r} must have one condition or more, got {self.scores!r}; "
                "give {condition: score}"
            )
        named = {f"score {name!r} of {self.label!r}": v for name, v in self.scores.items()}
        if self.clean is not None:
            named[f"clean score of {self.label!r}"] = self.clean
        for name, value in named.items():
            check_real(name, value, "be a finite number", low=-HUGE, high=HUGE)
        object.__setattr__(self, "scores", {name: float(v) for name, v in self.scores.items()})

    @cached_property
    def mean(self) -> float:
        """Mean score over all conditions."""
        return mean(self.scores.values())

    @property
    def least(self) -> float:
        """Lowest score."""
        return min(self.scores.values())

    @property
    def most(self) -> float:
        """Highest score."""
        return max(self.scores.values())

    @property
    def lowest(self) -> str:
        """Condition with the lowest score; the first if there are ties."""
        return min(self.scores, key=self.scores.__getitem__)

    @property
    def highest(self) -> str:
        """Condition with the highest score; the first if there are ties."""
        return max(self.scores, key=self.scores.__getitem__)

    @cached_property
    def cv(self) -> float:
        """Coefficient of variation in per cent; undefined unless the mean is positive."""
        ratio = pstdev(self.scores.values()) / self.mean if self.mean > 0 else math.inf
        if not math.isfinite(100 * ratio):
            raise UndefinedError(
                f"CV of {self.label!r} is undefined: its mean score must be above 0, got "
                f"{self.mean:g}; take scores that start at 0, such as accuracies or errors"
            )
        return 100 * ratio


def group(
    mean: float, cv: float, reference: tuple[float, float], *, lower_is_better: bool = False
) -> Group:
    """Return the group of a model relative to a reference's mean and CV: its mCV plot quadrant.

    ======== ================= ================
    group    mean              CV
    ======== ================= ================
    I        at least as good  as low, or lower
    II       at least as good  higher
    III      worse             as low, or lower
    IV       worse             higher
    ======== ================= ================

    Dai & Berleant (2022), Algorithm 1. The reference itself is in group I. With `lower_is_better`,
    as for errors, a lower mean is better.

    >>> group(85.75, 3.33, (85.25, 2.28)), group(0.5, 3.0, (0.6, 3.0), lower_is_better=True)
    ('II', 'I')
    """
    for name, value in zip(("mean", "cv"), (mean, cv), strict=True):
        check_real(name, value, "be a number", low=-math.inf, high=math.inf)
    good = mean <= reference[0] if lower_is_better else mean >= reference[0]
    steady = cv <= reference[1]
    return ("I" if steady else "II") if good else ("III" if steady else "IV")


@dataclass(frozen=True)
class Correlation:
    """Correlation of two quantities over models, between -1 and 1."""

    spearman: float
    """Correlation of the ranks: 1 for any increasing relation."""
    pearson: float
    """Correlation of the values: 1 for an increasing linear relation."""
    models: int

    def json(self) -> ScoreCorrelationJson:
        """Return both correlations and the number of models."""
        return {"spearman": self.spearman, "pearson": self.pearson, "models": self.models}


def correlation(first: ArrayLike, second: ArrayLike) -> Correlation:
    """Spearman's and Pearson's correlation of two quantities, each with one value per model.

    Dai & Berleant (2022), Eq. 5 and 6; ranks of equal values are averaged. Undefined for fewer
    than 3 models, and if all models have the same value.

    >>> correlation([1, 2, 3, 4], [1, 4, 9, 16])
    Correlation(spearman=1.0, pearson=0.984..., models=4)
    """
    from scipy import stats  # slow to import

    x, y = (_scale(values) for values in (first, second))
    if len(x) != len(y):
        raise InputError(
            f"first and second must have one value per model, got {len(x)} and {len(y)} values"
        )
    if len(x) < 3:
        raise UndefinedError(
            f"a correlation needs 3 models or more, got {len(x)}; add models to the table"
        )
    if min(np.ptp(x), np.ptp(y)) < 1e-12:
        raise UndefinedError(
            "a correlation needs models that differ, got the same value for all; add other models"
        )
    coefficients = stats.spearmanr(x, y).statistic, stats.pearsonr(x, y).statistic
    spearman, pearson = (float(np.clip(r, -1, 1)) for r in coefficients)
    return Correlation(spearman, pearson, models=len(x))


def _scale(values: ArrayLike) -> FloatArray:
    """Divide by the largest absolute value: correlations stay the same, and nothing overflows."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError(
            f"values to correlate must be finite, got {array[~np.isfinite(array)][0]}; leave out "
            "models without a value"
        )
    largest = np.abs(array).max(initial=0)
    return array / largest if largest > 0 else array


@dataclass(frozen=True)
class VariationTable:
    """Models compared: their groups relative to a reference, and correlations over all models.

    Parameters
    ----------
    rows
        One per model: `Variation`, or `Summary` if single scores are not known.
    reference
        Label of the model that others are compared with. By default the only one whose label is
        ``clean`` or ends in ``(clean)``, which is how models trained on clean data are named. If
        every network has one, as ``a(clean)`` for ``a(C1)``, each network is compared with its own,
        and this is empty; else the first. `reference_words` says which model it is, and why.
    lower_is_better
        Whether scores are errors, such as RMSE.

    Examples
    --------
    >>> table = VariationTable([Summary("net(SP0.1)", 89.4, 1.3, 86.7, 91.2, 90.8),
    ...                         Summary("net(clean)", 85.3, 2.3, 83.2, 92.1, 92.1)])
    >>> table.reference, table.groups
    ('net(clean)', {'net(SP0.1)': 'I', 'net(clean)': 'I'})
    """

    rows: Sequence[Row]
    reference: str = ""
    lower_is_better: bool = False
    reference_words: str = field(init=False)
    references: Mapping[str, str] = field(init=False)
    """Label of the reference of every model."""

    def __post_init__(self) -> None:
        labels = [row.label for row in self.rows]
        if not labels:
            raise InputError("rows must hold one model or more, got none; give a Variation each")
        for label in labels:
            if labels.count(label) > 1:
                raise InputError(
                    f"rows must have different labels, got {label!r} "
                    f"{labels.count(label)} times; rename one"
                )
        references, why = choose_references(labels, self.reference)
        chosen = list(dict.fromkeys(references.values()))
        for label in chosen:
            if label not in labels:
                raise unknown_name("reference", label, labels)
        many = "s" if len(chosen) > 1 else ""
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "reference", "" if many else chosen[0])
        object.__setattr__(self, "references", references)
        object.__setattr__(self, "reference_words", f"reference{many}: {list_names(chosen)}, {why}")

    @cached_property
    def groups(self) -> dict[str, Group]:
        """Group of every model relative to its reference."""
        by_label, low = {row.label: row for row in self.rows}, self.lower_is_better
        groups: dict[str, Group] = {}
        for row in self.rows:
            base = by_label[self.references[row.label]]
            groups[row.label] = group(row.mean, row.cv, (base.mean, base.cv), lower_is_better=low)
        return groups

    def split(self) -> tuple[VariationTable, ...]:
        """Return one table per reference.

        Returns
        -------
        tuple[VariationTable, ...]
            One table per reference.

        Examples
        --------
        >>> scores = {"clean": 0.9, "noise": 0.7}
        >>> len(VariationTable([Variation("a", scores), Variation("b", scores)]).split())
        1
        """
        parts: dict[str, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(self.references[row.label], []).append(row)
        return tuple(
            VariationTable(rows, reference, self.lower_is_better)
            for reference, rows in parts.items()
        )

    @cached_property
    def correlations(self) -> dict[str, Correlation | None]:
        """Correlations between CV, mean and clean score over the models; None if undefined."""
        correlations: dict[str, Correlation | None] = {}
        for first, second in (("cv", "mean"), ("cv", "clean"), ("mean", "clean")):
            x, y = ([getattr(row, name) for row in self.rows] for name in (first, second))
            try:
                # without the clean scores of some models the correlation would be over other models
                correlations[f"{first}-{second}"] = None if None in y else correlation(x, y)
            except UndefinedError:
                correlations[f"{first}-{second}"] = None
        return correlations

    def json(self, *, times: float = 1.0) -> VariationTableJson:
        """Return the table; scores are multiplied by `times`, such as 100 for fractions.

        Parameters
        ----------
        times
            Factor of the scores.

        Returns
        -------
        dict
            The table.

        Examples
        --------
        >>> scores = {"clean": 0.9, "noise": 0.7}
        >>> sorted(VariationTable([Variation("a", scores), Variation("b", scores)]).json())[:2]
        ['correlations', 'lower_is_better']
        """

        def row_json(row: Row) -> VariationJson:
            about: VariationJson = {
                "label": row.label,
                "group": self.groups[row.label],
                "reference": self.references[row.label],
                "mean": times * row.mean,
                "least": times * row.least,
                "most": times * row.most,
                "cv": row.cv,
                "clean": None if row.clean is None else times * row.clean,
            }
            if isinstance(row, Variation):
                about["lowest"], about["highest"] = row.lowest, row.highest
                about["scores"] = {name: times * v for name, v in row.scores.items()}
            return about

        return {
            "reference": self.reference or None,
            "reference_words": self.reference_words,
            "lower_is_better": self.lower_is_better,
            "models": [row_json(row) for row in self.rows],
            "correlations": {
                name: None if c is None else c.json() for name, c in self.correlations.items()
            },
        }
