"""Three models under the suite two-factor."""

from pathlib import Path

import pytest

from helpers.findings import variation_boards
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.mcv.finding import MCVBoard


@pytest.fixture(scope="session")
def two_factor_records(two_factor_store: Path) -> Records:
    with Store(two_factor_store) as store:
        return store.records()


@pytest.fixture(scope="session")
def board(two_factor_records: Records) -> MCVBoard:
    (only_board,) = variation_boards(two_factor_records, reference="rf")
    return only_board
