"""Records that tests of several findings use."""

import pytest

from helpers.pages import run_study
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records


@pytest.fixture(scope="session")
def study_records(data: Dataset) -> Records:
    """Two models with three training noises, in three runs."""
    return run_study(data)


@pytest.fixture(scope="session")
def mixed_records(noise_records: Records, study_records: Records) -> Records:
    """Fitted models and a study on the same data."""
    return Records((*noise_records, *study_records), noise_records.separations)
