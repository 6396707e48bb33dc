"""Reproduce the MSCR row of Table 3 of Siedel et al. (2022): CIFAR-10, noise in training and test.

Trains a network with every training noise in every run, or reads results from the results file,
and prints MSCR with its interval beside the published value, the best training noise of every row,
and whether training noise raises the clean accuracy. Training and test noise are truncated, k = 1.
The file holds x_train, y_train, x_test and y_test, images of 32 x 32 x 3 in uint8.

    python benchmarks/papers/table3.py cifar10.npz --store t3.sqlite --runs 20 --minutes 9
    python benchmarks/papers/table3.py cifar10.npz --store w.sqlite --recipe mscr-cifar --epochs 6 \
        --levels 0,0.07 --runs 1

It goes on where it stopped, so the first command can be repeated until all runs are done. Results:
results/table3.md.
"""

import argparse

import numpy as np

import shaketable as st
from pieces import add_piece_flags, make_network, run_pieces
from shaketable.data.bounds import Bounds
from shaketable.metrics import series
from shaketable.statistics import intervals

LEVELS: tuple[float | str, ...] = (0, 0.01, 0.02, 0.03, 0.05, 0.07, "eps_min", 0.15)
PRINTED = (-35.4, -34.0, -26.5, -18.8, -7.3, -0.4, 2.5, 2.7)
"""MSCR in per cent, by training noise."""


def read_level(text: str) -> float | str:
    """Return a size of noise."""
    return text if text == "eps_min" else float(text)


def main() -> None:
    """Run the study, as far as time allows, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add_piece_flags(parser, runs=20)
    parser.add_argument("--recipe", default="fast")
    parser.add_argument("--levels", default=",".join(map(str, LEVELS)), help="of training noise")
    args = parser.parse_args()
    levels = [read_level(text) for text in args.levels.split(",")]
    records = run_pieces(
        args,
        make_network(args, args.recipe),
        train_eps=levels,
        test_eps=LEVELS,
        k=1,
        bounds=Bounds(0, 1, "truncate"),
    )
    report(records, levels)


def report(records: st.Records, levels: list[float | str]) -> None:
    """Print MSCR beside print, the matrix with its row optima, and clean accuracies."""
    eps_min = records.separations[0].epsilon_min
    train = [eps_min if level == "eps_min" else float(level) for level in levels]
    by_noise = {(s.first.epsilon, s.first.train_epsilon): s for s in series(records)}
    print("| training noise | runs | MSCR, % | published | off by | clean accuracy, % |")
    print("|---|---|---|---|---|---|")
    for level, size in zip(levels, train, strict=True):
        s = by_noise[eps_min, size]
        e, right = s.relative_loss, s.on_clean.accuracy
        printed = PRINTED[LEVELS.index(level)]
        print(
            f"| {level} | {s.runs} | {100 * e.value:+.2f} [{100 * e.low:.2f}, {100 * e.high:.2f}] "
            f"| {printed:+.1f} | {100 * e.value - printed:+.1f} | {100 * right.value:.2f} "
            f"[{100 * right.low:.2f}, {100 * right.high:.2f}] |"
        )
    tests = sorted({epsilon for epsilon, _ in by_noise if epsilon is not None})
    print("\n| test \\ train | " + " | ".join(map(str, levels)) + " | best |")
    print("|---" * (len(levels) + 2) + "|")
    for epsilon in tests:
        values = [100 * by_noise[epsilon, size].accuracy.value for size in train]
        cells = " | ".join(f"{value:.2f}" for value in values)
        print(f"| {epsilon:.4g} | {cells} | {train[int(np.argmax(values))]:.4g} |")
    clean = by_noise[0.0, train[0]]
    print("\nClean accuracy minus that of the first training noise, paired, percentage points:\n")
    for level, size in zip(levels[1:], train[1:], strict=True):
        s = by_noise[0.0, size]
        ours, plain = ([cell.hits for cell in each.noisy] for each in (s, clean))
        e = (
            intervals.mean_difference_over_runs(ours, plain, k=1)
            if s.runs > 1
            else intervals.mean_difference(ours[0], plain[0], k=1)
        )
        print(f"- {level}: {100 * e.value:+.3f} [{100 * e.low:+.3f}, {100 * e.high:+.3f}]")


if __name__ == "__main__":
    main()
