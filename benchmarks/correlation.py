"""Correlate MSCR with mCE, mCE_Lp and the clean error over 45 models on each of two data sets.

Result: see results/correlation.md.
Trials: 15 kinds of models x 3 training regimes; three runs on digits, one on shapes; seed 0.
Hardware: two shared cores of an AMD EPYC.

Whether MSCR goes with mCE over models is named as open in the paper that defines MSCR (Siedel et
al. 2022). Models are forests, trees, nearest neighbours, linear models, support vector machines,
Bayes and small networks, each trained without noise, with L-inf noise and with salt & pepper. The
45 models are no random sample, and the three of a kind are alike; so the correlation is also
computed over the 15 kinds, with the mean of their three regimes, and with the clean error held
fixed (partial rank correlation).
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.findings.correlation.words import format_correlation, name_metric
from shaketable.statistics.correlation import spearman

REGIMES = ("clean", "linf(0.2)", "sp(0.1)")
SUITES = ("common-19", "pnorm")
PAIRS = [
    (f"mscr[{norm}(eps_min)]", metric)
    for norm in ("linf", "l2")
    for metric in ("mce", "mce_xn", "mce_lp", "error")
]


def make_models() -> dict[str, Any]:
    """15 kinds of models by name, not yet fitted."""

    def scaled(model: Any) -> Any:
        return make_pipeline(StandardScaler(), model)

    return {
        "tree4": DecisionTreeClassifier(max_depth=4),
        "tree12": DecisionTreeClassifier(max_depth=12),
        "forest4": RandomForestClassifier(50, max_depth=4),
        "forest8": RandomForestClassifier(50, max_depth=8),
        "forest": RandomForestClassifier(50),
        "extra": ExtraTreesClassifier(50),
        "1nn": KNeighborsClassifier(1),
        "5nn": KNeighborsClassifier(5),
        "25nn": KNeighborsClassifier(25),
        "logistic0.001": scaled(LogisticRegression(C=0.001, max_iter=300)),
        "logistic0.1": scaled(LogisticRegression(C=0.1, max_iter=300)),
        "bayes": GaussianNB(var_smoothing=0.01),
        "svm": scaled(SVC()),
        "mlp16": scaled(MLPClassifier((16,), max_iter=60, early_stopping=True)),
        "mlp64": scaled(MLPClassifier((64,), max_iter=60, early_stopping=True)),
    }


def load(name: str) -> st.Dataset:
    """Digits as images of 8 x 8 pixels, or shapes of 32 x 32."""
    if name == "shapes":
        return st.load("shapes(n=1000)")
    x, y = load_digits(return_X_y=True)
    pixels = np.rint(x / 16 * 255).astype(np.uint8).reshape(-1, 8, 8, 1)
    return st.make_dataset(pixels, y, name="digits, 8x8 pixels")


def measure(name: str, *, runs: int, store: Path, jobs: int) -> st.Records:
    """Train and evaluate all models on one data set; what the store holds is not done again."""
    return st.study(
        load(name),
        make_models(),
        train=REGIMES,
        corruptions=["linf(eps_min)", "l2(eps_min)", *map(st.suite, SUITES)],
        k=3,
        runs=runs,
        store=store,
        n_jobs=jobs,
        progress=True,
    )


def list_columns(records: st.Records, pair: tuple[str, str]) -> tuple[list[str], Any, Any]:
    """Models, and the values of both metrics."""
    correlation = st.correlate(records, *pair)
    x, y = np.array([(a.value, b.value) for a, b in correlation.values]).T
    return list(correlation.models), x, y


def correlate_kinds(records: st.Records, pair: tuple[str, str]) -> st.Estimate:
    """Rank correlation over the kinds of models, with means over their regimes."""
    models, x, y = list_columns(records, pair)
    kinds = [model.partition("(")[0] for model in models]
    means = [
        [np.mean([v for v, k in zip(values, kinds, strict=True) if k == kind]) for values in (x, y)]
        for kind in dict.fromkeys(kinds)
    ]
    return spearman(*np.array(means).T)


def correlate_partially(records: st.Records, pair: tuple[str, str]) -> st.Estimate:
    """Rank correlation with the clean error held fixed, and its interval by Fisher's z."""
    models, x, y = list_columns(records, pair)
    same, _, error = list_columns(records, (pair[0], "error"))
    assert models == same
    a, b, c = (stats.rankdata(values) for values in (x, y, error))
    r = [np.corrcoef(*p)[0, 1] for p in ((a, b), (a, c), (b, c))]
    partial = (r[0] - r[1] * r[2]) / math.sqrt((1 - r[1] ** 2) * (1 - r[2] ** 2))
    step = 1.96 * math.sqrt((1 + partial**2 / 2) / (len(a) - 4))
    z = math.atanh(partial)
    return st.Estimate(partial, math.tanh(z - step), math.tanh(z + step), 0.95, "Fisher, n - 4")


def write_rows(records: st.Records) -> list[str]:
    """One row of the table per pair of metrics."""
    rows = []
    for pair in PAIRS:
        c = st.correlate(records, *pair)
        partial = None if pair[1] == "error" else correlate_partially(records, pair)
        entries = [
            c.data,
            " with ".join("E_clean" if m == "error" else name_metric(m) for m in pair),
            str(len(c.models)),
            format_correlation(c.spearman),
            format_correlation(c.pearson),
            "" if partial is None else format_correlation(partial),
            format_correlation(correlate_kinds(records, pair)),
            " and ".join(f"{100 * share:.0f}" for share in c.reliability),
        ]
        rows.append(f"| {' | '.join(entries)} |")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all models, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where results files are kept")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args(arguments)
    print(
        "| data | metrics | models | Spearman | Pearson | Spearman at equal E_clean "
        "| Spearman over kinds | not error of measurement, % |\n|---|---|---|---|---|---|---|---|"
    )
    for name, runs in (("digits", 3), ("shapes", 1)):
        store = args.folder / f"{name}.sqlite"
        records = measure(name, runs=runs, store=store, jobs=args.jobs)
        print("\n".join(write_rows(records)), flush=True)
        chart = args.folder / f"{name}.svg"
        pairs = [st.correlate(records, *pair) for pair in PAIRS[:3:2]]
        from shaketable.findings.correlation.charts import scatter_chart
        from shaketable.views.drawing import save_chart

        save_chart(scatter_chart(pairs), chart)


if __name__ == "__main__":
    main()
