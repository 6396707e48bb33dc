"""Checkpoints: a training that was killed goes on from its last one, to the same weights."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError, describe_error
from shaketable.core.writing import check_writable, make_folder
from shaketable.models.networks.weights import read_content, write_content
from shaketable.training.loop import Trainer

FORMAT = "shaketable checkpoint 1"


@dataclass(eq=False)
class Checkpoint:
    """A file with the state of one training; it is replaced as a whole."""

    path: Path
    identity: str
    """Hash of all that the weights depend on: another training does not go on from this file."""
    every: float = 60.0
    """Least number of seconds between two."""
    _last: float = field(default_factory=time.monotonic)
    _handlers: dict[int, Any] = field(default_factory=dict)
    """What signals do that are held."""
    _held: int | None = None
    """Signal that has come and waits."""

    def check_place(self) -> None:
        """Raise `InputError` before any work if the file cannot be written.

        Its folder may be missing, which is made then, but not the one above it.
        """
        folder = self.path.parent
        check_writable(self.path if folder.is_dir() else folder, "checkpoint")

    @contextmanager
    def hold_interrupts(self) -> Iterator[None]:
        """Context in which Ctrl-C and SIGTERM wait for the end of a step, and a checkpoint.

        Within a step, weights are neither those before nor those after it. A second signal does
        not wait. What the system itself does at a signal stays, and in other threads all of it.
        """
        if threading.current_thread() is threading.main_thread():
            usual = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
            self._handlers = {n: handler for n, handler in usual.items() if callable(handler)}
        for number in self._handlers:
            signal.signal(number, self._hold)
        try:
            yield
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._release()

    def _hold(self, number: int, _: object) -> None:
        self._release()
        self._held = number

    def _release(self) -> None:
        """Let a signal that waits do what it does."""
        number, self._held = self._held, None
        if number is not None:
            self._handlers[number](number, None)

    def save_if_due(self, trainer: Trainer) -> None:
        """Save the state if the last time is long ago, or if the training is interrupted."""
        interrupted = self._held is not None
        if interrupted or time.monotonic() - self._last >= self.every:
            self.save(trainer)
        if interrupted:
            self._release()

    def save(self, trainer: Trainer) -> None:
        """Save the state."""
        content = {"format": FORMAT, "identity": self.identity, **trainer.state()}
        make_folder(self.path.parent, "folder of checkpoints")
        write_content(self.path, "checkpoint", content)
        self._last = time.monotonic()

    def delete(self) -> None:
        """Delete the file, if it exists."""
        self.path.unlink(missing_ok=True)

    def restore(self, trainer: Trainer) -> None:
        """Put a training where it stood, if the file exists."""
        if not self.path.exists():
            return
        try:
            content = read_content(self.path)
        except Exception as error:  # of many kinds, for damaged files
            raise self._refuse(f"cannot be read ({type(error).__name__})") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(
                f"file {str(self.path)!r} is no checkpoint of this version; delete or move it"
            )
        if "identity" not in content:
            raise self._refuse("does not say of which training it is")
        if content["identity"] != self.identity:
            raise InputError(
                f"checkpoint {str(self.path)!r} is of a training with other data or settings; "
                "delete it to train from the start, or name another file"
            )
        try:
            trainer.restore(content)
        except Exception as error:  # of many kinds, for parts that are missing or odd
            raise self._refuse(f"cannot be used ({describe_error(error)[:300]})") from error

    def _refuse(self, why: str) -> InputError:
        return InputError(f"checkpoint {str(self.path)!r} {why}; delete it to train from the start")
