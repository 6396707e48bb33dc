"""Adversarial training with and without Voronoi cells: what it keeps as epsilon grows.

For every size of the training adversary, and for several seeds, networks are trained plainly, with
PGD-AT, with TRADES, and with both confined to the Voronoi cells of the training points. Each is
evaluated on test points: clean accuracy, standard and genuine adversarial accuracy (Voronoi cells
of the test points), and agreement with 1-NN on the training points.

    python benchmarks/papers/adversarial_training.py                        # sunset, on a CPU
    python benchmarks/papers/adversarial_training.py --cifar cifar10.npz    # on a GPU

With --store FOLDER, a run that was interrupted goes on, and several processes can share the work:
each is given one seed by --seed, and a last command without it prints the table. The file of images
holds x_train, y_train, x_test and y_test, 32 x 32 x 3 in uint8; no network gets flips and crops,
which cells do not allow. Prints a Markdown table: means over seeds, with the standard deviation.
Results: results/adversarial_training.md.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import shaketable as st
from shaketable.adversary.agreement import Agreement
from shaketable.adversary.region import Constraint
from shaketable.models.builtin import example
from shaketable.models.torch_modules import ModuleAnswer

CONSTRAINTS: tuple[Constraint, ...] = ("none", "genuine-max")


@dataclass(frozen=True, eq=False)
class Setting:
    """Data, network and sizes of one comparison."""

    name: str
    network: str
    epochs: int
    batch: int
    norm: str
    train_sizes: tuple[float, ...]
    test_sizes: tuple[float, ...]
    attacks: tuple[str, ...]
    steps: int
    seeds: int
    train_points: int
    test_points: int
    file: str | None = None

    def load(self, seed: int) -> tuple[st.Dataset, st.Dataset]:
        """Return training and test points; of images a part, the first test images for all."""
        if self.file is None:
            n, m = self.train_points, self.test_points
            return st.load(f"sunset(n={n}, seed={seed})"), st.load(
                f"sunset(n={m}, seed={seed + 100})"
            )
        with np.load(self.file) as arrays:
            x, y, test_x, test_y = (
                arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")
            )
        rows = np.random.default_rng(seed).permutation(len(x))[: self.train_points]
        some = slice(self.test_points)
        parts = ((x[rows], y[rows]), (test_x[some], test_y[some]))
        train, test = (
            st.make_dataset(x, y.ravel(), classes=tuple(range(10)), name="cifar10")
            for x, y in parts
        )
        return train, test

    def list_regimes(self) -> Iterator[tuple[str, str | None]]:
        """Names and specs of the trainings; last, for sunset, the classifier that needs none."""
        yield "plain", "clean"
        for size in self.train_sizes:
            for kind in ("pgd_at", "trades"):
                for constraint in CONSTRAINTS:
                    options = f"norm={self.norm}, steps={self.steps}, constraint={constraint}"
                    cells = ", cells" if constraint != "none" else ""
                    yield f"{kind} {size:g}{cells}", f"{kind}({size}, {options})"
        if self.file is None:
            yield "oracle", None


def measure(model: Any, test: st.Dataset, setting: Setting) -> dict[str, float]:
    """Return clean, standard and genuine accuracies of a model at the test points."""
    shares = {}
    for constraint in CONSTRAINTS:
        curve = st.adversary.adversarial_curve(
            model,
            test,
            setting.test_sizes,
            norm=setting.norm,
            constraint=constraint,
            attacks=None if model is example("oracle") else setting.attacks,  # it has no gradients
            own=True,
        )
        shares["clean"] = curve.clean
        shares |= {f"{accuracy.name} {accuracy.epsilon:g}": accuracy.value for accuracy in curve}
    return shares


def label(module: torch.nn.Module, data: st.Dataset) -> list[Any]:
    """Return the labels that a network gives all points of data."""
    scores = ModuleAnswer("network", module)(data.rows(slice(None)))
    return [data.classes[code] for code in scores.argmax(axis=1).tolist()]


def compare(setting: Setting, store: Path | None, seeds: Sequence[int]) -> dict[str, Any]:
    """Train and evaluate all networks; results in the store are not computed again."""
    done: dict[str, Any] = {}
    if store is not None:
        store.mkdir(exist_ok=True)
        for file in store.glob("*.json"):
            done |= json.loads(file.read_text(encoding="utf-8"))
    recipe = st.training.make_recipe("points" if setting.file is None else "fast")
    recipe = replace(recipe, shift=False)  # cells allow no flips and crops, so nobody gets them
    for seed in seeds:
        train, test = setting.load(seed)
        nearest = st.one_nn((train.x, train.labels), (test.x, test.labels), norm=setting.norm)
        for name, noise in setting.list_regimes():
            key, began = f"{seed}: {name}", time.perf_counter()
            if key in done:
                continue
            if noise is None:
                model: Any = example(name)
                given = [str(code) for code in model(test.x).tolist()]
            else:
                trained = st.training.train(
                    setting.network,
                    train,
                    noise=noise,
                    recipe=recipe,
                    epochs=setting.epochs,
                    batch=setting.batch,
                    rows=np.arange(train.n),
                    seed=seed,
                )
                model, given = trained.model, label(trained.module, test)
            middle = time.perf_counter()
            shares = measure(model, test, setting)
            shares["as 1-NN"] = float((np.array(given) == nearest.labels).mean())
            plain = given if name == "plain" else done[f"{seed}: plain"]["labels"]
            found = st.agreement(plain, given, nearest)
            counts = (found.differing, found.first, found.second)
            done[key] = {"shares": shares, "labels": given, "counts": counts}
            if store is not None:
                own = {each: value for each, value in done.items() if each.startswith(f"{seed}:")}
                (store / f"{seed}.json").write_text(json.dumps(own), encoding="utf-8")
            took = f"{middle - began:.1f} s, attacked in {time.perf_counter() - middle:.1f} s"
            print(f"seed {seed}, {name}: trained in {took}", flush=True)
    return done


def print_table(setting: Setting, done: dict[str, Any]) -> None:
    """Print results as Markdown."""
    names = ("standard", "genuine-max")
    sizes = [f"{name} {size:g}" for name in names for size in setting.test_sizes]
    kinds = ["clean", *sizes, "as 1-NN"]
    print(f"\n| training | {' | '.join(kinds)} | like 1-NN : plain |")
    print("|---" * (len(kinds) + 2) + "|")
    for name, _ in setting.list_regimes():
        runs = [done[f"{seed}: {name}"] for seed in range(setting.seeds)]
        cells = [name]
        for kind in kinds:
            shares = 100 * np.array([run["shares"][kind] for run in runs])
            spread = f" ± {shares.std(ddof=1):.1f}" if len(shares) > 1 else ""
            cells.append(f"{shares.mean():.1f}{spread}")
        differing, plain, own = (sum(run["counts"][i] for run in runs) for i in range(3))
        p = Agreement(differing, plain, own).p_value
        cells.append(f"{own} : {plain}, p = {p:.2g}" if differing else "")
        print(f"| {' | '.join(cells)} |")


def read_setting() -> tuple[Setting, Path | None, int | None]:
    """Return the comparison that the command line asks for, the folder of results, and the seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cifar", metavar="FILE.npz")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="goes on from there")
    parser.add_argument("--seed", type=int, help="only this one, and no table")
    parser.add_argument("--network")
    parser.add_argument("--norm", default="2")
    for name in ("epochs", "batch", "steps", "seeds", "train-points", "test-points"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("train-sizes", "test-sizes"):
        parser.add_argument(f"--{name}", type=lambda text: tuple(map(float, text.split(","))))
    parser.add_argument("--attacks", type=lambda text: tuple(text.split("+")))
    options = vars(parser.parse_args())
    file, store, seed = (options.pop(name) for name in ("cifar", "store", "seed"))
    given = {name: value for name, value in options.items() if value is not None}
    usual: dict[str, Any] = {
        "name": "sunset",
        "network": "mlp(width=64)",
        "epochs": 40,
        "batch": 50,
        "train_sizes": (0.1, 0.5),
        "test_sizes": (0.1, 0.5),
        "attacks": ("apgd(steps=30)", "cover(resolution=0.2)"),
        "steps": 5,
        "seeds": 5,
        "train_points": 300,
        "test_points": 300,
    }
    if file is not None:
        usual |= {
            "name": "CIFAR-10",
            "network": "resnet9(width=32)",
            "epochs": 30,
            "batch": 250,
            "train_sizes": (0.5, 2.0, 6.0),
            "test_sizes": (0.5, 2.0, 6.0),
            "attacks": ("apgd(steps=50)", "pgd(steps=20)"),
            "steps": 7,
            "seeds": 3,
            "train_points": 10_000,
            "test_points": 1000,
            "file": file,
        }
    return Setting(**(usual | given)), store, seed


def main() -> None:
    """Print settings and the table."""
    setting, store, seed = read_setting()
    began = time.perf_counter()
    cuda = torch.cuda.is_available()
    where = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU threads"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {where}, torch {torch.__version__}\n{setting}\n")
    done = compare(setting, store, range(setting.seeds) if seed is None else [seed])
    if seed is None:
        print_table(setting, done)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
