"""A small data frame with columns of every kind, and a pipeline for it."""

from typing import Any

import numpy as np
import pandas as pd

from shaketable.core.types import Array


def make_people(n: int = 200) -> tuple[pd.DataFrame, Array]:
    """Rows with numbers, text, categories, booleans, dates and missing values, and two classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, n)),
            "job": rng.choice(["clerk", "nurse", "chef", None], n),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], n), ["s", "m", "l", "xl"], ordered=True
            ),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9999, n), "h"),
            "weight": rng.random(n).astype(np.float32),
        }
    )
    score = frame["age"] + 20 * (frame["job"] == "nurse") + rng.normal(0, 8, n)
    return frame, np.where(score > 55, "yes", "no")


def make_pipeline_for_people() -> Any:
    """One-hot encoding of text, and boosted trees on all columns but the date, unfitted."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["job", "size"]),
            ("numbers", "passthrough", ["age", "income", "member", "weight"]),
        ]
    )
    return make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=10, random_state=0))
