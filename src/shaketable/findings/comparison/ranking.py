"""Rankings: which of three models or more may be the most accurate, as far as it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, TypedDict

from shaketable.core.checks import list_names

if TYPE_CHECKING:
    from shaketable.findings.comparison.finding import Pair


class RankingJson(TypedDict):
    """Which of several models may be the most accurate."""

    data: str
    under: str
    most_accurate: Annotated[list[str], "Models than which none is shown to be more accurate."]
    less_accurate: list[str]


@dataclass(frozen=True)
class Ranking:
    """Models that are compared with each other, by whether one is shown to be better."""

    data: str
    under: str
    """On what: ``clean points``, a corruption, or the average over several."""
    best: tuple[str, ...]
    """Labels of the models than which none is shown to be better, as measured the best first."""
    worse: tuple[str, ...]
    """Labels of the others, in the same order."""

    @property
    def words(self) -> str:
        """Which models may be the most accurate, as a sentence."""
        if not self.worse:
            return f"{self.under}: all differences between {_join(self.best)} may be chance"
        if len(self.best) == 1:
            return f"{self.under}: {self.best[0]} is the most accurate, before {_join(self.worse)}"
        are = "is less accurate" if len(self.worse) == 1 else "are less accurate"
        return (
            f"{self.under}: the most accurate is one of {_join(self.best)}, whose differences may "
            f"be chance; {_join(self.worse)} {are}"
        )

    def json(self) -> RankingJson:
        """Return the models by whether one is shown to be better."""
        return {
            "data": self.data,
            "under": self.under,
            "most_accurate": list(self.best),
            "less_accurate": list(self.worse),
        }


def rank_models(pairs: Iterable[Pair]) -> list[Ranking]:
    """Rank models of which each two are compared: on clean points, and under corruptions.

    Differences are judged together, so the most accurate model is among those than which none is
    shown to be better, with the same confidence as every difference. Of several corruptions, the
    mean counts. Two models are a pair, and need no ranking.
    """
    by_data = groupby(pairs, key=lambda pair: pair.gaps[0].condition.first.fingerprint)
    rankings: list[Ranking | None] = []
    for _, of_data in by_data:
        same = list(of_data)
        n = len({label for pair in same for label in (pair.first, pair.second)})
        if n < 3 or len(same) < n * (n - 1) // 2:
            continue
        rankings.append(_rank(same, "on clean points", _compare_clean))
        conditions = {gap.condition.noise: None for pair in same for gap in pair.corrupted}
        if len(conditions) == 1:
            rankings.append(_rank(same, f"under {next(iter(conditions))}", _compare_corrupted))
        elif conditions:
            under = f"on average over {len(conditions)} corruptions"
            rankings.append(_rank(same, under, _compare_means))
    return [ranking for ranking in rankings if ranking is not None]


def _compare_clean(pair: Pair) -> tuple[float, bool] | None:
    gap = pair.clean
    return None if gap is None else (gap.value.value, gap.shown)


def _compare_corrupted(pair: Pair) -> tuple[float, bool] | None:
    return (pair.corrupted[0].value.value, pair.corrupted[0].shown) if pair.corrupted else None


def _compare_means(pair: Pair) -> tuple[float, bool] | None:
    return None if pair.mean is None else (pair.mean.value, pair.mean_shown)


def _rank(
    pairs: Sequence[Pair], under: str, compare: Callable[[Pair], tuple[float, bool] | None]
) -> Ranking | None:
    """Rank by the difference of each pair and whether it is shown; None if one has none."""
    ahead: dict[str, float] = {}
    beaten: set[str] = set()
    for pair in pairs:
        difference = compare(pair)
        if difference is None:
            return None
        value, shown = difference
        ahead[pair.first] = ahead.get(pair.first, 0.0) + value
        ahead[pair.second] = ahead.get(pair.second, 0.0) - value
        if shown:
            beaten.add(pair.second if value > 0 else pair.first)
    order = sorted(ahead, key=lambda label: -ahead[label])  # that of the accuracies
    return Ranking(
        pairs[0].gaps[0].condition.first.data,
        under,
        tuple(label for label in order if label not in beaten),
        tuple(label for label in order if label in beaten),
    )


def _join(labels: Sequence[str]) -> str:
    if len(labels) > 5:
        return list_names(labels)
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last
