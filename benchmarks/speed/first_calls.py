"""Compiling on first use: CPU seconds of the first call of every kernel that users meet.

Every call runs in a process of its own with an empty cache of compiled code; a second call in the
same process shows what remains. Usage: ``python benchmarks/speed/first_calls.py [word ...]``; words
select the calls whose names hold one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

BAR = 5.0
"""Seconds that a first call may take, without the imports of the package."""

TYPES = ("uint8", "float32", "float64")
NORMS = ("inf", "2", "1", "0.5", "3", "2.7")
NOISES = (
    "linf(0.1)",
    "l2(0.5)",
    "l1(3)",
    "l0.5(20)",
    "l2(0.5, surface)",
    "l0(0.1)",
    "gaussian(0.1)",
)
FAULTS = ("sp(0.1)", "ga(0.1)", "rotation(30)")

_SETUP = """
import time, warnings
import numpy as np
import shaketable as st
from shaketable.corruptions import corrupt
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)
def points(kind, n=3000, d=64):
    x = rng.integers(0, 256, (n, d))
    return x.astype(kind) if kind == "uint8" else (x / 255).astype(kind)
y = np.arange(3000) % 2
def times(call):
    start = time.process_time(); call(); middle = time.process_time(); call()
    print(middle - start, time.process_time() - middle)
"""


def list_calls() -> dict[str, str]:
    """Names of the calls, and the lines of code that time them."""
    calls = {}
    for kind in TYPES:
        for norm in NORMS:
            calls[f"separation L{norm} {kind}"] = (
                f"x = points({kind!r}); times(lambda: st.separation(x, y, norm={norm!r}))"
            )
        few = f"x = points({kind!r}, 6, 100_000); times(lambda: st.separation(x, y[:6], norm=2))"
        calls[f"separation of 6 points, 100 000 features, L2 {kind}"] = few
    calls["separation, these norms and types in one process"] = (
        f"all = [(points(k), p) for k in {TYPES!r} for p in {NORMS!r}]; "
        "times(lambda: [st.separation(x, y, norm=p) for x, p in all])"
    )
    for norm in ("inf", "2"):
        calls[f"1-NN L{norm} uint8"] = (
            "x = points('uint8'); data = st.make_dataset(x, y, n_train=2000); "
            f"times(lambda: st.one_nn(data, norm={norm!r}))"
        )
    for spec in (*NOISES, *FAULTS):
        for kind in ("float32", "float64"):
            calls[f"{spec} {kind}"] = (
                f"x = (images / 255).astype({kind!r}); "
                f"times(lambda: corrupt(x, {spec!r}, rng=0, bounds=(0, 1)))"
            )
    from shaketable.corruptions.common.severities import NAMES

    for name in NAMES:
        for severity in (1, 5) if name in ("spatter", "elastic_transform") else (3,):
            calls[f"{name}({severity})"] = (
                f"times(lambda: corrupt(images, '{name}({severity})', rng=0, bounds=(0, 255)))"
            )
    return calls


def time_call(code: str) -> tuple[float, float]:
    """CPU seconds of a first and a second call, in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", _SETUP + code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    first, second = map(float, done.stdout.split())
    return first, second


def main() -> None:
    """Print one line per call, and those above the bar at the end."""
    above = []
    print("| call | first, s | second, s |\n|---|---|---|")
    for name, code in list_calls().items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        first, second = time_call(code)
        above += [name] if first > BAR else []
        print(f"| {name} | {first:.1f} | {second:.2f} |", flush=True)
    print(f"\nabove {BAR:g} s: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    main()
