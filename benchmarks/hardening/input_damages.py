"""Damages of files: of any file, and of files of one format; for damaged_inputs.py."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]


# Damages of any file


def flip_bit(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one bit."""
    at = rng.integers(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.integers(8)]) + content[at + 1 :]


def flip_early_bit(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one bit of the first 128 bytes, where headers are."""
    return flip_bit(content[:128], rng) + content[128:]


def replace_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace up to 16 bytes by random ones."""
    at, size = rng.integers(len(content)), int(rng.integers(1, 17))
    return content[:at] + rng.bytes(size) + content[at + size :]


def cut_end(content: bytes, rng: np.random.Generator) -> bytes:
    """Keep only the beginning."""
    return content[: rng.integers(len(content))]


def cut_part(content: bytes, rng: np.random.Generator) -> bytes:
    """Lose a part."""
    low, high = np.sort(rng.integers(len(content), size=2))
    return content[:low] + content[high:]


def repeat_part(content: bytes, rng: np.random.Generator) -> bytes:
    """Write a part twice."""
    low, high = np.sort(rng.integers(len(content), size=2))
    return content[:high] + content[low:]


def clear_part(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a part by zeros, as a broken disk does."""
    low, high = np.sort(rng.integers(len(content), size=2))
    return content[:low] + bytes(high - low) + content[high:]


def insert_text(content: bytes, rng: np.random.Generator) -> bytes:
    """Insert something that parsers treat specially."""
    odd = [b"\0", b"\n", b"\xff\xfe", b'"', b"'", b",", b"{", b"]", b"\x1b[2J", b"\xed\xa0\x80"]
    at = rng.integers(len(content))
    return content[:at] + odd[rng.integers(len(odd))] + content[at:]


def change_number(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number that is written in digits, as in texts and headers, by another value."""
    places = [m.span() for m in re.finditer(rb"\d+(\.\d+)?", content)] or [(0, 0)]
    odd = [b"-1", b"1e999", b"99999999999999", b"nan", b"", b"0", b"1.5", b"0x10", b"9" * 5000]
    start, stop = places[rng.integers(len(places))]
    return content[:start] + odd[rng.integers(len(odd))] + content[stop:]


COMMON: tuple[Damage, ...] = (
    flip_bit,
    flip_early_bit,
    replace_bytes,
    cut_end,
    cut_part,
    repeat_part,
    clear_part,
    insert_text,
    change_number,
)


# Damages of one kind of file


def change_npy_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace the type or the shape that an ``.npy`` file declares."""
    if not content.startswith(b"\x93NUMPY"):
        return flip_bit(content, rng)
    size = struct.unpack("<H", content[8:10])[0]
    types = [
        "|O",
        "<U0",
        "<U9999999",
        "<M8[s]",
        "|V8",
        "<c16",
        "|b1",
        ">f8",
        "<f2",
        "[('a', '<f8')]",
    ]
    shapes = ["(24, 4000000000000)", "(10**13,)", "()", "(0, 3)", "(24, -3)", "(12.0, 3)", "12"]
    shapes += ["(2**62, 2**62)", "(None,)", "(24, 36), (1,)", "(99999999999999999999999,)"]
    texts = [
        "{}",
        "None",
        "[1]",
        "{'descr': '<f8'",
        "{'descr': 8, 'fortran_order': 0, 'shape': (1,)}",
        "(" * 300,
        "-" * 9000 + "1",
    ]
    choice = rng.integers(3)
    if choice == 0:
        kind = types[rng.integers(len(types))]
        kind = kind if kind.startswith("[") else repr(kind)
        text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': (24, 3), }}"
    elif choice == 1:
        shape = shapes[rng.integers(len(shapes))]
        shape = "(10000000000000,)" if "10**" in shape else shape
        shape = f"({2**62}, {2**62})" if "2**" in shape else shape
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    else:
        text = texts[rng.integers(len(texts))]
    header = text.encode().ljust(max(118, len(text) + 1))[:-1] + b"\n"
    version = content[6:8] if rng.integers(8) else rng.bytes(2)
    return content[:6] + version + struct.pack("<H", len(header)) + header + content[10 + size :]


def change_idx_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace the type, the number of axes or one length that an idx file declares."""
    choice = rng.integers(3)
    if choice == 0:
        return content[:2] + rng.bytes(1) + content[3:]
    if choice == 1:
        return content[:3] + bytes([rng.integers(256)]) + content[4:]
    place = 4 * int(rng.integers(1, 1 + max(1, content[3])))
    lengths = (0, 1, 2**31 - 1, -1, -(2**31), 23, 25)
    length = struct.pack(">i", lengths[rng.integers(len(lengths))])
    return content[:place] + length + content[place + 4 :]


def change_npz_member(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage one array of an ``.npz`` file, in an archive that is otherwise in order."""
    damages = (change_npy_header, change_npy_header, *COMMON)
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        names = old.namelist()
        chosen = rng.integers(len(names))
        for i, name in enumerate(names):
            part = old.read(name)
            if i == chosen:
                part = damages[rng.integers(len(damages))](part, rng)
            new.writestr(
                name, part, zipfile.ZIP_DEFLATED if rng.integers(2) else zipfile.ZIP_STORED
            )
    return packed.getvalue()


def change_json_value(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace one value of a JSON file by one of another kind."""
    odd: list[Any] = [None, [], {}, "", -1, 1e308, True, [[1], [2, 3]], {"a": {}}, "\ud800", 2**70]
    odd += [["a", "a\0"], [None, 1], ["a", ["b"]], [float("nan")], "x" * 10_000]
    value = odd[rng.integers(len(odd))]
    tree = json.loads(content)
    if not isinstance(tree, dict) or rng.integers(8) == 0:
        return [b"[" * 100_000, json.dumps(value).encode()][rng.integers(2)]
    keys = list(tree)
    tree[keys[rng.integers(len(keys))]] = value
    return json.dumps(tree).encode()


def change_csv_cell(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace one cell of a table, the header included."""
    odd = [
        b"",
        b"nan",
        b"inf",
        b"1e400",
        b'"',
        b'"a\nb"',
        b"\xff",
        b"a\0",
        b"True",
        b"1,2",
        b"9" * 400,
    ]
    odd += [b"0x1F", b"1_000", b"\xef\xbb\xbf", b"2026-01-01", b"=1+1", b" ", b"x" * 200_000]
    lines = content.split(b"\n")
    row = rng.integers(max(1, len(lines) - 1))
    cells = lines[row].split(b",")
    cells[rng.integers(len(cells))] = odd[rng.integers(len(odd))]
    lines[row] = b",".join(cells)
    return b"\n".join(lines)


def change_parquet_column(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace one column of a parquet file by one of another type."""
    import decimal
    from datetime import date, datetime, timedelta

    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    n = table.num_rows
    columns: list[Any] = [
        pa.array([decimal.Decimal("1.5")] * n),
        pa.array([datetime(2026, 1, 1)] * n),
        pa.array([date(2026, 1, 1)] * n),
        pa.array([timedelta(1)] * n),
        pa.array([[1.0, 2.0]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([b"\xff"] * n),
        pa.array([None] * n),
        pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        pa.array([1, 2] * (n // 2)).dictionary_encode(),
        pa.array([True, None] * (n // 2)),
        pa.array([2**63] * n, pa.uint64()),
        pa.array([1.0] * n, pa.float16()),
        pa.array([float("nan")] * n),
        pa.array([[("k", 1)]] * n, pa.map_(pa.string(), pa.int64())),
    ]
    at = int(rng.integers(table.num_columns))
    name = [table.column_names[at], "", "a\0", table.column_names[0]][rng.integers(4)]
    table = table.set_column(at, name, columns[rng.integers(len(columns))])
    if rng.integers(3) == 0:
        table = table.replace_schema_metadata({"pandas": ["{", "{}", "[1]", "\0"][rng.integers(4)]})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def change_image_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Declare another size or kind of image in a PNG file, with a checksum that is right."""
    if not content.startswith(b"\x89PNG"):
        return flip_early_bit(content, rng)
    sizes = [0, 1, 7, 9, 10_000, 14_000, 2**31 - 1]
    width, height = (sizes[i] for i in rng.integers(len(sizes), size=2))
    depth, colour = ([1, 2, 4, 8, 16, 3][rng.integers(6)], [0, 2, 3, 4, 6, 5][rng.integers(6)])
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]


def change_toml_value(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace one value of a study file by one of another kind."""
    odd = [b"[]", b"{}", b"[[1], [2]]", b"nan", b"inf", b"true", b"-1", b"2026-01-01", b'"\\u0000"']
    odd += [b'""', b"1.5", b"{a = 1}", b'["a", 1]', b"'../../x'"]
    lines = content.splitlines()
    at = rng.integers(len(lines))
    lines[at] = lines[at].partition(b"=")[0] + b"= " + odd[rng.integers(len(odd))]
    return b"\n".join(lines)


def change_archive_member(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage one part of a zip archive, such as a torch or skops file, with a right checksum."""
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
            names = old.namelist()
            chosen = rng.integers(len(names))
            for i, name in enumerate(names):
                part = old.read(name)
                if i == chosen and part:
                    part = COMMON[rng.integers(len(COMMON))](part, rng)
                new.writestr(name, part, zipfile.ZIP_STORED)
    except (zipfile.BadZipFile, ValueError):
        return flip_bit(content, rng)
    return packed.getvalue()


def flip_weight(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip the highest bit of the exponent of a float32 in a torch file: a much larger weight."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [p for p in archive.infolist() if re.search("/data/.*[0-9]$", p.filename)]
        part = parts[rng.integers(len(parts))]
        tensor = archive.read(part)
    start = content.index(tensor, part.header_offset + 30 + len(part.filename))
    at = start + 4 * int(rng.integers(max(1, len(tensor) // 4))) + 3
    return content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :]


def change_schema(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a byte where a results file declares its tables."""
    places = [place.start() for place in re.finditer(b"CREATE ", content)]
    at = places[rng.integers(len(places))] + int(rng.integers(-40, 200))
    return content[:at] + rng.bytes(1) + content[at + 1 :]


def copy_page(content: bytes, rng: np.random.Generator) -> bytes:
    """Copy a page of a results file over another."""
    size, count = 4096, len(content) // 4096
    a, b = rng.integers(count, size=2)
    return content[: b * size] + content[a * size : (a + 1) * size] + content[(b + 1) * size :]
