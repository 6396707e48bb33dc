"""Draw the pictures of the pages on measures again, into this folder.

    python docs/measures/images/draw.py

``mcv.svg`` and ``tradeoff.svg`` are drawn from results of longer studies; their pages have the
commands. Numbers in the files are rounded, so that pages stay small.
"""

from __future__ import annotations

import re
import tempfile
from html import escape
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from shaketable.cli.main import main
from shaketable.findings.confidence.charts import draw_reliability
from shaketable.findings.confidence.finding import find as find_confidence
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mscr.charts import accuracy_chart
from shaketable.findings.mscr.finding import find as find_robustness
from shaketable.views import drawing

HERE = Path(__file__).parent
SIZE = 380
"""Pixels of the picture of the separation."""


def draw_separation() -> None:
    """Draw every point of two classes in its ball of radius eps_min."""
    x = np.random.default_rng(5).uniform(size=(70, 2))
    above = x[:, 1] - 0.5 - 0.15 * np.sin(5 * x[:, 0])
    x, y = x[abs(above) > 0.05], (above > 0)[abs(above) > 0.05].astype(int)
    found = st.separation(x, y)
    eps = found.epsilon_min
    low, high = x.min(axis=0) - eps, x.max(axis=0) + eps
    scale = (SIZE - 20) / float((high - low).max())

    def place(point: np.ndarray) -> tuple[float, float]:
        across, up = (point - low) * scale
        return 10 + float(across), SIZE - 10 - float(up)

    marks = []
    for point, code in zip(x, y, strict=True):
        (across, down), half = place(point), eps * scale
        colour = ("#0072b2", "#d55e00")[code]
        marks.append(
            f'<rect x="{across - half:.1f}" y="{down - half:.1f}" width="{2 * half:.1f}" '
            f'height="{2 * half:.1f}" fill="{colour}" fill-opacity=".13" stroke="{colour}"/>'
        )
        shape = f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}"/>'
        if code:
            shape = (
                f'<rect x="{across - 3:.1f}" y="{down - 3:.1f}" width="6" height="6" '
                f'fill="{colour}"/>'
            )
        marks.append(shape)
    (x1, y1), (x2, y2) = (place(x[row]) for row in found.pair)
    pair = f'<path d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}" stroke="#1f2430" stroke-width="3"/>'
    about = (
        "points of two classes, each in its L-inf ball of radius eps_min; only those "
        "of the closest pair touch across the classes"
    )
    HERE.joinpath("separation.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}" '
        f'viewBox="0 0 {SIZE} {SIZE}" role="img"><title>{escape(about)}</title>'
        f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>{"".join(marks)}{pair}</svg>\n',
        encoding="utf-8",
    )


def draw_mscr() -> None:
    """Draw accuracy against the size of noise, in units of eps_min."""
    data = st.load("bands(n=1000, separation=0.04)")
    models = {"rf": RandomForestClassifier(random_state=0), "1nn": KNeighborsClassifier(1)}
    sizes = [f"linf({c}*eps_min)" for c in (0.25, 0.5, 0.75)] + ["linf(eps_min)"]
    sizes += [f"linf({c}*eps_min)" for c in (1.5, 2, 2.5, 3)]
    records = st.evaluate(models, data, sizes, refit=True)
    found = find_robustness(RecordGroups(records))
    assert found is not None
    write("mscr.svg", accuracy_chart(found.fitted))


def draw_digits() -> None:
    """Draw accuracy against the size of noise of three models of digits, for the README."""
    sizes = [f"linf({c}*eps_min)" for c in (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2)]
    models = [word for name in ("rf", "logistic", "1nn") for word in ("--model", name)]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "digits.sqlite"))
        words = ["evaluate", "--data", "digits", *models, "--corruptions", *sizes]
        main([*words, "--store", path, "--quiet"])
        with st.Store(path) as store:
            found = find_robustness(RecordGroups(store.records()))
    assert found is not None
    write("digits.svg", accuracy_chart(found.fitted))


def draw_confidence() -> None:
    """Draw the reliability of a naive Bayes classifier under noise."""
    x, y = load_digits(return_X_y=True)
    model = GaussianNB(var_smoothing=0.01).fit(x[:900], y[:900])
    records = st.evaluate(model, (x[900:], y[900:]), "linf(8)", bounds=(0, 16), name="naive Bayes")
    found = find_confidence(RecordGroups(records))
    assert found is not None
    write("reliability.svg", draw_reliability(found.models[0])[-1])


def draw_cells() -> None:
    """Draw decision regions, Voronoi cells and adversarial examples."""
    main(
        [
            *("adversary", "--data", "sunset(n=20)", "--model", "circle", "--eps", "0.2"),
            *("--constraint", "genuine-max", "--map", str(HERE / "cells.svg"), "--quiet"),
        ]
    )
    shorten("cells.svg")


def write(name: str, chart: drawing.Chart) -> None:
    """Write a chart, with rounded numbers."""
    st.figures.save(chart, HERE / name)
    shorten(name)


def shorten(name: str) -> None:
    """Round the numbers in a picture to one decimal, and leave out what only scripts could read."""
    path = HERE / name
    text = re.sub(r"(\.\d)\d+", r"\1", path.read_text(encoding="utf-8"))
    text = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    draw_separation()
    draw_mscr()
    draw_digits()
    draw_confidence()
    draw_cells()
