"""Equal rows are those that a comparison of all pairs finds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shaketable.data import duplicates
from shaketable.data.arrays import make_dataset


@settings(deadline=None)
@given(
    x=st.tuples(st.integers(2, 40), st.sampled_from([1, 2, 3, 7, 8, 9, 64, 67])).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, -0.0, 1.0]))
    ),
    dtype=st.sampled_from([np.float32, np.float64, np.uint8]),
    checksums=st.booleans(),
)
def test_duplicates_are_those_of_all_pairs(
    x: np.ndarray[Any, Any], dtype: type, checksums: bool
) -> None:
    data = make_dataset(x[:, :, None].astype(dtype), np.arange(len(x)) % 2)
    assert data.x.dtype == dtype
    first = (x[:, None] == x[None]).all(axis=2).argmax(axis=1)
    groups = [np.flatnonzero(first == row).tolist() for row in np.unique(first)]
    with pytest.MonkeyPatch.context() as patch:
        if not checksums:  # all rows look alike, and have to be told apart
            patch.setattr(duplicates, "_compute_checksums", lambda x: np.zeros(len(x), np.uint64))
        found = [rows.tolist() for rows in data.duplicates()]
    assert found == [group for group in groups if len(group) > 1]


def test_checksums_hardly_ever_agree_by_chance() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (20_000, 35), dtype=np.uint8)
    for x in (bits, bits.astype(np.float32), bits.astype(np.float64)):
        distinct = len(np.unique(x, axis=0))
        assert len(np.unique(duplicates._compute_checksums(x))) == distinct
