"""Faults that benchmarks plant in the source: each still has its place and its tests."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = tomllib.loads((ROOT / "benchmarks/planted_faults.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", TABLE)
def test_every_fault_has_one_place_in_its_file(file):
    source = (ROOT / "src/shaketable" / file).read_text(encoding="utf-8")
    counts = {name: source.count(find) for name, find, *_ in TABLE[file]["faults"]}
    assert counts == dict.fromkeys(counts, 1), "rewrite the fault for the code as it is now"


def test_the_tests_that_are_to_notice_exist():
    for test in {test for entry in TABLE.values() for test in entry["tests"]}:
        path, *parts = test.partition("[")[0].split("::")
        source = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert all(re.search(rf"\b(def|class) {part}\b", source) for part in parts), test
