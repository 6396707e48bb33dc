"""Notions of robustness together: the same models on the same data under all of them.

Every notion is turned so that more is better before models are put in order: a correlation of 1
says that two notions order the models alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import list_names
from shaketable.core.errors import UndefinedError
from shaketable.core.types import FloatArray
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.findings.correlation.view import format_correlation
from shaketable.reproductions.claims import Within
from shaketable.reproductions.numbers import Number, NumberTable, rescale
from shaketable.reproductions.papers.notions.dozen import (
    FAR,
    HALF,
    NOTIONS,
    Budget,
    Maker,
    Measures,
    Setting,
    list_makers,
    load_digits,
    measure_model,
)
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.statistics.correlation import LEAST, spearman
from shaketable.statistics.difference import excludes_zero, judge_together
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Sentence
from shaketable.views.progress import count_steps

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

BUDGET = Budget()
_ROUNDING = 1e-9  # of differences of shares
_OWN_SIZES = (HALF, 2.0, FAR)

_ABOUT = (
    "random noise (MSCR), worst case, genuine worst case, distance, rare failures, common "
    "corruptions, p-norms and two faults of the same dozen models on the same digits"
)

_CLAIMS = [
    Within(
        "random noise costs no model more than the worst case of the same size",
        "gap: * / random noise",
        low=-_ROUNDING,
    ),
    Within(
        "points that withstand the worst case have no rare failures, of every model",
        "gap: * / without rare failures",
        low=-_ROUNDING,
    ),
    Within(
        "the worst case within Voronoi cells costs no model more than that of the whole ball",
        "gap: * / genuine",
        low=-_ROUNDING,
    ),
    Within(
        "1-NN on its own points has a genuine accuracy of 1 at every size (genuine, Theorem 2)",
        "own: * / genuine",
        low=100 - _ROUNDING,
    ),
    Within(
        "1-NN on its own points loses nothing within eps_min, not even in the worst case",
        f"own: {HALF:g} / whole ball",
        low=100 - _ROUNDING,
    ),
    Within(
        "beyond eps_min it does lose, if cells are not heeded",
        "; ".join(f"own: {size:g} / whole ball" for size in _OWN_SIZES if size > 1),
        high=100,
    ),
    Within(
        "models that fail farther away are better in the worst case",
        "order: distance / worst case",
        low=0,
    ),
    Within(
        "models that are better by MSCR are better by mCE, on digits (open in Siedel et al. 2022)",
        "order: mCE / MSCR",
        low=0,
    ),
    Within("and by mCE_Lp", "order: mCE_Lp / MSCR", low=0),
]

_DEVIATIONS = [
    "no paper has this table: what is claimed follows from definitions and theorems, or, of MSCR "
    "with mCE, from 45 other models on these digits",
    "digits of 8 x 8 pixels, so that a dozen kinds of models and exact worst cases of most of them "
    "take minutes; severities of common corruptions are interpolated and sizes of p-norms derived "
    "for so few pixels",
    "worst cases and rare failures are measured at half of eps_min, in L-inf: at eps_min hardly "
    "any accuracy was left of the models that were tried first, and proofs of forests are slow in "
    "L2",
    "Voronoi cells are those of the test points alone, which are few, so that cells are large",
]


@declare(
    "notions",
    place="",
    about="what holds in general: " + _ABOUT,
    forms={
        "fast": Form(
            about=f"12 models, {BUDGET.train} points to train on and {BUDGET.test} to test",
            takes="five minutes of processor time",
            needs="torch",
            claims=_CLAIMS,
            deviations=_DEVIATIONS,
        ),
    },
)
def measure_notions(asked: Asked) -> Measured:
    """Train the models, measure every notion of each, and correlate the notions."""
    data, makers = load_digits(BUDGET), list_makers()
    eps_min, measures = measure_models(asked, data, makers)
    dozen = Dozen(measures)
    left = f"{len(measures)} of {len(makers)} models are measured; the same command goes on"
    return Measured(
        tables=[
            dozen.tabulate_notions(),
            dozen.tabulate_order(),
            dozen.tabulate_gaps(),
            tabulate_own(data, asked.seed),
        ],
        blocks=[
            Sentence("the better the place of a model, the fuller its colour", level="detail"),
            *map(Sentence, [*dozen.describe(), _describe_models(makers), _describe_notions()]),
        ],
        figure=dozen.draw if measures else None,
        settings={
            "Data": f"{data.name}: {BUDGET.train} points to train on, {BUDGET.test} to test",
            "eps_min": f"{eps_min:g} (L-inf)",
            "Draws": "10 per point of random noise, 1 in suites",
            "Answers": f"{BUDGET.answers} per point, for rare failures",
        },
        unfinished="" if len(measures) == len(makers) else left,
    )


def measure_models(
    asked: Asked, data: Dataset, makers: Mapping[str, Maker]
) -> tuple[float, dict[str, Measures]]:
    """Return eps_min, and all notions by model, as far as the time allows."""
    from shaketable.separations.separation import separation

    eps_min = separation(data, norm="inf").epsilon_min
    setting = Setting(eps_min, asked.seed, BUDGET.epochs, asked.device)
    begun, longest = monotonic(), 0.0
    measures: dict[str, Measures] = {}
    with count_steps("measuring models", enabled=not asked.quiet, total=len(makers)) as step:
        for name, maker in makers.items():
            start = monotonic()
            if (
                asked.minutes is not None
                and measures
                and start - begun + longest > 60 * asked.minutes
            ):
                break
            model = maker.train(data, setting)
            measures[name] = measure_model(
                name,
                model,
                data,
                eps_min=eps_min,
                budget=BUDGET,
                seed=asked.seed,
                store=asked.store,
            )
            longest = max(longest, monotonic() - start)
            step()
    return eps_min, measures


@dataclass(frozen=True, eq=False)
class Dozen:
    """The notions of all models, and how they order them."""

    measures: Mapping[str, Measures]

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """Values of all models by notion, turned so that more is better."""
        return {
            key: np.array(
                [
                    m.values[key].value * (1 if notion.higher_is_better else -1)
                    for m in self.measures.values()
                ]
            )
            for key, notion in NOTIONS.items()
        }

    @cached_property
    def ranks(self) -> dict[str, FloatArray]:
        """Places of all models by notion, from 1, the best; equal values share a place."""
        from scipy.stats import rankdata  # slow to load

        return {key: rankdata(-values) for key, values in self.values.items()}

    @cached_property
    def order(self) -> dict[tuple[str, str], Estimate]:
        """Rank correlation of every two notions, where models differ in both."""
        found = {}
        if len(self.measures) < LEAST:
            return {}
        for first, second in combinations(NOTIONS, 2):
            try:
                found[first, second] = spearman(self.values[first], self.values[second])
            except UndefinedError:  # all models have the same value
                continue
        return found

    @cached_property
    def shown(self) -> dict[tuple[str, str], bool]:
        """Whether each correlation is other than 0, all judged together."""
        return dict(zip(self.order, judge_together([*self.order.values()]), strict=True))

    def tabulate_notions(self) -> NumberTable:
        """Return every notion of every model; the colour is the rank."""
        most = max(len(self.measures) - 1, 1)
        numbers = []
        for place, (model, m) in enumerate(self.measures.items()):
            for key, notion in NOTIONS.items():
                e = rescale(m.values[key])
                heat = 1 - (float(self.ranks[key][place]) - 1) / most
                note = f"± {(e.high - e.low) / 2:.1f}"
                numbers.append(Number(model, e, column=notion.name, note=note, heat=heat))
        title = "Every notion of every model; ± half of the 95 % interval"
        return NumberTable("notion", title, numbers, unit="%", digits=1, corner="model")

    def tabulate_order(self) -> NumberTable:
        """Return all rank correlations, one row per notion."""
        numbers = [
            Number(
                NOTIONS[second].name,
                e,
                column=NOTIONS[first].name,
                note=f"{e.low:.2f} to {e.high:.2f}{' *' if self.shown[first, second] else ''}",
                heat=max(e.value, 0.0),
            )
            for (first, second), e in self.order.items()
        ]
        title = (
            "Do notions order models alike? Spearman's correlation of the places, 1 if alike; "
            "* other than 0 with 95 % confidence for all together (Holm)"
        )
        return NumberTable("order", title, numbers, corner="notion")

    def tabulate_gaps(self) -> NumberTable:
        """Return by how much the worst case is exceeded by what cannot be below it."""
        numbers = [
            Number(model, 100 * gap, column=name)
            for model, m in self.measures.items()
            for name, gap in m.gaps.items()
        ]
        title = "What cannot be below the accuracy in the worst case, minus that accuracy"
        return NumberTable("gap", title, numbers, "points", digits=1, corner="model")

    def describe(self) -> list[str]:
        """Say what holds and what does not, with the numbers that say so."""
        if not self.order:
            return []
        return [
            *self._describe_order(),
            *self._describe_mscr(),
            self._describe_best(),
            self._describe_moves(),
            *self._describe_cells(),
            *self._describe_bounds(),
            f"the {len(self.measures)} models are no random sample: intervals are those of models "
            "like these, and kinds that are alike make them too narrow",
        ]

    def _describe_order(self) -> list[str]:
        alike = [pair for pair, e in self.order.items() if self.shown[pair] and e.value > 0]
        reverse = [pair for pair, e in self.order.items() if self.shown[pair] and e.value < 0]
        by_value = sorted(self.order, key=lambda pair: self.order[pair].value)
        last, first = by_value[0], by_value[-1]
        none = "none" if not reverse else str(len(reverse))
        return [
            f"{len(alike)} of {len(self.order)} pairs of notions are shown to order the models "
            f"alike, {none} in reverse; of the others nothing is shown",
            f"most alike: {self._write(first)}; least: {self._write(last)}",
        ]

    def _describe_mscr(self) -> Iterator[str]:
        """Say what MSCR goes with, and how much that depends on single models."""
        pairs = {
            (set(pair) - {"mscr"}).pop(): e.value
            for pair, e in self.order.items()
            if "mscr" in pair
        }
        order = sorted(pairs, key=lambda key: -pairs[key])
        yield "MSCR goes with " + ", ".join(
            f"{NOTIONS[key].name} {pairs[key]:+.2f}" for key in order
        )
        for pair in (("mscr", "mce"), ("mscr", "mce_lp")):
            if pair in self.order and (without := self._leave_out(*pair)):
                low, high = (f(without, key=lambda m: without[m]) for f in (min, max))
                alone = "shown" if excludes_zero(self.order[pair]) else "not shown"
                among = "shown" if self.shown[pair] else "not shown"
                yield (
                    f"{self._write(pair)}: {alone} if judged alone, {among} among all "
                    f"{len(self.order)} pairs; without one model it is {without[low]:+.2f} "
                    f"(without {low}) to {without[high]:+.2f} (without {high})"
                )

    def _leave_out(self, first: str, second: str) -> dict[str, float]:
        """Return the correlation of two notions without each of the models."""
        names = [*self.measures]
        if len(names) <= LEAST:
            return {}
        found = {}
        for place, name in enumerate(names):
            sides = [np.delete(self.values[key], place) for key in (first, second)]
            with suppress(UndefinedError):  # all others have the same value
                found[name] = spearman(*sides).value
        return found

    def _describe_best(self) -> str:
        names = [*self.measures]
        best: dict[str, list[str]] = {}
        for key, ranks in self.ranks.items():
            for place in np.flatnonzero(ranks == ranks.min()):
                m = self.measures[names[place]]
                is_bound = (key in ("worst", "genuine") and not m.proven) or (
                    key == "distance" and m.inexact > 0
                )
                title = f"{NOTIONS[key].name}{' (an upper bound)' if is_bound else ''}"
                best.setdefault(names[place], []).append(title)
        order = sorted(best, key=lambda name: -len(best[name]))
        return "the best: " + "; ".join(f"{name} by {', '.join(best[name])}" for name in order)

    def _describe_moves(self) -> str:
        """Say which model has the most different places."""
        names, table = [*self.measures], np.array([*self.ranks.values()])
        place = int(np.ptp(table, axis=0).argmax())
        keys, ranks = [*self.ranks], table[:, place]
        low, high = keys[int(ranks.argmin())], keys[int(ranks.argmax())]
        return (
            f"a single notion does not tell the others: {names[place]} has place "
            f"{ranks.min():g} by {NOTIONS[low].name} and {ranks.max():g} of {len(names)} by "
            f"{NOTIONS[high].name}"
        )

    def _describe_cells(self) -> Iterator[str]:
        """Say whether Voronoi cells change what is measured, at small and at large sizes."""
        matter = [name for name, m in self.measures.items() if m.cells_matter]
        if matter:
            yield f"Voronoi cells change the worst case of {list_names(matter)}"
        else:
            yield (
                f"Voronoi cells change the worst case of none of the {len(self.measures)} models: "
                "at every point that falls within half of eps_min, a failure was found that is "
                "closer to it than to any other test point; so genuine repeats the worst case, "
                "and what holds of one counts twice among the pairs"
            )
        most = 100 * max(m.far for m in self.measures.values())
        yield (
            f"at {FAR:g} times eps_min, the genuine accuracy of these models is at most {most:.1f} "
            "%: their failures lie within the cells, where 1-NN on its own points has none, at any "
            "size"
        )

    def _describe_bounds(self) -> Iterator[str]:
        """Say of which models worst cases and distances are no more than bounds."""
        bounded = [name for name, m in self.measures.items() if not m.proven]
        inexact = [f"{name} {m.inexact}" for name, m in self.measures.items() if m.inexact]
        if bounded:
            yield (
                f"worst cases of {', '.join(bounded)} are upper bounds, what attacks left: these "
                "models may be worse than they look, and their places too good; all others are "
                "exact"
            )
        if inexact:
            yield (
                "so are some distances, at so many points: " + ", ".join(inexact) + "; all others "
                "are exact"
            )

    def _write(self, pair: tuple[str, str]) -> str:
        first, second = (NOTIONS[key].name for key in pair)
        return f"{first} and {second}, {format_correlation(self.order[pair])}"

    def draw(self) -> Chart:
        """Draw the places of all models by every notion."""
        from shaketable.reproductions.papers.notions.rank_chart import draw_ranks  # slow to load

        families = {name: maker.family for name, maker in list_makers().items()}
        places = {
            NOTIONS[key].name: dict(zip(self.measures, map(float, ranks), strict=True))
            for key, ranks in self.ranks.items()
        }
        return draw_ranks(places, families)


def tabulate_own(data: Dataset, seed: int) -> NumberTable:
    """Return the worst cases of 1-NN on its own points, the test points."""
    from sklearn.neighbors import KNeighborsClassifier

    from shaketable.adversary.worst_case import worst_case

    n = data.n_train
    own = make_dataset(data.x[n:], data.labels[n:], bounds=(0, 1), name="test digits")
    found = worst_case(
        KNeighborsClassifier(1, metric="chebyshev"),  # the distance of the cells and of eps_min
        own,
        [f"{size:g}*eps_min" for size in _OWN_SIZES],
        norm="inf",
        constraints=["none", "genuine-max"],
        refit=True,
        own=True,
        seed=seed,
        name="1-NN",
    )
    numbers = [
        Number(f"{size:g}", 100 * a.value, column=title)
        for title, curve in zip(("whole ball", "genuine"), found.curves, strict=True)
        for size, a in zip(_OWN_SIZES, curve, strict=True)
    ]
    title = f"Worst cases in L-inf of 1-NN by L-inf on its own points, {own.n} digits"
    return NumberTable("own", title, numbers, "%", digits=1, corner="size, of their eps_min")


def _describe_models(makers: Mapping[str, Maker]) -> str:
    return "models: " + "; ".join(f"{name}, {maker.about}" for name, maker in makers.items())


def _describe_notions() -> str:
    parts = (
        f"{n.name}, {n.about}{'' if n.higher_is_better else ' (lower is better)'}"
        for n in NOTIONS.values()
    )
    return "notions: " + "; ".join(parts)
