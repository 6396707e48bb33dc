"""Tables of balls in the terminal: volume factors and overlaps."""

from collections.abc import Sequence

from shaketable.core.norms import norm_title
from shaketable.corruptions.balls.numbers import Overlap, VolumeFactor
from shaketable.views.terminal import print_table


def print_volumes(table: Sequence[VolumeFactor]) -> None:
    """Print volume factors, one row per dimension and one column per pair of norms."""
    pairs = list(dict.fromkeys((v.p, v.q) for v in table))
    at = {(v.p, v.q, v.d): str(v) for v in table}
    rows = [[str(d), *(at[p, q, d] for p, q in pairs)] for d in dict.fromkeys(v.d for v in table)]
    header = ["d", *(f"{norm_title(p)} : {norm_title(q)}" for p, q in pairs)]
    print_table("ratio of the volumes of two balls of the same epsilon", header, rows)


def print_overlap(overlaps: Sequence[Overlap]) -> None:
    """Print the sizes at which balls leave and cover the second one, one row per pair of balls."""
    rows = []
    for o in overlaps:
        inside, over = o.first_in_second.half, o.second_in_first.half
        sizes = [f"{inside:.4g}", f"{over:.4g}", f"{over / inside:.3g}"]
        rows.append([norm_title(o.p), _second(o), str(o.d), *sizes])
    print_table(
        "inside up to: largest epsilon at which half of the first ball lies in the second; covers "
        "from: smallest epsilon at which the first ball holds half of the second; if the ratio is "
        "above 1, then between the two neither ball holds half of the other",
        ["first ball", "second ball", "d", "inside up to", "covers from", "ratio"],
        rows,
    )


def print_shares(overlaps: Sequence[Overlap]) -> None:
    """Print both shares at every epsilon, in per cent with intervals, one table per pair."""
    for o in overlaps:
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
