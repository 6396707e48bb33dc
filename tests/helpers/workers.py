"""Tasks for workers, and models that kill the process they are trained in, or fail."""

import os
import signal
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
