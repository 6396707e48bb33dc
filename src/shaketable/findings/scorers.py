"""Scorers for scikit-learn: robustness in `cross_val_score` and `GridSearchCV`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, guard_foreign
from shaketable.corruptions import parse
from shaketable.corruptions.parse import has_size_eps_min
from shaketable.data.bounds import BoundsLike
from shaketable.data.files import DataLike, as_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.findings.series import relative_change
from shaketable.separations.separation import separation

Score: TypeAlias = Literal["robust_accuracy", "mscr", "relative_loss"]


class ScoringError(BaseException):
    """A score that has no value, or a model that fails while it is scored.

    scikit-learn catches every `Exception` of a scorer and goes on with NaN, unless it is told not
    to (``error_score="raise"``). This one is none, so it always ends the search.

    Examples
    --------
    >>> try:
    ...     raise ScoringError("MSCR is undefined at a clean accuracy of 0")
    ... except ScoringError as error:
    ...     print(error)
    MSCR is undefined at a clean accuracy of 0
    """


@dataclass(frozen=True, kw_only=True)
class RobustScorer:
    """A scorer ``(estimator, X, y) -> float``; greater is better. `make_scorer` makes it."""

    metric: Score
    corruption: str
    k: int = 10
    seed: int = 0
    bounds: BoundsLike | Literal["declared"] = "declared"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:  # noqa: N803  (as scikit-learn's)
        """Return the score of a fitted estimator on these points, as a fraction."""
        message = f"{self.metric} cannot be computed: {{error}}"
        with guard_foreign(message, ScoringError, but=()):
            clean, noisy = evaluate(
                estimator,
                (X, y),
                [self.corruption],
                k=self.k,
                seed=self.seed,
                bounds=self.bounds,
                model_id="scored",  # nothing is stored, so it need not be hashed
            )
            if self.metric == "robust_accuracy":
                return noisy.accuracy
            return float(relative_change(clean.accuracy, noisy.accuracy))


def make_scorer(
    metric: Score,
    corruption: str = "linf(eps_min)",
    *,
    data: DataLike | None = None,
    k: int = 10,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
) -> RobustScorer:
    """Make a scorer for scikit-learn's ``scoring=``.

    All candidates of a search get the same noise on the same points, so that they are compared
    without its random error. What has no value, such as MSCR at a clean accuracy of 0, raises
    `ScoringError`; no score is NaN.

    Parameters
    ----------
    metric
        ``robust_accuracy``: share of noisy copies classified correctly. ``relative_loss``: its
        change relative to the clean accuracy, negative for a loss. ``mscr``: the same for noise of
        size eps_min.
    corruption
        Spec of the noise, such as ``l2(0.1)``; ``eps_min`` stands for half the class separation.
    data
        Data whose separation is meant, such as ``(X, y)`` of the whole search, so that all folds
        have noise of the same size; by default that of the points that are scored.
    k, seed, bounds
        As in `evaluate`.

    Returns
    -------
    RobustScorer
        What scikit-learn calls with a model and points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> x, y = load_iris(return_X_y=True)
    >>> scorer = make_scorer("robust_accuracy", "linf(0.5)")
    >>> cross_val_score(KNeighborsClassifier(), x, y, scoring=scorer, cv=3)
    array([0.94 , 0.928, 0.944])
    """
    if metric not in get_args(Score):
        raise unknown_name("score", metric, get_args(Score))
    if metric == "mscr" and not has_size_eps_min(corruption):
        raise InputError(
            f"mscr is defined for noise of size eps_min, such as linf(eps_min), got {corruption!r};"
            " for other noise choose relative_loss"
        )
    check_whole("k", k, least=1)
    check_whole("seed", seed, least=0)
    parse(corruption, eps_min=lambda _: 1.0)  # refused before any work
    if data is not None and "eps_min" in corruption:
        dataset = as_dataset(data)
        sized = parse(corruption, eps_min=lambda p: separation(dataset, norm=p).epsilon_min)
        corruption = sized.spec
    return RobustScorer(metric=metric, corruption=corruption, k=k, seed=seed, bounds=bounds)
