"""Texts on pages and in charts: sentences, lists of names, titles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def to_sentence(text: str) -> str:
    """Begin with a capital, end with a full stop.

    >>> to_sentence("no two points coincide")
    'No two points coincide.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def to_one_line(text: str) -> str:
    r"""Replace all white space by single blanks; charts cannot take every kind that Unicode has.

    >>> to_one_line("two\nlines")
    'two lines'
    """
    return " ".join(text.split())


def join_names(names: list[str], kind: str) -> str:
    """Join up to three names; of more than three, say how many of which `kind` there are.

    >>> join_names(["1nn", "rf"], "models"), join_names(["a", "b", "c", "d"], "models")
    ('1nn and rf', '4 models')
    """
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def join_distinct(values: Iterable[Any]) -> str:
    """Join all distinct values by commas, in the order of their first occurrence.

    >>> join_distinct([10, 1, 10])
    '10, 1'
    """
    return ", ".join(dict.fromkeys(map(str, values)))
