"""Text for those who cannot see a chart: what is drawn, and its main numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_GROUPS = ("model", "part", "train", "class", "group", "noise")  # what lines and colours stand for
_FEW = 4  # groups that are listed, each with its numbers
_VALUES = ("value", "mean", "share")


def describe(spec: Mapping[str, Any], about: str = "") -> str:
    """Return a sentence or two about a chart: its title, its axes, and the numbers that it shows.

    Parameters
    ----------
    spec
        Vega-Lite specification of a chart or of one panel, with its datasets.
    about
        What it shows; by default its title.

    Returns
    -------
    str
        Numbers are given per model, from the lowest to the highest, if these are few; else the
        lowest and the highest of all.

    Examples
    --------
    >>> axis = {"field": "value", "type": "quantitative", "title": "accuracy, %"}
    >>> rows = [{"model": "rf", "value": 91.25}, {"model": "rf", "value": 80}]
    >>> spec = {"title": "Accuracy", "data": {"name": "d"}, "encoding": {"y": axis}}
    >>> describe(spec | {"datasets": {"d": rows}})
    'Accuracy. accuracy, %: rf 80 to 91.25.'
    """
    about = about or join_title(spec.get("title", ""))
    parts = [text for text in (about, _describe_numbers(spec)) if text]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


def join_title(title: Any) -> str:
    """Return the title of a chart as one line."""
    text = title.get("text", "") if isinstance(title, Mapping) else title
    return text if isinstance(text, str) else " ".join(text)


def _describe_numbers(spec: Mapping[str, Any]) -> str:
    """Return the numbers of the first layer that shows values."""
    for data, encoding in _list_layers(spec, {}, {}):
        rows = data.get("values") or spec.get("datasets", {}).get(data.get("name", ""), ())
        for channel in ("y", "x"):
            field = encoding.get(channel, {}).get("field")
            if field in _VALUES and (known := [r for r in rows if r.get(field) is not None]):
                name = encoding[channel].get("title") or field
                return f"{name}: {_write_numbers(known, field)}"
    return ""


def _list_layers(
    spec: Mapping[str, Any], data: Mapping[str, Any], encoding: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield data and encoding of every layer of all panels; layers inherit both."""
    data = spec.get("data") or data
    encoding = {**encoding, **spec.get("encoding", {})}
    if parts := [p for kind in ("layer", "vconcat", "concat") for p in spec.get(kind, ())]:
        for part in parts:
            yield from _list_layers(part, data, encoding)
    else:
        yield data, encoding


def _write_numbers(rows: Sequence[Mapping[str, Any]], field: str) -> str:
    several = [n for n in _GROUPS if len({row.get(n) for row in rows}) > 1]
    by = next(iter([*several, *(n for n in _GROUPS if n in rows[0])]), None)
    names = list(dict.fromkeys(row[by] for row in rows if by in row)) if by else []
    if by and 0 < len(names) <= _FEW:
        spans = ([row[field] for row in rows if row.get(by) == name] for name in names)
        return ", ".join(f"{n} {_write_span(s)}" for n, s in zip(names, spans, strict=True))
    low, high = (pick(rows, key=lambda row: float(row[field])) for pick in (min, max))
    ends = [f"{row[field]:.4g}{f' ({row[by]})' if by else ''}" for row in (low, high)]
    return f"{len(names) or len(rows)} {_name_rows(by)}, from {ends[0]} to {ends[1]}"


def _name_rows(by: str | None) -> str:
    known = {"model": "models", "train": "training noises", "class": "classes", "noise": "noises"}
    return known.get(by or "", "values" if by is None else f"{by}s")


def _write_span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"
