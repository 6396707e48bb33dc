"""One GPU for every worker of a machine that has several."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any


@cache
def take_gpu() -> str | None:
    """Take a GPU of this machine for this process; None if there are not several, or none is free.

    Only this one is visible to CUDA from then on, so it must be called before CUDA is used. The
    locks of a process are released when it ends, however it ends.
    """
    gpus = list_gpus()
    if len(gpus) < 2:  # the cluster has chosen one, or there is no choice
        return None
    for gpu in gpus:
        if _lock(gpu):
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu
            return gpu
    return None


def list_gpus() -> list[str]:
    """List the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [gpu.strip() for gpu in visible.split(",") if gpu.strip()]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(folder.iterdir())))] if folder.is_dir() else []


_locks: list[Any] = []  # open files, which hold the locks of this process


def _lock(gpu: str) -> bool:
    """Whether a GPU was free; it is ours from now on."""
    import fcntl  # where there is /proc, or several GPUs are named

    safe = "".join(sign if sign.isalnum() else "_" for sign in gpu)
    path = Path(tempfile.gettempdir(), f"shaketable-{os.getuid()}-gpu-{safe}.lock")
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _locks.append(file)
    return True
