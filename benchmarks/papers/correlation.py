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
from shaketable.findings.correlation.charts import scatter_chart
from shaketable.findings.correlation.view import format_correlation, name_metric
from shaketable.statistics.correlation import spearman
from shaketable.views.drawing import save_chart

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
        return st.load("shapes(n=600)")
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


def correlate_kinds(correlation: st.findings.Correlation) -> st.statistics.Estimate:
    """Rank correlation over the kinds of models, with means over their regimes."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for model, (a, b) in zip(correlation.models, correlation.values, strict=True):
        kinds.setdefault(model.partition("(")[0], []).append((a.value, b.value))
    x, y = np.array([np.mean(values, axis=0) for values in kinds.values()]).T
    return spearman(x, y)


def correlate_partially(
    correlation: st.findings.Correlation, errors: dict[str, float]
) -> st.statistics.Estimate:
    """Rank correlation with the clean error held fixed, and its interval by Fisher's z."""
    pairs = [(a.value, b.value) for a, b in correlation.values]
    a, b = (stats.rankdata(values) for values in zip(*pairs, strict=True))
    c = stats.rankdata([errors[model] for model in correlation.models])
    r = [np.corrcoef(*p)[0, 1] for p in ((a, b), (a, c), (b, c))]
    partial = (r[0] - r[1] * r[2]) / math.sqrt((1 - r[1] ** 2) * (1 - r[2] ** 2))
    step = 1.96 * math.sqrt((1 + partial**2 / 2) / (len(a) - 4))
    z = math.atanh(partial)
    return st.statistics.Estimate(
        partial, math.tanh(z - step), math.tanh(z + step), 0.95, "Fisher, n - 4"
    )


def write_row(correlation: st.findings.Correlation, errors: dict[str, float]) -> str:
    """One row of the table."""
    names = (correlation.first, correlation.second)
    entries = [
        correlation.data,
        " with ".join("E_clean" if m == "error" else name_metric(m) for m in names),
        str(len(correlation.models)),
        format_correlation(correlation.spearman),
        format_correlation(correlation.pearson),
        ""
        if correlation.second == "error"
        else format_correlation(correlate_partially(correlation, errors)),
        format_correlation(correlate_kinds(correlation)),
        " and ".join(f"{100 * share:.0f}" for share in correlation.reliability),
    ]
    return f"| {' | '.join(entries)} |"


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
        pairs = [st.correlate(records, *pair) for pair in PAIRS]
        clean = next(c for c in pairs if c.second == "error")
        errors = {m: e.value for m, (_, e) in zip(clean.models, clean.values, strict=True)}
        print("\n".join(write_row(c, errors) for c in pairs), flush=True)
        save_chart(scatter_chart(pairs[:3:2]), args.folder / f"{name}.svg")


if __name__ == "__main__":
    main()
