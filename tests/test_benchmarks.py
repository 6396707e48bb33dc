"""The table of `python -m benchmarks`: its rows are comparisons of equals, or say why not."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [str(ROOT / "benchmarks" / folder) for folder in ("speed", "papers")]


@pytest.fixture(scope="module")
def overview():
    """The module of the table; its neighbours are forgotten afterwards."""
    before = set(sys.modules)
    sys.path[:0] = FOLDERS
    import overview
    import overview_jobs

    overview.JOBS = overview_jobs.JOBS
    yield overview
    del sys.path[: len(FOLDERS)]
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(tuple(FOLDERS)):
            del sys.modules[name]


@pytest.fixture
def make_job(overview):
    def make(*sides, **options):
        return overview.Job("add", "sum", lambda: overview.Sides(*sides), "peer", **options)

    return make


def run_command(*words):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_a_fast_job_makes_a_table(tmp_path):
    path = tmp_path / "table.json"
    done = run_command("--only", "corrupt", "--seconds", "0.1", "--json", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| job")
    assert "L-inf noise added" in done.stdout
    content = json.loads(path.read_text())
    (job,) = content["jobs"]
    assert job["job"] == "corrupt"
    assert job["ratio"] == pytest.approx(job["seconds_peer_wall"] / job["seconds_ours_wall"])
    assert job["failed"] is job["missing"] is None
    assert content["cores"] >= 1
    assert content["versions"]["numpy"]


@pytest.mark.parametrize("words", [("--only", "nothing"), ("--only", "help", "--write", "page")])
def test_wrong_words_are_refused(words):
    assert run_command(*words).returncode == 2


def test_names_and_titles_are_unique_and_notes_are_there(overview):
    for field in ("name", "title"):
        values = [getattr(job, field) for job in overview.JOBS]
        assert len(set(values)) == len(values)
    assert all(job.note.endswith(".") for job in overview.JOBS)


@pytest.mark.parametrize(
    "name", ["noise-l2", "noise-l5", "corrupt", "rotation", "interval", "separation-table"]
)
def test_both_sides_compute_the_same(overview, name):
    (job,) = [job for job in overview.JOBS if job.name == name]
    row = overview.run_job(job, 0)
    assert row.failed == ""
    assert row.missing or row.ratio > 0


def test_every_peer_in_this_process_is_checked(overview):
    """A peer that is another process has no result."""
    names = ("noise-l2", "corrupt", "separation-table", "interval")
    made = [job.make() for job in overview.JOBS if job.name in names]
    assert len(made) == len(names)
    assert all(sides.check is not None for sides in made)


def test_a_missing_peer_is_said_and_ours_is_timed(overview, make_job):
    row = overview.run_job(make_job(int, None, needs=(("no_such_module", "no-such"),)), 0)
    assert row.ours is not None
    assert row.peer is None
    assert row.cells[2] == "not installed: pip install no-such"
    assert row.cells[3] == row.cells[4] == "–"
    row = overview.run_job(make_job(int, int, also=(("no_such_module", "no-such"),)), 0)
    assert row.ours is None
    assert "pip install no-such" in row.cells[2]


def test_sides_that_differ_are_not_timed(overview, make_job):
    def check(mine, theirs):
        overview.agree(mine == theirs, "other sums")

    row = overview.run_job(make_job(lambda: 1, lambda: 2, check), 0)
    assert row.ours is None
    assert row.cells[2] == "peer results differ: other sums"


def test_a_peer_that_fails_is_said(overview, make_job):
    row = overview.run_job(make_job(int, lambda: 1 / 0), 0)
    assert row.cells[2] == "peer fails: ZeroDivisionError: division by zero"


def test_ratios_above_one_mean_that_ours_is_faster(overview, make_job):
    times = overview.Duration(1.0, 4.0), overview.Duration(3.0, 2.0)
    row = overview.Row(make_job(int), "2026-01-01", *times)
    assert (row.ratio, row.cpu_ratio) == (3.0, 0.5)
    assert row.cells == ("sum", "1.00 s", "peer: 3.00 s", "3.00", "0.50", "2026-01-01")
    assert overview.say_slower([row]) == "By CPU time, ours is slower in 1 of 1 jobs: add."
    even = replace(row, peer=times[0])
    assert overview.say_slower([even]).endswith("at least as fast in all 1 jobs with a peer.")


def test_the_best_of_the_rounds_counts(overview, monkeypatch):
    samples = iter([3.0, 9.0, 1.0, 8.0, 7.0, 2.0])
    monkeypatch.setattr(
        overview, "time_calls", lambda call, n: overview.Duration(*[next(samples)] * 2)
    )
    ours, theirs = overview.compare([int, int], 0)
    assert (ours.wall, theirs.wall) == (3.0, 1.0)  # of 3, 8, 7 and of 9, 1, 2: turns change


def test_the_table_is_written_between_the_markers(overview, tmp_path, make_job):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{overview.START}\nold\n{overview.END}\n\nend\n")
    row = overview.Row(make_job(int, note="words " * 30), "2026-01-01", overview.Duration(1, 1))
    section = overview.write_section([row], overview.describe_machine(), 60)
    overview.write_into(page, section)
    lines = page.read_text().splitlines()
    assert "old" not in lines
    assert lines[0] == "# Page"
    assert lines[-1] == "end"
    assert all(len(line) <= 100 or line.startswith("|") for line in lines)
    overview.write_into(page, section)
    assert page.read_text().splitlines() == lines
    page.write_text("# Page\n")
    with pytest.raises(SystemExit, match="must hold the lines"):
        overview.write_into(page, section)
