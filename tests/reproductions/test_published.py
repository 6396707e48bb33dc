"""Printed tables: every file is whole, slips have their erratum, and they are listed."""

import json
import re
from importlib.resources import files

import pytest

from helpers.commands import run_command, run_failing
from shaketable.findings.errata.errata import load_errata
from shaketable.reproductions.published import find_published, list_published, load_published
from shaketable.reproductions.registry import PAPERS

NAMES = [*list_published()]
COUNTS = {
    "mscr-table2": 90,
    "mscr-table3": 72,
    "pnorm-table6": 8,
    "twofactor-averages": 12,
    "twofactor-table1": 28,
    "twofactor-table2": 6,
    "twofactor-table3": 27 * 5,
}


def test_every_file_is_listed():
    folder = files("shaketable.reproductions.published")
    assert {f"{name}.csv" for name in NAMES} == {
        f.name for f in folder.iterdir() if ".csv" in f.name
    }
    assert {*COUNTS} < {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_whole(name):
    table = load_published(name)
    assert name.partition("-")[0] in PAPERS
    assert PAPERS[name.partition("-")[0]].partition(",")[0] in table.title
    for number in table:
        assert number.row
        assert number.row == number.row.strip()
        assert number.column == number.column.strip()
        float(number.text)
        printed = number.printed
        assert printed.rounding > 0
        assert printed.half is None or printed.half >= 0
        # an interval can be a slip, or what is right unknown: then there is an erratum alone
        assert not printed.erratum or printed.erratum in load_errata()
        if printed.slip:
            assert printed.erratum
            assert printed.slip == number.text
            assert printed.value != float(number.text)
        else:
            assert printed.value == float(number.text)


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_a_table_has_all_its_cells(name, count):
    assert len([*load_published(name)]) == count


@pytest.mark.parametrize("name", ["mscr-table2", "twofactor-table3", "pnorm-table6"])
def test_a_matrix_has_no_holes(name):
    table = load_published(name)
    assert len(table.rows) * len(table.columns) == len([*table])


def test_last_digits_are_those_that_are_printed():
    table = load_published("twofactor-table3")
    assert table["AlexNet(GA0.1)", "CV"].rounding == pytest.approx(0.005)  # 1.50
    assert table["AlexNet(GA0.1)", "clean"].rounding == pytest.approx(0.05)  # 90.9
    assert table["ResNet50(RR30)", "max"].rounding == pytest.approx(0.5)  # 90
    # of slips, those of what is right
    assert load_published("twofactor-gains")["mean CV falls by", "gain"].rounding == 0.05


def test_a_number_that_is_not_printed_is_none():
    assert load_published("twofactor-table3").get("AlexNet(clean)", "median") is None


def test_all_are_listed_by_the_command(capsys):
    code, out, _ = run_command(capsys, "list", "published")
    assert code == 0
    code, listed, _ = run_command(capsys, "list", "published", "--json")
    assert code == 0
    listed = json.loads(listed)
    assert listed == list_published()
    assert all(name in out and title.split(",")[0] in out for name, title in listed.items())


def test_one_is_shown_with_slips_beside_what_is_right(capsys):
    code, out, _ = run_command(capsys, "list", "published", "twofactor-table2")
    assert code == 0
    (line,) = (line for line in out.splitlines() if "mean and clean" in line and "Pearson" in line)
    assert re.search(r"0\.052 .* 0\.889 .* twofactor-table2", line)
    code, out, _ = run_command(capsys, "list", "published", "twofactor-table2", "--json")
    numbers = json.loads(out)
    assert code == 0
    assert numbers == [number.json() for number in find_published("twofactor-table2")]
    assert (numbers[0]["printed"], numbers[0]["right"]) == ("0.202", 0.18)


def test_an_unknown_table_is_named_with_its_neighbour(capsys):
    message = run_failing(capsys, "list", "published", "twofactor-table9")
    assert "unknown published table 'twofactor-table9'; did you mean 'twofactor-table" in message


@pytest.mark.parametrize(
    ("name", "row", "column", "text"),
    [
        ("pnorm-table6", "d = 10", "L2 over L1", "9037"),
        ("mscr-table2", "test 0", "train 0", "99.531 ± 0.014"),
        ("genuine-table3", "MNIST L2", "accuracy", "0.9691"),
    ],
)
def test_numbers_keep_the_digits_of_print(name, row, column, text):
    assert load_published(name)[row, column].text == text
