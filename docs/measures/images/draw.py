"""Draw the pictures of the pages on measures again, into this folder.

    python docs/measures/images/draw.py

``mcv.svg`` and ``tradeoff.svg`` are drawn from results of longer studies; their pages have the
commands. Numbers in the files are rounded, so that pages stay small.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.adversary.charts import curves_chart, distances_chart
from shaketable.cli.main import main
from shaketable.evaluation.records import Records
from shaketable.findings.confidence.charts import draw_reliability
from shaketable.findings.confidence.finding import find as find_confidence
from shaketable.findings.correlation.charts import scatter_chart
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mscr.charts import accuracy_chart
from shaketable.findings.mscr.finding import find as find_robustness
from shaketable.models.builtin import circle, oracle
from shaketable.views import drawing, labels
from shaketable.views.blocks import Chart, Heading

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
    found = find_robustness(RecordGroups(evaluate("digits", ("rf", "logistic", "1nn"), *sizes)))
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


def draw_verdict() -> None:
    """Draw the MSCR of four models, as on the page of the verdict."""
    models = ("rf", "1nn", "svm", "logistic")
    write_section("verdict", evaluate("bands(n=1000, separation=0.04)", models))


def draw_dots() -> None:
    """Draw the estimates of five pages, as their examples compute them, in per cent."""
    sizes = ["linf(0.5*eps_min)", "linf(2*eps_min)", "jitter(0.1)"]
    records = evaluate("bands(n=1000, separation=0.04)", ("rf",), *sizes)
    noises = [cell.corruption for cell in records if not cell.is_clean]
    losses = [
        ("rf", noise, st.metrics.relative_loss(records, corruption=noise)) for noise in noises
    ]
    write_dots("relative-loss", losses, "relative loss of accuracy, per cent", zero=True)

    noises = ["linf(4)", "sp(0.1)"]
    records = evaluate("digits", ("rf", "logistic", "1nn"), *noises)
    found = []
    for first, second in (("rf", "logistic"), ("rf", "1nn"), ("logistic", "1nn")):
        pair = [records.select(model=name) for name in (first, second)]
        for noise in ("clean", *noises):
            value = st.metrics.accuracy_difference(*pair, corruption=noise)
            found.append((f"{first} minus {second}", noise, value))
    write_dots("differences", found, "difference of accuracy, percentage points", zero=True)

    line = np.linspace(0, 1, 200)[:, None]
    sides = np.where(line[:, 0] > 0.5, "right", "left")
    records = st.evaluate(cut, (line, sides), ["linf(0.01)", "linf(0.05)"], name="threshold")
    found = []
    for noise in ("linf(0.01)", "linf(0.05)"):
        error = st.metrics.error_probability(records, corruption=noise)
        found += [("all points", noise, error.overall)]
        found += [(f"class {label}", noise, bound) for label, bound in error.by_class.items()]
    write_dots("error-probability", found, "wrong answers and their upper bound, per cent")

    sizes = [f"jitter({size})" for size in (0.05, 0.1, 0.2, 0.4)]
    records = evaluate("people", ("rf", "logistic"), *sizes)
    found = []
    for model in ("rf", "logistic"):
        shares = st.metrics.flip_size(records.select(model=model))
        found += [(model, f"jitter({size})", share) for size, share in shares.items()]
    write_dots("flips", found, "points that flip up to this size, per cent")


def draw_sections() -> None:
    """Draw charts of sections of the page, and of the examples of two measures."""
    write_section("confusion", evaluate("digits", ("logistic",), "linf(4)"), "answers.svg")
    both = ("rf", "logistic")
    write_section("features", evaluate("people", both, words=["--features"]))
    records = evaluate("people", both, "jitter(0.2)", words=["--by", "job"])
    write_section("groups", records, which="By job")

    for suite, name in (("ice-cifar", "ice"), ("pnorm-cifar", "mce-lp"), ("common-19", "mce")):
        models = {"trees": ExtraTreesClassifier(50, random_state=0), "1nn": KNeighborsClassifier(1)}
        records = st.evaluate(
            models, "shapes(n=600)", st.suite(suite), refit=True, record="hits", k=1
        )
        write_section("suite", records, f"{name}.svg")

    models = {f"tree{d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in range(3, 9)}
    models |= {f"{k}nn": KNeighborsClassifier(k) for k in (1, 3, 5, 9, 15, 25)}
    noises = ["linf(eps_min)", "linf(0.05)"]
    records = st.evaluate(models, "bands(n=1000)", noises, refit=True)
    write("correlation.svg", scatter_chart([st.correlate(records, "error", "error[linf(0.05)]")]))

    sizes = [0.02, 0.05, 0.1, 0.2, 0.3]
    first, second = (
        st.worst_case(model, "sunset(n=60)", sizes, random=10, own=True, name=model.__name__)
        for model in (circle, oracle)
    )
    write("worst-case.svg", curves_chart(first + second))


def cut(x: np.ndarray) -> np.ndarray:
    """Decide at .52 where the border is .5."""
    return np.where(x[:, 0] > 0.52, "right", "left")


def evaluate(data: str, models: Sequence[str], *noises: str, words: Sequence[str] = ()) -> Records:
    """Evaluate built-in models by the command."""
    named = [word for name in models for word in ("--model", name)]
    corruptions = ["--corruptions", *noises] if noises else []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "results.sqlite"))
        main(["evaluate", "--data", data, *named, *corruptions, *words, "--store", path, "--quiet"])
        with st.Store(path) as store:
            return store.records()


def write_section(place: str, records: Records, name: str = "", which: str = "") -> None:
    """Write the first chart of a section of results, or of a part of it; of panels, the last."""
    section = title = ""
    for block in st.find(records).blocks():
        if isinstance(block, Heading):
            section = block.place or section
            title = block.title
        if isinstance(block, Chart) and section == place and which in title:
            drawn = block.draw()
            write(name or f"{place}.svg", drawn[-1] if isinstance(drawn, list) else drawn)
            return
    raise ValueError(f"no chart in section {place!r}")


def write_dots(
    name: str, found: list[tuple[str, str, Any]], title: str, *, zero: bool = False
) -> None:
    """Write a chart of estimates, by model and noise."""
    rows = [{"model": m, "noise": noise, **drawing.make_columns(e)} for m, noise, e in found]
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    names = drawing.list_distinct(rows, "model")
    dots = drawing.grouped_dots(
        rows, "noise", title=title, scale=scale, tooltip=[], legend=len(names) > 1
    )
    rule = [drawing.vertical_rule(0, scale=scale)] if zero else []
    height = labels.find_height(drawing.list_distinct(rows, "noise"), len(names))
    panel = alt.layer(*rule, *dots).properties(height=height)
    write(f"{name}.svg", drawing.stack_panels([panel], title=title[0].upper() + title[1:]))


def draw_one_nn() -> None:
    """Draw the decision regions of 1-NN, which are made of the cells of its points."""
    main(
        [
            *("adversary", "--data", "sunset(n=20)", "--model", "1nn", "--own", "--eps", "0.2"),
            *("--constraint", "genuine-max", "--map", str(HERE / "one-nn.svg"), "--quiet"),
        ]
    )
    shorten("one-nn.svg")


def draw_distance() -> None:
    """Draw the distances of two models to their nearest failures."""
    data, kept = st.load("bands(n=300)"), []
    for name, model in (("1nn", KNeighborsClassifier(1)), ("logistic", LogisticRegression())):
        kept.append(st.distance(model, data, refit=True, name=name))
    write("distance.svg", distances_chart(kept))


def write(name: str, chart: drawing.Chart) -> None:
    """Write a chart, with rounded numbers."""
    st.figures.save(chart, HERE / name)
    shorten(name)


def shorten(name: str) -> None:
    """Round the numbers of a picture, but not those in its texts, to one decimal.

    What only scripts could read is left out.
    """
    path = HERE / name
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\.\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    draw_separation()
    draw_mscr()
    draw_digits()
    draw_confidence()
    draw_cells()
    draw_verdict()
    draw_dots()
    draw_sections()
    draw_one_nn()
    draw_distance()
