"""Arrays in files: whatever is wrong with a file is an input error, before memory is asked for."""

import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.data.array_files import list_npz, map_npy, read_npy, read_npz

WHOLE = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }"


def write_npy(path: Path, header: str = WHOLE, version: bytes = b"\1\0") -> Path:
    """Twelve numbers behind a header."""
    text = header.encode().ljust(117) + b"\n"
    numbers = np.arange(12.0).tobytes()
    path.write_bytes(b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + numbers)
    return path


def pack(path: Path, member: Path, method: int) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.write(member, "x.npy")
    return path


def test_arrays_come_back_as_they_were_saved(tmp_path: Path) -> None:
    for i, array in enumerate(
        (
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.array(["a", "漢", "\udcff"]),
            np.array([], "<U3"),
            np.array([True, False]),
            np.zeros((0, 3)),
            np.array(3),
            np.array([1, 2], ">i4"),
        )
    ):
        np.save(tmp_path / f"{i}.npy", array)
        np.savez_compressed(tmp_path / f"{i}.npz", x=array, other=array)
        assert list_npz(tmp_path / f"{i}.npz") == ["x", "other"]
        for read in (
            read_npy(tmp_path / f"{i}.npy"),
            read_npz(tmp_path / f"{i}.npz", "x"),
            *([map_npy(tmp_path / f"{i}.npy")] if array.size else []),
        ):
            assert read.dtype == array.dtype
            assert read.shape == array.shape
            assert np.array_equal(read, array)


@pytest.mark.parametrize(
    "header",
    [
        WHOLE.replace("(4, 3)", "(4, 4000000000000)"),
        WHOLE.replace("(4, 3)", f"({2**62}, {2**62})"),
        WHOLE.replace("(4, 3)", "(99999999999999999999999,)"),
        WHOLE.replace("<f8", "<U9999999"),
        WHOLE.replace("(4, 3)", "(10000000000000,)").replace("<f8", "<U0"),
    ],
)
def test_what_is_declared_must_be_there_before_memory_is_asked_for(
    tmp_path: Path, header: str
) -> None:
    path = write_npy(tmp_path / "a.npy", header)
    stored = pack(tmp_path / "s.npz", path, zipfile.ZIP_STORED)
    packed = pack(tmp_path / "d.npz", path, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    for read in (
        lambda: read_npy(path),
        lambda: map_npy(path),
        lambda: read_npz(stored, "x"),
        lambda: read_npz(packed, "x"),
    ):
        with pytest.raises(InputError, match=r"cannot be read: .*declares .* bytes.* there are 96"):
            read()
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_the_size_in_the_directory_of_an_archive_is_not_believed(tmp_path: Path) -> None:
    path = write_npy(tmp_path / "a.npy", WHOLE.replace("(4, 3)", "(400000000,)"))
    packed = pack(tmp_path / "d.npz", path, zipfile.ZIP_DEFLATED)
    content = packed.read_bytes()
    at = content.index(b"PK\1\2") + 24  # of the size, uncompressed
    packed.write_bytes(content[:at] + struct.pack("<I", 2**32 - 2) + content[at + 4 :])
    with pytest.raises(InputError, match="declares 3200000000 bytes"):
        read_npz(packed, "x")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "(" * 300,
        "-" * 9000 + "1",
        "[" * 9000,
        "{}",
        "None",
        "{'descr': 8, 'fortran_order': 0, 'shape': (1,)}",
        WHOLE.replace("(4, 3)", "(4.0, 3)"),
        WHOLE.replace("(4, 3)", "(-4, 3)"),
        WHOLE.replace("(4, 3)", "12"),
        WHOLE.replace("<f8", "<q9"),
        WHOLE.replace("<f8", "|O"),
        WHOLE.replace("'shape'", "'shope'"),
        WHOLE + "\0",
    ],
)
def test_damaged_headers_are_input_errors_of_one_line(tmp_path: Path, header: str) -> None:
    path = write_npy(tmp_path / "a.npy", header)
    packed = pack(tmp_path / "a.npz", path, zipfile.ZIP_DEFLATED)
    for read in (lambda: read_npy(path), lambda: map_npy(path), lambda: read_npz(packed, "x")):
        with pytest.raises(InputError, match=r"a\.np[yz]' cannot be read: \S") as caught:
            read()
        assert "\n" not in str(caught.value)


def test_other_versions_and_files_cut_short_are_refused(tmp_path: Path) -> None:
    path = write_npy(tmp_path / "a.npy", version=b"\xff\0")
    with pytest.raises(InputError, match=r"version.*255"):
        read_npy(path)
    content = write_npy(path).read_bytes()
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match="cannot be read"):
            read_npy(path)


def test_texts_hold_characters_only(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array(["ab", "cd"]))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-4] + b"\xff\xff\xff\xff")
    with pytest.raises(InputError, match="codes that are no characters"):
        read_npy(tmp_path / "a.npy")
