"""The best training noise for every test noise (Siedel et al. 2022, Fig. 7)."""

from __future__ import annotations

from shaketable.core.errors import InputError, either
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.results import Found, as_results
from shaketable.findings.study.charts import draw_matrix
from shaketable.findings.subjects import Subject
from shaketable.views import drawing
from shaketable.views.drawing import WIDTH, Chart


def draw_optima(found: Found) -> Chart:
    """Accuracy by training and test noise, the best of each row marked (Fig. 7 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file of a study with several sizes of training noise.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> options = {"train_eps": [0, 0.1], "test_eps": [0.1], "k": 1, "n_jobs": 1}
    >>> type(st.figures.draw_optima(st.study("iris", "1nn", **options, runs=2))).__name__
    '_ConcatChart'
    """
    subjects = [
        s for s in as_results(found).groups.subjects if s.is_study and s.norm and len(s.clean) > 1
    ]
    if not subjects:
        raise InputError(
            "the figure needs a study with several sizes of training noise and of test noise; run "
            "one with "
            + either("--train-eps 0,eps_min,0.1 --test-eps 0,0.1", "train_eps= and test_eps=")
        )
    panels = [draw_matrix(s).properties(width=WIDTH) for s in subjects]
    return drawing.compose_figure(
        panels,
        finding=" ".join(map(_describe, subjects)),
        about="Accuracy in per cent, mean over runs. Dots and bold numbers: the best training "
        "noise for each test noise, as measured; outlined: the same noise in training and test.",
    )


def _describe(subject: Subject) -> str:
    """Say on which side of the diagonal the best training noise of every test noise lies."""
    best: dict[float, tuple[float, float, float]] = {}
    for s in subject.all_series:
        test, train = s.first.epsilon, s.first.train_epsilon
        if test is not None and train is not None:  # of equal ones, the closest to the diagonal
            entry = s.accuracy.value, -abs(train - test), train
            best[test] = max(best.get(test, entry), entry)
    sides = [(train > test) - (train < test) for test, (*_, train) in best.items()]
    return (
        f"{subject.label}: the best training noise is stronger than the test noise for "
        f"{sides.count(1)} of {len(sides)} sizes, weaker for {sides.count(-1)}, equal for "
        f"{sides.count(0)}."
    )


FIGURES.add("optima", FigureKind(draw_optima))
