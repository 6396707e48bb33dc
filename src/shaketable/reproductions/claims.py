"""Claims on numbers, declared before they are measured, and whether they hold.

A claim is about one or several numbers. Exact numbers are compared as they are. Of all others, the
interval decides: a claim holds if it lies within what is claimed, fails if it lies outside, and is
inconclusive otherwise. Numbers that a claim is about share its error probability of 5 %
(Bonferroni), so that a claim about 81 numbers is as sure as one about a single number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, TypeAlias, TypedDict

import numpy as np

from shaketable.reproductions.numbers import Number, mean_over_runs
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.independent import subtract_independent

Verdict: TypeAlias = Literal["holds", "fails", "inconclusive"]

EXIT_CODES: Mapping[Verdict, int] = {"holds": 0, "fails": 1, "inconclusive": 3}
"""Exit codes of a command by its worst verdict."""

_BAD: tuple[Verdict, ...] = ("fails", "inconclusive")  # the worst first

_USUAL = 0.95
_ERROR = 0.05  # of all numbers of a claim together
_ROUNDING = 1e-9  # of sums of floats, so that a tolerance of half a digit includes its ends


class ClaimJson(TypedDict):
    """A claim and whether it holds."""

    claim: str
    verdict: Annotated[str, "holds, fails or inconclusive."]
    why: str


@dataclass(frozen=True)
class Judgement:
    """A claim, and whether it holds."""

    claim: str
    verdict: Verdict
    why: str = ""

    def json(self) -> ClaimJson:
        """Return it for programs."""
        return {"claim": self.claim, "verdict": self.verdict, "why": self.why}


class Claim(Protocol):
    """What must hold of numbers."""

    @property
    def text(self) -> str:
        """The claim in words."""

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Say whether it holds of numbers by name."""


@dataclass(frozen=True)
class Close:
    """Numbers lie within a tolerance of print.

    >>> from shaketable.reproductions.numbers import Printed
    >>> claim = Close("the ratio is as printed", "ratio: *", tolerance=0.05)
    >>> claim.judge({"ratio: d = 3": Number("d = 3", 1.909, Printed(1.9))}).verdict
    'holds'
    """

    text: str
    numbers: str
    """Names; ``*`` stands for any text, and ``;`` separates several patterns."""
    tolerance: float | None = None
    """In the unit of the numbers; by default, they must round to what is printed."""
    relative: bool = False
    """Whether the tolerance is a share of the printed number."""

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Compare every number with print."""
        parts: list[_Part] = []
        for name, number in select(numbers, self.numbers).items():
            if number.printed is None:
                continue
            printed = number.printed
            if self.tolerance is None:
                reach = printed.rounding
            else:
                reach = self.tolerance * (abs(printed.value) if self.relative else 1)
            parts.append(_Part(name, number.difference, -reach, reach, strict=False))
        return _judge(self.text, parts, _find_lacking(numbers, self.numbers))


@dataclass(frozen=True)
class Agrees:
    """No number differs from print, both sides being uncertain; with 95 % for all together.

    Wide intervals agree with anything, so claim `Precise` beside it.

    >>> from shaketable.reproductions.numbers import Printed
    >>> claim, runs = Agrees("accuracy is as printed", "accuracy"), np.array([99.4, 99.5, 99.6])
    >>> [
    ...     claim.judge({"accuracy": Number("accuracy", runs, Printed(value, 0.01, 1200))}).verdict
    ...     for value in (99.45, 90.0)
    ... ]
    ['holds', 'fails']
    """

    text: str
    numbers: str

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Look whether 0 is in the interval of every difference, up to the rounding of print."""
        parts: list[_Part] = []
        for name, number in select(numbers, self.numbers).items():
            if number.printed is None:
                continue
            reach = 0.0 if number.printed.half else number.printed.rounding
            parts.append(_Part(name, number.difference, -reach, reach, strict=False, overlap=True))
        return _judge(self.text, parts, _find_lacking(numbers, self.numbers))


@dataclass(frozen=True)
class Precise:
    """Intervals are no wider than those of print, or than so many times as wide.

    >>> from shaketable.reproductions.numbers import Printed
    >>> runs = np.array([99.4, 99.5, 99.6, 99.5])
    >>> claim = Precise("accuracy is as precise as in print", "accuracy")
    >>> for half in (0.2, 0.1):
    ...     number = Number("accuracy", runs, Printed(99.5, half, 1200))
    ...     print(claim.judge({"accuracy": number}).verdict)
    holds
    inconclusive
    """

    text: str
    numbers: str
    times: float = 1.0

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Compare every half width with the printed one; more runs narrow what is too wide."""
        widest, name, count = 0.0, "", 0
        for each, number in select(numbers, self.numbers).items():
            printed = number.printed
            if printed is None or not printed.half:
                continue
            count += 1
            e = number.estimate
            ratio = math.nan if e is None else (e.high - e.low) / 2 / printed.half
            ratio = math.inf if math.isnan(ratio) else ratio
            if ratio >= widest:
                widest, name = ratio, each
        verdict: Verdict = "holds" if count and widest <= self.times else "inconclusive"
        times = f"{widest:.2f} times print" if math.isfinite(widest) else "of unknown width"
        why = f"widest of {count}: {name}, {times}" if count else "none is known"
        lacking = _find_lacking(numbers, self.numbers)
        if lacking and verdict == "holds":
            return Judgement(self.text, "inconclusive", lacking)
        return Judgement(self.text, verdict, why)


@dataclass(frozen=True)
class Within:
    """Numbers lie strictly between two limits; a sign is claimed by the limit 0."""

    text: str
    numbers: str
    low: float = -math.inf
    high: float = math.inf

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Compare every number with the limits."""
        chosen = select(numbers, self.numbers).items()
        parts = [_Part(name, _take(number), self.low, self.high) for name, number in chosen]
        return _judge(self.text, parts, _find_lacking(numbers, self.numbers))


@dataclass(frozen=True)
class Order:
    """Every number is larger than the one before it, by more than a gap."""

    text: str
    numbers: Sequence[str]
    """Names, the smallest first."""
    gap: float = 0.0

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Compare every number with the next one; paired where both have the same runs."""
        lacking = [name for name in self.numbers if name not in numbers]
        if lacking:
            return Judgement(self.text, "inconclusive", f"{lacking[0]} was not measured")
        parts = [
            _Part(f"{b} above {a}", subtract(numbers[b], numbers[a]), self.gap, math.inf)
            for a, b in zip(self.numbers, self.numbers[1:], strict=False)
        ]
        return _judge(self.text, parts)


@dataclass(frozen=True)
class Open:
    """Nothing is claimed of what was measured, so nothing is known, whatever else holds.

    >>> Open("what holds on other data").judge({}).verdict
    'inconclusive'
    """

    text: str

    def judge(self, numbers: Mapping[str, Number]) -> Judgement:
        """Say that nothing is claimed."""
        why = "nothing is claimed of it" if numbers else "nothing was measured"
        return Judgement(self.text, "inconclusive", why)


@dataclass(frozen=True)
class _Part:
    """A value that must lie between two limits."""

    name: str
    value: Estimate | float | None
    """None if nothing is known about its uncertainty."""
    low: float
    high: float
    strict: bool = True
    """Whether the limits themselves are outside."""
    overlap: bool = False
    """Whether an interval that is not all outside suffices."""

    def decide(self, confidence: float) -> Verdict:
        """Compare the value, or its interval, with the limits."""
        if self.value is None:
            return "inconclusive"
        low, high = self._limit(confidence)
        if math.isnan(low) or math.isnan(high):
            return "inconclusive"
        if self.strict:
            inside = self.low < low and high < self.high
            outside = high <= self.low or low >= self.high
        else:
            least, most = self.low - _ROUNDING, self.high + _ROUNDING
            inside, outside = least <= low and high <= most, high < least or low > most
        if self.overlap:
            inside = not outside
        return "holds" if inside else "fails" if outside else "inconclusive"

    def _limit(self, confidence: float) -> tuple[float, float]:
        if isinstance(self.value, Estimate):
            e = self.value.again(confidence=confidence)
            return e.low, e.high
        value = math.nan if self.value is None else self.value
        return value, value

    def describe(self, confidence: float) -> str:
        """Name and value, with the interval that decides."""
        if self.value is None:
            return f"{self.name}: a single value, of unknown spread"
        if isinstance(self.value, Estimate):
            low, high = self._limit(confidence)
            sure = "" if confidence == _USUAL else f" at {_format_confidence(confidence)}"
            return f"{self.name}: {self.value.value:.4g} [{low:.4g}, {high:.4g}]{sure}"
        return f"{self.name}: {self.value:.4g}"


def _format_confidence(confidence: float) -> str:
    """Write a confidence with as many digits as tell it from 100 %.

    >>> [_format_confidence(1 - 0.05 / n) for n in (2, 5, 9, 81, 1200)]
    ['97.5 %', '99 %', '99.4 %', '99.94 %', '99.996 %']
    """
    percent = 100 * confidence
    digits = max(1, -math.floor(math.log10(100 - percent)))
    return f"{round(percent, digits):g} %"


def _judge(text: str, parts: Sequence[_Part], lacking: str = "") -> Judgement:
    """Judge all parts together; the worst decides, and what is lacking leaves doubt."""
    if not parts:
        return Judgement(text, "inconclusive", "none of its numbers was measured")
    confidence = _USUAL if len(parts) == 1 else 1 - _ERROR / len(parts)
    verdicts = [part.decide(confidence) for part in parts]
    for verdict in _BAD:
        found = [part for part, v in zip(parts, verdicts, strict=True) if v == verdict]
        if found:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            return Judgement(text, verdict, f"{found[0].describe(confidence)}{more}")
    if lacking:
        return Judgement(text, "inconclusive", lacking)
    return Judgement(
        text, "holds", parts[0].describe(confidence) if len(parts) == 1 else f"all {len(parts)}"
    )


def _take(number: Number) -> Estimate | float | None:
    """Return the value as its interval decides."""
    return number.value if number.is_exact else number.estimate


def subtract(first: Number, second: Number) -> Estimate | float | None:
    """Return the first number minus the second: by runs where both have the same number of them."""
    if first.is_exact and second.is_exact:
        return first.value - second.value
    if first.runs and first.runs == second.runs:
        gaps = np.asarray(first.ours) - np.asarray(second.ours)
        return mean_over_runs(gaps) if len(gaps) > 1 else None
    a, b = (
        Estimate(n.value, n.value, n.value, 0.95, "exact", lambda *_, n=n: (n.value, n.value))
        if n.is_exact
        else n.estimate
        for n in (first, second)
    )
    return None if a is None or b is None else subtract_independent(a, b)


def select(numbers: Mapping[str, Number], pattern: str) -> dict[str, Number]:
    """Return the numbers whose names fit; ``*`` stands for any text, ``;`` separates patterns.

    >>> [*select({"a: 1": Number("1", 0.0), "b: 1": Number("1", 0.0)}, "a: *")]
    ['a: 1']
    """
    escaped = (re.escape(each.strip()).replace(r"\*", ".*") for each in pattern.split(";"))
    fits = re.compile("|".join(escaped)).fullmatch
    return {name: number for name, number in numbers.items() if fits(name)}


def _find_lacking(numbers: Mapping[str, Number], pattern: str) -> str:
    """Say which of several patterns fits no number; nothing if all fit some."""
    lacking = [each.strip() for each in pattern.split(";") if not select(numbers, each)]
    more = f", and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return f"{lacking[0]} was not measured{more}" if lacking else ""


def find_worst(judgements: Sequence[Judgement]) -> Verdict:
    """Return the worst verdict; without any claim, nothing is known."""
    found = {judgement.verdict for judgement in judgements}
    for verdict in _BAD:
        if verdict in found:
            return verdict
    return "holds" if found else "inconclusive"
