"""The table of models in the terminal."""

import numpy as np
import pytest

from helpers.findings import print_results
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate

X = np.random.default_rng(0).uniform(size=(60, 2))
DATA = make_dataset(X, X[:, 0] > 0.5, name="halves", bounds=(0, 1))


def test_eps_min_has_the_name_of_its_norm_beside_corruptions_without_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = evaluate(lambda x: x[:, 0] > 0.5, DATA, ["l2(eps_min)", "sp(0.1)"], k=2, name="m")
    lines = print_results(capsys, records).splitlines()
    value = f"{records.separations[0].epsilon_min:.6g}"
    assert f"halves: 60 test points; L2 eps_min = {value}" in lines
