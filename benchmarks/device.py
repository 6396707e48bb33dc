"""Nearest opponents on a device of torch's: times, and whether results equal the CPU's.

All questions at once: every point's nearest opponent, the minimum of each two classes and of the
parts, the ten closest pairs; and, as 1-NN asks, every nearest training point of every test point.
Hashes of the answers are printed, to be compared between machines.

    python benchmarks/device.py cifar10.npz --device cuda
    python benchmarks/device.py cifar10.npz --cpu         # the compiled search, no torch
    python benchmarks/device.py cifar10.npz --device cuda --type float32 --norms 2

The file holds x_train, y_train, x_test, y_test. Result: see results/device.md.
"""

import argparse
import hashlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shaketable.core.types import Array, IntArray
from shaketable.separations.search import blocks

Search = Callable[..., Any]


def answers(
    way: tuple[Search, Search], x: Array, y: IntArray, part: IntArray, p: float
) -> dict[str, tuple[float, str]]:
    """Seconds and hash of every question."""
    search, pairs_within = way
    started = time.perf_counter()
    found = search(x, y, p, of=np.ones(len(x), bool), cell=y, part=part, top=10)
    seconds = time.perf_counter() - started
    parts = found.near, found.who, found.cells, found.parts, found.top, found.top_rows
    result = {"separation": (seconds, digest(*parts))}
    role = 1 - part
    started = time.perf_counter()
    nearest = search(x, role, p, of=part == 1)
    pairs = pairs_within(x, role, p, nearest.near)
    seconds = time.perf_counter() - started
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    result["1-NN"] = seconds, digest(nearest.near, nearest.who, pairs[order])
    return result


def digest(*arrays: Array) -> str:
    """Hash of arrays, types and shapes included."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(f"{array.dtype} {array.shape}".encode())
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


def main() -> None:
    """Print a line a norm and question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--device", help="such as cuda or cpu")
    parser.add_argument("--cpu", action="store_true", help="also the compiled search, no torch")
    parser.add_argument("--norms", nargs="+", type=float, default=[2.0, 1.0, np.inf])
    parser.add_argument("--type", choices=["uint8", "float32", "float64"], default="uint8")
    parser.add_argument("--rows", type=int, help="only so many of each part")
    options = parser.parse_args()
    data = np.load(options.file)
    cut = slice(options.rows)
    x = np.concatenate([data["x_train"][cut], data["x_test"][cut]]).reshape(-1, 3072)
    if options.type != "uint8":
        x = (x / 255).astype(options.type)
    y = np.concatenate([data["y_train"][cut], data["y_test"][cut]]).ravel().astype(np.int64)
    part = (np.arange(len(x)) >= len(data["y_train"][cut])).astype(np.int64)
    ways: dict[str, tuple[Search, Search]] = {}
    if options.device:
        import torch

        from shaketable.separations.search import tensors

        ways[options.device] = (
            partial(tensors.search, device=options.device),
            partial(tensors.pairs_within, device=options.device),
        )
        card = torch.cuda.get_device_name(options.device) if "cuda" in options.device else ""
        print(f"torch {torch.__version__}", options.device, card)
    if options.cpu:
        ways["compiled"] = blocks.search, blocks.pairs_within
    for name, way in ways.items():
        answers(way, x[::50], y[::50], part[::50], 2.0)  # compiles, loads libraries
        for p in options.norms:
            for question, (seconds, text) in answers(way, x, y, part, p).items():
                print(
                    f"{name} {options.type} p={p:g} {question}: {seconds:.2f} s, {text}", flush=True
                )
    if "cuda" in (options.device or ""):
        print(f"most memory on the device: {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
