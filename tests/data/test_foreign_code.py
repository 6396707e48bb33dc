"""Code in data files is never run, whatever the file is called."""

import pytest

from helpers.evil import check_it_works, make_contents
from shaketable.core.errors import InputError
from shaketable.data.files import load

NAMES = [
    "x.npy",
    "x.npz",
    "x.csv",
    "x.parquet",
    "x.png",
    "t10k-images-idx3-ubyte",
    "batches.meta",
    "data_batch_1",
    "test_batch",
]


@pytest.mark.parametrize("kind", ["pickle 0", "pickle 5", "npy", "npz", "torch"])
def test_code_in_data_files_is_not_run(kind, tmp_path):
    mark = tmp_path / "mark"
    check_it_works(mark)
    content = make_contents(mark)[kind]
    for name in NAMES:
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        path = folder / name
        path.write_bytes(content)
        for source in (path, folder):
            with pytest.raises((InputError, OSError)):
                load(source)
            assert not mark.exists(), (name, source)
