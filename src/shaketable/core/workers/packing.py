"""Tasks as bytes, without the objects that they share, and what a worker does with them."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from shaketable.core.errors import InputError, ShaketableError, WorkerError, describe_error
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import Task, attempt

H = TypeVar("H")


@dataclass(frozen=True)
class Packed:
    """A task as it is sent; it refers to the objects that it shares by their place."""

    content: bytes
    versions: Mapping[str, str]
    """Versions of the packages here, which a worker must have too."""
    uses_gpu: bool


@dataclass(frozen=True)
class Reply:
    """What a worker sends back."""

    result: Any
    error: ShaketableError | None


@dataclass(eq=False)
class Sent(Generic[H]):
    """Objects that were sent to a cluster, and the handles by which its workers have them."""

    handles: dict[int, tuple[object, H]] = field(default_factory=dict)
    """By the ID of the object, which stays valid because the object is kept."""

    def share(self, task: Task[Any], send: Callable[[object], H]) -> list[H]:
        """Return the handles of the objects that a task shares; `send` sends one that is new.

        Raises an `InputError` if one cannot be sent.
        """
        for thing in task.shared:
            if id(thing) not in self.handles:
                try:
                    self.handles[id(thing)] = (thing, send(thing))
                except UNSENDABLE as error:
                    raise refuse_to_send(task, error) from error
        return [self.handles[id(thing)][1] for thing in task.shared]


def pack(task: Task[Any]) -> Packed:
    """Pickle a task without the objects that it shares."""
    # It comes with the backends; what scripts define travels with the task.
    cloudpickle: Any = import_module("cloudpickle")
    places = {id(thing): place for place, thing in enumerate(task.shared)}

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # a subclass of Any
        def persistent_id(self, thing: object) -> int | None:
            return places.get(id(thing))

    stream = io.BytesIO()
    try:
        Pickler(stream).dump(task)
    except UNSENDABLE as error:
        raise refuse_to_send(task, error) from error
    return Packed(stream.getvalue(), list_versions(), task.uses_gpu)


UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError)
"""What pickling something raises that cannot be sent."""


def refuse_to_send(task: Task[Any], error: Exception) -> InputError:
    """Error to raise for a task that cannot be sent."""
    return InputError(
        f"{task.name}: cannot be sent to a worker ({describe_error(error)}); move open files, "
        "connections and locks out of the model"
    )


def work_packed(packed: Packed, shared: Sequence[object]) -> Reply:
    """Do a packed task, in a worker that has the objects that it shares."""
    if packed.uses_gpu:
        take_gpu()
    try:
        _check_versions(packed.versions)
        task = _unpack(packed, shared)
    except InputError as unusable:
        return Reply(None, unusable)
    result, error = attempt(task, lambda _: None)
    if error is not None:  # its causes stay here
        error.add_note("".join(traceback.format_exception(error)))
        error.__cause__ = None
    return Reply(result, error)


def _unpack(packed: Packed, shared: Sequence[object]) -> Task[Any]:
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, place: int) -> object:
            return shared[place]

    try:
        task: Task[Any] = Unpickler(io.BytesIO(packed.content)).load()
    except Exception as error:  # whatever the modules do that it needs
        raise InputError(
            f"a worker could not read its task ({describe_error(error)}); install the packages "
            "of the model on the workers"
        ) from error
    return task


def _check_versions(expected: Mapping[str, str]) -> None:
    here = list_versions()
    for package, version in expected.items():
        if here.get(package) != version:
            raise InputError(
                f"a worker has {package} {here.get(package)}, and {version} is needed, as results "
                "depend on it; install the same version on all workers"
            )


def lose_workers(task: Task[Any], times: str) -> WorkerError:
    """Error of a task whose workers were lost whenever they ran it."""
    return WorkerError(
        f"{task.name}: its worker was lost {times}; if memory ran out, start workers with more"
    )


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
