"""`assess` where eps_min is undefined: a table of categories alone."""

import numpy as np
import pandas as pd
import pytest

from shaketable import assess
from shaketable.core.errors import UndefinedError

N = 300
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"job": RNG.choice(["nurse", "chef"], N), "member": RNG.random(N) < 0.5})
Y = np.where(FRAME["job"] == "nurse", "yes", "no")


def model(frame: pd.DataFrame) -> object:
    return np.where(frame["job"] == "nurse", "yes", "no")


def test_categories_alone_are_swapped_and_left_out(tmp_path) -> None:
    train, test = (FRAME[:200], Y[:200]), (FRAME[200:], Y[200:])
    found = assess(model, train, test, k=5)
    assert [record.corruption for record in found.records] == ["clean", "swap(0.1)", "missing(0.1)"]
    assert found.clean.value == 1
    lines = str(found).splitlines()
    assert "no column holds numbers that noise may change, so eps_min and MSCR" in lines[-1]
    assert ["under swap(0.1)" in lines[2], "under missing(0.1)" in lines[3]] == [True, True]
    for undefined in ("mscr", "robust", "separation", "verdict", "epsilon_min", "error"):
        with pytest.raises(UndefinedError, match=r"undefined; measure other corruptions, such as"):
            getattr(found, undefined)
    page = found.report(tmp_path / "page.html").read_text()
    assert "eps_min and MSCR are undefined" in page


def test_numbers_have_an_eps_min() -> None:
    frame = FRAME.assign(age=np.arange(N) * 2.0)
    y = np.where(frame["age"] < 450, "yes", "no")

    def young(frame: pd.DataFrame) -> object:
        return np.where(frame["age"] < 449, "yes", "no")

    found = assess(young, (frame[:200], y[:200]), (frame[200:], y[200:]), norm=2, k=2)
    assert [record.corruption[:3] for record in found.records] == ["cle", "l2("]
    assert found.mscr.value == 0
