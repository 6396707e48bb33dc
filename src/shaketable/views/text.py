"""Texts that are shown: names made safe to print, sentences, lists of names, titles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unicodedata import category


def to_sentence(text: str) -> str:
    """Begin with a capital, end with a full stop.

    >>> to_sentence("no two points coincide")
    'No two points coincide.'
    """
    return begin_sentence(end_sentence(text))


def begin_sentence(text: str) -> str:
    """Begin with a capital, unless the first word is a name such as eps_min or uint8.

    >>> begin_sentence("no two points coincide."), begin_sentence("eps_min is 0.1.")
    ('No two points coincide.', 'eps_min is 0.1.')
    """
    is_name = any(sign == "_" or sign.isdigit() for sign in text.partition(" ")[0])
    return text if is_name else f"{text[:1].upper()}{text[1:]}"


def end_sentence(text: str) -> str:
    """End with a full stop, unless there is a mark already.

    >>> end_sentence("it holds"), end_sentence("does it hold?")
    ('it holds.', 'does it hold?')
    """
    return text if text.endswith((".", "?", "!", ":")) else f"{text}."


def make_visible(text: str, *, limit: int | None = None) -> str:
    r"""Write out what does not show, such as control codes, as Python does in ``repr``.

    No text can then move the cursor, set the title of a window, begin a line or turn the direction
    of what follows; nor does it hold halves of characters, which are in file names that are not
    UTF-8. A text longer than `limit` loses its middle.

    >>> make_visible("a\x1b[2J\n\u202eb", limit=None)
    'a\\x1b[2J\\n\\u202eb'
    >>> make_visible("0123456789", limit=7)
    '0123…89'
    """
    if limit is not None and len(text) > limit:
        end = (limit - 1) // 3
        text = f"{text[: limit - 1 - end]}…{text[len(text) - end :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or category(c) == "Zs" else _write_out(c) for c in text)


def _write_out(character: str) -> str:
    return character.encode("unicode_escape").decode()


def make_all_visible(value: Any) -> Any:
    r"""Apply `make_visible` to all texts in lists and in the values of dictionaries.

    >>> make_all_visible({"name": ["a\x1b", 1]})
    {'name': ['a\\x1b', 1]}
    """
    if isinstance(value, str):
        return make_visible(value)
    if isinstance(value, dict):
        return {key: make_all_visible(part) for key, part in value.items()}
    return [*map(make_all_visible, value)] if isinstance(value, list | tuple) else value


def to_utf8(text: str) -> str:
    r"""Write out halves of characters, which file names that are not UTF-8 are read with.

    >>> to_utf8("file\udcff")
    'file\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def to_one_line(text: str) -> str:
    r"""Replace white space by single blanks, and write out what else does not show.

    Charts cannot take every kind of white space that Unicode has.

    >>> to_one_line("two\nlines")
    'two lines'
    """
    return make_visible(" ".join(text.split()))


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


def name_notes(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences with the names of the models that they are about, each sentence once.

    >>> name_notes([("rf", "dates become days"), ("1nn", "new"), ("svm", "dates become days")])
    ['rf, svm: dates become days', '1nn: new']
    """
    names: dict[str, dict[str, None]] = {}
    for name, note in notes:
        names.setdefault(note, {})[name] = None
    return [f"{', '.join(models)}: {note}" for note, models in names.items()]
