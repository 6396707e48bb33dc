"""Data and results for HTML pages, and how tests read the pages."""

import json
import re
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

from shaketable import make_dataset
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.evaluation.study import study
from shaketable.views.drawing import Chart
from shaketable.views.web import HEATS

EVIL = "<script>alert('x')</script></script><!--<script>&\"\u2028"


class Outline(HTMLParser):
    """Elements of a page with their attributes, its JSON scripts, and the text outside scripts.

    Tables are lists of rows, by their label; rows are lists of the texts of their cells, where a
    small second line follows after a blank. Facts are the terms of lists with their definitions.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.specs: list[dict[str, Any]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.facts: dict[str, str] = {}
        self.text = ""
        self._label, self._term = "", ""
        self._inside: str | None = None
        self._place = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else self._inside
        self._label = dict(attrs).get("aria-label") or self._label
        if tag == "table":
            self.tables[self._label] = []
        if tag == "tr":
            self.tables[self._label].append([])
        if tag in ("th", "td", "dt", "dd"):
            self._place = tag
            if tag in ("th", "td"):
                self.tables[self._label][-1].append("")
        if tag in ("small", "br"):
            self._add(" ")

    def handle_endtag(self, tag: str) -> None:
        self._inside = None if tag == self._inside else self._inside
        self._place = "" if tag == self._place else self._place

    def _add(self, data: str) -> None:
        """Add text to the cell, the term or the definition that is open."""
        if self._place in ("th", "td"):
            row = self.tables[self._label][-1]
            row[-1] = " ".join(f"{row[-1]}{data}".split()) + (" " if data == " " else "")
        elif self._place == "dt":
            self._term = data.strip()
        elif self._place == "dd":
            self.facts[self._term] = f"{self.facts.get(self._term, '')}{data}".strip()

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.text += data
            self._add(data)
        elif self._inside == "script" and self.elements[-1][1] == {"type": "application/json"}:
            self.specs.append(json.loads(data))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def check_policy(path: Path) -> None:
    """Assert that a page may run its own scripts, have its own style, and nothing else."""
    text = path.read_text(encoding="utf-8")

    def hash_all(pattern: str) -> str:
        sums = (sha256(part.encode()).digest() for part in re.findall(pattern, text, re.DOTALL))
        return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in sums)

    scripts, styles = (
        hash_all(r'<script type="module">(.*?)</script>'),
        hash_all(r"<style>(.*?)</style>"),
    )
    outline = read_page(path)
    policies = [
        a["content"]
        for _, a in outline.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:"
    ]
    assert not any("style" in a or any(k.startswith("on") for k in a) for _, a in outline.elements)


def read_page(path: Path) -> Outline:
    """Parse the HTML file."""
    return Outline(path.read_text(encoding="utf-8"))


def find_shades(page: Outline) -> list[float]:
    """Shares of colour behind the entries of tables, in the steps that pages have."""
    styles = [str(attrs.get("class")) for _, attrs in page.elements]
    return [int(found[1]) / HEATS for text in styles if (found := re.search(r"heat-(\d+)", text))]


def run_study(data: Dataset) -> Records:
    """Results of two models with three training noises."""
    return study(data, ["logistic", "1nn"], train_eps=[0, "eps_min", 0.04], test_eps=[0.03], runs=3)


def rename_to_markup(records: Records, data: Dataset) -> tuple[Records, Dataset]:
    """Rename model, data and classes to markup that a page must escape."""
    classes = (EVIL, "b")
    data = replace(data, name=EVIL, features=(EVIL, "b"), classes=classes)
    changes: dict[str, Any] = {"model": EVIL, "data": EVIL, "fingerprint": data.fingerprint}
    cells = (replace(c, **changes, points=replace(c.points, classes=classes)) for c in records)
    separation = replace(records.separations[0], classes=classes, fingerprint=data.fingerprint)
    return Records(tuple(cells), (separation,)), data


def make_image_data(n: int = 24, *shape: int) -> Dataset:
    """Images of two classes, two of them identical, with names that a page must escape."""
    x = np.random.default_rng(0).integers(0, 100, (n, *shape), dtype=np.uint8)
    x[n // 2 :] += 120
    x[1] = x[0]
    y = [EVIL] * (n // 2) + ["b"] * (n // 2)
    return make_dataset(x, y, name=EVIL)


def decode_png(uri: str) -> Any:
    """Decode a PNG with unfiltered lines and verify its checksums; return the pixels."""
    kind, _, text = uri.partition(",")
    assert kind == "data:image/png;base64"
    data, body, header = b64decode(text), b"", b""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        chunk, total = data[at + 4 : at + 8 + size], data[at + 8 + size : at + 12 + size]
        assert zlib.crc32(chunk) == int.from_bytes(total, "big")
        header = chunk[4:] if chunk.startswith(b"IHDR") else header
        body += chunk[4:] if chunk.startswith(b"IDAT") else b""
        at += 12 + size
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    channels = {0: 1, 2: 3}[header[9]]
    lines = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


def chart_rows(chart: Chart) -> list[dict[str, Any]]:
    """Check that Vega-Lite compiles a chart; return all rows of its data."""
    spec = chart.to_dict()
    vl_convert.vegalite_to_vega(spec)
    return [row for rows in spec["datasets"].values() for row in rows]
