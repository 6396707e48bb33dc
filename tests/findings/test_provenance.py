"""How records were made, as pages state it."""

from dataclasses import replace

import numpy as np

import shaketable as st
from helpers.records import make_records
from shaketable.findings.export import export
from shaketable.findings.page import write_report
from shaketable.findings.provenance import list_settings, make_title

HITS = {"clean": np.ones(7, int), "linf(0.1)": np.full(7, 3), "l2(0.5)": np.full(7, 2)}


def test_settings_are_those_of_the_cells():
    records = make_records(HITS, k=3, seed=4, run=0) + make_records(HITS, k=3, seed=5, run=2)
    cells = tuple(
        replace(c, created=f"2026-01-{day:02d}", seconds=0.5, versions={"numpy": "2.0", "a": "1"})
        for day, c in enumerate(records, start=1)
    )
    found = list_settings(replace(records, cells=cells), [])
    assert found == {
        "Data": "by hand",
        "Fingerprint of the data": "f",
        "Classes": "0, 1",
        "Test points": "7",
        "Noise": "linf(0.1), l2(0.5)",
        "Noisy copies of every point, k": "3",
        "Draws": "independent",
        "Noise drawn on": "cpu",
        "Bounds": "[0, 1]",
        "Runs": "3",
        "Seed": "4, 5",
        "Precision of the points": "float64",
        "Versions": "a 1, numpy 2.0",
        "Measured": "2026-01-01 to 2026-01-06",
        "Time spent on measuring": "3.0 s",
    }
    suites = [(("linf(0.1)",), "suite one")]
    assert list_settings(records, suites)["Noise"] == "suite one, l2(0.5)"


def test_results_are_named_by_the_file_that_was_measured(tmp_path):
    whole = st.load("bands(n=60)")
    for name, rows in (("train.npz", slice(40)), ("test.npz", slice(40, 60))):
        np.savez(tmp_path / name, x=whole.x[rows], y=whole.y[rows])
    data = st.load(tmp_path / "train.npz", test=tmp_path / "test.npz")
    records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.01)", name="step")
    assert make_title(records) == "How robust is step on test.npz (training part train.npz)?"
    assert list_settings(records, [])["Data"] == "test.npz (training part train.npz)"
    page = write_report(tmp_path / "p.html", records).read_text()
    assert "<h1>How robust is step on test.npz (training part train.npz)?</h1>" in page
    cells = export(records, tmp_path / "cells.csv", content="cells").read_text().splitlines()
    assert len(cells) == 3
    assert all("test.npz (training part train.npz)" in line for line in cells[1:])
