"""Measure how often certificates by smoothing are wrong, and how attacks compare with them.

Result: the share of wrong certificates stays below what is stated, and close to it for a linear
model; no certified point is refuted by an attack (results/smoothing.md).

The smoothed model of a half-space is the half-space itself, so its true radius at a point is the
distance to the hyperplane. Three intervals on a line have probabilities in closed form. For models
that are trained there is no truth; there attacks on the same smoothed model must leave at least
what is certified, at every point.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date

import numpy as np
from scipy import special

from shaketable.adversary.smoothing.model import smoothed
from shaketable.adversary.smoothing.numbers import Certificates
from shaketable.core.types import FloatArray, IntArray
from shaketable.data.files import load
from shaketable.models.fitting import fit
from shaketable.models.loading import load_model
from shaketable.statistics import intervals

POINTS = 20_000
HALF_SPACES = ((2, 0.5), (20, 0.5), (784, 0.5), (20, 4.0))
"""Dimensions, and distances of the points from the plane, as a standard deviation in sigmas."""
SETTINGS = ((1000, 0.95), (1000, 0.99), (100, 0.95), (100, 0.999))
"""Draws and confidence."""
REPEATED, FEW = 400, 200


class HalfSpace:
    """Right of a hyperplane or left of it."""

    def __init__(self, d: int) -> None:
        self.normal = np.random.default_rng(d).normal(size=d)
        self.normal /= np.linalg.norm(self.normal)

    def __call__(self, x: FloatArray) -> IntArray:
        """Return 1 on the side of the normal, else 0."""
        return (x @ self.normal > 0).astype(np.int64)

    def place(self, n: int, spread: float) -> tuple[FloatArray, FloatArray]:
        """Points, and their distances from the plane, normal with this standard deviation."""
        rng = np.random.default_rng(n)
        x = rng.normal(size=(n, len(self.normal)))
        distance = spread * rng.normal(size=n)
        return x + (distance - x @ self.normal)[:, None] * self.normal, np.abs(distance)


def describe_share(wrong: int, n: int) -> str:
    """Share in per cent with its 95 % interval."""
    e = intervals.proportion(wrong, n)
    return f"{100 * e.value:.2f} ({100 * e.low:.2f} to {100 * e.high:.2f})"


def count_wrong(found: Certificates, distance: FloatArray) -> int:
    """Number of certificates that reach beyond the true radius, or have the wrong class."""
    return int((found.radius > np.where(found.attacked.right, distance, 0)).sum())


def measure_half_space(d: int, spread: float, draws: int, confidence: float) -> str:
    """One row: how often radii of a half-space are above the distance."""
    model = HalfSpace(d)
    n = min(POINTS, 400_000_000 // (d * draws) or 1)
    x, distance = model.place(n, 0.25 * spread)
    given = smoothed(model, 0.25, draws=draws, confidence=confidence)
    start = time.process_time()
    found = given.certify((x, model(x)))
    cpu = (time.process_time() - start) / n
    reachable = np.minimum(distance, found.largest)
    return (
        f"| half-space, d = {d}, distances {spread:g} sigma | {draws:,} | "
        f"{100 - 100 * confidence:g} | {n:,} | {describe_share(count_wrong(found, distance), n)} | "
        f"{found.radius.mean() / reachable.mean():.3f} | {100 * found.abstained.mean():.1f} | "
        f"{1000 * cpu:.2f} |"
    )


def thirds(x: FloatArray) -> IntArray:
    """Return the interval of a line that a point is in: below 0, up to 1, above."""
    return np.digitize(x[:, 0], [0.0, 1.0])


def measure_thirds(draws: int, confidence: float) -> str:
    """One row: how often bounds of the probability are above it, for three classes."""
    sigma, x = 0.5, np.linspace(-1, 2, POINTS)[:, None]
    start = time.process_time()
    found = smoothed(thirds, sigma, draws=draws, confidence=confidence).certify((x, thirds(x)))
    cpu = (time.process_time() - start) / POINTS
    below = special.ndtr((np.array([[0.0, 1.0]]) - x) / sigma)
    exact = np.column_stack([below[:, 0], below[:, 1] - below[:, 0], 1 - below[:, 1]])
    p = exact[np.arange(POINTS), found.codes]
    true = np.maximum(0, sigma * special.ndtri(p))
    reachable = np.minimum(true, found.largest)
    return (
        f"| three intervals, probability of the class | {draws:,} | {100 - 100 * confidence:g} | "
        f"{POINTS:,} | {describe_share(int((found.lower > p).sum()), POINTS)} | "
        f"{found.radius.mean() / reachable.mean():.3f} | {100 * found.abstained.mean():.1f} | "
        f"{1000 * cpu:.2f} |"
    )


def measure_joint() -> str:
    """How often the statements about all certificates together hold, over seeds."""
    model = HalfSpace(2)
    x, distance = model.place(FEW, 0.125)
    wrong = np.array(
        [
            count_wrong(
                smoothed(model, 0.25, draws=200, confidence=0.99, seed=seed).certify((x, model(x))),
                distance,
            )
            for seed in range(REPEATED)
        ]
    )
    found = smoothed(model, 0.25, draws=200, confidence=0.99).certify((x, model(x)))
    return (
        f"Over {REPEATED} seeds with {FEW} certificates each at 99 %: at most {found.most_wrong} "
        f"were wrong in {100 * (wrong <= found.most_wrong).mean():.1f} % of the seeds (stated: at "
        f"least 95), any was wrong in {100 * (wrong > 0).mean():.1f} % (stated: at most "
        f"{100 * found.any_wrong:.1f}); on average {wrong.mean():.2f} were (stated: at most "
        f"{FEW * 0.01:g})."
    )


def measure_attacks(
    name: str, found: Certificates, attacks: Sequence[str], distance: FloatArray | None = None
) -> list[str]:
    """Rows: certified, true where it is known, and left by attacks; and contradictions."""
    start = time.process_time()
    attacked = found.attack(attacks)
    cpu = time.process_time() - start
    rows = []
    for epsilon, certified, at in zip(found.epsilons, found.curve(), attacked.refuted, strict=True):
        proven = found.attacked.right & (found.radius > epsilon)
        true = "" if distance is None else f"{100 * (distance > epsilon).mean():.1f}"
        rows.append(
            f"| {name} | {epsilon:g} | {100 * certified.value:.1f} | {true} | "
            f"{100 * at.left.value:.1f} | {at.unconfirmed} | {int((proven & at.points).sum())} | "
            f"{cpu:.0f} |"
        )
    return rows


def certify_builtin(model: str, data: str, sigma: float, epsilons: list[float]) -> Certificates:
    """Certificates of a built-in model at test points."""
    dataset = load(data)
    train, test = dataset.parts()
    fitted = fit(load_model(model)[0], dataset, train, seed=0)
    rows = np.sort(test)[:100]
    given = smoothed(fitted, sigma, draws=2000)
    return given.certify((dataset.x[rows], dataset.labels[rows]), epsilons)


def main() -> None:
    """Measure all cases, and print the tables."""
    start = time.process_time()
    rows = [
        measure_half_space(d, spread, draws, confidence)
        for d, spread in HALF_SPACES
        for draws, confidence in SETTINGS
    ]
    rows += [measure_thirds(draws, confidence) for draws, confidence in SETTINGS]
    joint = measure_joint()
    plane = HalfSpace(10)
    x, distance = plane.place(200, 0.5)
    line = smoothed(plane, 0.25, draws=2000).certify((x, plane(x)), [0.1, 0.25, 0.5])
    attacks = ["random(queries=25)", "rays(queries=100)"]
    left = measure_attacks("half-space, d = 10", line, attacks, distance)
    left += measure_attacks("the same, 1,000 queries", line, ["rays(queries=1000)"], distance)
    forest = certify_builtin("rf", "bands(n=1000)", 0.05, [0.02, 0.05, 0.1])
    left += measure_attacks("rf on bands", forest, ["rays(queries=100)"])
    forest = certify_builtin("rf", "digits", 3.0, [1.0, 3.0, 6.0])
    left += measure_attacks("rf on digits", forest, attacks)
    linear = certify_builtin("logistic", "iris", 0.5, [0.1, 0.3, 0.6])
    left += measure_attacks("logistic on iris", linear, attacks)
    minutes = (time.process_time() - start) / 60
    print("# Certificates by smoothing: how often they are wrong")
    print(
        f"\nWritten by `benchmarks/coverage/smoothing.py` on {date.today()} in {minutes:.1f} CPU "
        "minutes of one shared core of an AMD EPYC. *Wrong* is "
        "the share of certificates whose radius is above the true one, or whose class is not that "
        "of the smoothed model; of three intervals, of bounds above the true probability. *Size* "
        "is the mean certified radius over the mean of the true one, as far as so many draws can "
        "prove it.\n"
    )
    print("| case | draws | stated, % | points | wrong, % | size | abstain, % | CPU ms per point |")
    print("|---" * 8 + "|")
    print("\n".join(rows))
    print(f"\n{joint}\n\n## Beside attacks on the same smoothed model\n")
    print(
        "| model | L2 epsilon | certified, % | true, % | left by attacks, % | unconfirmed points | "
        "certified and refuted | CPU s of the attack, all sizes |"
    )
    print("|---" * 8 + "|")
    print("\n".join(left))


if __name__ == "__main__":
    main()
