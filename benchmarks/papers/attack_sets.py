"""Compare what runs by default with AutoAttack and ART: robust accuracy at equal budget, paired.

Against AutoAttack's standard set (APGD-CE, targeted APGD and FAB with 9 classes and 100 steps,
Square with 5000 queries): small networks on the 8x8 digits, one trained as usual, one against
adversaries, one whose gradients are masked (its input is rounded). Against HopSkipJump of ART, with
about as many queries as ours may use: models of scikit-learn. Against Veritas (dtai-veritas), which
is exact: forests and boosting in L-inf. Needs torch, pyautoattack and
adversarial-robustness-toolbox, in an environment of their own.

    python benchmarks/papers/attack_sets.py autoattack --points 500
    python benchmarks/papers/attack_sets.py art --points 60
    python benchmarks/papers/attack_sets.py veritas --points 150

Results: results/attack_sets.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from torch import Tensor, nn

from shaketable.adversary.curve import compute_curve
from shaketable.adversary.target import Target
from shaketable.core.norms import norm_title
from shaketable.core.types import Array
from shaketable.data.arrays import make_dataset
from shaketable.statistics.intervals import mean_difference

SIZES = {"plain": {np.inf: 0.1, 2.0: 0.5}, "adversarial": {np.inf: 0.25, 2.0: 1.0}}
SIZES["masked"] = SIZES["plain"]


class Rounded(nn.Module):
    """Rounds values to 16 levels: the gradient is 0."""

    def forward(self, x: Tensor) -> Tensor:
        """Round."""
        return torch.round(x * 16) / 16


def train_network(kind: str, x: Array, y: Array) -> nn.Module:
    """Train a small convolutional network on images in [0, 1]."""
    torch.manual_seed(0)
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


def compare_autoattack(points: int, efforts: list[int]) -> Iterator[str]:
    """Yield rows of the table for networks."""
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 8, 8)
    test, test_y = x[:points], y[:points]
    for kind, sizes in SIZES.items():
        module = train_network(kind, x[points:], y[points:].astype(np.int64))
        target = Target.of(module, make_dataset(test, test_y, bounds=(0, 1)))
        for p, epsilon in sizes.items():
            started = time.process_time()
            kept = run_autoattack(module, test, test_y, p, epsilon)
            theirs = time.process_time() - started
            for effort in efforts:
                name = f"{kind} network, effort {effort}"
                yield describe(name, target, p, epsilon, effort, kept, theirs)


def run_autoattack(module: nn.Module, x: Array, y: Array, p: float, epsilon: float) -> Array:
    """Whether points withstand AutoAttack's standard set."""
    make = import_module("pyautoattack").AutoAttack
    norm = "Linf" if np.isinf(p) else "L2"
    attack = make(module, norm=norm, eps=epsilon, version="standard", seed=0)
    given, labels = torch.from_numpy(x)[:, None], torch.from_numpy(y.astype(np.int64))
    moved = attack.run_standard_evaluation(given, labels, batch_size=len(x))
    moved = moved[0] if isinstance(moved, tuple) else moved
    with torch.no_grad():
        return np.asarray((module(moved).argmax(1) == labels).numpy())


def compare_art(points: int) -> Iterator[str]:
    """Yield rows of the table for models of scikit-learn."""
    estimators: dict[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(C=10, max_iter=1000),
        "network of scikit-learn": lambda: MLPClassifier((32,), max_iter=400, random_state=0),
        "forest of 100": lambda: RandomForestClassifier(100, random_state=0),
        "boosting": lambda: GradientBoostingClassifier(random_state=0),
    }
    for d in (8, 64):
        if d == 64:
            x, y = load_digits(return_X_y=True)
            x = x / 16
        else:
            x, y = make_classification(900, d, n_informative=5, random_state=0)
            x = (x - x.min(0)) / np.ptp(x, axis=0)
        for name, make in estimators.items():
            model = make().fit(x[points:], y[points:])
            target = Target.of(model, make_dataset(x[:points], y[:points], bounds=(0, 1)))
            for p, epsilon in ((np.inf, 0.06 if d == 8 else 0.1), (2.0, 0.12 if d == 8 else 0.5)):
                started = time.process_time()
                kept = run_hop_skip_jump(model, x[:points], y[:points], p, epsilon, 1200)
                theirs = time.process_time() - started
                yield describe(f"{name}, d = {d}", target, p, epsilon, 3, kept, theirs)


def run_hop_skip_jump(  # noqa: PLR0917  (as in the other comparison)
    model: Any, x: Array, y: Array, p: float, epsilon: float, queries: int
) -> Array:
    """Whether points withstand ART's HopSkipJump with about so many queries per point."""
    evasion = import_module("art.attacks.evasion")
    make = import_module("art.estimators.classification").BlackBoxClassifier
    asked = 0

    def predict(rows: Array) -> Array:
        nonlocal asked
        asked += len(rows)
        return np.asarray(model.predict_proba(rows))

    classifier = make(predict, x.shape[1:], int(y.max()) + 1, clip_values=(0, 1))
    norm = np.inf if np.isinf(p) else 2
    rounds = max(1, queries // 76)  # about as many queries each, as measured
    attack = evasion.HopSkipJump(
        classifier,
        norm=norm,
        max_iter=rounds,
        max_eval=150,
        init_eval=20,
        init_size=50,
        verbose=False,
    )
    np.random.seed(0)  # noqa: NPY002  (ART draws from the global generator)
    moved = attack.generate(x.astype(np.float32), y=np.eye(int(y.max()) + 1)[y])
    length = np.linalg.norm(moved - x, np.inf if np.isinf(p) else 2, axis=1)
    print(f"  HopSkipJump: {asked / len(x):.0f} queries per point", flush=True)
    right = model.predict(x) == y
    return np.asarray(right & ~((length <= epsilon * (1 + 1e-6)) & (model.predict(moved) != y)))


def compare_veritas(points: int) -> Iterator[str]:
    """Yield rows of the table for forests and boosting in L-inf, beside the exact answer."""
    forest, boosting = RandomForestClassifier, GradientBoostingClassifier
    cases: list[tuple[int, float, str, Callable[[], Any]]] = [
        (4, 0.1, "forest of 5", lambda: forest(5, random_state=0)),
        (4, 0.04, "forest of 5", lambda: forest(5, random_state=0)),
        (8, 0.05, "forest of 100", lambda: forest(100, random_state=0)),
        (8, 0.05, "boosting", lambda: boosting(random_state=0)),
        (20, 0.05, "boosting", lambda: boosting(random_state=0)),
    ]
    for d, epsilon, name, make in cases:
        x, y = make_classification(900, d, n_informative=d // 2 + 1, n_redundant=0, random_state=0)
        x = (x - x.min(0)) / np.ptp(x, axis=0)
        model = make().fit(x[points:], y[points:])
        target = Target.of(model, make_dataset(x[:points], y[:points]))
        started = time.process_time()
        kept = run_veritas(model, x[:points], y[:points], epsilon) & target.right
        theirs = time.process_time() - started
        yield describe(f"{name}, d = {d}", target, np.inf, epsilon, 3, kept, theirs)


def run_veritas(model: Any, x: Array, y: Array, epsilon: float) -> Array:
    """Whether no place in the box is misclassified: two classes, a second per point at most."""
    veritas = import_module("veritas")
    trees = veritas.get_addtree(model, silent=True)
    kept, undecided = np.ones(len(x), bool), 0
    for i, point in enumerate(x):
        box = [veritas.Interval(v - epsilon, np.nextafter(v + epsilon, np.inf)) for v in point]
        config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
        search = config.get_search(trees if y[i] == 0 else trees.negate_leaf_values(), box)
        end = time.perf_counter() + 1
        while not search.is_optimal() and time.perf_counter() < end:
            search.step_for(0.05, 50)
            if search.num_solutions() and search.get_solution(0).output > 0:
                break
        kept[i] = not (search.num_solutions() and search.get_solution(0).output > 0)
        undecided += int(kept[i] and not search.is_optimal())
    print(f"  Veritas: {undecided} of {len(x)} points undecided, counted as robust", flush=True)
    return kept


def describe(  # noqa: PLR0917  (one row of a table)
    name: str, target: Target, p: float, epsilon: float, effort: int, kept: Array, theirs: float
) -> str:
    """One row of the table: ours beside which points withstand the others."""
    started = time.process_time()
    found = compute_curve(target, [epsilon], norm=p, effort=effort).accuracies[0]
    taken = time.process_time() - started
    gap = mean_difference(found.withstood.astype(int), kept.astype(int), k=1)
    queries = sum(trial.queries for trial in found.trials) / len(target.y)
    return (
        f"| {name} | {norm_title(p)} {epsilon:g} | {target.right.mean():.3f} | {found.value:.4f} "
        f"| {kept.mean():.4f} | {gap.value:+.4f} ({gap.low:+.4f} to {gap.high:+.4f}) "
        f"| {'yes' if gap.high < 0.005 else 'no'} | {queries:.0f} | {taken:.0f} | {theirs:.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("against", choices=("autoattack", "art", "veritas"))
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--efforts", type=int, nargs="+", default=[3])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for package in ("torch", "scikit-learn", "pyautoattack", "adversarial-robustness-toolbox"):
        try:
            print(package, version(package))
        except PackageNotFoundError:
            print(package, "(no version)")
    print(
        "\n| model | ball | clean | robust: ours | theirs | difference | below half a point "
        "| our queries per point | CPU s ours | theirs |"
    )
    print("|" + " --- |" * 10)
    if options.against == "veritas":
        rows = compare_veritas(options.points)
    elif options.against == "art":
        rows = compare_art(options.points)
    else:
        rows = compare_autoattack(options.points, options.efforts)
    for line in rows:
        print(line, flush=True)


if __name__ == "__main__":
    main()
