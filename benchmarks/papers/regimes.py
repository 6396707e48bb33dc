"""Training regimes of Siedel et al. (2024) on CIFAR-10: five metrics, and deltas beside print.

Trains one network with every regime in every run: plain, single p-norms, the sets C1, C2 and C3,
Mixup, AugMix, TrivialAugment and the last with C1. Each is evaluated under the 19 common
corruptions, nine p-norms of ten sizes and six imperceptible noises. It goes on where it stopped.

    python benchmarks/papers/regimes.py cifar10.npz --store regimes.sqlite --runs 3 --minutes 9

Published values of single norms and C1 to C3 are means over three networks and both CIFAR sets
(Table 4), the others of DenseNet-201-12 on CIFAR-10 (Table 5). Results: results/regimes.md.
"""

import argparse
from collections.abc import Callable

import numpy as np

import shaketable as st
from pieces import add_piece_flags, make_network, run_pieces
from shaketable import metrics
from shaketable.core.types import FloatArray

SUITES = ("common-19", "pnorm-cifar", "ice-cifar")
METRICS: dict[str, Callable[[st.Records], float]] = {
    "E_clean": lambda records: 1 - metrics.accuracy(records, corruption="clean").value,
    "mCE": lambda records: metrics.mce(records).value,
    "mCE_xN": lambda records: metrics.mce_xn(records).value,
    "mCE_Lp": lambda records: metrics.mce_lp(records).value,
    "iCE": lambda records: metrics.ice(records).value,
}
PUBLISHED = {
    "l0(0.01)": (+0.3, -4.3, -0.72, -8.96, None),
    "l0.5(75000)": (+1.14, -6.15, -1.73, -10.62, None),
    "l2(1)": (+1.12, -3.69, -1.18, -11.89, None),
    "linf(0.02)": (+1.51, -2.74, -0.33, -10.9, None),
    "C1": (+2.51, -13.04, -4.95, -27.42, None),
    "C2": (+1.79, -12.95, -4.78, -27.86, None),
    "C3": (+1.06, -10.8, -3.45, -25.82, None),
    "mixup": (-0.73, -1.99, -3.07, +1.01, -2.5),
    "augmix": (-0.49, -12.24, -9.03, -14.95, -12.6),
    "trivialaugment": (-0.94, -11.13, -9.6, -11.08, -8.8),
    "trivialaugment + C1": (-0.18, -13.44, -7.65, -21.53, -13.9),
}
"""Deltas to plain training, in percentage points, in the order of `METRICS`."""


def main() -> None:
    """Run the study, as far as time allows, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add_piece_flags(parser, runs=3)
    parser.add_argument("--recipe", default="fast")
    parser.add_argument("--regimes", nargs="+", default=["clean", *PUBLISHED])
    args = parser.parse_args()
    records = run_pieces(
        args,
        make_network(args, args.recipe),
        train=args.regimes,
        corruptions=[st.suite(name) for name in SUITES],
    )
    report(records)


def report(records: st.Records) -> None:
    """Print the means over runs, and the deltas to plain training, paired by run."""
    trainings = dict.fromkeys(cell.train for cell in records)
    values = {shorten(name): measure(records.select(train=name)) for name in trainings}
    runs = len(next(iter(values.values())))
    print(f"Means over {runs} runs, with the standard deviation, %:\n")
    print("| training | " + " | ".join(METRICS) + " |")
    print("|---" * (len(METRICS) + 1) + "|")
    for name, each in values.items():
        spread = each.std(axis=0, ddof=1) if runs > 1 else np.zeros(len(METRICS))
        cells = (f"{m:.2f} ({s:.2f})" for m, s in zip(each.mean(axis=0), spread, strict=True))
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\nMinus plain training, percentage points; published in brackets:\n")
    print("| training | " + " | ".join(METRICS) + " |")
    print("|---" * (len(METRICS) + 1) + "|")
    for name, each in values.items():
        if name == "clean":
            continue
        printed = PUBLISHED.get(name, (None,) * len(METRICS))
        deltas = (each - values["clean"]).mean(axis=0)
        cells = (
            f"{ours:+.2f}" + ("" if theirs is None else f" ({theirs:+.2f})")
            for ours, theirs in zip(deltas, printed, strict=True)
        )
        print(f"| {name} | " + " | ".join(cells) + " |")


def shorten(training: str) -> str:
    """Return a regime as it is called in print.

    >>> shorten("trivialaugment + C1(cifar)"), shorten("mixup(alpha=0.2)"), shorten("l2(1)")
    ('trivialaugment + C1', 'mixup', 'l2(1)')
    """
    parts = training.split(" + ")
    return " + ".join(p if p.startswith("l") else p.partition("(")[0] for p in parts)


def measure(records: st.Records) -> FloatArray:
    """Return the metrics of one regime in per cent, (runs, metrics)."""
    runs = [records.select(run=run) for run in dict.fromkeys(cell.run for cell in records)]
    return np.array([[100 * metric(run) for metric in METRICS.values()] for run in runs])


if __name__ == "__main__":
    main()
