"""Memory of an evaluation: 100 000 images in a file that is mapped, against loading them at once.

Images of 32 x 32 x 3 uint8 (307 MB) are in an .npy file. Two processes of their own evaluate the
same small network under the same noise: shaketable, which reads the file in batches, and a loop as
one writes it by hand, which loads the images, makes floats of them and adds the noise to all. Each
states its memory before, with the libraries and the network loaded and one batch classified, and
its peak: of all pages, which count those of the file as long as the system keeps them, and of those
that no file backs, which it cannot give away.

    python benchmarks/speed/memory.py
    python benchmarks/speed/memory.py --n 20000

Linux only. Results: results/memory.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

LIMIT = 1.0
"""GB that an evaluation may take beyond the model."""

SPECS = ("linf(0.05)", "l2(1)", "gaussian(0.05)", "fog(3)", "missing(0.1)")


def write_images(folder: Path, n: int) -> None:
    """Write random images and labels, a block at a time."""
    x = np.lib.format.open_memmap(folder / "x.npy", "w+", np.uint8, (n, 32, 32, 3))
    rng = np.random.default_rng(0)
    for start in range(0, n, 1000):
        x[start : start + 1000] = rng.integers(256, size=x[start : start + 1000].shape)
    np.save(folder / "labels.npy", np.arange(n) % 10)


class Peak:
    """Largest memory of this process while the context is open, in GB, sampled in a thread."""

    def __enter__(self) -> Peak:
        self.before, self.most = read_memory(), read_memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.most = np.maximum(self.most, read_memory())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def read_memory() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Resident memory of this process and its part that no file backs, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    sizes["VmRSS"] = next(line.split()[1] for line in lines if line.startswith("VmRSS"))
    return np.array([int(sizes[name]) * 1024 / 1e9 for name in ("VmRSS", "RssAnon")])


def measure(way: str, folder: Path) -> None:
    """Evaluate in this process, and print memory before and at most, and seconds."""
    import torch

    import shaketable as st

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(16 * 15 * 15, 10),
    ).eval()  # fmt: skip
    few = np.random.default_rng(1).integers(256, size=(1400, 32, 32, 3), dtype=np.uint8)
    st.evaluate(net, (few, np.arange(1400) % 10), list(SPECS), k=1)  # compiles and warms up
    started = time.perf_counter()
    with Peak() as peak:
        if way == "shaketable":
            st.evaluate(net, folder / "x.npy", list(SPECS), k=1)
        else:
            x = np.load(folder / "x.npy").astype(np.float32) / 255
            y = np.load(folder / "labels.npy")
            rng = np.random.default_rng(0)
            noisy = np.clip(x + rng.uniform(-0.05, 0.05, x.shape).astype(np.float32), 0, 1)
            right = 0
            with torch.no_grad():
                for start in range(0, len(x), 1000):
                    batch = torch.from_numpy(noisy[start : start + 1000]).permute(0, 3, 1, 2)
                    right += int((net(batch).argmax(1).numpy() == y[start : start + 1000]).sum())
    print(*peak.before, *peak.most, time.perf_counter() - started)


def main() -> None:
    """Run both ways, each in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--way", choices=("shaketable", "by hand"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        measure(args.way, args.folder)
        return
    beyond = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_images(folder, args.n)
        size = (folder / "x.npy").stat().st_size / 1e9
        print(f"{args.n} images of 32 x 32 x 3 uint8, {size:.2f} GB\n")
        print(
            "| way | before, GB | peak, GB | beyond the model, GB | of it not of a file, GB | s |"
        )
        print("|---|---|---|---|---|---|")
        for way in ("shaketable", "by hand"):
            command = [sys.executable, __file__, "--way", way, "--folder", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            before, own_before, peak, own_peak, seconds = map(float, done.stdout.split())
            beyond[way] = peak - before
            numbers = before, peak, peak - before, own_peak - own_before
            row = " | ".join(f"{number:.2f}" for number in numbers)
            print(f"| {way} | {row} | {seconds:.0f} |")
    ratio = beyond["by hand"] / beyond["shaketable"]
    print(f"\nby hand takes {ratio:.1f} times the memory of shaketable")
    verdict = "met" if beyond["shaketable"] < LIMIT else "not met"
    print(f"less than {LIMIT:.0f} GB beyond the model: {verdict}")


if __name__ == "__main__":
    main()
