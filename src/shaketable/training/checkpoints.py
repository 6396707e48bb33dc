"""Checkpoints: a training that was killed goes on from its last one, to the same weights."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import torch

from shaketable.core.errors import InputError
from shaketable.core.writing import write_beside
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

    def save_if_due(self, trainer: Trainer) -> None:
        """Save the state if the last time is long ago."""
        if time.monotonic() - self._last >= self.every:
            self.save(trainer)

    def save(self, trainer: Trainer) -> None:
        """Save the state."""
        content = {"format": FORMAT, "identity": self.identity, **trainer.state()}
        with write_beside(self.path, "checkpoint") as beside:
            self.path.parent.mkdir(exist_ok=True)
            torch.save(content, beside)
        self._last = time.monotonic()

    def restore(self, trainer: Trainer) -> None:
        """Put a training where it stood, if the file exists."""
        if not self.path.exists():
            return
        try:
            content = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # of many kinds, for damaged files
            raise InputError(
                f"checkpoint {str(self.path)!r} cannot be read ({type(error).__name__}); delete it "
                "to train from the start"
            ) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(
                f"file {str(self.path)!r} is no checkpoint of this version; delete or move it"
            )
        if content["identity"] != self.identity:
            raise InputError(
                f"checkpoint {str(self.path)!r} is of a training with other data or settings; "
                "delete it to train from the start, or name another file"
            )
        trainer.restore(content)
