"""Records that figures are drawn from."""

import pytest

from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.evaluation.study import study

LEVELS = ("l2(0.03)", "linf(0.03)")


@pytest.fixture(scope="session")
def norm_records(data: Dataset) -> Records:
    """A model trained without noise and with noise of two norms, with k = 1 and k = 2."""
    options = {"train": ["clean", *LEVELS], "corruptions": LEVELS, "runs": 2}
    records = [study(data, "1nn", **options, k=k) for k in (1, 2)]
    return records[0] + records[1]
