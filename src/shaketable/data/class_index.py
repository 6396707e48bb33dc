"""Class-index files: classes of models in the order of their scores, with readable names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.data.sources import explain_read_errors

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

_FORMS = (
    'it must be JSON such as {"0": ["n01440764", "tench"], …}, {"n01440764": 0, …} or '
    '["tench", …], or text with one class per line, in the order of the scores'
)
_WORDNET = re.compile(r"(n\d{8})[\s,:]+(\S.*)")


@dataclass(frozen=True)
class ClassIndex:
    """Classes of models, in the order of their scores."""

    keys: tuple[str, ...]
    """How data may name them, such as WordNet IDs."""
    names: tuple[str, ...]
    """Readable names; two classes of the same name have their keys added."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> ClassIndex:
        """Make an index of pairs of key and name.

        >>> ClassIndex.of([("n02012849", "crane"), ("n03126707", "crane")]).names
        ('crane (n02012849)', 'crane (n03126707)')
        """
        often = Counter(name for _, name in pairs)
        names = [name if often[name] == 1 else f"{name} ({key})" for key, name in pairs]
        keys = [key for key, _ in pairs]
        for found in (keys, names):
            if twice := [text for text, count in Counter(found).items() if count > 1]:
                raise InputError(f"its classes must differ, and {twice[0]!r} is there twice")
        if len(keys) < 2:
            raise InputError(f"it must name two classes or more; {_FORMS}")
        return cls(tuple(keys), tuple(names))

    def find_columns(self, classes: Sequence[Any]) -> list[int]:
        """Return the place of classes of data, which are keys, names or, from 0 on, places.

        >>> ClassIndex.of([("n01440764", "tench"), ("n01443537", "goldfish")]).find_columns([1])
        [1]
        """
        texts = [str(label) for label in classes]
        for known in (self.keys, self.names, tuple(map(str, range(len(self.keys))))):
            places = {text: place for place, text in enumerate(known)}
            if all(text in places for text in texts):
                return [places[text] for text in texts]
        odd = next((text for text in texts if text not in self.keys), texts[0])
        raise unknown_name("class of the data that the class index lacks:", odd, self.keys)


def read_class_index(path: Path) -> ClassIndex:
    """Read a class-index file: JSON as Keras, torchvision and others write it, or text."""
    with explain_read_errors(path, "class index"):
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    try:
        if content is None:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return ClassIndex.of(list(map(_split_line, lines)))
        listed = _list_in_order(content) if isinstance(content, dict) else content
        return ClassIndex.of(list(map(_read_entry, listed)))
    except InputError as error:
        raise InputError(f"class index {str(path)!r} cannot be used: {error}") from error


def _split_line(line: str) -> tuple[str, str]:
    """Return key and first name of a line: ``tench``, or ``n01440764 tench, Tinca tinca``."""
    match = _WORDNET.fullmatch(line)
    return (match[1], match[2].partition(",")[0].strip()) if match else (line, line)


def _list_in_order(content: Mapping[str, Any]) -> list[Any]:
    """Return what an object says of the scores, from 0 on."""
    values = list(content.values())
    turned = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    places = {value: key for key, value in content.items()} if turned else dict(content)
    listed = [places.get(i if turned else str(i)) for i in range(len(content))]
    if None in listed:
        raise InputError(f"score {listed.index(None)} of {len(content)} has no class; {_FORMS}")
    return listed


def _read_entry(entry: Any) -> tuple[str, str]:
    """Return key and name of a class: a text, or a list of both."""
    words = [entry] if isinstance(entry, str) else entry
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise InputError(f"got {entry!r} as a class; {_FORMS}")
    return words[0], words[1] if len(words) > 1 else words[0]


def name_classes(data: Dataset, index: ClassIndex) -> Dataset:
    """Return data with the names of an index as classes, in its order; models may know the others.

    >>> from shaketable import make_dataset
    >>> data = make_dataset([[0.0], [1.0]], ["n01443537", "n01440764"])
    >>> index = ClassIndex.of([("n01440764", "tench"), ("n01443537", "goldfish"), ("n1", "shark")])
    >>> named = name_classes(data, index)
    >>> named.classes, named.labels.tolist(), len(named.model_classes)
    (('tench', 'goldfish'), ['goldfish', 'tench'], 3)
    """
    columns = np.array(index.find_columns(data.classes))
    order = np.argsort(columns)
    return replace(
        data,
        y=np.argsort(order)[data.y],
        classes=tuple(index.names[column] for column in columns[order]),
        model_classes=index.names,
    )
