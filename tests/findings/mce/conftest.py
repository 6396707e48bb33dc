"""Models under the suites for mCE_Lp and iCE."""

import numpy as np
import pytest

from helpers.findings import score_boards
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.findings.mce.scores import Scoreboard


@pytest.fixture(scope="session")
def boards(suite_records: Records) -> list[Scoreboard]:
    """Boards of two models under two suites with derived sizes."""
    return score_boards(suite_records)


@pytest.fixture(scope="session")
def perfect() -> Records:
    """A model without an error on clean points, under published sizes."""
    y = np.arange(12) % 2
    x = np.broadcast_to(0.45 + 0.1 * y[:, None, None, None], (12, 32, 32, 3)).astype(np.float32)
    data = make_dataset(x, y, bounds=(0, 1), name="flat")
    suites = [suite("pnorm"), suite("ice")]
    return evaluate(lambda x: x[:, 0, 0, 0] > 0.5, data, suites, name="pixel", k=2)
