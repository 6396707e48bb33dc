"""Damaged files of LightGBM, which would end the process that reads them."""

import numpy as np
import pytest

from shaketable import InputError
from shaketable.models.loading import load_model

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")


def test_a_damaged_file_of_lightgbm_is_an_input_error(tmp_path):
    x = np.random.default_rng(0).random((30, 2))
    settings = {"objective": "binary", "min_data_in_leaf": 1, "verbose": -1, "num_threads": 1}
    path = tmp_path / "model.txt"
    lightgbm.train(settings, lightgbm.Dataset(x, np.arange(30) % 2), 1).save_model(str(path))
    path.write_text(path.read_text().replace("Tree=0", "Trea=0"))
    with pytest.raises(InputError, match="cannot be loaded by LightGBM: Model format error"):
        load_model(str(path))
