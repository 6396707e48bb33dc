"""Requirements as texts, such as ``mscr >= -1``, and the corruptions that they need."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.toml_files import parse_toml, read_text
from shaketable.corruptions.parse import has_size_eps_min, parse
from shaketable.corruptions.registry import EpsMin
from shaketable.corruptions.suites.suite import Suite, suite
from shaketable.findings.choosing import list_ways
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.parts import Bracket, read_bracket
from shaketable.findings.requirements.quantities import (
    RareQuantity,
    SeriesQuantity,
    SuiteQuantity,
    find_quantity,
    find_scale,
    list_labels,
)
from shaketable.findings.subgroups.numbers import CLASS
from shaketable.findings.suite_results import PARTS

_FORM = (
    "METRIC >= LIMIT or METRIC <= LIMIT, such as 'mscr >= -1', 'error[jitter(0.2)] <= 5%', "
    "'accuracy[by sex=f] >= 85%', 'worst_group(sex).accuracy >= 80%', "
    "'model(rf).accuracy >= 90%' or 'difference(new, old).accuracy >= -0.5', rates in per cent"
)
_NAME = r"""(?:"[^"]*"|'[^']*'|(?:[^,()"']|\([^()]*\))+)"""
_PREFIX = re.compile(rf"\s*(?P<word>[A-Za-z_]\w*)\s*\((?P<names>\s*{_NAME}(?:,{_NAME})*)\)\s*\.\s*")
_WHOLE = re.compile(
    r"""\s*(?P<metric>[A-Za-z_]\w*(?:\.\w+)*(?::\w+)?)\s*(?:\[(?P<under>.*)\])?\s*
    (?P<sign>[<>=!]=?)\s*(?P<limit>\S+?)\s*(?P<percent>%?)\s*""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER_OF_NAMES = {"model": 1, "difference": 2, "worst_group": 1}


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
    label: str = ""
    """The class; empty for all."""
    group: tuple[str, str] | None = None
    """Column and value of the group of points; None for all points."""
    worst: str = ""
    """Column all of whose groups must meet it; ``class`` for every class."""

    def __str__(self) -> str:
        return self.text

    @property
    def is_difference(self) -> bool:
        """Whether it is about the difference of two models."""
        return len(self.models) == 2

    @property
    def is_rate(self) -> bool:
        """Whether its numbers are in per cent; else they are as they are, such as a log loss."""
        return find_quantity(self.metric, self.text).scale != 1

    @property
    def bracket(self) -> Bracket:
        """What stands in its brackets."""
        return Bracket(self.under, self.label, self.group)

    @property
    def columns(self) -> list[str]:
        """Columns that its groups are by."""
        named = [self.worst, self.group[0] if self.group else ""]
        return [column for column in dict.fromkeys(named) if column not in ("", CLASS)]

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
    start, prefixes = 0, dict[str, tuple[str, ...]]()
    while prefix := _PREFIX.match(text, start):
        start = prefix.end()
        _read_prefix(text, prefix, prefixes)
    match = _WHOLE.fullmatch(text, start)
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
    models = prefixes.get("model", ()) or prefixes.get("difference", ())
    metric = match["metric"]
    written = " ".join(text.split()).removesuffix("%").rstrip()
    bracket = read_bracket(written, metric, match["under"] or "")
    if bracket.group and not all(bracket.group):
        raise InputError(f"requirement {written!r} must name a group as in [by sex=f]")
    scale = find_scale(metric)
    if scale == 1 and match["percent"]:
        raise InputError(
            f"requirement {written + '%'!r}: {metric} is no share; write its limit as a number, "
            "without a % sign"
        )
    if len(models) < 2 and scale != 1:
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
        limit=limit / scale,
        models=models,
        under=bracket.under,
        label=bracket.label,
        group=bracket.group,
        worst=next(iter(prefixes.get("worst_group", ())), ""),
    )


def _read_prefix(text: str, match: re.Match[str], known: dict[str, tuple[str, ...]]) -> None:
    """Add the names of a word such as ``model(rf)`` to those that are known."""
    word = match["word"]
    if word not in _NUMBER_OF_NAMES:
        raise unknown_name(f"word in requirement {text!r}:", word, _NUMBER_OF_NAMES)
    names = tuple(name.strip().strip("\"'") for name in re.findall(_NAME, match["names"]))
    if len(names) != _NUMBER_OF_NAMES[word] or not all(names):
        needed = {"model": "one model", "difference": "two models", "worst_group": "one column"}
        raise InputError(
            f"requirement {text!r}: {word}() must name {needed[word]}, got {len(names)}; put "
            "names that contain commas or brackets in quotes"
        )
    if word in known or {word, *known} >= {"model", "difference"}:
        raise InputError(
            f"requirement {text!r} must name its models once, as in model(rf).accuracy or "
            "difference(new, old).accuracy, and its groups once, as in worst_group(sex).accuracy"
        )
    known[word] = names


def parse_requirements(texts: Iterable[str | Requirement] | str) -> tuple[Requirement, ...]:
    """Read several requirements, or one."""
    given = [texts] if isinstance(texts, str) else list(texts)
    if not given:
        raise InputError(f"at least one requirement is needed, got none; write {_FORM}")
    read = (t if isinstance(t, Requirement) else parse_requirement(t) for t in given)
    return tuple(dict.fromkeys(read))


def read_file(path: str | Path) -> list[str]:
    """Return the requirements in a TOML file, ``require = ["mscr >= -1", …]``."""
    name = name_file(path)
    return list_texts(read_text(path, name), name)


def name_file(path: str | Path) -> str:
    """Name of a file of requirements in messages."""
    return f"requirements file {str(path)!r}"


def list_texts(text: str, name: str) -> list[str]:
    """Return the requirements that a file says; `name` names it in messages."""
    settings = parse_toml(text, name)
    for key in settings:
        if key != "require":
            raise unknown_name(f"key in {name}:", key, ["require"])
    texts: Any = settings.get("require")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise InputError(f'{name} must hold texts, such as require = ["mscr >= -1"], got {texts!r}')
    return texts


_SUITES = {
    "mce_lp": "pnorm",
    "ice": "ice",
    "mce": "common-19",
    "mce_15": "common-15",
    "mce_xn": "common-xn",
}
"""Suites that metrics are measured with if none is named."""


def list_needs(requirements: Iterable[Requirement]) -> list[str | Suite]:
    """Return the corruptions and suites that a model must be evaluated under."""
    needs: dict[str, str | Suite] = {}
    for requirement in requirements:
        spec, suite_name = _find_need(requirement)
        if suite_name:
            needs[suite_name] = suite(suite_name)
        elif spec and spec != "clean":
            needs[spec] = spec
    return list(needs.values())


def list_columns(requirements: Iterable[Requirement]) -> list[str]:
    """Return the columns whose groups requirements are about."""
    return list(dict.fromkeys(column for r in requirements for column in r.columns))


def check_groups(requirements: Iterable[Requirement], by: Sequence[str], *, answers: bool) -> None:
    """Raise an `InputError` for a requirement on groups, or answers, that would not be kept."""
    for requirement in requirements:
        for column in requirement.columns:
            if column not in by:
                raise InputError(
                    f"requirement {requirement.text!r} needs groups by {column}, which would not "
                    "be on record; add " + either(f"--by {column}", f"by={column!r}")
                )
        quantity = find_quantity(requirement.metric, requirement.text)
        if isinstance(quantity, SeriesQuantity) and quantity.needs_answers and not answers:
            raise InputError(
                f"requirement {requirement.text!r} needs what the model answered, which would not "
                "be on record; add " + either("--record answers", "record='answers'")
            )


def check_needs(requirements: Iterable[Requirement], levels: Sequence[str | Suite]) -> None:
    """Raise an `InputError` for a requirement that is not measured under these specs and suites."""
    for requirement in requirements:
        if flag := _find_missing(requirement, levels):
            _, noise = flag
            raise InputError(
                f"requirement {requirement.text!r} needs {noise}, which would not be measured; "
                f"add {shlex.join(flag)}"
            )


def check_models(requirements: Iterable[Requirement], names: Iterable[str]) -> None:
    """Raise an `InputError` for a requirement about models other than those of these names.

    Labels of models begin with their names: ``rf, training noise clean``, ``resnet9(C1)``.
    """
    known = tuple(names)
    for requirement in requirements:
        for model in requirement.models:
            if not model.startswith(known):
                raise unknown_name(f"model in requirement {requirement.text!r}:", model, known)


def _find_missing(
    requirement: Requirement, levels: Sequence[str | Suite]
) -> tuple[str, str] | None:
    """Return the flag that adds what a requirement needs, and its value; None for nothing."""
    quantity = find_quantity(requirement.metric, requirement.text)
    under = requirement.under
    if isinstance(quantity, RareQuantity):
        raise _refuse_rare(requirement)
    specs = [s for level in levels for s in ([level] if isinstance(level, str) else level.names)]
    suites = [level for level in levels if isinstance(level, Suite)]
    if isinstance(quantity, SuiteQuantity):
        metrics = {quantity.metric} | ({"mce"} if quantity.metric in PARTS else set())
        known = any(s.metric in metrics and under in ("", s.name) for s in suites)
        return None if known else ("--suite", under or _SUITES.get(quantity.metric, "NAME"))
    if isinstance(quantity, SeriesQuantity) and not under and quantity.default == "eps_min":
        known = any(map(has_size_eps_min, specs))
        return None if known else ("--corruptions", "linf(eps_min)")
    if not under or under == "clean" or suites:  # what suites hold depends on the data
        return None
    known = any(_is_same(under, spec) for spec in specs)
    return None if known else ("--corruptions", under)


def _refuse_rare(requirement: Requirement) -> InputError:
    """Return the error for a requirement that evaluations cannot decide."""
    return InputError(
        f"requirement {requirement.text!r} is about what {either('shaketable risk', 'risk(…)')} "
        "measures, into a results file; decide it there, with check"
    )


def _is_same(first: str, second: str) -> bool:
    """Whether two specs name the same corruption, whatever eps_min of the data is."""
    trials: tuple[EpsMin, ...] = (lambda _: 1.0, lambda _: 2.0)
    return all(list_ways(first, trial) & list_ways(second, trial) for trial in trials)


def _find_need(requirement: Requirement) -> tuple[str, str]:
    """Return the corruption that a requirement needs, or else the name of the suite."""
    quantity = find_quantity(requirement.metric, requirement.text)
    under = requirement.under
    if isinstance(quantity, RareQuantity):
        raise _refuse_rare(requirement)
    if isinstance(quantity, SuiteQuantity):
        name = under or _SUITES.get(quantity.metric, "")
        if not name:
            raise InputError(
                f"requirement {requirement.text!r} must name its suite, such as "
                f"{requirement.metric}[two-factor]; see shaketable list suites"
            )
        return "", name
    if not isinstance(quantity, SeriesQuantity):
        raise InputError(
            f"requirement {requirement.text!r} does not say which corruptions {requirement.metric} "
            f"needs; name them with {either('--corruptions', 'corruptions=')}"
        )
    default = {"clean": "clean", "eps_min": "linf(eps_min)"}.get(quantity.default, "")
    if not under and not default:
        raise InputError(
            f"requirement {requirement.text!r} must name the corruption, such as "
            f"{requirement.metric}[linf(0.1)]"
        )
    return under or default, ""


def suggest_command(
    groups: RecordGroups, requirement: Requirement, lacking: Iterable[str], store: str
) -> str:
    """Say what is not on record for which models, and the flags or arguments that measure it."""
    try:
        spec, suite_name = _find_need(requirement)
    except InputError as error:
        return str(error)
    known = dict(list_labels(groups))
    labels = [label for label in known if label in set(lacking)]
    noise = f"suite {suite_name}" if suite_name else spec
    flags = ["--suite", suite_name] if suite_name else ["--corruptions", spec]
    command = shlex.join([*flags, "--store", store or "STORE"])
    others = ""
    if len(labels) < len(known) and not requirement.models:
        others = f"; or name the models that it is about: model(NAME).{requirement.metric}"
    call = f"corruptions={f'suite({suite_name!r})' if suite_name else repr(spec)}, store="
    how = either(f"the command that measured these, with {command}", f"evaluate(…, {call})")
    remedy = f"measure it by {how}{others}"
    if not suite_name:
        try:
            parse(spec, eps_min=lambda _: 1.0)
        except InputError as error:  # it cannot be measured either
            remedy = str(error)
    return (
        f"requirement {requirement.text!r} needs {noise} on record for {list_names(labels)}, got "
        f"{list_names(list(dict.fromkeys(c.noise for c in groups.conditions)))}; {remedy}"
    )
