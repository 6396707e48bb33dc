"""Agreement with 1-NN: where two models differ, which of them agrees with the nearest point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.norms import norm_title
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset, LabelJson
from shaketable.findings.errata.errata import (
    ErrataJson,
    Erratum,
    list_touching,
    name_data,
    name_errata,
    name_one_nn,
)
from shaketable.separations.one_nn import OneNN, RangeJson
from shaketable.views.blocks import Block, Column, Sentence, Table
from shaketable.views.numbers import format_share
from shaketable.views.terminal import Displayed

Ties: TypeAlias = Literal["neither", "majority"]

ALPHA = 0.01
"""Level at which differences count as significant in the paper."""


class DifferingPointJson(TypedDict):
    """A point that two models label differently."""

    row: int
    label: LabelJson
    given: list[LabelJson]
    one_nn: LabelJson | None


class AgreementOfModelJson(TypedDict):
    """How often a model agrees with 1-NN."""

    model: str
    agrees: int
    share: float | None


class AgreementJson(TypedDict):
    """Which of two models agrees with 1-NN where they differ."""

    differing: int
    ties: Ties
    models: list[AgreementOfModelJson]
    p_value: float | None
    points: list[DifferingPointJson]


class AgreementsJson(TypedDict):
    """Agreement of every two models with 1-NN."""

    data: str
    norm: str | float
    n: int
    one_nn: RangeJson
    accuracy: dict[str, float]
    pairs: list[AgreementJson]
    errata: NotRequired[ErrataJson]


@dataclass(frozen=True)
class DifferingPoint:
    """A point that two models label differently."""

    row: int
    """Row of the data."""
    label: Any
    """Its true label."""
    given: tuple[Any, Any]
    """Labels that the two models give it."""
    nearest: Any
    """Label of 1-NN; None if several training points are nearest and none decides."""


@dataclass(frozen=True)
class Agreement(Displayed):
    r"""How often each of two models agrees with 1-NN where they differ from each other.

    .. math:: s_1 = b / n, \quad s_2 = c / n

    with n differing predictions, b of them labelled by the first model as 1-NN does, and c by the
    second. No point counts for both, so b and c are the discordant counts of McNemar's test: were
    the models equal in this respect, b would be binomial with b + c trials and probability 1/2
    (exact, two-sided; Sec. 4 and Table 1 of the paper on genuine adversarial accuracy).

    >>> print(Agreement(differing=154, first=30, second=16, names=("plain", "PGD-AT")))
    of 154 differing predictions plain shares 19.48 % with 1-NN, PGD-AT 10.39 %: McNemar p = 0.05408
    """

    differing: int
    first: int
    second: int
    names: tuple[str, str] = ("first", "second")
    ties: Ties = "neither"
    points: tuple[DifferingPoint, ...] = ()
    """The points that differ, by their rows."""

    def __post_init__(self) -> None:
        for name in ("differing", "first", "second"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=0))
        if self.first + self.second > self.differing:
            raise InputError(
                f"first + second must be at most differing, got {self.first} + {self.second} > "
                f"{self.differing}; count only points where the models differ"
            )

    @property
    def shares(self) -> tuple[float, float]:
        """Share of the differing predictions in which each model agrees with 1-NN."""
        if not self.differing:
            raise UndefinedError(
                f"{self.names[0]} and {self.names[1]} never differ, so the shares are undefined; "
                "compare them on more points"
            )
        return self.first / self.differing, self.second / self.differing

    @property
    def p_value(self) -> float:
        """McNemar's exact two-sided test that both agree with 1-NN equally often.

        >>> [round(Agreement(89, *pair).p_value, 4) for pair in ((30, 16), (49, 40), (0, 0))]
        [0.0541, 0.3966, 1.0]
        """
        if not self.first + self.second:
            return 1.0
        from scipy.stats import binomtest  # slow to load

        return float(binomtest(self.first, self.first + self.second).pvalue)

    @property
    def significant(self) -> bool:
        """Whether the test rejects at the level `ALPHA`."""
        return self.p_value < ALPHA

    @property
    def words(self) -> str:
        """Which of the two labels more like 1-NN, if the test is significant."""
        if not self.significant:
            return f"neither is shown to label more like 1-NN (p >= {ALPHA:g})"
        first = self.first > self.second
        return f"{self.names[not first]} labels more like 1-NN (p < {ALPHA:g})"

    def __str__(self) -> str:
        if not self.differing:
            return f"{self.names[0]} and {self.names[1]} never differ"
        first, second = (format_share(share) for share in self.shares)
        return (
            f"of {self.differing} differing predictions {self.names[0]} shares {first} with 1-NN, "
            f"{self.names[1]} {second}: McNemar p = {self.p_value:.4g}"
        )

    def json(self) -> AgreementJson:
        """Counts, shares in per cent and the test as a JSON object."""
        shares = [100 * share for share in self.shares] if self.differing else [None, None]
        return {
            "differing": self.differing,
            "ties": self.ties,
            "models": [
                {"model": name, "agrees": count, "share": share}
                for name, count, share in zip(
                    self.names, (self.first, self.second), shares, strict=True
                )
            ],
            "p_value": self.p_value,
            "points": [
                {"row": p.row, "label": p.label, "given": [*p.given], "one_nn": p.nearest}
                for p in self.points
            ],
        }

    def blocks(self) -> list[Block]:
        """Return which of the two labels more like 1-NN, and the points on which they differ."""
        rows = [[*map(str, (p.row, p.label, *p.given)), _name_nearest(p)] for p in self.points]
        return [
            Sentence(str(self)),
            *([Sentence(self.words)] if self.differing else []),
            Table(
                f"points that {self.names[0]} and {self.names[1]} label differently",
                [*map(Column, ("row", "label", *self.names, "1-NN"))],
                rows,
                limit=10,
                what="points",
            ),
        ]


def _name_nearest(point: DifferingPoint) -> str:
    return "undecided" if point.nearest is None else str(point.nearest)


@dataclass(frozen=True, eq=False)
class Agreements(Displayed):
    """Several models' labels of the same test points, every two of them compared with 1-NN."""

    data: Dataset
    norm: str
    nearest: OneNN
    labels: Mapping[str, Array]
    """Labels of the test points by the name of the model."""
    ties: Ties = "neither"

    @cached_property
    def pairs(self) -> list[Agreement]:
        """Every two models."""
        return [
            agreement(a, b, self.nearest, ties=self.ties, names=(first, second))
            for (first, a), (second, b) in combinations(self.labels.items(), 2)
        ]

    @property
    def one_nn(self) -> tuple[float, float]:
        """Least and largest accuracy of 1-NN, by how ties are decided."""
        decided = self.ties == "neither"
        return self.nearest.accuracy if decided else self.nearest.majority_accuracy

    @property
    def accuracy(self) -> dict[str, float]:
        """Accuracy of every model."""
        truth = np.array(self.data.classes, dtype=object)[self.nearest.y]
        return {name: float(np.mean(given == truth)) for name, given in self.labels.items()}

    @property
    def errata(self) -> list[Erratum]:
        """Errata of published accuracies of 1-NN on these data."""
        return list_touching({name_data(self.data.name), name_one_nn(self.nearest.p)})

    def json(self) -> AgreementsJson:
        """Return accuracies in per cent, and every two models."""
        low, high = self.one_nn
        return {
            "data": self.data.name,
            "norm": self.norm,
            "n": len(self.nearest.y),
            "one_nn": {"low": 100 * low, "high": 100 * high},
            "accuracy": {name: 100 * value for name, value in self.accuracy.items()},
            "pairs": [pair.json() for pair in self.pairs],
            **name_errata(self.errata),
        }

    def blocks(self) -> list[Block]:
        """Return accuracies, every two models, and points on which they differ."""
        low, high = self.one_nn
        share = f"{100 * low:.2f}" if low == high else f"{100 * low:.2f} to {100 * high:.2f}"
        accuracies = Table(
            f"accuracy on {len(self.nearest.y)} test points of {self.data.name}",
            (Column("model"), Column("accuracy", "rate")),
            [(f"{norm_title(self.nearest.p)} 1-NN", share), *self.accuracy.items()],
        )
        return [accuracies, *(block for pair in self.pairs for block in pair.blocks())]


def agreement(
    first: ArrayLike,
    second: ArrayLike,
    nearest: OneNN,
    *,
    ties: Ties = "neither",
    names: tuple[str, str] = ("first", "second"),
) -> Agreement:
    """Compare two models' labels of the same test points with those of 1-NN.

    Parameters
    ----------
    first, second
        Labels that the models give the test points, in the order and notation of `nearest`.
    nearest
        Result of `one_nn` for these points.
    ties
        With ``neither`` a point with several nearest neighbours agrees with neither model; with
        ``majority`` it has the label of most of them, and if several labels are equally frequent it
        agrees with neither model. Table 1 has both, the second in parentheses.
    names
        Names of the models.

    Returns
    -------
    Agreement
        Shares of points, and the rows where the models differ.

    Examples
    --------
    >>> from shaketable import one_nn
    >>> x = np.array([[0.0], [4.0]])
    >>> nearest = one_nn((x, ["a", "b"]), (x + 1, ["a", "b"]))
    >>> agreement(["a", "b"], ["b", "b"], nearest).shares
    (1.0, 0.0)
    """
    if ties not in get_args(Ties):
        raise unknown_name("rule for ties", str(ties), get_args(Ties))
    predictions, labels = (np.asarray(first), np.asarray(second)), nearest.labels
    for name, given in zip(("first", "second"), predictions, strict=True):
        if given.shape != labels.shape:
            raise InputError(
                f"{name} must have one label for each of the {len(labels)} test points, got shape "
                f"{given.shape}"
            )
    for name, given in zip(names, predictions, strict=True):
        if len(given) and not set(given.tolist()) & set(nearest.classes):
            raise InputError(
                f"no label of {name} is among those of 1-NN, got {given.tolist()[0]!r} where they "
                f"are {', '.join(map(repr, nearest.classes[:5]))}; give labels in the same notation"
            )
    winners = nearest.neighbour_count if ties == "neither" else nearest.winner_count
    differ = predictions[0] != predictions[1]
    counted = differ & (winners == 1)
    return Agreement(
        differing=int(differ.sum()),
        first=int((counted & (predictions[0] == labels)).sum()),
        second=int((counted & (predictions[1] == labels)).sum()),
        names=names,
        ties=ties,
        points=tuple(
            DifferingPoint(
                row=int(nearest.test[i]),
                label=nearest.classes[nearest.y[i]],
                given=(
                    predictions[0][i : i + 1].tolist()[0],
                    predictions[1][i : i + 1].tolist()[0],
                ),
                nearest=nearest.classes[nearest.winner[i]] if winners[i] == 1 else None,
            )
            for i in np.flatnonzero(differ)
        ),
    )
