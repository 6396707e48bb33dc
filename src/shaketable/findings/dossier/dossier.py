"""The dossier of a results file: put together once, shown as a page, as PDF and as JSON."""

from __future__ import annotations

import hashlib
import json as json_format
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

from shaketable.core.errors import InputError
from shaketable.core.schemas import add_version
from shaketable.core.versions import list_versions
from shaketable.core.writing import write_beside
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.rerun import RerunJson
from shaketable.findings.dossier import view
from shaketable.findings.dossier.crosswalk import NOTICE, read_crosswalk
from shaketable.findings.dossier.evidence import (
    Independence,
    IndependenceJson,
    ModelOfDossierJson,
    Overlap,
    Perturbation,
    PerturbationJson,
    Subject,
    list_limits,
    list_perturbations,
    list_subjects,
)
from shaketable.findings.dossier.facts import REASONS, FactJson, Facts, read_facts
from shaketable.findings.missing import RESULTS_FILE, list_missing
from shaketable.findings.provenance import make_title
from shaketable.findings.requirements.check import find_registered
from shaketable.findings.requirements.registered import Registered, RegistrationJson
from shaketable.findings.results import Found, Results, as_results
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class MissingJson(TypedDict):
    """What a dossier lacks, and how to get it."""

    section: str
    what: str
    remedy: str


class DossierFileJson(TypedDict):
    """The results file."""

    name: str
    sha256: Annotated[str, "Hash of the file; empty if there was none."]


class CommandOfDossierJson(TypedDict):
    """A command that made the results file."""

    line: Annotated[str, "As a shell takes it."]
    lacks: Annotated[dict[str, str], "What was given in Python and cannot be written down, by key."]
    fingerprint: Annotated[str, "Of the data; empty if it took none."]
    models: Annotated[dict[str, str], "Hashes by name."]
    versions: dict[str, str]
    platform: str
    created: str


class TopicJson(TypedDict):
    """A topic of a standard or law, and the sections that have to do with it."""

    document: str
    date: str
    source: str
    topic: str
    sections: list[str]
    not_from_this_tool: str


class DossierJson(TypedDict):
    """Result of dossier."""

    created: str
    made_with: Annotated[dict[str, str], "Versions of the software that wrote it."]
    file: DossierFileJson
    facts: list[FactJson]
    models: list[ModelOfDossierJson]
    registrations: Annotated[list[RegistrationJson], "Requirements that the results file keeps."]
    registration_notes: Annotated[
        list[str], "What was measured before it was required, and what was changed."
    ]
    independence: IndependenceJson
    perturbations: list[PerturbationJson]
    results: Annotated[
        dict[str, Any], "All findings, as report --json prints them: list schema report."
    ]
    limits: list[str]
    rerun: Annotated[RerunJson | None, "Result of rerun; null if it was not given."]
    commands: list[CommandOfDossierJson]
    crosswalk_notice: str
    crosswalk: list[TopicJson]
    missing: list[MissingJson]


@dataclass(frozen=True)
class Missing:
    """What a dossier lacks, and how to get it."""

    section: str
    what: str
    remedy: str

    def json(self) -> MissingJson:
        """Return all of it."""
        return {"section": self.section, "what": self.what, "remedy": self.remedy}


_SECTIONS: Mapping[str, str | None] = {
    "the worst case": "worst-case",
    "groups of points": "groups",
    "which feature is most fragile": "features",
    "requirements": None,  # there is a section for them
    "the inputs that flip, shown": None,  # a dossier holds no inputs
}
"""Sections of what `list_missing` finds; others are in ``missing``."""


@dataclass(frozen=True, eq=False)
class Dossier(Displayed):
    """What a results file shows, and what its user declares, in the order of an assessment.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> found = st.dossier(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", name="step"))
    >>> found.json()["models"][0]["statement"]
    'robustness of the class that step answers (False, True) to linf'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(found.report(Path(folder) / "dossier.json").name)
    dossier.json
    """

    results: Results
    dataset: Dataset | None
    facts: Facts
    independence: Independence
    rerun: RerunJson | None
    store: str
    """Name of the results file."""
    sha256: str
    """Hash of the results file; empty without one."""
    created: str

    @property
    def name(self) -> str:
        """Name and version of the system, or that they are missing."""
        name, version = (self.facts.get("system", key) for key in ("name", "version"))
        return " ".join(str(part) for part in (name or "not named", version) if part)

    @cached_property
    def subjects(self) -> list[Subject]:
        """All models."""
        return list_subjects(self.results.groups)

    @cached_property
    def perturbations(self) -> list[Perturbation]:
        """The catalogue of perturbations."""
        return list_perturbations(self.results.groups)

    @cached_property
    def registered(self) -> Registered | None:
        """Requirements that are registered; None if none are."""
        return find_registered(self.results.records)

    @property
    def _decisions(self) -> Any:
        return getattr(self.results.findings.get("requirements"), "check", None)

    @property
    def outcome(self) -> str:
        """Outcome of all decisions on requirements, in words; empty without any."""
        if self._decisions is None:
            return ""
        number = len(getattr(self.results.findings["requirements"], "errors", ()))
        return str(self._decisions).splitlines()[0] + f"; {number} not measured" * bool(number)

    @cached_property
    def registration_notes(self) -> list[str]:
        """What was measured before it was required, and which requirements were changed."""
        return [] if self._decisions is None else self._decisions.notes

    @cached_property
    def found_blocks(self) -> list[Block]:
        """Sections of all that the results show, and of how they were made."""
        from shaketable.findings.page import list_parts  # loads the charts

        return [block for part in list_parts(self.results, self.dataset) for block in part]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Names of all sections by place."""
        asked = {m.section for m in self.missing}
        lacking = {p: name for p, (_, name) in view.EVIDENCE.items() if p in asked}
        return {**lacking, **view.CONTENTS, **view.list_titles(self.found_blocks)}

    @property
    def limits(self) -> list[str]:
        """What the numbers do not show, one sentence each."""
        return list_limits(self.results.groups, [*view.list_titles(self.found_blocks)])

    @cached_property
    def missing(self) -> list[Missing]:
        """Facts and evidence that are missing."""
        facts = [Missing("facts", place, self.facts.ask(place)) for place in self.facts.missing]
        reasons = [
            Missing("facts", f"[{REASONS}] {p.name}", self.facts.ask(f"[{REASONS}] {p.name}"))
            for p in self.perturbations
            if not (p.suites or self.facts.find_reason(p.name))
        ]
        return [*facts, *reasons, *self._list_missing()]

    def _list_missing(self) -> Iterator[Missing]:
        """Return evidence that is missing, and the command that gives it."""
        if self.registered is None:
            yield Missing(
                "registered",
                "requirements that were registered before the measurement; register them first, "
                "then measure into the same new file",
                f"shaketable check --register requirements.toml --store {RESULTS_FILE}",
            )
        if self.independence.overlap is None:
            yield Missing(
                "independence",
                "whether test points equal training points; name the data",
                f"shaketable dossier {self.store} --data DATA",
            )
        if self.rerun is None:
            yield Missing(
                "repeat",
                "whether the results come out again; name the file with --rerun",
                f"shaketable rerun {self.store} --json > rerun.json",
            )
        if not self.perturbations:
            yield Missing(
                "perturbations",
                "any perturbation",
                f"shaketable evaluate --model FILE --data DATA --store {self.store}",
            )
        if "risk" not in view.list_titles(self.found_blocks):
            yield Missing(
                "risk",
                "bounds on the probability of a wrong answer, which a fitted model has",
                f"shaketable evaluate --model FILE --data DATA --store {self.store}",
            )
        for what, command in list_missing(self.results).items():
            if (section := _SECTIONS.get(what, "missing")) is not None:
                yield Missing(section, what, command)

    def blocks(self) -> list[Block]:
        """Return all sections, what is missing first of all."""
        return view.make_blocks(self)

    def json(self) -> DossierJson:
        """Return all that the page says, for programs.

        Returns
        -------
        DossierJson
            Keys as in ``shaketable dossier --json``.
        """
        records = self.results.records
        return {
            "created": self.created,
            "made_with": list_versions(),
            "file": {"name": self.store if self.sha256 else "", "sha256": self.sha256},
            "facts": self.facts.json(),
            "models": [subject.json() for subject in self.subjects],
            "registrations": [] if self.registered is None else self.registered.json(),
            "registration_notes": self.registration_notes,
            "independence": self.independence.json(),
            "perturbations": [p.json(self.facts.find_reason(p.name)) for p in self.perturbations],
            "results": self.results.json(),
            "limits": self.limits,
            "rerun": self.rerun,
            "commands": [
                {
                    "line": command.write(self.store),
                    "lacks": command.lacks,
                    "fingerprint": command.fingerprint,
                    "models": command.models,
                    "versions": command.versions,
                    "platform": command.platform,
                    "created": command.created,
                }
                for command in records.commands
            ],
            "crosswalk_notice": NOTICE,
            "crosswalk": [
                {
                    "document": topic.document.name,
                    "date": topic.document.date,
                    "source": topic.document.source,
                    "topic": topic.words,
                    "sections": [place for place in topic.sections if place in self.titles],
                    "not_from_this_tool": topic.lacks,
                }
                for topic in read_crosswalk()
            ],
            "missing": [missing.json() for missing in self.missing],
        }

    def report(self, path: str | Path) -> Path:
        """Write the dossier as a page, as PDF, or as JSON, by the ending of the file.

        Parameters
        ----------
        path
            File to write, ``.html``, ``.pdf`` or ``.json``; an older one is replaced.

        Returns
        -------
        pathlib.Path
            The file.
        """
        path = Path(path)
        if path.suffix.lower() == ".json":
            with write_beside(path, "dossier") as beside:
                content = json_format.dumps(add_version(self.json()), indent=2)
                beside.write_text(content, encoding="utf-8")
            return path
        from shaketable.findings.page import list_warnings  # loads the charts
        from shaketable.views import page

        named = self.facts.get("system", "name")
        title = self.name if named else make_title(self.results.records)
        return page.write_blocks(
            path,
            self.blocks(),
            title=f"Robustness dossier: {title}",
            lead=view.LEAD,
            notes=list_warnings(self.results),
        )


def dossier(
    found: Found,
    facts: str | Path | Facts | None = None,
    *,
    data: Any = None,
    rerun: str | Path | RerunJson | None = None,
) -> Dossier:
    """Put together what an assessment asks for, from a results file and declared facts.

    Parameters
    ----------
    found
        Results file; or records, or their findings.
    facts
        File of facts (``shaketable dossier init``); by default all of them are missing.
    data
        The data that were evaluated: test points that equal others are counted.
    rerun
        File that ``shaketable rerun --json`` wrote, or what `Rerun.json` returned.

    Returns
    -------
    Dossier
        Print it, or write it with ``report("dossier.html")``.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", name="step")
    >>> [missing.section for missing in st.dossier(records, data=data).missing][-3:]
    ['features', 'groups', 'worst-case']
    """
    declared = read_facts(facts) if isinstance(facts, str | Path) else facts or Facts()
    results = as_results(found)
    path = str(found) if isinstance(found, str | Path) else ""
    dataset = None if data is None else as_dataset(data)
    overlap = None if dataset is None else Overlap.of(dataset, results.records)
    made = Dossier(
        results if dataset is None else results.with_data(dataset),
        dataset,
        declared,
        Independence(results.records, overlap),
        None if rerun is None else _read_rerun(rerun, results),
        path or results.records.source or RESULTS_FILE,
        _hash_file(path) if path else "",
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    declared.check_reasons(p.name for p in made.perturbations)
    return made


def _hash_file(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_rerun(given: str | Path | RerunJson, results: Results) -> RerunJson:
    """Return the outcome of rerun, which must be about these results."""
    where, content = "rerun", cast(Any, given)
    if isinstance(given, str | Path):
        where = f"rerun file {str(given)!r}"
        try:
            content = json_format.loads(Path(given).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{where} cannot be read: {error}") from error
    known = RerunJson.__required_keys__
    if not isinstance(content, dict) or (lacks := sorted(known - content.keys())):
        missing = "" if not isinstance(content, dict) else f"; it lacks {lacks[0]!r}"
        raise InputError(f"{where} must be what shaketable rerun --json printed{missing}")
    try:
        made = {
            (c["fingerprint"], c["created"], *sorted(c["models"].items()))
            for c in content["commands"]
        }
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{where} must be what shaketable rerun --json printed") from error
    then = {
        (c.fingerprint, c.created, *sorted(c.models.items()))
        for c in results.records.commands
        if c.recipes
    }
    if made != then:
        raise InputError(
            f"{where} is about other results: its commands are not those of the results file; run "
            "shaketable rerun on this file"
        )
    return cast(RerunJson, {key: content[key] for key in RerunJson.__required_keys__})
