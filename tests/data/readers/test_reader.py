"""Readers of other packages, and what no reader takes."""

from pathlib import Path

import pytest

from helpers.plugin import install_plugin
from shaketable.core.errors import InputError
from shaketable.data.files import as_dataset, load
from shaketable.data.readers.reader import READERS

PACKAGE = """
from shaketable import make_dataset
from shaketable.data.readers.reader import DataReader

class Sheet:
    x, y = [[0.0], [1.0], [2.0], [4.0]], ["a", "b", "a", "b"]

def read(source, options):
    if options.label:
        raise OSError("no labels here")
    return make_dataset(Sheet.x, Sheet.y, name="sheet")

def takes(source):
    return isinstance(source, Sheet) or getattr(source, "suffix", "") == ".sheet"

READER = DataReader("sheets", takes, read)
"""


def test_a_package_adds_a_kind_of_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    points = {"sheet": "sheets:READER"}
    install_plugin(
        monkeypatch, tmp_path, READERS, name="sheets", source=PACKAGE, entry_points=points
    )
    import sheets  # type: ignore[import-not-found]  # made above

    assert load("some.sheet", points=3).name == "sheet, 3 of 4 points, seed 0"
    assert as_dataset(sheets.Sheet()).n == 4
    assert load("some.sheet", test="other.sheet").n_train == 4
    with pytest.raises(
        InputError, match="data reader 'sheet' of an installed package failed: .*no"
    ):
        load("some.sheet", label="y")
    monkeypatch.setattr(sheets, "READER", sheets.read)
    with pytest.raises(InputError, match="'sheet' must be a .*DataReader, got function"):
        load("some.sheet")


def test_what_no_reader_takes_is_refused() -> None:
    with pytest.raises(InputError, match="got list; for arrays use make_dataset"):
        load([[0.0], [1.0]])
