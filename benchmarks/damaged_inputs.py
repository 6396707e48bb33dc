"""Ten thousand damaged inputs, over every kind of file that a command reads.

Each input is a good file, or a folder of them, with one damage: bits, bytes and parts of a file
changed, lost or repeated, and values and headers replaced by others that are well formed but odd. A
command reads it, in a worker process; what may come out is the result, or an input error: exit
code 2 and one line. Everything else is a fault of ours:

- mistake: exit code 4, or an exception that leaves `main`;
- crash: the process ends; hang: no answer within 10 s; memory: more than 2 GB are asked for;
- noise: a warning, or more than one line, on stderr;
- other numbers: a damaged results file that is read without an error, and gives other results.

    python benchmarks/damaged_inputs.py [--inputs 10000] [--seed 0] [--jobs 1] [--kinds npy npz]
"""

from __future__ import annotations

import argparse
import io
import json
import queue
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.cli.main import main

HANG, MEMORY = 10, 2 * 2**30  # seconds, bytes
GOOD = ("fine", "input error")
FAULTS = ("mistake", "crash", "hang", "memory", "noise", "other numbers")

Damage = Callable[[bytes, np.random.Generator], bytes]


@dataclass(frozen=True)
class Kind:
    """One kind of input: how good ones are made, and which command reads them."""

    name: str
    make: Callable[[Path], None]
    """Writes good files into an empty folder."""
    argv: Callable[[Path], list[str]]
    """Arguments of the command that reads them."""
    files: str = "**/*"
    """Pattern of the files that are damaged."""
    odd: tuple[Damage, ...] = ()
    """Damages that only this kind has."""
    same: bool = False
    """Whether a command that succeeds must give the results of the good input."""


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


def copy_page(content: bytes, rng: np.random.Generator) -> bytes:
    """Copy a page of a results file over another."""
    size, count = 4096, len(content) // 4096
    a, b = rng.integers(count, size=2)
    return content[: b * size] + content[a * size : (a + 1) * size] + content[(b + 1) * size :]


# Good inputs

POINTS = 24
_LABELS = np.array(["ape", "bee", "cat"])[np.arange(POINTS) % 3]


def _points(shape: tuple[int, ...] = (3,)) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random((POINTS, *shape))


def _pixels(side: int = 8) -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(0, 256, (POINTS, side, side, 3), dtype=np.uint8)


def make_npy(folder: Path) -> None:
    """Arrays as ``corrupt --form arrays`` writes them."""
    data = folder / "clean.npz"
    np.savez(data, x=_points(), y=_LABELS)
    _run(["corrupt", str(data), "--grid", "linf(0.1)", "linf(0.2)", "-o", str(folder / "sets")])
    data.unlink()
    array = min(p for p in (folder / "sets").glob("*.npy") if p.name != "labels.npy")
    shutil.copy(array, folder / "x.npy")
    for name in ("labels.npy", "manifest.json"):
        shutil.copy(folder / "sets" / name, folder / name)
    shutil.rmtree(folder / "sets")


def make_npz(folder: Path) -> None:
    """Points and labels in one archive."""
    np.savez_compressed(folder / "data.npz", x=_points(), y=_LABELS)


def make_table(ending: str) -> Callable[[Path], None]:
    """Points as a table."""

    def make(folder: Path) -> None:
        import pandas as pd

        table = pd.DataFrame(_points(), columns=["a", "b", "c"]).assign(y=_LABELS)
        if ending == ".parquet":
            table.to_parquet(folder / "data.parquet", index=False)
        else:
            table.to_csv(folder / f"data{ending}", index=False)

    return make


def _save_images(folder: Path, ending: str, pixels: np.ndarray[Any, Any]) -> None:
    from PIL import Image

    for i, (label, image) in enumerate(zip(_LABELS, pixels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / label / f"{i}{ending}")


def make_images(ending: str) -> Callable[[Path], None]:
    """Folder of images, one subfolder per class."""
    return lambda folder: _save_images(folder, ending, _pixels())


def make_published_arrays(folder: Path) -> None:
    """Corrupted images as in CIFAR-10-C, with the clean ones."""
    np.savez(folder / "clean.npz", x=_pixels(), y=_LABELS)
    (folder / "C").mkdir()
    np.save(folder / "C" / "fog.npy", np.tile(_pixels(), (5, 1, 1, 1)))
    np.save(folder / "C" / "labels.npy", np.tile(np.arange(POINTS) % 3, 5))


def make_published_images(folder: Path) -> None:
    """Corrupted images as in ImageNet-C, with the clean ones."""
    _save_images(folder / "clean", ".png", _pixels())
    _save_images(folder / "C" / "fog" / "3", ".jpg", _pixels())


def make_textures(folder: Path) -> None:
    """Images of ice, with the data they are for."""
    from PIL import Image

    np.savez(folder / "clean.npz", x=_pixels(), y=_LABELS)
    (folder / "ice").mkdir()
    for i in range(2):
        Image.fromarray(np.tile(_pixels(16)[i], (6, 6, 1))).save(folder / "ice" / f"{i}.png")


def make_scores(ending: str) -> Callable[[Path], None]:
    """Scores of models under conditions."""

    def make(folder: Path) -> None:
        import pandas as pd

        names = [f"net{i}" for i in range(POINTS)]
        scores = pd.DataFrame(_points(), columns=["clean", "rain", "snow"])
        scores.insert(0, "model", names)
        if ending == ".parquet":
            scores.to_parquet(folder / "scores.parquet", index=False)
        else:
            scores.to_csv(folder / "scores.csv", index=False)

    return make


def make_results(folder: Path) -> None:
    """Results file of a small evaluation."""
    data = "bands(n=40, separation=0.1)"
    for model in ("1nn", "rf"):
        argv = ["evaluate", "--data", data, "--model", model, "--k", "2", "--quiet"]
        argv += ["--corruptions", "linf(eps_min)", "l2(0.1)", "--store", str(folder / "r.sqlite")]
        _run(argv)


def make_onnx(folder: Path) -> None:
    """Linear classifier as an ONNX graph."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    _save_model_data(folder)
    weights = np.random.default_rng(3).normal(size=(3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["s"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))


def make_pt(folder: Path) -> None:
    """Linear classifier as a whole torch module."""
    import torch

    _save_model_data(folder)
    torch.manual_seed(0)
    torch.save(torch.nn.Linear(3, 3), folder / "model.pt")


def make_network() -> Any:
    """Return the network that the weights of `make_weights` are for."""
    import torch

    return torch.nn.Linear(3, 3)


def make_weights(folder: Path) -> None:
    """Weights of a network."""
    import torch

    _save_model_data(folder)
    torch.manual_seed(0)
    torch.save(make_network().state_dict(), folder / "weights.pt")


def make_joblib(folder: Path) -> None:
    """Fitted estimator of scikit-learn."""
    import joblib
    from sklearn.linear_model import LogisticRegression

    _save_model_data(folder)
    joblib.dump(LogisticRegression().fit(_points(), _LABELS), folder / "model.joblib")


def _save_model_data(folder: Path) -> None:
    (folder / "data").mkdir()
    np.savez(folder / "data" / "clean.npz", x=_points(), y=_LABELS)


def make_study(folder: Path) -> None:
    """Study file of a small study."""
    (folder / "study.toml").write_text(
        'data = "bands(n=40, separation=0.1)"\nmodel = ["1nn"]\nnorm = "inf"\n'
        "train_eps = [0, 0.05]\ntest_eps = [0, 0.05]\nruns = 1\nk = 1\nseed = 3\nscale = false\n"
    )


# Commands


def _separate(file: str, *more: str) -> Callable[[Path], list[str]]:
    return lambda folder: ["separation", str(folder / file), "--quiet", *more]


def _evaluate_model(model: str, *more: str) -> Callable[[Path], list[str]]:
    def argv(folder: Path) -> list[str]:
        data = str(folder / "data" / "clean.npz")
        args = ["evaluate", "--data", data, "--model", model.format(folder), "--quiet"]
        return [*args, "--corruptions", "linf(0.1)", "--k", "1", *more]

    return argv


def _corrupt_images(data: str, spec: str) -> Callable[[Path], list[str]]:
    def argv(folder: Path) -> list[str]:
        args = ["evaluate", "--data", str(folder / data), "--model", "1nn", "--fit", "--quiet"]
        return [*args, "--k", "1", "--corruptions", spec.format(folder)]

    return argv


KINDS = (
    Kind("npy", make_npy, _separate("x.npy"), "x.npy", (change_npy_header,) * 3),
    Kind("labels npy", make_npy, _separate("x.npy"), "labels.npy", (change_npy_header,) * 3),
    Kind("manifest", make_npy, _separate("x.npy"), "manifest.json", (change_json_value,) * 5),
    Kind("npz", make_npz, _separate("data.npz"), odd=(change_npz_member,) * 5),
    Kind(
        "csv", make_table(".csv"), _separate("data.csv", "--label", "y"), odd=(change_csv_cell,) * 5
    ),
    Kind("csv.gz", make_table(".csv.gz"), _separate("data.csv.gz", "--label", "y")),
    Kind(
        "parquet",
        make_table(".parquet"),
        _separate("data.parquet", "--label", "y", "--non-numeric", "onehot"),
        odd=(change_parquet_column,) * 3,
    ),
    Kind("png folder", make_images(".png"), _separate("."), odd=(change_image_header,) * 3),
    Kind("jpg folder", make_images(".jpg"), _separate(".")),
    Kind(
        "published arrays",
        make_published_arrays,
        _corrupt_images("clean.npz", "fog(3, published={}/C)"),
        "C/*.npy",
        (change_npy_header,) * 3,
    ),
    Kind(
        "published images",
        make_published_images,
        _corrupt_images("clean", "fog(3, published={}/C)"),
        "C/**/*.jpg",
    ),
    Kind(
        "frost textures",
        make_textures,
        _corrupt_images("clean.npz", "frost(3, textures={}/ice)"),
        "ice/*",
        (change_image_header,) * 3,
    ),
    Kind(
        "scores csv",
        make_scores(".csv"),
        lambda folder: ["mcv", str(folder / "scores.csv")],
        odd=(change_csv_cell,) * 5,
    ),
    Kind(
        "scores parquet",
        make_scores(".parquet"),
        lambda folder: ["mcv", str(folder / "scores.parquet")],
        odd=(change_parquet_column,) * 3,
    ),
    Kind(
        "results file",
        make_results,
        lambda folder: ["score", str(folder / "r.sqlite"), "--json"],
        odd=(copy_page,) * 3,
        same=True,
    ),
    Kind("onnx", make_onnx, _evaluate_model("{}/model.onnx"), "model.onnx"),
    Kind("pt", make_pt, _evaluate_model("{}/model.pt", "--trust"), "model.pt"),
    Kind("joblib", make_joblib, _evaluate_model("{}/model.joblib", "--trust"), "model.joblib"),
    Kind(
        "study file",
        make_study,
        lambda folder: ["study", str(folder / "study.toml"), "--quiet"],
        odd=(change_toml_value,) * 5,
    ),
    Kind(
        "weights",
        make_weights,
        _evaluate_model(f"{Path(__file__).stem}:make_network@{{}}/weights.pt"),
        "weights.pt",
    ),
)


# One input


def _run(argv: Sequence[str]) -> tuple[int, str, str]:
    """Run a command; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


def damage(kind: Kind, folder: Path, rng: np.random.Generator) -> str:
    """Damage one file of an input, and return what was done to it."""
    files = sorted(path for path in folder.glob(kind.files) if path.is_file())
    damages = (*COMMON, *kind.odd)
    file, change = files[rng.integers(len(files))], damages[rng.integers(len(damages))]
    file.write_bytes(change(file.read_bytes(), rng))
    return f"{change.__name__} in {file.relative_to(folder)}"


def try_input(kind: Kind, folder: Path, expected: str) -> tuple[str, str]:
    """Run the command of one input; return the outcome, and what was said of it."""
    try:
        code, out, err = _run(kind.argv(folder))
    except BaseException as error:  # whatever leaves main is what is looked for
        return "memory" if isinstance(error, MemoryError) else "mistake", f"left main: {error!r}"
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    strange = [line for line in lines if not line.startswith("shaketable: error: ")]
    outcome, said = "fine", ""
    if code == 2 and len(lines) == 1 and not strange:
        outcome, said = "input error", lines[0]
    elif code not in (0, 2):
        outcome, said = "mistake", lines[-1] if lines else f"exit code {code}"
        outcome = "memory" if "MemoryError" in said else outcome
    elif code == 2 or strange:
        outcome, said = "noise", (strange or lines or ["nothing said"])[0]
    elif kind.same and out != expected:
        outcome, said = "other numbers", out[:200]
    return outcome, said


def work(kinds: Sequence[Kind], seed: int, start: int, stop: int) -> None:
    """Try the inputs from `start` to `stop`, and write one line of JSON before and after each."""
    report, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    with tempfile.TemporaryDirectory() as place:
        good: dict[str, Path] = {}
        expected: dict[str, str] = {}
        for kind in kinds:  # imports and compiles everything, so that times are those of inputs
            good[kind.name] = Path(place) / kind.name.replace(" ", "_").replace(".", "_")
            good[kind.name].mkdir()
            kind.make(good[kind.name])
            code, expected[kind.name], err = _run(kind.argv(good[kind.name]))
            assert code == 0, (kind.name, err)
        size = int(re.findall(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        for i in range(start, stop):
            print(json.dumps([i]), file=report, flush=True)
            kind, rng = kinds[i % len(kinds)], np.random.default_rng([seed, i])
            folder = Path(place) / f"input{i}"
            shutil.copytree(good[kind.name], folder)
            done = damage(kind, folder, rng)
            outcome, said = try_input(kind, folder, expected[kind.name])
            said = said.replace(str(folder), "")
            shutil.rmtree(folder, ignore_errors=True)
            print(json.dumps([i, outcome, done, said]), file=report, flush=True)


# All inputs


def watch(argv: Sequence[str], start: int, stop: int) -> dict[int, tuple[str, str, str]]:
    """Have a worker try inputs; one that hangs or crashes is replaced by the next."""
    outcomes: dict[int, tuple[str, str, str]] = {}
    while start < stop:
        command = [sys.executable, __file__, *argv, "--share", str(start), str(stop)]
        worker = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines: queue.Queue[str | None] = queue.Queue()

        def read(pipe: Any = worker.stdout, into: queue.Queue[str | None] = lines) -> None:
            for line in pipe:
                into.put(line)
            into.put(None)

        threading.Thread(target=read, daemon=True).start()
        current, why = None, "crash"
        while True:
            try:  # before the first input everything is compiled
                line = lines.get(timeout=600 if current is None else HANG)
            except queue.Empty:
                why = "hang"
                break
            if line is None:
                break
            at, *rest = json.loads(line)
            if rest:
                outcomes[at] = (rest[0], rest[1], rest[2])
                if at % 500 == 0:
                    print(f"{at} of {start} to {stop}", file=sys.stderr)
            else:
                current = at
        worker.kill()
        worker.wait()
        if current is None:
            raise RuntimeError("a worker ended before its first input; --share 0 1 shows why")
        if current not in outcomes:
            outcomes[current] = (why, "", "")
        start = current + 1
    return outcomes


def print_outcomes(kinds: Sequence[Kind], outcomes: dict[int, tuple[str, str, str]]) -> None:
    """Print a table of counts, and one line per cause of a fault."""
    names = (*GOOD, *FAULTS)
    print("| input | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    total: Counter[str] = Counter()
    for number, kind in enumerate(kinds):
        counts = Counter(o[0] for i, o in outcomes.items() if i % len(kinds) == number)
        total += counts
        print(f"| {kind.name} | " + " | ".join(str(counts[name]) for name in names) + " |")
    print("| all | " + " | ".join(str(total[name]) for name in names) + " |")
    causes: dict[tuple[str, str, str], list[int]] = {}
    for i, (outcome, _, said) in outcomes.items():
        if outcome not in GOOD:
            cause = re.sub(r"'[^']*'|\d+|\"[^\"]*\"", "…", said)[:150]
            causes.setdefault((kinds[i % len(kinds)].name, outcome, cause), []).append(i)
    for (name, outcome, _), at in sorted(causes.items(), key=lambda item: -len(item[1])):
        _, done, said = outcomes[at[0]]
        print(f"{len(at)} x {name}, {outcome} (input {at[0]}, {done}): {said[:200]!r}")


def parse_flags() -> argparse.Namespace:
    """Read the flags."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[kind.name for kind in KINDS])
    parser.add_argument("--jobs", type=int, default=1, help="workers at a time")
    parser.add_argument("--share", type=int, nargs=2, help="be a worker: try these inputs")
    return parser.parse_args()


if __name__ == "__main__":
    flags = parse_flags()
    chosen = [kind for kind in KINDS if kind.name in flags.kinds]
    if flags.share is not None:
        work(chosen, flags.seed, *flags.share)
    else:
        ends = [flags.inputs * i // flags.jobs for i in range(flags.jobs + 1)]
        with ThreadPoolExecutor(flags.jobs) as pool:
            shares = pool.map(partial(watch, sys.argv[1:]), ends[:-1], ends[1:])
            print_outcomes(chosen, {i: found for share in shares for i, found in share.items()})
