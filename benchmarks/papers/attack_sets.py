"""Compare what runs by default with AutoAttack, exact answers, ART, and covers of cells.

    python benchmarks/papers/attack_sets.py autoattack --points 1000
    python benchmarks/papers/attack_sets.py exact --points 200
    python benchmarks/papers/attack_sets.py art --points 60
    python benchmarks/papers/attack_sets.py cells --points 300

autoattack: AutoAttack's standard set (APGD-CE, targeted APGD and FAB with 9 classes and 100 steps,
Square with 5000 queries) on small networks for the 8x8 digits: one trained as usual, one against
adversaries, one whose gradients are masked (its input is rounded).

exact: the searches alone, without provers, beside the distances that provers know.

art: HopSkipJump and ZOO of ART. Each point has 1200 queries on both sides, which are counted. What
ART asks about counts: any point in the ball that is misclassified, whatever it returns in the end.

cells: genuine accuracy in the plane and in 8 dimensions, with points brought back into their cells
along the ray alone and pushed across its walls; in the plane beside a cover.

Needs torch, xgboost, lightgbm, pyautoattack and adversarial-robustness-toolbox.
Results: results/attack_sets.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import packages_distributions, version
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor, nn

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.brackets import prove
from shaketable.adversary.curve import compute_curve
from shaketable.adversary.effort import choose_attacks
from shaketable.adversary.region import TOLERANCE, Constraint
from shaketable.adversary.target import Target
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.norms import norm_title, pnorm
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.arrays import make_dataset
from shaketable.data.builtin import build
from shaketable.statistics.intervals import mean_difference

SEED = 0
QUERIES = 1200  # per point: those of effort 3 for models without gradients

SIZES = {"plain": {np.inf: 0.1, 2.0: 0.5}, "adversarial": {np.inf: 0.25, 2.0: 1.0}}
SIZES["masked"] = SIZES["plain"]


class Rounded(nn.Module):
    """Rounds values to 16 levels: the gradient is 0."""

    def forward(self, x: Tensor) -> Tensor:
        """Round."""
        return torch.round(x * 16) / 16


def train_network(kind: str, x: Array, y: Array) -> nn.Module:
    """Train a small convolutional network on images in [0, 1]."""
    torch.manual_seed(SEED)
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU()]
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(288, 10))
    optimiser = torch.optim.Adam(module.parameters(), 2e-3)
    points, labels = torch.from_numpy(x)[:, None], torch.from_numpy(y)
    for _ in range(40):
        for part in torch.split(torch.randperm(len(points)), 100):
            at = points[part]
            if kind == "adversarial":
                at = at.clone().requires_grad_()
                loss = nn.functional.cross_entropy(module(at), labels[part])
                (gradient,) = torch.autograd.grad(loss, at)
                at = (at + 0.15 * gradient.sign()).clamp(0, 1).detach()
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(module(at), labels[part])
            torch.autograd.backward(loss)
            optimiser.step()
    return nn.Sequential(Rounded(), module) if kind == "masked" else module.eval()


def compare_autoattack(points: int) -> Iterator[str]:
    """Yield the table for networks."""
    yield from head(
        "network | ball | clean | robust: ours | theirs | difference | our queries per point "
        "| CPU s: ours | theirs"
    )
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 8, 8)
    test, test_y = x[:points], y[:points]
    for kind, sizes in SIZES.items():
        module = train_network(kind, x[points:], y[points:].astype(np.int64))
        target = Target.of(module, make_dataset(test, test_y, bounds=(0, 1)), seed=SEED)
        for p, epsilon in sizes.items():
            kept, theirs = measure(lambda: run_autoattack(module, test, test_y, p, epsilon))  # noqa: B023
            ours, taken = measure(  # as it runs, with what follows masked gradients
                lambda: compute_curve(target, [epsilon], norm=p).accuracies[0]  # noqa: B023
            )
            yield row(
                kind,
                f"{norm_title(p)} {epsilon:g}",
                f"{target.right.mean():.3f}",
                f"{ours.value:.4f}",
                f"{kept.mean():.4f}",
                compare(ours.withstood, kept, 4),
                f"{count(ours):.0f}",
                f"{taken:.0f}",
                f"{theirs:.0f}",
            )


def run_autoattack(module: nn.Module, x: Array, y: Array, p: float, epsilon: float) -> Array:
    """Whether points withstand AutoAttack's standard set."""
    make = import_module("pyautoattack").AutoAttack
    norm = "Linf" if np.isinf(p) else "L2"
    attack = make(module, norm=norm, eps=epsilon, version="standard", seed=SEED)
    given, labels = torch.from_numpy(x)[:, None], torch.from_numpy(y.astype(np.int64))
    moved = attack.run_standard_evaluation(given, labels, batch_size=len(x))
    moved = moved[0] if isinstance(moved, tuple) else moved
    with torch.no_grad():
        return np.asarray((module(moved).argmax(1) == labels).numpy())


def draw(d: int, classes: int = 2, n: int = 900) -> tuple[FloatArray, IntArray]:
    """Points in [0, 1]: the 8x8 digits for d = 64, else made ones."""
    if d == 64:
        x, y = load_digits(return_X_y=True)
        return x / 16, y
    informative = max(d // 2 + 1, 3)
    x, y = make_classification(
        n, d, n_informative=informative, n_redundant=0, n_classes=classes, random_state=SEED
    )
    return (x - x.min(0)) / np.ptp(x, axis=0), y


def list_exact() -> list[tuple[str, int, int, Sequence[float], Any]]:
    """Name, dimensions, classes, norms and estimator of models whose distances are known."""
    boosters = import_module("xgboost").XGBClassifier, import_module("lightgbm").LGBMClassifier
    known: dict[str, Any] = {"random_state": SEED, "n_jobs": 1}
    cube, both = (np.inf,), (np.inf, 2.0)
    return [
        ("tree", 20, 2, both, DecisionTreeClassifier(random_state=SEED)),
        ("forest of 10", 20, 2, both, RandomForestClassifier(10, random_state=SEED)),
        ("forest of 100", 8, 2, cube, RandomForestClassifier(100, random_state=SEED)),
        ("gradient boosting", 20, 2, both, GradientBoostingClassifier(random_state=SEED)),
        ("gradient boosting", 8, 3, cube, GradientBoostingClassifier(random_state=SEED)),
        ("histogram boosting", 20, 2, cube, HistGradientBoostingClassifier(random_state=SEED)),
        ("XGBoost, 50 trees", 20, 2, cube, boosters[0](n_estimators=50, max_depth=4, **known)),
        ("LightGBM, 50 trees", 20, 2, cube, boosters[1](n_estimators=50, verbose=-1, **known)),
        ("logistic", 8, 2, both, LogisticRegression(C=10, max_iter=1000)),
        ("logistic", 60, 2, (np.inf, 2.0, 1.0), LogisticRegression(C=10, max_iter=1000)),
        ("logistic, digits", 64, 10, both, LogisticRegression(C=10, max_iter=1000)),
        ("ridge", 60, 2, both, RidgeClassifier()),
        ("linear SVM", 60, 2, both, LinearSVC(max_iter=20_000)),
    ]


def compare_exact(points: int) -> Iterator[str]:
    """Yield the table for models whose distances provers know."""
    yield from head(
        "model | d | classes | ball | withstand, proven | open | default search | missed "
        "| `random(1200)` | queries per point | CPU s: proofs | search"
    )
    for name, d, classes, norms, estimator in list_exact():
        x, y = draw(d, classes)
        model = estimator.fit(x[points : points + 700], y[points : points + 700])
        target = Target.of(model, make_dataset(x[:points], y[:points], bounds=(0, 1)), seed=SEED)
        for p in norms:
            reach = 1.0 if np.isinf(p) else float(d) ** (1 / p)
            brackets, proving = measure(
                lambda: prove(target, target.make_region(p, reach, "none"))  # noqa: B023
            )
            found = brackets.high[target.right & np.isfinite(brackets.high)]
            epsilon = float(f"{np.median(found):.2g}")
            kept = target.right & (brackets.low >= epsilon)
            decided = kept | (brackets.high <= epsilon)
            ours, taken = measure(lambda: search(target, p, epsilon))  # noqa: B023
            random = search(target, p, epsilon, attacks=[f"random({QUERIES})"])
            assert not (kept & ~ours.withstood).any(), "a proof and an example contradict"
            yield row(
                name,
                d,
                classes,
                f"{norm_title(p)} {epsilon:g}",
                f"{kept.mean():.3f}",
                int((~decided).sum()),
                f"{ours.value:.3f}",
                compare(ours.withstood[decided], kept[decided], 3),
                f"{random.value:.3f}",
                f"{count(ours):.0f}",
                f"{proving:.1f}",
                f"{taken:.1f}",
            )


def compare_art(points: int) -> Iterator[str]:
    """Yield the table for models of scikit-learn, with as many queries on both sides."""
    yield from head(
        "model | d | ball | theirs | what ours sees | robust: ours | theirs | difference "
        "| queries per point: ours | theirs | CPU s: ours | theirs"
    )
    estimators: dict[str, Any] = {
        "logistic": LogisticRegression(C=10, max_iter=1000),
        "MLP": MLPClassifier((32,), max_iter=400, random_state=SEED),
        "SVC": SVC(),
        "forest of 30": RandomForestClassifier(30, random_state=SEED),
    }
    for d in (8, 64):
        x, y = draw(d)
        x = x.astype(np.float32)
        data = make_dataset(x[:points], y[:points], bounds=(0, 1))
        for name, estimator in estimators.items():
            model = estimator.fit(x[points : points + 700], y[points : points + 700])
            sides = {"labels": model.predict, "scores": model}
            for p, epsilon in ((np.inf, 0.06 if d == 8 else 0.1), (2.0, 0.12 if d == 8 else 0.5)):
                contests = [("HopSkipJump", "labels"), ("HopSkipJump", "scores")]
                if p == 2 and hasattr(model, "predict_proba"):
                    contests.append(("ZOO", "scores"))
                known: dict[str, Any] = {}
                for theirs, seen in contests:
                    if theirs not in known:
                        known[theirs] = measure(
                            lambda: run_art(theirs, model, data.x, data.y, p, epsilon)  # noqa: B023
                        )
                    (kept, asked), their_time = known[theirs]
                    target = Target.of(sides[seen], data, name=name, seed=SEED)
                    ours, taken = measure(lambda: search(target, p, epsilon))  # noqa: B023
                    yield row(
                        name,
                        d,
                        f"{norm_title(p)} {epsilon:g}",
                        theirs,
                        seen,
                        f"{ours.value:.3f}",
                        f"{kept.mean():.3f}",
                        compare(ours.withstood, kept, 3),
                        f"{count(ours):.0f}",
                        f"{asked:.0f}",
                        f"{taken:.1f}",
                        f"{their_time:.1f}",
                    )


class Stop(Exception):  # noqa: N818  (no error)
    """The budget is spent, or a point is found."""


class Counted:
    """A model that ends an attack on one point after so many queries, or at the first hit."""

    def __init__(self, model: Any, x: Array, y: int, p: float, epsilon: float) -> None:
        self.model, self.x, self.y, self.p, self.epsilon = model, x, y, p, epsilon
        self.asked, self.found = 0, False

    def __call__(self, rows: Array) -> Array:
        """Answer with probabilities, or with 0 and 1."""
        rows = np.asarray(rows)[: QUERIES - self.asked]
        if not len(rows):
            raise Stop
        self.asked += len(rows)
        if hasattr(self.model, "predict_proba"):
            answer = np.asarray(self.model.predict_proba(rows))
            labels = self.model.classes_[answer.argmax(axis=1)]
        else:
            labels = self.model.predict(rows)
            answer = np.asarray(labels[:, None] == self.model.classes_, np.float64)
        away = pnorm(rows.astype(np.float64) - self.x, self.p)
        inside = (away <= self.epsilon * (1 + TOLERANCE)) & ((rows >= 0) & (rows <= 1)).all(axis=1)
        self.found = bool((inside & (labels != self.y)).any())
        if self.found or self.asked == QUERIES:
            raise Stop
        return answer


def run_art(  # noqa: PLR0917  (as in the other comparison)
    name: str, model: Any, x: Array, y: IntArray, p: float, epsilon: float
) -> tuple[Array, float]:
    """Whether points withstand an attack of ART, and its mean number of queries per point."""
    evasion = import_module("art.attacks.evasion")
    make = import_module("art.estimators.classification").BlackBoxClassifier
    kept, asked = np.asarray(model.predict(x) == y), 0
    for i in np.flatnonzero(kept):
        counted = Counted(model, x[i].astype(np.float64), int(y[i]), p, epsilon)
        classifier = make(counted, x.shape[1:], int(y.max()) + 1, clip_values=(0, 1))
        np.random.seed(SEED)  # noqa: NPY002  (ART draws from the global generator)
        if name == "ZOO":
            attack = evasion.ZooAttack(
                classifier,
                max_iter=QUERIES,
                learning_rate=0.05,
                use_resize=False,
                use_importance=False,
                nb_parallel=min(x.shape[1], 16),
                variable_h=0.05,
                verbose=False,
            )
        else:
            attack = evasion.HopSkipJump(
                classifier,
                norm=np.inf if np.isinf(p) else 2,
                max_iter=QUERIES,
                max_eval=150,
                init_eval=20,
                init_size=50,
                verbose=False,
            )
        with suppress(Stop):
            attack.generate(x[i : i + 1], y=np.eye(int(y.max()) + 1)[y[i : i + 1]])
        kept[i], asked = not counted.found, asked + counted.asked
    return kept, asked / len(x)


def compare_cells(points: int) -> Iterator[str]:
    """Yield the table for Voronoi cells: three networks, with the same points."""
    yield from head(
        "data | norm | attacks | cover | ray | pushed | pushed minus ray "
        "| queries per point: ray | pushed | CPU s: ray | pushed"
    )
    made = draw(8, n=points)
    sets = {name: build(f"{name}(n={points})") for name in ("bands", "sunset")}
    every = {name: (data.x, data.y, 0.2) for name, data in sets.items()}
    every["made, d = 8"] = (*made, 0.3)
    for name, (given, y, epsilon) in every.items():
        x = given.astype(np.float32)
        networks = [train_dense(x, y, seed) for seed in range(3)]
        targets = [Target.of(n, make_dataset(x, y), seed=SEED) for n in networks]
        for p in (2.0, 1.0, np.inf):
            cover = "–"
            if x.shape[1] == 2:
                covers = [search(t, p, epsilon, "genuine-max", ["cover(0.02)"]) for t in targets]
                cover = f"{np.mean([a.value for a in covers]):.3f}"
            default = ["pgd(20)", "apgd(100, loss=ce)", "apgd(100, 1, loss=targeted)", "square"]
            for attacks in (["pgd(20)"], default):
                hits, queries, taken = [], [], []
                for way in (along_ray, contextmanager(lambda: iter([None]))):
                    with way():
                        found, seconds = measure(
                            lambda: [
                                search(t, p, epsilon, "genuine-max", attacks)  # noqa: B023
                                for t in targets  # noqa: B023
                            ]
                        )
                    hits.append(np.sum([a.withstood for a in found], axis=0))
                    queries.append(np.mean([count(a) for a in found]))
                    taken.append(seconds)
                yield row(
                    name,
                    norm_title(p),
                    "all" if attacks is default else "`pgd(20)`",
                    cover,
                    *(f"{each.mean() / 3:.3f}" for each in hits),
                    compare(hits[1], hits[0], 3, k=3),
                    *(f"{each:.0f}" for each in queries),
                    *(f"{each:.1f}" for each in taken),
                )


@contextmanager
def along_ray() -> Iterator[None]:
    """Points that left their cell come back along the ray alone."""
    with patch.object(VoronoiCells, "push_inside", lambda self, rows, moved, width: moved):  # noqa: ARG005
        yield


def train_dense(x: Array, y: IntArray, seed: int) -> nn.Module:
    """Train a small dense network."""
    torch.manual_seed(seed)
    module = nn.Sequential(
        nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimiser = torch.optim.Adam(module.parameters(), 1e-2)
    points, labels = torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))
    for _ in range(200):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(module(points), labels)
        torch.autograd.backward(loss)
        optimiser.step()
    return module.eval()


def search(
    target: Target,
    p: float,
    epsilon: float,
    constraint: Constraint = "none",
    attacks: Sequence[str] | None = None,
) -> AdversarialAccuracy:
    """Accuracy that attacks leave, without provers; by default those that effort 3 chooses."""
    region = target.make_region(p, epsilon, constraint)
    chosen: Any = choose_attacks(target.classifier, region) if attacks is None else [*attacks]
    curve = compute_curve(target, [epsilon], norm=p, constraint=constraint, attacks=chosen)
    return curve.accuracies[0]


def measure(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its CPU time in seconds."""
    started = time.process_time()
    return call(), time.process_time() - started


def compare(ours: Array, theirs: Array, digits: int, k: int = 1) -> str:
    """Paired difference, ours minus theirs, with its 95 % interval."""
    gap = mean_difference(ours.astype(int), theirs.astype(int), k=k)
    ends = (f"{each:+.{digits}f}" for each in (gap.value, gap.low, gap.high))
    return "{} ({} to {})".format(*ends)


def count(found: AdversarialAccuracy) -> float:
    """Queries per point."""
    return sum(trial.queries for trial in found.trials) / len(found.withstood)


def head(columns: str) -> Iterator[str]:
    """First lines of a table."""
    yield f"| {columns} |"
    yield "|" + " --- |" * (columns.count("|") + 1)


def row(*cells: Any) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print a table."""
    parts = {
        "autoattack": compare_autoattack,
        "exact": compare_exact,
        "art": compare_art,
        "cells": compare_cells,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("against", choices=parts)
    parser.add_argument("--points", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    packages = ["torch", "sklearn", "xgboost", "lightgbm", "pyautoattack", "art"]
    home = packages_distributions()
    known = [home[name][0] for name in packages if name in home]
    print(", ".join(f"{name} {version(name)}" for name in known) + f"; seed {SEED}\n")
    started = time.process_time()
    for line in parts[options.against](options.points):
        print(line, flush=True)
    print(f"\n{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
