"""The page of a worst case: what adversaries found, what is proven, and what to see of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shaketable.adversary import words
from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.charts import curves_chart, map_chart
from shaketable.adversary.curve import Curve
from shaketable.adversary.worst_case import WorstCase
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset
from shaketable.data.facts import describe_data
from shaketable.data.images import are_images
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views import images as pictures
from shaketable.views import page
from shaketable.views.text import join_distinct, join_names, to_sentence

MAX_EXAMPLES = 6
"""Examples that are shown of every measure, the nearest first."""

MAX_MAPS = 6
"""Maps of the plane that are shown at most."""

_FEATURES = 3  # of a point that is no picture: those that moved most


@dataclass(frozen=True)
class Card:
    """What the page says first about one model."""

    model: str
    clean: float
    found: AdversarialAccuracy | None
    """The measure at the largest epsilon at which nothing has to be lost."""
    random: Estimate | None
    sentences: list[str]
    tone: str
    """``kept``, ``lost`` or ``open``."""

    @classmethod
    def of(cls, worst: WorstCase, model: str) -> Card:
        """Card of one of the models."""
        fair = worst.avoidable(model)
        found = fair[0].at if fair else None
        lost = any(one.lost for one in fair)
        proven = bool(fair) and all(one.at.proven for one in fair)
        return cls(
            model=model,
            clean=worst.of(model)[0].clean,
            found=found,
            random=worst.random.get(model, {}).get(found.epsilon) if found else None,
            sentences=[to_sentence(s) for s in worst.sentences(model)],
            tone="lost" if lost else "kept" if proven else "open",
        )


@dataclass(frozen=True)
class Row:
    """One epsilon in the table of a model."""

    epsilon: float
    at_eps_min: bool
    found: list[AdversarialAccuracy]
    """One a measure."""
    random: Estimate | None


@dataclass(frozen=True)
class Comparison:
    """Two models under one measure."""

    name: str
    first: str
    second: str
    by_epsilon: dict[float, Difference]


@dataclass(frozen=True)
class Example:
    """An adversarial example as it is shown."""

    row: int
    label: str
    predicted: str
    distance: float
    images: list[tuple[str, str]]
    """What is seen, and its address: the point, the example, their difference; or none."""
    changes: list[str]
    """Of a point that is no picture: the features that moved most."""


@dataclass(frozen=True)
class Examples:
    """The nearest examples of a measure."""

    curve: Curve
    found: AdversarialAccuracy
    shown: list[Example]


def write_worst_case(
    path: str | Path, found: WorstCase, *, title: str | None = None, notes: Iterable[str] = ()
) -> Path:
    """Write what adversaries found as one HTML page, and return its path.

    What is lost without need comes first, then accuracies along epsilon, which model withstands
    more, examples as pictures or in numbers, maps of the plane for points of two features, and the
    evidence: which attacks ran, how many queries they took, what is proven.

    Parameters
    ----------
    path
        File to write; one that exists is replaced.
    found
        What `worst_case` measured.
    title
        Heading of the page; by default it names models and data.
    notes
        Sentences a reader should know, shown near the top.
    """
    who = join_names(found.models, "models")
    comparisons = _comparisons(found)
    return page.write(
        path,
        "adversary/page.html.j2",
        title=title or f"The worst case for {who} on {found.data.name}",
        notes=list(notes),
        worst=found,
        cards=[Card.of(found, model) for model in found.models],
        tables={model: _rows(found, model) for model in found.models},
        differences=comparisons[: page.MAX_COMPARISONS],
        more_differences=len(comparisons[page.MAX_COMPARISONS :]),
        examples=[e for curve in found.curves if (e := _examples(found, curve)) is not None],
        facts=_facts(found),
        figures={
            "curves": page.drawn(curves_chart, found, caption=words.WORST_CASE),
            "maps": _maps(found) if found.data.d == 2 else [],
        },
    )


def _rows(found: WorstCase, model: str) -> list[Row]:
    curves, noisy = found.of(model), found.random.get(model, {})
    return [
        Row(at[0].epsilon, at[0].epsilon == found.eps_min, list(at), noisy.get(at[0].epsilon))
        for at in zip(*curves, strict=True)
    ]


def _comparisons(found: WorstCase) -> list[Comparison]:
    pairs: dict[tuple[str, str, str], dict[float, Difference]] = {}
    for a, d in found.differences():
        pairs.setdefault((a.name, d.first, d.second), {})[a.epsilon] = d
    return [Comparison(*names, by_epsilon) for names, by_epsilon in pairs.items()]


def _examples(worst: WorstCase, curve: Curve) -> Examples | None:
    """Nearest examples at the smallest epsilon that has any."""
    found = next((a for a in curve if len(a.examples)), None)
    if found is None:
        return None
    away = found.examples.distances(worst.data, worst.p)
    nearest = np.argsort(away, kind="stable")[:MAX_EXAMPLES]
    seen = are_images(worst.data)
    classes = [*map(str, worst.data.classes), "none of the classes"]  # code -1 is the last
    shown = []
    for i in nearest:
        row = int(found.examples.rows[i])
        x, moved = worst.data.rows(np.array([row]))[0], found.examples.moved[i]
        shown.append(
            Example(
                row=worst.data.source_row(row),
                label=classes[worst.data.y[row]],
                predicted=classes[found.examples.codes[i]],
                distance=float(away[i]),
                images=_images(x, moved) if seen else [],
                changes=[] if seen else _changes(worst.data, x, moved),
            )
        )
    return Examples(curve, found, shown)


def _images(x: Array, moved: Array) -> list[tuple[str, str]]:
    step = moved.astype(np.float64) - x
    largest = float(np.abs(step).max()) or 1.0
    shown = {
        "the point": x,
        "what was found": np.clip(moved, 0, 1),
        f"the difference, × {float(f'{0.5 / largest:.2g}'):g}": 0.5 + 0.5 * step / largest,
    }
    return [(name, pictures.to_data_uri(image)) for name, image in shown.items()]


def _changes(data: Dataset, x: Array, moved: Array) -> list[str]:
    """Features that moved most on the scale that distances are in, told in raw units."""
    before, after = x.reshape(1, -1), moved.reshape(1, -1)
    most = np.argsort(-np.abs(after - before)[0], kind="stable")[:_FEATURES]
    if data.scaling is not None:
        before, after = data.scaling.undo(before), data.scaling.undo(after)
    return [
        f"{data.feature_name(i)}: {before[0, i]:.4g} to {after[0, i]:.4g}"
        for i in most
        if before[0, i] != after[0, i]
    ]


def _maps(found: WorstCase) -> list[page.Figure]:
    """Maps of every curve at its largest epsilon."""
    maps = [
        figure
        for curve in found.curves[:MAX_MAPS]
        for figure in page.drawn(
            map_chart, curve, curve.accuracies[-1], caption=words.MAP, own_size=True
        )
    ]
    return maps


def _facts(found: WorstCase) -> dict[str, str]:
    first = found.curves[0]
    every = [a for curve in found.curves for a in curve]
    return describe_data(found.data) | {
        "Points attacked": str(len(first.target.rows)),
        "Norm": found.norm,
        "eps_min": "0: classes touch" if found.eps_min is None else repr(found.eps_min),
        "Epsilon": join_distinct(f"{a.epsilon:.6g}" for a in first),
        "Attacks": join_distinct(t.spec for a in every for t in a.trials) or "none",
        "Value range": str(first.target.bounds or "none"),
        "Seed": str(first.target.seed),
        "Queries": f"{sum(a.queries for a in every):,}",
    }
