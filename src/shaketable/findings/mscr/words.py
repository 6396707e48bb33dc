"""Verdicts, sentences and captions about accuracy, MSCR and the risk of a wrong answer."""

from __future__ import annotations

from shaketable.core.errors import either
from shaketable.findings.error_probability import ErrorProbability
from shaketable.findings.subjects import Subject, name_noise
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_bound, format_percent

PLAIN_ACCURACY = "Points are measured accuracies, bars their 95 % intervals."
MSCR = (
    "Points are estimates, bars their 95 % intervals. Left of or below zero, the model loses "
    "accuracy that the data do not force it to lose; at zero it is as robust as the data allow."
)
ACCURACY = (
    f"{PLAIN_ACCURACY} Up to eps_min, the dashed line, no accuracy has to be lost; beyond it, even "
    "a perfect classifier may lose some."
)
UNDEFINED = "MSCR is undefined: it gets no clean point right, so it has none to lose"
NOT_MEASURED = "no MSCR: no noise of size eps_min was measured"


def verdict(value: Estimate) -> str:
    """Describe an MSCR without claiming more than its interval.

    Parameters
    ----------
    value
        MSCR with its interval.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> import shaketable as st
    >>> print(st.metrics.verdict(st.statistics.Estimate(-0.03, -0.05, -0.01, 0.95, "by hand")))
    Not robust: noise too small to change any point's class costs it 3.00% of its accuracy (95 %
    interval -5.00% to -1.00%). This loss is avoidable.
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
    return (
        f"probability of a wrong answer under this noise: {format_percent(error.overall)}, below "
        f"{format_bound(error.overall.high)} with 95 % confidence (worst class {label!r}: below "
        f"{format_bound(worst.high)}); {draws} cannot certify a single input below "
        f"{format_bound(error.least_provable)} error; raise {either('--k', 'k')}"
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
