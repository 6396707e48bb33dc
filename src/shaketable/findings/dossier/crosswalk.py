"""The crosswalk: which sections have to do with which topics of standards and laws, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NOTICE = (
    "This is a map from topics to sections, not legal advice: a section that has to do with a "
    "topic does not show that a standard or a law is met. Topics are in the words of the sources "
    "named; texts that are not public are not cited"
)


@dataclass(frozen=True)
class Document:
    """A standard, law or guidance, and the source of the topics."""

    id: str
    name: str
    title: str
    date: str
    source: str


@dataclass(frozen=True)
class Topic:
    """A topic of a document, in words of its source."""

    document: Document
    words: str
    sections: tuple[str, ...]
    """Places of sections that have to do with it; empty if none does."""
    lacks: str = ""
    """Evidence that no section can give."""


@cache
def read_crosswalk() -> tuple[Topic, ...]:
    """Return all topics.

    >>> len({topic.document.name for topic in read_crosswalk()})
    5
    """
    text = files(__package__).joinpath("crosswalk.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    documents = {each["id"]: Document(**each) for each in content["document"]}
    return tuple(
        Topic(
            documents[each["document"]],
            each["words"],
            tuple(each["sections"]),
            each.get("lacks", ""),
        )
        for each in content["topic"]
    )
