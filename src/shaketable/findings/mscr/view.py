"""What is shown of accuracy and MSCR: verdicts, tables, differences, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from shaketable.core.errors import either
from shaketable.core.norms import norm_title
from shaketable.findings.series import ErrorProbability, Series, meets_same_noise
from shaketable.findings.subjects import Subject, name_noise
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Chart,
    Column,
    Definition,
    Heading,
    Sentence,
    Table,
    Tone,
    tabulate_differences,
)
from shaketable.views.numbers import (
    format_bound,
    format_change,
    format_distance,
    format_interval,
    format_percent,
    say_below,
)
from shaketable.views.text import join_distinct

if TYPE_CHECKING:
    from shaketable.findings.mscr.finding import Robustness
    from shaketable.views import drawing

UNDEFINED = "MSCR is undefined: it gets no clean point right, so it has none to lose"
NOT_MEASURED = "no MSCR: no noise of size eps_min was measured"
_MSCR = (
    "Points are estimates, bars their 95 % intervals. Left of or below zero, the model loses "
    "accuracy that the data do not force it to lose; at zero it is as robust as the data allow."
)
_ACCURACY = "Points are measured accuracies, bars their 95 % intervals."
_EPS_MIN = (
    " Up to eps_min, the dashed line, no accuracy has to be lost; beyond it, even a perfect "
    "classifier may lose some."
)
_PAIRED = (
    "Both models of a row were evaluated under the same noise on the same points, so even small "
    "differences show. Intervals are for one comparison at a time: of twenty rows without any true "
    "difference, about one will show one by chance."
)


def make_blocks(finding: Robustness) -> list[Block]:
    """Return verdicts, then accuracies of models as given, then differences."""
    subjects = [s for s in finding.subjects if not s.left_to_suites]
    return [
        *(_show_verdicts(subjects) if subjects else []),
        *(_show_accuracies(finding.fitted) if finding.fitted else []),
        *_show_differences(finding, subjects),
    ]


def _show_verdicts(subjects: list[Subject]) -> list[Block]:
    def draw() -> drawing.Chart:
        from shaketable.findings.mscr.charts import mscr_chart  # slow to import

        return mscr_chart(subjects)

    judged = [s for s in subjects if not s.is_study and _has_verdict(s, subjects)]
    fitted = [_make_card(s) for s in judged if s.at_eps_min]
    missing = [Sentence(explain_missing(s), s.label) for s in judged if not s.at_eps_min]
    trained = [_make_card(s) for s in subjects if s.is_study]
    known = any(series.change is not None for s in subjects for series in s.at_eps_min)
    return [
        Heading("", "verdict", "Verdict"),
        *([Cards(fitted)] if fitted else []),
        *missing,
        *([Cards(trained, level="detail")] if trained else []),  # the terminal has their matrix
        *([Chart(draw, _MSCR)] if known else []),
        Definition(
            "2r = min ‖x_{i} − x_{j}‖ over all points with y_{i} ≠ y_{j}, training and test points "
            "together; eps_min = r"
        ),
        Definition(
            "a_{ε} = share of right answers on k noisy copies of every test point, drawn uniformly "
            "from the ball of radius ε around it and labelled as the point"
        ),
        Definition(
            "MSCR = (a_{eps_min} − a_{0}) / a_{0}, where a_{0} is the clean accuracy; over runs, "
            "the mean of the runs’ values",
            "Siedel et al. (2022): minimal separation corruption robustness, Eq. 1 and 2, "
            "Algorithm 1. Negative: avoidable accuracy is lost. 0: as robust as the data allow. "
            "Positive: the noise helps.",
        ),
    ]


def _has_verdict(subject: Subject, subjects: list[Subject]) -> bool:
    """Whether there is something to say: not of corruptions without a size, beside an MSCR."""
    same = [s for s in subjects if s.first.recipe == subject.first.recipe]
    return bool(subject.norm) or not any(s.at_eps_min for s in same)


def _make_card(subject: Subject) -> Card:
    """Verdict on a subject; in a study, on its weakest and its best training noise."""
    if not subject.at_eps_min:
        series, mscr = subject.clean[0], None
        sentences = [explain_missing(subject)]
    else:
        series = subject.at_eps_min[0]
        mscr = series.change
        sentences = [UNDEFINED if mscr is None else describe_mscr(mscr)]
    training = f", training noise {subject.train_level(series)}" if subject.is_study else ""
    asides = _describe_best(subject)
    title = f"{subject.label}{training}"
    return Card(title, mscr, "MSCR", "change", sentences, asides, _choose_tone(mscr))


def _compare_accuracies(series: Series) -> str:
    clean, noisy = series.on_clean.accuracy, series.accuracy
    return (
        f"{format_percent(clean)} on clean points, {format_percent(noisy)} under "
        f"{name_noise(series)}"
    )


def _describe_best(subject: Subject) -> list[str]:
    if len(subject.at_eps_min) < 2:
        return []
    first, best = subject.at_eps_min[0], max(subject.at_eps_min, key=lambda s: s.accuracy.value)
    if best is first:
        return [f"no other training noise gave a higher accuracy under {name_noise(first)}"]
    mscr = best.change
    change = "" if mscr is None else f"; MSCR {format_change(mscr)} ({format_interval(mscr)})"
    return [
        f"best of the training noises under {name_noise(first)}: {subject.train_level(best)}, "
        f"with an accuracy of {_compare_accuracies(best)}{change}"
    ]


def _choose_tone(mscr: Estimate | None) -> Tone:
    if mscr is None:
        return "open"
    if mscr.high < 0:
        return "lost"
    return "kept" if mscr.low > 0 or mscr.low == mscr.high == 0 else "open"


def chart_accuracies(subjects: Sequence[Subject]) -> Chart | None:
    """Return the chart of accuracy against the size of noise; None without noise of their own."""
    drawn = [s for s in subjects if s.noisy and not s.left_to_suites]

    def draw() -> drawing.Chart:
        from shaketable.findings.mscr.charts import accuracy_chart  # slow to import

        return accuracy_chart(drawn)

    known = any(s.separation is not None for s in drawn)
    return Chart(draw, _ACCURACY + (_EPS_MIN if known else "")) if drawn else None


def _show_accuracies(subjects: tuple[Subject, ...]) -> list[Block]:
    rows = [(subject, s) for subject in subjects for s in subject.all_series]
    runs = {s.runs for _, s in rows} - {1}
    table = Table(
        "accuracy and its change relative to clean points, with 95 % intervals; the probability "
        "of a wrong answer with its upper bound"
        + (f"; means over {join_distinct(sorted(runs))} runs" if runs else ""),
        (
            Column("model"),
            Column("noise"),
            Column("accuracy", "rate"),
            Column("wrong answer", "bound"),
            Column("change (MSCR at eps_min)", "change", "% of clean accuracy"),
        ),
        [
            [
                subject.label,
                name_noise(s),
                s.accuracy,
                s.error_bound if s.runs == 1 else None,
                None if s.first.corruption == "clean" else s.change or "undefined",
            ]
            for subject, s in rows
        ],
        limit=200,
        marked=[i for i, (_, s) in enumerate(rows) if s.at_eps_min],
    )
    return [
        Heading("Accuracy under noise", "accuracy", "Accuracy"),
        *dict.fromkeys(map(_describe_data, subjects)),
        table,
    ]


def _describe_data(subject: Subject) -> Sentence:
    cell, size = subject.first, ""
    if (known := subject.separation) is not None:
        size = f"; {norm_title(known.norm)} eps_min = {format_distance(known.epsilon_min)}"
    return Sentence(f"{cell.n} test points{size}", cell.data)


def _show_differences(finding: Robustness, subjects: list[Subject]) -> list[Block]:
    """Paired differences in MSCR.

    Models as given are compared with each other; in a study models with the same training noise,
    and every training noise with the weakest one of the same model.
    """
    entries = [(subject, s) for subject in subjects for s in subject.at_eps_min]
    differences = [
        Difference(first.entry(a), second.entry(b), value, "keeps more of its accuracy")
        for (first, a), (second, b) in combinations(entries, 2)
        if _are_comparable((first, a), (second, b))
        and (value := finding.difference(a, b)) is not None  # else the card says it is undefined
    ]
    if not differences:
        return []
    title = "MSCR of the first minus MSCR of the second, with 95 % intervals"
    return [
        Heading("Which model is more robust?", "differences", "Differences"),
        Sentence(_PAIRED, level="detail"),
        tabulate_differences(title, differences, "difference in MSCR"),
    ]


def _are_comparable(a: tuple[Subject, Series], b: tuple[Subject, Series]) -> bool:
    (first, first_series), (second, second_series) = a, b
    if not meets_same_noise(first_series, second_series):
        return False
    if first is second:
        return first_series is first.at_eps_min[0]
    same_training = first_series.first.train == second_series.first.train
    return same_training or not (first.is_study and second.is_study)


def describe_mscr(value: Estimate) -> str:
    """Describe an MSCR without claiming more than its interval.

    Parameters
    ----------
    value
        MSCR with its interval.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> import shaketable as st
    >>> describe_mscr(st.statistics.Estimate(-0.03, -0.05, -0.01, 0.95, "by hand"))[:11]
    'Not robust:'
    """
    loss = f"{abs(value.value):.2%}"
    span = f"95 % interval {value.low:+.2%} to {value.high:+.2%}"
    if value.high < 0:
        return (
            f"Not robust: noise too small to change any point's class costs it {loss} of its "
            f"accuracy ({span}). This loss is avoidable."
        )
    if value.low > 0:
        return f"Robust: noise of this size even raises its accuracy by {loss} ({span})."
    return (
        f"No loss shown, but one of up to {-value.low:.2%} is possible: its accuracy changes by "
        f"{round(value.value, 4) + 0.0:+.2%} under noise of this size ({span})."
    )


def describe_risk(error: ErrorProbability) -> str:
    """Describe the probability of a wrong answer: its bounds, and what they do not prove."""
    label, worst = max(error.by_class.items(), key=lambda item: item[1].high)
    unseen = ", ".join(repr(label) for label in error.unseen)
    draws = "1 draw" if error.k == 1 else f"{error.k} draws"
    single = (
        f"; {draws} cannot show that the error of a single input is below "
        f"{format_bound(error.least_provable)}; raise {either('--k', 'k')}"
    )
    of_worst = f" (worst class {label!r}: {below})" if (below := say_below(worst.high)) else ""
    overall = f", {below} with 95 % confidence" if (below := say_below(error.overall.high)) else ""
    return (
        f"probability of a wrong answer under this noise: {format_percent(error.overall)}{overall}"
        f"{of_worst}{single if error.least_provable > error.overall.high else ''}"
        + (f"; no test points of {unseen}, so nothing is known about it" if unseen else "")
    )


def explain_missing(subject: Subject) -> str:
    """Say why a subject without noise of size eps_min has no MSCR, and what to do."""
    if not subject.noisy:
        return (
            "MSCR is not known: the model was evaluated under no noise. Evaluate it under noise of "
            "size eps_min."
        )
    corruptions = ", ".join(dict.fromkeys(name_noise(s) for s in subject.noisy))
    return (
        f"MSCR is not known: none of the corruptions ({corruptions}) is noise of size eps_min. "
        "Evaluate the model under noise of that size, such as linf(eps_min)."
    )
