"""Time the nearest-neighbour search on a torch device, and hash its results.

The search for a separation (the nearest point of another class for every point, the minimum per
class pair and per part, the ten closest pairs), and the search for 1-NN (all nearest training
points of every test point). Hashes of the results are printed to compare machines.

    python benchmarks/speed/device.py cifar10.npz --device cuda
    python benchmarks/speed/device.py cifar10.npz --cpu         # the compiled search, no torch
    python benchmarks/speed/device.py cifar10.npz --device cuda --type float32 --norms 2

The file holds x_train, y_train, x_test, y_test. Results: results/device.md.
"""

import argparse
import hashlib
import time

import numpy as np

from shaketable.core.types import Array, IntArray
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import pairs_within, search


def run_searches(
    x: Array, y: IntArray, part: IntArray, p: float, device: str | None
) -> dict[str, tuple[float, str]]:
    """Run both searches; return seconds and hash of each."""
    started = time.perf_counter()
    everyone = np.ones(len(x), bool)
    answer = search(
        Question(x, y, p, nearest_of=everyone, classes=y, parts=part, closest=10, device=device)
    )
    seconds = time.perf_counter() - started
    minima = answer.by_class, answer.by_part, answer.closest, answer.closest_rows
    result = {"separation": (seconds, digest(answer.nearest, answer.opponent, *minima))}
    started = time.perf_counter()
    question = Question(x, 1 - part, p, nearest_of=part == 1, device=device)
    answer = search(question)
    pairs = pairs_within(question, answer.nearest)
    seconds = time.perf_counter() - started
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    result["1-NN"] = seconds, digest(answer.nearest, answer.opponent, pairs[order])
    return result


def digest(*arrays: Array) -> str:
    """Hash arrays with their types and shapes."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(f"{array.dtype} {array.shape}".encode())
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


def main() -> None:
    """Print one line per norm and search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--device", help="such as cuda or cpu")
    parser.add_argument(
        "--cpu", action="store_true", help="also time the compiled search, without torch"
    )
    parser.add_argument("--norms", nargs="+", type=float, default=[2.0, 1.0, np.inf])
    parser.add_argument("--type", choices=["uint8", "float32", "float64"], default="uint8")
    parser.add_argument("--rows", type=int, help="number of rows per part")
    options = parser.parse_args()
    data = np.load(options.file)
    cut = slice(options.rows)
    x = np.concatenate([data["x_train"][cut], data["x_test"][cut]]).reshape(-1, 3072)
    if options.type != "uint8":
        x = (x / 255).astype(options.type)
    y = np.concatenate([data["y_train"][cut], data["y_test"][cut]]).ravel().astype(np.int64)
    part = (np.arange(len(x)) >= len(data["y_train"][cut])).astype(np.int64)
    ways: dict[str, str | None] = {}
    if options.device:
        import torch

        ways[options.device] = options.device
        card = torch.cuda.get_device_name(options.device) if "cuda" in options.device else ""
        print(f"torch {torch.__version__}", options.device, card)
    if options.cpu:
        ways["compiled"] = None
    for name, device in ways.items():
        run_searches(x[::50], y[::50], part[::50], 2.0, device)  # compiles, loads libraries
        for p in options.norms:
            for question, (seconds, text) in run_searches(x, y, part, p, device).items():
                print(
                    f"{name} {options.type} p={p:g} {question}: {seconds:.2f} s, {text}", flush=True
                )
    if "cuda" in (options.device or ""):
        print(f"peak memory on the device: {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
