"""Parts of long work: arrays come back, and nothing else does."""

from contextlib import suppress

import numpy as np
import pytest

from helpers.evil import check_it_works, make_contents
from helpers.parts import StoppingParts
from shaketable.core.arrays import keep_arrays, load_arrays


def test_arrays_come_back_and_the_last_ones_count():
    parts = StoppingParts(9)
    assert load_arrays(None, "a") is None
    assert load_arrays(parts, "a") is None
    keep_arrays(None, "a", {"x": np.arange(3)})
    for end in (3, 5):
        keep_arrays(parts, "a", {"x": np.arange(end), "done": np.array(True)})
    keep_arrays(parts, "b", {"x": np.zeros((2, 2), np.float32)})
    found = load_arrays(parts, "a")
    assert sorted(found) == ["done", "x"]
    np.testing.assert_array_equal(found["x"], np.arange(5))
    assert load_arrays(parts, "b")["x"].dtype == np.float32


def test_code_in_a_part_is_not_run(tmp_path):
    mark = tmp_path / "mark"
    check_it_works(mark)
    for kind, content in make_contents(mark).items():
        parts = StoppingParts(1)
        parts.add_part("a", content)
        with pytest.raises(ValueError, match="pickle") if "np" in kind else suppress(Exception):
            load_arrays(parts, "a")
        assert not mark.exists(), kind
