"""Balls as people read them in a terminal: volume factors and overlaps."""

from collections.abc import Sequence

from shaketable.core.norms import norm_title
from shaketable.corruptions.balls.numbers import Overlap, VolumeFactor
from shaketable.views.terminal import print_table


def print_volumes(table: Sequence[VolumeFactor]) -> None:
    """Volume factors: one row a dimension, one column a pair of norms."""
    pairs = list(dict.fromkeys((v.p, v.q) for v in table))
    at = {(v.p, v.q, v.d): str(v) for v in table}
    rows = [[str(d), *(at[p, q, d] for p, q in pairs)] for d in dict.fromkeys(v.d for v in table)]
    header = ["d", *(f"{norm_title(p)} : {norm_title(q)}" for p, q in pairs)]
    print_table("how many times larger a ball is than another of the same epsilon", header, rows)


def print_overlap(found: Sequence[Overlap]) -> None:
    """At which sizes balls leave and cover the second one: one row a pair of balls."""
    rows = [
        [norm_title(o.p), _second(o), str(o.d),
         f"{inside:.4g}", f"{over:.4g}", f"{over / inside:.3g}"]
        for o in found
        for inside, over in [(o.first_in_second.half, o.second_in_first.half)]
    ]  # fmt: skip
    print_table(
        "epsilon of the first ball up to which half of its points lie in the second ball, and from "
        "which half of the second's lie in it; a ratio above 1 is a range where neither holds much "
        "of the other",
        ["first ball", "second ball", "d", "inside up to", "covers from", "ratio"],
        rows,
    )


def print_shares(found: Sequence[Overlap]) -> None:
    """Both shares at every epsilon, in per cent with their intervals: a table a pair of balls."""
    for o in found:
        sides = (o.first_in_second, o.second_in_first)
        rows = [
            [f"{e:.4g}", *(_percent(s.value[i], s.low[i], s.high[i]) for s in sides)]
            for i, e in enumerate(o.epsilons)
        ]
        first, second = norm_title(o.p), _second(o)
        print_table(
            f"{first} ball and {second} ball in {o.d} dimensions, {o.n} points from each: per cent "
            "that lie in the other, 95 % intervals in brackets",
            ["epsilon", f"{first} in {second}", f"{second} in {first}"],
            rows,
        )


def _second(o: Overlap) -> str:
    return f"{norm_title(o.q)}({o.epsilon_q:g})"


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
