"""Code that most first commands need, compiled before they wait for it.

numba compiles a function when it is first called with arguments of some types, and keeps the code
on disk. A command that comes next finds it there, whatever process compiled it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from shaketable.views.terminal import print_notes

SECONDS = 6
"""About how long one core compiles; benchmarks/results/first_calls.md measures it."""

_PATIENCE = 120  # seconds to wait at most, as other processes may be busy


def compile_common() -> None:
    """Measure separations and add noise as evaluations of a table and of images do at first."""
    from shaketable.corruptions import corrupt
    from shaketable.separations.separation import separation

    levels = np.random.default_rng(0).integers(0, 256, (1000, 64))
    classes = np.arange(len(levels)) % 2
    for x in (levels[:, :4] / 255, levels.astype(np.uint8), levels / 255):
        separation(x, classes)
    for kind in (np.float64, np.float32):  # of tables, and of images
        for noise in ("linf(0.1)", "gaussian(0.1)"):
            corrupt((levels[:16] / 255).astype(kind), noise, rng=0, bounds=(0, 1))


def is_compiled() -> bool:
    """Whether code of all functions that `compile_common` calls is on disk."""
    from shaketable.core.compiling import is_kept
    from shaketable.corruptions.compiled import ziggurat
    from shaketable.separations.search import kernels, mark_kernels

    functions = (
        kernels.measure_pairs,
        mark_kernels.mark_rows,
        mark_kernels.scan,
        ziggurat.fill_cube,
        ziggurat.fill_gaussian,
    )
    return all(map(is_kept, functions))


@contextmanager
def compile_ahead() -> Iterator[None]:
    """Compile in another process while the block runs, unless that was done; say so."""
    if is_compiled():
        yield
        return
    print_notes([f"compiling for the first time, about {SECONDS} s in the background"])
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import compile_common; compile_common()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # if it fails, the next command compiles what it needs
    )
    try:
        yield
        if child.poll() is None:
            print_notes(["waiting for the compiler"])
        with suppress(subprocess.TimeoutExpired):
            child.wait(_PATIENCE)
    finally:
        child.kill()
        child.wait()
