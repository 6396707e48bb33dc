"""Pages of large results: how long they take to write and to open, how large they are, and faults.

Records are made up here, of every kind of results: no model runs, but for the worst case and the
study of 9 x 9 noises. Every page is written to HTML and PDF, opened in headless Chromium at four
widths, in light and dark, and measured in the DOM: charts that are not drawn, labels that meet or
are cut, what is wider than its box without a cue, errors in the console, what is fetched.

    python benchmarks/speed/pages.py [--only NAME …] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import shaketable as st
from shaketable.core.browsers import print_page
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Points, Record, Records, Setting, SuiteRecord
from shaketable.findings.page import report
from shaketable.models.builtin import builtin
from shaketable.models.fitting import fit

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from helpers.browsers import WIDTHS, find_faults, find_missing, show, start_browser

LEVELS = (0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.013, 0.02, "eps_min")


def make_cells(
    name: str, hits: Iterable[tuple[str, IntArray]], points: Points, *, run: int = 0, k: int = 1
) -> list[Record]:
    """Cells of one model from the right answers of every point, by corruption."""
    return [
        Record(
            key=f"{name} {spec} {run}",
            points=points,
            data="made up",
            fingerprint="f",
            model=name,
            recipe=name,
            model_id=f"{name} {run}",
            train="as given",
            corruption=spec,
            setting=Setting(
                bounds="none" if spec == "clean" else "[0, 1]",
                draws="none" if spec == "clean" else "ladder",
                noise="none" if spec == "clean" else "cpu",
                dtype="float32",
                k=1 if spec == "clean" else k,
                seed=0,
            ),
            run=run,
            hits=counts,
        )
        for spec, counts in hits
    ]


def make_suite(
    suite: str, models: int | Iterable[str], *, n: int = 500, runs: int = 1, metric: str = "mcv"
) -> Records:
    """Records of models that get worse from set to set of a suite."""
    rng = np.random.default_rng(0)
    specs = st.suite(suite).names
    names = [f"model{i}" for i in range(models)] if isinstance(models, int) else list(models)
    cells = []
    for run in range(runs):
        points = Points(f"p{run}", tuple(range(10)), np.arange(n), rng.integers(0, 10, n))
        for i, name in enumerate(names):
            right = rng.random(n) < 0.97 - 0.3 * (i % 40) / 40
            hits = [
                (spec, (right & (rng.random(n) < 1 - 0.5 * j / len(specs))).astype(np.int64))
                for j, spec in enumerate(["clean", *(s for s in specs if s != "clean")])
            ]
            cells += make_cells(name, hits, points, run=run)
    return Records(tuple(cells), (), (SuiteRecord("f", suite, metric, "", specs),))


def make_study() -> Records:
    """A study of 9 noises in training and 9 in test, of two models."""
    data = st.load("bands(n=300)")
    return st.study(data, ["rf", "1nn"], train_eps=LEVELS, test_eps=LEVELS, runs=3)


def make_images() -> Records:
    """Two models of images under the suites common-19 and pnorm."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    data = st.make_dataset((digits.images * 15).astype(np.uint8), digits.target, name="digits")
    models = {n: fit(builtin(n), data, np.arange(1500), seed=0) for n in ("logistic", "1nn")}
    tested = data.sample(120)
    measured = [st.evaluate(models, tested, st.suite(s), k=1) for s in ("common-19", "pnorm")]
    return measured[0] + measured[1]


def write_worst_case(path: Path) -> Path:
    """Page of the worst case of a model."""
    data = st.load("bands(n=200)")
    model = fit(builtin("rf"), data, np.arange(150), seed=0)
    return st.worst_case(model, data, [0.01, 0.02], points=20).report(path)


NETWORKS = ("wrn", "resnet18", "resnet50", "densenet", "vit", "convnext")
REGIMES = [f"{network}({noise})" for noise in ("clean", "linf(0.01)", "l2(0.5)", "mixup")
           for network in NETWORKS]  # fmt: skip

KINDS: dict[str, Callable[[Path], Path]] = {
    "study 9 x 9": lambda path: report(make_study(), path),
    "images, two suites": lambda path: report(make_images(), path),
    "five models": lambda path: report(make_suite("pnorm-cifar", 5, metric="mce_lp"), path),
    "six networks, four regimes": lambda path: report(
        make_suite("pnorm-cifar", REGIMES, runs=2, metric="mce_lp"), path
    ),
    "worst case": write_worst_case,
    "mCV of 27 models": lambda path: report(make_suite("two-factor", 27), path),
    "200 models x 69 sets": lambda path: report(make_suite("two-factor", 200), path),
}


def measure(name: str, write: Callable[[Path], Path], folder: Path) -> list[str]:
    """Write, open and print one page; return its row of the table."""
    page = folder / f"{name.replace(' ', '-')}.html"
    began = time.perf_counter(), time.process_time()
    write(page)
    written = time.perf_counter() - began[0], time.process_time() - began[1]
    browser = start_browser(folder / f"profile {name}")
    faults, opened = list[str](), list[float]()
    try:
        for width in WIDTHS:
            for dark in (False, True):
                began = time.perf_counter(), 0.0
                show(browser, page, width, dark=dark)
                opened.append(time.perf_counter() - began[0])
                faults += [f"{width} px: {fault}" for fault in find_faults(browser)]
        figures = browser.execute_script("return document.querySelectorAll('figure').length")
        elements = browser.execute_script("return document.querySelectorAll('*').length")
        paint = "performance.getEntriesByName('first-contentful-paint')[0]"
        first = browser.execute_script(f"return {paint}?.startTime ?? NaN") / 1000
    finally:
        browser.quit()
    began = time.perf_counter(), 0.0
    print_page(page.read_text(encoding="utf-8"), page.with_suffix(".pdf"))
    printed = time.perf_counter() - began[0]
    for fault in dict.fromkeys(faults):
        print(f"  {name}: {fault}", flush=True)
    return [
        name, f"{written[0]:.1f}", f"{written[1]:.1f}", f"{page.stat().st_size / 1e6:.2f}",
        f"{first:.2f}", f"{min(opened):.1f}", f"{figures}", f"{elements:,}", f"{printed:.1f}",
        f"{len(faults)}",
    ]  # fmt: skip


def main() -> None:
    """Measure every kind of page, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--keep", type=Path, help="folder to keep the pages in")
    args = parser.parse_args()
    if missing := find_missing():
        sys.exit(missing)
    head = ["page", "made and written, s", "CPU, s", "MB", "first shown, s", "all drawn, s",
            "charts", "elements", "PDF, s", "faults"]  # fmt: skip
    rows = [head, ["---"] * len(head)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = (args.keep or Path(name)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for kind in args.only:
            rows.append(measure(kind, KINDS[kind], folder))
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))


if __name__ == "__main__":
    main()
