"""Noise on a CUDA device, in place, against the device's own speed of copying.

Every row of x gets its own noise of a p-norm ball; x is read and written once. The yardstick is
torch's ``y.copy_(x)`` of the same x: bytes read and written a second.

    python benchmarks/pnorm_device.py
    python benchmarks/pnorm_device.py --rows 10000

Prints a table in Markdown. Result: see results/pnorm_device.md.
"""

import argparse
import datetime
import math
from collections.abc import Callable

import numpy as np
import torch
import triton

from shaketable.core.keys import row_keys
from shaketable.corruptions import Corruption, Gaussian, Impulse, PNormNoise
from shaketable.data.bounds import Bounds

NORMS = [math.inf, 1.0, 2.0, 0.1, 0.3, 0.5, 3.0, 5.0, 10.0, 50.0, 77.0, 200.0]
BOUNDS = Bounds(0.0, 1.0)


def seconds(work: Callable[[], object]) -> float:
    """Median time of `work` on the device over some 0.2 s, by events, once it is warm."""
    return float(triton.testing.do_bench(work, warmup=50, rep=200, return_mode="median")) / 1000


def lines(noises: list[Corruption], shape: tuple[int, int], dtype: torch.dtype) -> None:
    """Print one line for copying and one a corruption."""
    x = torch.rand(shape, dtype=dtype, device="cuda")
    y = torch.empty_like(x)
    numbers = row_keys(0, np.arange(shape[0]), np.arange(1))[:, 0]
    keys = torch.from_numpy(numbers.view(np.int64)).cuda()
    size = 2 * x.element_size() * x.numel()
    name = f"{str(dtype).removeprefix('torch.')}, {shape[0]} x {shape[1]}"
    copy = seconds(lambda: y.copy_(x))
    print(f"| {name} | copy | {copy * 1e3:.3f} | {size / copy / 1e9:.0f} | 100 |")
    for noise in noises:
        bound = noise.bind(BOUNDS)
        time = seconds(lambda noise=bound: noise(x, keys, x))  # type: ignore[misc]
        share = 100 * copy / time
        print(
            f"| {name} | {noise.spec} | {time * 1e3:.3f} | {size / time / 1e9:.0f} | {share:.0f} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    balls: list[Corruption] = [PNormNoise(p, 0.01) for p in NORMS]
    more: list[Corruption] = [
        PNormNoise(2.0, 0.01, "surface"),
        PNormNoise(math.inf, 0.01, "vertices"),
        Gaussian(0.1),
        Impulse(0.01),
        Impulse(0.12),
    ]
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}, "
        f"{datetime.date.today()}; medians, in place, clipped to [0, 1].\n"
    )
    print("| values | noise | ms | GB/s | % of copy |\n| --- | --- | --- | --- | --- |")
    for rows in options.rows:
        lines(balls + more, (rows, 3072), torch.float32)
    lines(balls, (20_000, 12_288), torch.float32)
    lines(balls, (2_000, 150_528), torch.float32)
    lines(balls, (1_000_000, 20), torch.float32)
    lines(balls, (50_000, 3072), torch.float64)
    lines(balls, (100_000, 3072), torch.float16)


if __name__ == "__main__":
    main()
