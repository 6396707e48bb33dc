"""Clean accuracy against MSCR, with the quadrant of the baseline (Siedel et al. 2022, Fig. 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.labels import choose_reference
from shaketable.findings.mscr.charts import make_mscr_rows
from shaketable.findings.mscr.numbers import estimate_accuracy_difference, mscr_difference
from shaketable.findings.results import Found, as_results
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.study.charts import draw_tradeoff as draw_panels
from shaketable.findings.subjects import Subject
from shaketable.views import drawing
from shaketable.views.drawing import Chart


def draw_tradeoff(found: Found, *, reference: str = "") -> Chart:
    """Clean accuracy against MSCR, with the quadrant above a baseline (Fig. 6 of the MSCR paper).

    Parameters
    ----------
    found
        Findings, records or a results file: of a study with several sizes of training noise, whose
        baseline is the weakest of them, or of several models.
    reference
        Label of the model that others are compared with, where models have no training noise; by
        default the only one trained on clean points, else the first.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> records = st.evaluate({"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6},
    ...                       ([[0.2], [0.8]], [False, True]), "linf(eps_min)", k=1)
    >>> type(st.figures.draw_tradeoff(records)).__name__
    '_ConcatChart'
    """
    subjects = as_results(found).groups.subjects
    panels, findings = [], []
    for subject in (s for s in subjects if s.is_study):
        series = _list_series([subject])
        if len(series) > 1:
            panels += draw_panels(make_mscr_rows([subject]))
            train = series[0].first.train_epsilon
            base = (
                f"{subject.label} with {subject.train_level(series[0])}" if train else subject.label
            )
            kind = "sizes of training noise"
            findings.append(_describe(base, series[0], series[1:], kind, "plain training"))
    fitted = [s for s in subjects if not s.is_study and _list_series([s])]
    if len(fitted) > 1:
        labels = [s.label for s in fitted]
        if reference and reference not in labels:
            raise unknown_name("reference", reference, labels)
        base = choose_reference(labels, reference)[0]
        place = labels.index(base)
        rows = make_mscr_rows(fitted)
        panels += draw_panels(rows, names="model", baseline=place, title="Models")
        series = _list_series(fitted)
        others = [s for s in series if s is not series[place]]
        findings.append(_describe("", series[place], others, "models", base))
    if not panels:
        raise InputError(
            "the figure needs MSCR at two sizes of training noise, or of two models; run a study "
            + either("with --train-eps 0,eps_min", "with train_eps=[0, 'eps_min']")
        )
    return drawing.compose_figure(
        panels,
        finding=" ".join(findings),
        about="Bars: 95 % intervals. Dashed lines: the baseline (square). Shaded: clean accuracy "
        "and MSCR are both higher than its own. Shown: both paired differences have 95 % intervals "
        "above 0.",
    )


def _list_series(subjects: Iterable[Subject]) -> list[Series]:
    """Return the series that have an MSCR, in the order of `make_mscr_rows`."""
    return [s for x in subjects for s in x.at_eps_min if s.change is not None]


def _describe(name: str, base: Series, others: Sequence[Series], kind: str, than: str) -> str:
    """Say how many are better in both than the baseline, as measured and as shown."""
    better = [s for s in others if _is_above(s, base)]
    shown = [s for s in better if _is_shown(s, base)]
    count = f"{len(better)} of {len(others)} {kind}"
    start = f"{name}: {count}" if name else count
    end = f", {len(shown)} of them shown" if better else ""
    return f"{start} have higher clean accuracy and MSCR than {than}{end}."


def _is_above(series: Series, base: Series) -> bool:
    assert series.change is not None
    assert base.change is not None
    higher = series.on_clean.accuracy.value > base.on_clean.accuracy.value
    return higher and series.change.value > base.change.value


def _is_shown(series: Series, base: Series) -> bool:
    """Whether both paired differences are above 0 beyond chance."""
    if not meets_same_noise(series, base):
        return False
    accuracy = estimate_accuracy_difference(series.on_clean, base.on_clean)
    return accuracy.low > 0 and mscr_difference(series, base).low > 0


FIGURES.add("tradeoff", FigureKind(draw_tradeoff))
