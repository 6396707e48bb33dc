"""The sections of a dossier, as blocks; those of findings are the findings' own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shaketable.evaluation.registrations import Registration
from shaketable.evaluation.rerun import RerunJson
from shaketable.findings.dossier.crosswalk import NOTICE, Topic, read_crosswalk
from shaketable.findings.dossier.evidence import Perturbation
from shaketable.findings.dossier.facts import REASONS
from shaketable.findings.section_order import PLACES
from shaketable.views.blocks import (
    Block,
    Column,
    Entry,
    Facts,
    Heading,
    Sentence,
    Table,
    order_sections,
)
from shaketable.views.text import join_distinct

if TYPE_CHECKING:
    from shaketable.findings.dossier.dossier import Dossier

LEAD = (
    "What the models are for, what must stay stable under what, what was required beforehand, and "
    "what was measured. What a person has to add, and what was not measured, is said in its place."
)
BEFORE = (
    "system", "domain", "claims", "requirements", "registered", "independence", "data", "closest",
    "duplicates", "classes", "nearest", "one-nn", "perturbations",
)  # fmt: skip
AFTER = ("limits", "repeat", "crosswalk")
_OTHERS = tuple(place for place in PLACES if place not in (*BEFORE, "method"))
DOSSIER_PLACES = (*BEFORE, *_OTHERS, *AFTER, "method")
"""Sections of a dossier in their order: what was to be shown, the results, what they leave open."""

TITLES = {
    "system": "System and responsible people",
    "domain": "Operating domain",
    "claims": "What must stay stable under what",
    "registered": "When were the requirements set?",
    "independence": "Are test points independent of training points?",
    "perturbations": "Catalogue of perturbations",
    "limits": "What these numbers do not show",
    "repeat": "How to repeat it",
    "crosswalk": "Where topics of standards and laws are",
}
CONTENTS = {
    "system": "System",
    "domain": "Domain",
    "claims": "Claims",
    "registered": "Registration",
    "independence": "Independence",
    "perturbations": "Perturbations",
    "limits": "Limits",
    "repeat": "Repeat",
    "crosswalk": "Standards",
}
EVIDENCE = {
    "risk": ("How likely is a wrong answer?", "Risk"),
    "groups": ("Groups", "Groups"),
    "features": ("Features", "Features"),
    "worst-case": ("The worst case", "Worst case"),
    "missing": ("What else was not measured", "Not measured"),
}
"""Sections of results that a dossier asks for, with their headings where something is missing."""

_MOST = 12  # levels that a row lists


def make_blocks(dossier: Dossier) -> list[Block]:
    """Return all sections in their order, what is said first of all in front."""
    sections: list[list[Block]] = [
        _show_status(dossier),
        _show_system(dossier),
        _show_domain(dossier),
        _show_claims(dossier),
        _show_registrations(dossier),
        _show_independence(dossier),
        _show_perturbations(dossier),
        _show_missing(dossier),
        dossier.found_blocks,
        _begin("limits", map(Sentence, dossier.limits)),
        _show_repeat(dossier),
        _show_crosswalk(dossier),
    ]
    return order_sections(sections, DOSSIER_PLACES)


def _begin(place: str, blocks: Iterable[Block]) -> list[Block]:
    return [Heading(TITLES[place], place, CONTENTS[place]), *blocks]


def _show_status(dossier: Dossier) -> list[Block]:
    """Say first what is missing."""
    outcome = dossier.outcome or "none could be decided"
    facts = [m.what for m in dossier.missing if m.section == "facts"]
    evidence = [f"{m.what} ({m.section})" for m in dossier.missing if m.section != "facts"]
    status = [
        ("System", dossier.name),
        ("Requirements", outcome),
        ("Facts still to be written", ", ".join(facts) or "none"),
        ("Evidence that is missing", "; ".join(evidence) or "none"),
        ("Written", dossier.created),
    ]
    return [Facts(status, level="headline")]


def _show_system(dossier: Dossier) -> list[Block]:
    facts = dossier.facts
    models = [(s.label, s.training, s.identity) for s in dossier.subjects]
    return _begin(
        "system",
        [
            Facts(facts.show("system"), level="summary"),
            Facts(
                [*facts.show("people"), *facts.show("sign_off")], "People and sign-off", "summary"
            ),
            Table(
                "models that were measured",
                (Column("model"), Column("training noise"), Column("hash")),
                models,
                what="models",
                limit=200,
            ),
        ],
    )


def _show_domain(dossier: Dossier) -> list[Block]:
    ranges = dossier.facts.get("domain", "ranges")
    shown = [(t, v) for t, v in dossier.facts.show("domain") if ranges is None or "ranges" not in t]
    table = Table(
        "declared ranges",
        (Column("quantity"), Column("range")),
        list(ranges.items()) if isinstance(ranges, dict) else [],
        limit=1000,
    )
    return _begin("domain", [Facts(shown, level="summary"), *([table] if ranges else [])])


def _show_claims(dossier: Dossier) -> list[Block]:
    return _begin("claims", (Sentence(subject.statement) for subject in dossier.subjects))


def _show_registrations(dossier: Dossier) -> list[Block]:
    known = dossier.registered
    if known is None:
        return _begin("registered", _ask(dossier, "registered"))
    return _begin(
        "registered",
        [
            *(Sentence(note, tone="alert") for note in dossier.registration_notes),
            Table(
                "since when the requirements are registered",
                (Column("requirement"), Column("registered since")),
                [(r.text, known.find_time(r.text)) for r in known.requirements],
                limit=1000,
            ),
            *(block for each in known.registrations for block in _show_registration(each)),
            Sentence(
                "a registration is a record, not a proof: whoever can write the results file can "
                "change it. Keep the hash elsewhere, such as in a signed commit",
                tone="quiet",
            ),
        ],
    )


def _show_registration(each: Registration) -> list[Block]:
    lines = [(str(i), line) for i, line in enumerate(each.text.splitlines(), 1)]
    about = [("Time", each.created), ("SHA-256 of its file", each.sha256)]
    return [
        Facts(about, f"Registration {each.number}", "summary"),
        Facts(lines, "Its file, line by line", code=True),
    ]


def _show_independence(dossier: Dossier) -> list[Block]:
    found = dossier.independence
    overlap = found.overlap
    return _begin(
        "independence",
        [
            Facts(dossier.facts.show("data"), level="summary"),
            *map(Sentence, found.sentences),
            *(
                [Sentence(str(overlap), tone="alert" if overlap.across else "kept")]
                if overlap
                else []
            ),
            *_ask(dossier, "independence"),
        ],
    )


def _show_perturbations(dossier: Dossier) -> list[Block]:
    columns = tuple(map(Column, ("perturbation", "definition", "levels", "reason")))
    return _begin(
        "perturbations",
        [
            Table(
                "perturbations that were measured",
                columns,
                [_list_perturbation(dossier, each) for each in dossier.perturbations],
                what="perturbations",
                limit=1000,
            )
        ],
    )


def _list_perturbation(dossier: Dossier, each: Perturbation) -> list[Entry | str]:
    levels = [*each.levels]
    draws = f"{join_distinct(sorted(each.draws))} draws per point"
    draws = "1 draw per point" if each.draws == {1} else draws
    reason = dossier.facts.find_reason(each.name)
    if not reason and each.suites:
        reason = f"as a part of {', '.join(each.suites)}"
    reason = reason or dossier.facts.ask(f"[{REASONS}] {each.name}")
    return [
        each.name,
        each.definition,
        Entry(
            "; ".join(levels) if len(levels) <= _MOST else f"{len(levels)} corruptions",
            f"{draws}, value range {join_distinct(each.bounds)}",
        ),
        reason,
    ]


def _show_missing(dossier: Dossier) -> list[Block]:
    """Return the sections of results that are missing, each with the command that gives it."""
    there = list_titles(dossier.found_blocks)
    blocks: list[Block] = []
    for place, (title, contents) in EVIDENCE.items():
        asked = _ask(dossier, place)
        # a section that is there, such as that of classes, lacks a part
        more = ": what is missing" if place in there else ""
        blocks += [Heading(f"{title}{more}", place, contents), *asked] if asked else []
    return blocks


def _ask(dossier: Dossier, section: str) -> list[Block]:
    """Say what a section lacks, and the command that adds it."""
    asked = [(m.what, m.remedy) for m in dossier.missing if m.section == section]
    return [
        *(Sentence(f"missing: {what}", tone="open") for what, _ in asked),
        *(
            [Facts([("Add it by", remedy) for _, remedy in asked], "", "summary", code=True)]
            * bool(asked)
        ),
    ]


def _show_repeat(dossier: Dossier) -> list[Block]:
    file = [("Results file", dossier.store), ("SHA-256 of it", dossier.sha256)]
    outcome = dossier.rerun
    return _begin(
        "repeat",
        [
            *_ask(dossier, "repeat"),
            *([] if outcome is None else [Sentence(*describe_rerun(outcome))]),
            *([Facts(file, level="summary")] if dossier.sha256 else []),
            Sentence("commands, settings and versions", place="method"),
        ],
    )


def describe_rerun(outcome: RerunJson) -> tuple[str, str]:
    """Say what became of the results when they were made again, and the name of that."""
    made = f"{outcome['cells']} measurements were made again"
    made += ", drawn at random" if outcome["sampled"] else ""
    if outcome["identical"]:
        verdict = "all counts are identical"
    elif outcome["agrees"]:
        verdict = f"{len(outcome['changes'])} differ, no more than chance explains"
    else:
        verdict = "they do not agree"
    others = [f"{name} {v['then']} then, {v['now']} now" for name, v in outcome["versions"].items()]
    if outcome["platform"]["then"] != outcome["platform"]["now"]:
        others.append("another platform")
    return f"{made}: {verdict}" + (f"; {', '.join(others)}" if others else ""), "rerun"


def _show_crosswalk(dossier: Dossier) -> list[Block]:
    titles, lacking = dossier.titles, {m.section for m in dossier.missing}
    topics = read_crosswalk()
    rows = [
        (
            topic.document.name,
            topic.words,
            *(_point(topic, titles, lacking)),
            topic.lacks,
        )
        for topic in topics
    ]
    sources = {t.document.id: t.document for t in topics}
    return _begin(
        "crosswalk",
        [
            Sentence(NOTICE, tone="quiet"),
            Table(
                "topics, the sections that have to do with them, and evidence that shaketable "
                "cannot give",
                (
                    Column("document"),
                    Column("topic"),
                    Column("section"),
                    Column("also in"),
                    Column("not from this tool"),
                ),
                rows,
                limit=1000,
                what="topics",
            ),
            Table(
                "sources of the topics",
                (Column("document"), Column("title"), Column("date"), Column("source")),
                [(d.name, d.title, d.date, d.source) for d in sources.values()],
            ),
        ],
    )


def _point(topic: Topic, titles: dict[str, str], lacking: set[str]) -> tuple[Entry | str, str]:
    """Return the first section of a topic that there is, as a link, and the others by name."""
    there = [place for place in topic.sections if place in titles]
    if not there:
        return "not measured" if topic.sections else "none", ""
    full = [place for place in there if place not in lacking] or there
    first, *others = full
    note = "incomplete" if first in lacking else ""
    return Entry(titles[first], note, place=first), ", ".join(titles[p] for p in others)


def list_titles(blocks: Sequence[Block]) -> dict[str, str]:
    """Return the names of all sections by place."""
    return {
        block.place: block.contents or block.title
        for block in blocks
        if isinstance(block, Heading) and block.place
    }
