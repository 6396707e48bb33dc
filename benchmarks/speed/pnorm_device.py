"""Time noise on a CUDA device, in place, relative to copying the same memory.

Noise of a p-norm ball is added to every row of x, which is read and written once. The reference is
torch's ``y.copy_(x)`` for the same x, in bytes read and written per second.

    python benchmarks/speed/pnorm_device.py
    python benchmarks/speed/pnorm_device.py --rows 10000

Prints a Markdown table. Results: results/pnorm_device.md.
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


def median_seconds(work: Callable[[], object]) -> float:
    """Return the median time on the device, by CUDA events, over about 0.2 s after a warm-up."""
    return float(triton.testing.do_bench(work, warmup=50, rep=200, return_mode="median")) / 1000


def print_rows(noises: list[Corruption], shape: tuple[int, int], dtype: torch.dtype) -> None:
    """Print one row for copying and one row per corruption."""
    x = torch.rand(shape, dtype=dtype, device="cuda")
    y = torch.empty_like(x)
    numbers = row_keys(0, np.arange(shape[0]), np.arange(1))[:, 0]
    keys = torch.from_numpy(numbers.view(np.int64)).cuda()
    size = 2 * x.element_size() * x.numel()
    name = f"{str(dtype).removeprefix('torch.')}, {shape[0]} x {shape[1]}"
    copy = median_seconds(lambda: y.copy_(x))
    print(f"| {name} | copy | {copy * 1e3:.3f} | {size / copy / 1e9:.0f} | 100 |")
    for noise in noises:
        bound = noise.bind(BOUNDS)
        time = median_seconds(lambda noise=bound: noise(x, keys, x))  # type: ignore[misc]
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
        print_rows(balls + more, (rows, 3072), torch.float32)
    print_rows(balls, (20_000, 12_288), torch.float32)
    print_rows(balls, (2_000, 150_528), torch.float32)
    print_rows(balls, (1_000_000, 20), torch.float32)
    print_rows(balls, (50_000, 3072), torch.float64)
    print_rows(balls, (100_000, 3072), torch.float16)


if __name__ == "__main__":
    main()
