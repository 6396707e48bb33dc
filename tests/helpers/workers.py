"""Tasks for workers, and models that kill the process they are trained in, or fail."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier


class MortalTree(DecisionTreeClassifier):
    """A tree whose first training kills its process; the file `mark` tells that it did."""

    def __init__(self, mark="", random_state=None):
        super().__init__(random_state=random_state)
        self.mark = mark

    def fit(self, x, y):
        try:
            Path(self.mark).touch(exist_ok=False)
        except FileExistsError:
            return super().fit(x, y)
        os.kill(os.getpid(), signal.SIGKILL)


class SickTree(DecisionTreeClassifier):
    """A tree that cannot be trained on many points until the file `cure` exists."""

    def __init__(self, cure="", random_state=None):
        super().__init__(random_state=random_state)
        self.cure = cure

    def fit(self, x, y):
        if len(x) > 100 and not Path(self.cure).exists():
            raise ValueError("no luck")
        return super().fit(x, y)


@dataclass(frozen=True, eq=False)
class Sum:
    """A task that adds a number to the sum of some data."""

    data: np.ndarray
    number: int

    uses_gpu = False

    @property
    def name(self):
        return f"sum {self.number}"

    @property
    def shared(self):
        return (self.data,)

    def work(self, report):
        if self.number == 3:
            raise ValueError("no 3")
        return int(self.data.sum()) + self.number


@dataclass(frozen=True, eq=False)
class Waits:
    """A task that reports nothing, and lasts until its process is ended."""

    started: Path

    name, shared, uses_gpu = "waits", (), False

    def work(self, report):
        report("")
        self.started.touch()
        time.sleep(900)


@dataclass(frozen=True, eq=False)
class Exits:
    """A task that ends its process as soon as another one has started."""

    started: Path

    name, shared, uses_gpu = "exits", (), False

    def work(self, report):
        report("counting beans")
        while not self.started.exists():
            time.sleep(0.01)
        os._exit(3)


@dataclass(frozen=True, eq=False)
class Pair:
    """A task that takes the difference of two sums."""

    first: np.ndarray
    second: np.ndarray

    name, uses_gpu = "pair", False

    @property
    def shared(self):
        return (self.first, self.second)

    def work(self, report):
        return int(self.first.sum() - self.second.sum())
