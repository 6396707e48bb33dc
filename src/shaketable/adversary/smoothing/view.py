"""What is shown of certificates: certified accuracy by epsilon, and what is guaranteed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.core.norms import norm_title
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Facts,
    Heading,
    Sentence,
    Table,
)
from shaketable.views.numbers import format_distance, format_share

if TYPE_CHECKING:
    from shaketable.adversary.smoothing.numbers import Certificates
    from shaketable.views import drawing

_LEAD = (
    "All numbers are of the smoothed model: of every point the class that the model inside answers "
    "most often under Gaussian noise. They prove nothing about the model inside"
)
_CHART = (
    "The share of points with the right label that is proven to stay within epsilon, with 95 % "
    "intervals. Points are what attacks on the same smoothed model left, an upper bound."
)
_ATTACKED = (
    "left by attacks counts points at which no wrong answer of the smoothed model is shown. Its "
    "accuracy at the worst points lies between the two columns, with the confidence below"
)


def make_blocks(found: Sequence[Certificates]) -> list[Block]:
    """Return headline, certified accuracies, guarantees and settings of all models."""

    def draw() -> drawing.Chart:
        from shaketable.adversary.smoothing.charts import certified_chart  # altair is slow

        return certified_chart(found)

    first = found[0]
    attacked = any(each.refuted for each in found)
    return [
        Heading("Certified by smoothing", "smoothing", "Smoothing"),
        Sentence(f"{first.n} points, noise of sigma {first.sigma:g}", first.attacked.data),
        Sentence(_LEAD),
        Cards([_make_card(each) for each in found]),
        Chart(draw, _CHART),
        *map(_tabulate, found),
        *([Sentence(_ATTACKED)] if attacked else []),
        *(Sentence(text, each.model) for each in found for text in _describe_attack(each)),
        *map(Sentence, _describe_guarantee(first)),
        _list_settings(first),
        Definition("g(x) = arg max_c P(f(x + δ) = c), δ ~ N(0, σ²I); R = σ Φ⁻¹(p)", _SOURCE),
    ]


_SOURCE = "Cohen, Rosenfeld & Kolter, Certified adversarial robustness via randomized smoothing"


def _make_card(found: Certificates) -> Card:
    """Certified accuracy at the first size above 0."""
    epsilon = next((e for e in found.epsilons if e > 0), found.epsilons[0])
    abstained = int(found.abstained.sum())
    clean = f"accuracy: {format_share(found.accuracy.value)} on the points as they are"
    return Card(
        found.model,
        found.certified(epsilon),
        f"certified accuracy ({norm_title(found.p)} epsilon {format_distance(epsilon)})",
        sentences=[f"{abstained} of {found.n} points abstain: nothing is certified for them"],
        asides=[clean],
        tone="kept",
    )


def _tabulate(found: Certificates) -> Table:
    """One row per size: certified, left by attacks, and the same size in L-inf."""
    refuted = {each.epsilon: each for each in found.refuted}
    rows: list[list[Cell]] = []
    for epsilon, estimate in zip(found.epsilons, found.curve(), strict=True):
        at = refuted.get(epsilon)
        note = f"{at.unconfirmed} more unconfirmed" if at is not None and at.unconfirmed else ""
        linf = epsilon / found.d**0.5 if found.p == 2 else None
        rows.append([epsilon, estimate, None if at is None else Entry(at.left, note), linf])
    return Table(
        f"certified accuracy of {found.model} by {norm_title(found.p)} epsilon, with 95 % "
        "intervals",
        (
            Column("epsilon", "distance"),
            Column("certified", "rate", quantity="certified accuracy"),
            Column("left by attacks", "rate", quantity="adversarial accuracy"),
            Column("proven in L-inf for", "distance"),
        ),
        rows,
        limit=200,
    )


def _describe_attack(found: Certificates) -> list[str]:
    if not found.refuted:
        return []
    specs = dict.fromkeys(spec for each in found.refuted for spec in each.attacks)
    return [f"attacked by {', '.join(specs) or 'nothing'}, each query a vote of {found.select}"]


def _describe_guarantee(found: Certificates) -> list[str]:
    """Say what is proven, with which probability, and in which norms."""
    alpha = 1 - found.confidence
    wrong = f"at most {found.most_wrong} of the {found.n} are" if found.most_wrong else "none is"
    return [
        f"each certificate is wrong with a probability of at most {alpha:.3g}; with 95 % "
        f"confidence {wrong}, and the probability that any is wrong is at most "
        f"{found.any_wrong:.2g}",
        f"on new points, the accuracy of the smoothed model at its worst points is at least the "
        f"lower end of the interval less {alpha:.3g}",
        f"radii are in L2; in L1 they hold as they are, as no L2 norm exceeds the L1 norm, and in "
        f"L-inf divided by the root of {found.d}, the number of values that noise changes",
        f"{found.draws:,} draws prove radii up to {format_distance(found.largest)} in L2, however "
        "sure the model is",
    ]


def _list_settings(found: Certificates) -> Facts:
    bounds = found.attacked.bounds
    clipped = "no" if bounds == "none" else f"to {bounds}, as a part of the model inside"
    return Facts(
        [
            ("sigma", f"{found.sigma:g}"),
            ("draws that bound the probability", f"{found.draws:,}"),
            ("draws that select the class", f"{found.select:,}"),
            ("confidence of a certificate", f"{100 * found.confidence:g} %"),
            ("noisy points are clipped", clipped),
            ("seed", str(found.attacked.seed)),
        ],
        "Settings",
    )
