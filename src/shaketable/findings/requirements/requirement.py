"""Requirements as texts: ``mscr >= -1``, ``difference(new, old).accuracy >= -0.5``."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.findings.requirements.quantities import find_quantity

_FORM = (
    "METRIC >= LIMIT or METRIC <= LIMIT, such as 'mscr >= -1', 'error[jitter(0.2)] <= 5%', "
    "'model(rf).accuracy >= 90%' or 'difference(new, old).accuracy >= -0.5', rates in per cent"
)
_NAME = r"""(?:"[^"]*"|'[^']*'|(?:[^,()"']|\([^()]*\))+)"""
_WHOLE = re.compile(
    rf"""\s*(?:(?P<word>[A-Za-z_]\w*)\s*\((?P<names>\s*{_NAME}(?:,{_NAME})*)\)\s*\.\s*)?
    (?P<metric>[A-Za-z_]\w*(?:\.\w+)*)\s*(?:\[(?P<under>.*)\])?\s*
    (?P<sign>[<>=!]=?)\s*(?P<limit>\S+?)\s*(?P<percent>%?)\s*""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER_OF_MODELS = {"model": 1, "difference": 2}


@dataclass(frozen=True)
class Requirement:
    """A limit on one metric of some models, or on the difference of two.

    >>> requirement = parse_requirement("difference(new, old).error[linf(0.1)] <= 0.5")
    >>> requirement.models, requirement.metric, requirement.under, requirement.limit
    (('new', 'old'), 'error', 'linf(0.1)', 0.005)
    """

    text: str
    """As it was written, but for blanks; a limit that is no difference has its % sign."""
    metric: str
    sign: Literal[">=", "<="]
    limit: float
    """As a fraction."""
    models: tuple[str, ...] = ()
    """Empty: all models; one: this model; two: the first minus the second."""
    under: str = ""
    """The corruption, or the suite of a metric of suites; empty for the metric's default."""

    def __str__(self) -> str:
        return self.text

    @property
    def is_difference(self) -> bool:
        """Whether it is about the difference of two models."""
        return len(self.models) == 2

    def decide(self, low: float, high: float) -> Literal["met", "not met", "inconclusive"]:
        """``met`` or ``not met`` if that holds in the whole interval, else ``inconclusive``.

        >>> parse_requirement("error <= 5").decide(0.02, 0.05)
        'met'
        """
        if self.sign == "<=":
            low, high, limit = -high, -low, -self.limit
        else:
            limit = self.limit
        if low >= limit:
            return "met"
        return "not met" if high < limit else "inconclusive"


def parse_requirement(text: str) -> Requirement:
    """Read a requirement.

    Limits are in per cent, those of differences in percentage points. A limit such as 0.85 on a
    rate is refused unless it has a % sign: as likely as not, 85 % is meant.

    >>> parse_requirement("error <= 5").text, parse_requirement("error <= 0.5%").limit
    ('error <= 5%', 0.005)
    """
    if not isinstance(text, str):
        raise InputError(f"a requirement must be a text, got {text!r}; write {_FORM}")
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise InputError(f"requirement {text!r} cannot be read; write {_FORM}")
    sign = match["sign"]
    if sign not in (">=", "<="):
        raise InputError(f"requirement {text!r} must compare by >= or <=, got {sign!r}")
    try:
        limit = float(match["limit"])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise InputError(
            f"requirement {text!r} must end in a number, in per cent, got {match['limit']!r}"
        )
    models = _read_models(text, match["word"], match["names"])
    metric = match["metric"]
    written = " ".join(text.split()).removesuffix("%").rstrip()
    if len(models) < 2:
        is_doubtful = 0 < limit < 1 and not match["percent"]
        if is_doubtful and find_quantity(metric, text).is_rate:
            left = written.removesuffix(match["limit"])
            raise InputError(
                f"requirement {written!r} must say whether its limit is a fraction or per cent; "
                f"did you mean '{left}{100 * limit:.10g}%' or '{left}{limit:.10g}%'?"
            )
        written += "%"
    return Requirement(
        text=written,
        metric=metric,
        sign=sign,  # type: ignore[arg-type]  # one of the two
        limit=limit / 100,
        models=models,
        under=(match["under"] or "").strip(),
    )


def _read_models(text: str, word: str | None, names: str | None) -> tuple[str, ...]:
    if word is None or names is None:
        return ()
    if word not in _NUMBER_OF_MODELS:
        raise unknown_name(f"word in requirement {text!r}:", word, _NUMBER_OF_MODELS)
    models = tuple(name.strip().strip("\"'") for name in re.findall(_NAME, names))
    if len(models) != _NUMBER_OF_MODELS[word] or not all(models):
        raise InputError(
            f"requirement {text!r}: {word}() must name "
            f"{'two models' if word == 'difference' else 'one model'}, got {len(models)}; put "
            "names that contain commas or brackets in quotes"
        )
    return models


def parse_requirements(texts: Iterable[str | Requirement] | str) -> tuple[Requirement, ...]:
    """Read several requirements, or one."""
    given = [texts] if isinstance(texts, str) else list(texts)
    if not given:
        raise InputError(f"at least one requirement is needed, got none; write {_FORM}")
    read = (t if isinstance(t, Requirement) else parse_requirement(t) for t in given)
    return tuple(dict.fromkeys(read))


def read_file(path: str | Path) -> list[str]:
    """Return the requirements in a TOML file, ``require = ["mscr >= -1", …]``."""
    name = f"requirements file {str(path)!r}"
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # all that tomllib raises
        raise InputError(f"{name} cannot be read: {error}") from error
    for key in settings:
        if key != "require":
            raise unknown_name(f"key in {name}:", key, ["require"])
    texts: Any = settings.get("require")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise InputError(f'{name} must hold texts, such as require = ["mscr >= -1"], got {texts!r}')
    return texts
