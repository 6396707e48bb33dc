"""The pytest plugin, in runs of pytest itself."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from shaketable.evaluation.store import Store

pytest_plugins = ("pytester",)

PLUGIN = "shaketable.findings.requirements.pytest_plugin"
INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
NO_OTHERS = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-n0", "-Wdefault")

TEST = """
import numpy as np

X = np.linspace(0, 1, 200)[:, None]
Y = X[:, 0] > 0.5


def classify(x):
    return x[:, 0] > 0.5


def classify_worse(x):
    return x[:, 0] > 0.45


def test_met(shaketable):
    decisions = shaketable.require(classify, (X, Y), "mscr >= -20", "accuracy >= 90", k=2)
    assert [d.outcome for d in decisions.decisions] == ["met", "met"]


def test_not_met(shaketable):
    shaketable.require(classify, (X, Y), "error[linf(0.5)] <= 1", k=2, name="step")


def test_open(shaketable):
    shaketable.require(classify, (X, Y), "accuracy >= 99.9")


def test_difference(shaketable):
    models = {"new": classify_worse, "old": classify}
    shaketable.require(models, (X, Y), "difference(new, old).accuracy >= 0")
"""

SHARED = """

import pytest


@pytest.mark.parametrize("shift", range(6))
def test_shared(shaketable, shift):
    shaketable.require(lambda x: classify(x - shift), (X + shift, Y), "accuracy >= 50")
"""


@pytest.fixture
def run(pytester):
    """Run the tests above with some options, in this process."""
    pytester.makepyfile(TEST)

    def run_tests(*options):
        plugin = () if INSTALLED else ("-p", PLUGIN)
        return pytester.runpytest_inprocess(*plugin, *NO_OTHERS, *options)

    return run_tests


def test_requirements_decide_tests(run):
    result = run()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            '*shaketable.require(classify, (X, Y), "error[[]linf(0.5)] <= 1"*',
            "*error[[]linf(0.5)] <= 1% not met: step has *",
            "*accuracy >= 99.9% inconclusive: *more points would decide it*",
            "*--shaketable-inconclusive fail|warn|skip*",
            "*difference(new, old).accuracy >= 0 not met: new minus old has *",
        ]
    )
    result.stdout.no_fnmatch_line("*decisions = check(*")  # the test is shown, not our code


@pytest.mark.parametrize(
    ("options", "outcomes"),
    [
        (["--shaketable-inconclusive", "skip"], {"skipped": 1}),
        (["--shaketable-inconclusive", "warn"], {"passed": 1, "warnings": 1}),
        (["-o", "shaketable_inconclusive=skip"], {"skipped": 1}),
        (
            ["-o", "shaketable_inconclusive=skip", "--shaketable-inconclusive", "fail"],
            {"failed": 1},
        ),
        (["--shaketable-inconclusive", "ignore"], {"errors": 1}),
        (["--shaketable-seed", "one"], {"errors": 1}),
    ],
)
def test_what_is_inconclusive_is_a_choice(run, options, outcomes):
    result = run("-k", "test_open", *options)
    result.assert_outcomes(**outcomes, deselected=3)
    if "errors" in outcomes:
        result.stdout.fnmatch_lines([f"*UsageError: {options[0]} must be *, got '{options[1]}'"])


def test_seed_and_store_are_options(run, pytester):
    for seed in (3, 4):
        run("-k", "test_met", "--shaketable-store", "r.sqlite", "--shaketable-seed", str(seed))
    with Store("r.sqlite", must_exist=True) as store:
        cells = store.records().cells
    assert {cell.setting.seed for cell in cells if cell.corruption != "clean"} == {3, 4}


def test_several_workers_share_one_store(pytester):
    pytester.makepyfile(TEST + SHARED)
    plugin = () if INSTALLED else ("-p", PLUGIN)
    options = ("-n2", "-k", "test_shared", "--shaketable-store", "r.sqlite")
    pytester.runpytest_subprocess(*plugin, *options).assert_outcomes(passed=6)
    with Store("r.sqlite", must_exist=True) as store:
        assert len(store.records()) == 6


def test_pytest_is_not_slowed_down_by_a_plugin_that_is_not_used():
    code = f"import sys, pytest, {PLUGIN}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    ours = [name for name in loaded if name.startswith("shaketable")]
    assert "numpy" not in loaded
    assert sorted(ours) == [
        "shaketable",
        "shaketable.core",
        "shaketable.core.lazy",
        "shaketable.findings",
        "shaketable.findings.requirements",
        PLUGIN,
    ]
