"""Reproduce Table 2 of Siedel et al. (2022), the 2-D study.

Runs the study, or reads it from the results file, and prints every accuracy and MSCR with
z = (ours - published) / combined standard error. The data are those of the paper and not part of
this package: an .npz file with x (4674 x 2) and y.

    python benchmarks/papers/table2.py bands2d_b.npz --draws shared --runs 60 --store t2.sqlite

Results: results/table2.md.
"""

import argparse
import math

import numpy as np

import shaketable as st
from shaketable.metrics import series

LEVELS: list[float | str] = [0, 0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03]

# Rows: test noise; columns: training noise; accuracy in per cent and half its 95 % interval.
PRINTED = """
99.531 .014  99.652 .011  99.699 .011  99.748 .010  99.784 .009  99.769 .010  99.504 .016  98.990 .028  97.347 .060
99.515 .013  99.640 .011  99.689 .010  99.746 .009  99.785 .009  99.775 .009  99.524 .014  99.017 .025  97.380 .057
99.495 .013  99.607 .011  99.660 .010  99.732 .009  99.777 .008  99.768 .009  99.528 .013  99.026 .024  97.411 .055
99.405 .013  99.525 .011  99.583 .010  99.669 .009  99.729 .008  99.716 .008  99.486 .012  99.005 .022  97.435 .052
99.167 .014  99.287 .012  99.360 .011  99.461 .010  99.536 .009  99.535 .010  99.319 .013  98.871 .022  97.380 .049
98.782 .017  98.899 .015  98.977 .014  99.083 .014  99.175 .013  99.191 .014  99.014 .017  98.615 .024  97.238 .047
97.871 .025  97.979 .025  98.044 .025  98.134 .025  98.222 .025  98.265 .026  98.197 .029  97.921 .033  96.810 .049
96.771 .036  96.847 .037  96.896 .037  96.966 .037  97.040 .038  97.092 .038  97.105 .040  96.962 .043  96.198 .053
94.397 .058  94.423 .059  94.456 .059  94.500 .060  94.547 .061  94.593 .061  94.668 .061  94.698 .062  94.448 .066
-0.126 .007  -0.127 .006  -0.116 .006  -0.080 .005  -0.055 .005  -0.053 .006  -0.018 .010   0.015 .015   0.090 .024
"""  # noqa: E501  (the printed table, row by row)


def main() -> None:
    """Run the study and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("data")
    parser.add_argument("--draws", choices=["shared", "independent"], default="shared")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--store")
    args = parser.parse_args()
    records = st.study(
        args.data,
        "rf",
        train_eps=LEVELS,
        test_eps=LEVELS,
        k=10,
        runs=args.runs,
        draws=args.draws,
        store=args.store,
        n_jobs=args.jobs,
        progress=True,
    )
    eps_min = records.separations[0].two_r / 2
    levels = [eps_min if level == "eps_min" else float(level) for level in LEVELS]
    printed = np.array(PRINTED.split(), dtype=float).reshape(10, 9, 2)
    ours, z = np.full((10, 9), math.nan), np.full((10, 9), math.nan)
    for s in series(records):
        column = levels.index(s.first.train_epsilon or 0.0)
        row = levels.index(s.first.epsilon or 0.0)
        pairs = [(row, s.accuracies)] + ([(9, s.relative_losses)] if s.at_eps_min else [])
        for i, values in pairs:
            mean, half = printed[i, column]
            error = 100 * values.std(ddof=1) / math.sqrt(len(values))
            ours[i, column] = 100 * values.mean()
            z[i, column] = (ours[i, column] - mean) / math.hypot(error, half / 1.96)
    names = [*(str(level) for level in LEVELS), "MSCR"]
    print(f"{args.runs} runs, {args.draws} draws: our value (z against the published value)\n")
    print("| test \\ train | " + " | ".join(names[:9]) + " |")
    print("|---" * 10 + "|")
    for name, values, scores in zip(names, ours, z, strict=True):
        cells = " | ".join(f"{v:.3f} ({s:+.1f})" for v, s in zip(values, scores, strict=True))
        print(f"| {name} | {cells} |")
    low = z[:, : levels.index(0.007) + 1]
    print(f"\nlargest |z|: {np.abs(z).max():.2f}, for training noise up to .007 ", end="")
    print(f"{np.abs(low).max():.2f}")


if __name__ == "__main__":
    main()
