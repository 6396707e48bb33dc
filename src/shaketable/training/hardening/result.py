"""What a search for training noise found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from shaketable.core.checks import check_whole
from shaketable.corruptions import Clean
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.study_plan import resolve_training
from shaketable.evaluation.trainees import save_model, train_model
from shaketable.models.feature_scaling import attach_scaling
from shaketable.training.hardening import words
from shaketable.training.hardening.answers import Candidate, Measures
from shaketable.views.terminal import Displayed

Outcome: TypeAlias = Literal["helps", "costs more", "not shown", "none found"]
"""``helps``: accuracy under noise is shown to rise, and clean accuracy not shown to fall by more
than the price. ``costs more``: both are shown to change. ``not shown``: what was best in the search
is not shown to be better on the test part. ``none found``: nothing was better in the search."""

PLAIN = Clean().spec


@dataclass(frozen=True, eq=False)
class Workshop:
    """What is needed to train the model again, as in the test."""

    name: str
    trainee: Any
    data: Dataset
    """With a fixed test part."""
    noise: Noise

    def train(self, noise: str, run: int = 0) -> Any:
        """Return the model as trained with a noise in a run of the test."""
        ready = Noise(k=self.noise.k, seed=self.noise.seed, bounds=self.noise.bounds, run=run)
        (training,) = resolve_training(self.trainee, [noise], self.data, ready)
        rows, _ = self.data.parts()
        return train_model(
            self.trainee, training, self.data, rows, ready, name=self.name, checkpoint=None, place=0
        )


@dataclass(frozen=True, eq=False)
class Hardening(Displayed):
    """Which training noise helps, and by how much; the models are trained when they are asked for.

    The chosen noise is compared with training without noise, on as many copies of every point if
    the model gets copies.
    """

    workshop: Workshop
    target: str
    """Noise, or suite, that the model is to be robust to."""
    unit: str
    """What sizes of candidates are relative to; empty for noise that was named."""
    at_eps_min: bool
    """Whether the target is noise of size eps_min, so that the relative change is MSCR."""
    price: float
    """Largest loss of clean accuracy, a fraction."""
    search_runs: int
    parts: tuple[int, int, int]
    """Numbers of points: fitted and compared on in the search, and of the test part."""
    candidates: tuple[Candidate, ...]
    diverged: tuple[str, ...]
    """Training noise that is no candidate, because a training with it diverged."""
    chosen: str
    """Training noise that was best in the search; ``clean`` if none was."""
    runs: int
    plain_test: Measures
    """Training without noise, on one copy of every point, as measured on the test part."""
    copies_test: Measures | None
    """The same on k copies; None for networks, which get none, and for k = 1."""
    chosen_test: Measures | None
    difference: Measures | None
    """The chosen noise minus no noise, both with the same number of copies; None if no noise was
    chosen, as is `chosen_test`."""
    copies_difference: Measures | None
    """What the copies alone change: `copies_test` minus `plain_test`."""

    @property
    def outcome(self) -> Outcome:
        """What the intervals on the test part show."""
        if self.difference is None:
            return "none found"
        if not self.difference.robust.low > 0:
            return "not shown"
        return "costs more" if self.difference.clean.high < -self.price else "helps"

    @property
    def helps(self) -> bool:
        """Whether the chosen noise is shown to help, within the price."""
        return self.outcome == "helps"

    @property
    def noise(self) -> str:
        """Training noise to use: the chosen one if it helps, else ``clean``."""
        return self.chosen if self.helps else PLAIN

    @property
    def verdict(self) -> str:
        """What was found, as a sentence."""
        parts = words.describe(self), words.describe_diverged(self), words.describe_copies(self)
        return "; ".join(filter(None, parts))

    @cached_property
    def model(self) -> Any:
        """The model, trained with `noise` on the training part: that of the first run."""
        return self.plain if self.noise == PLAIN else self.workshop.train(self.noise)

    @cached_property
    def plain(self) -> Any:
        """The model, trained on the training part without noise or copies: that of run 0."""
        return self.workshop.train(PLAIN)

    def train(self, *, noise: str, run: int = 0) -> Any:
        """Train the model with any noise on the training part, as in a run of the test."""
        return self.workshop.train(noise, check_whole("run", run, least=0))

    def save(self, path: str | Path) -> None:
        """Write `model` to a file: ``.pt`` for networks, ``.joblib`` for estimators.

        If the data were scaled, the model in the file scales them by itself.
        """
        save_model(attach_scaling(self.model, self.workshop.data), path)

    def json(self) -> dict[str, Any]:
        """Return the result as a JSON object; rates are in per cent."""
        fit, selection, test = self.parts
        return {
            "data": self.workshop.data.name,
            "model": self.workshop.name,
            "target": self.target,
            "at_eps_min": self.at_eps_min,
            "price": 100 * self.price,
            "k": self.workshop.noise.k,
            "seed": self.workshop.noise.seed,
            "search": {
                "runs": self.search_runs,
                "fit_points": fit,
                "selection_points": selection,
                "unit": self.unit,
                "candidates": [candidate.json(self.price) for candidate in self.candidates],
                "diverged": list(self.diverged),
                "chosen": self.chosen,
            },
            "test": {
                "runs": self.runs,
                "points": test,
                "plain": self.plain_test.json(),
                "copies": _json(self.copies_test),
                "chosen": _json(self.chosen_test),
                "difference": _json(self.difference),
                "copies_difference": _json(self.copies_difference),
            },
            "outcome": self.outcome,
            "noise": self.noise,
            "verdict": self.verdict,
        }

    def print(self) -> None:
        """Print the search, the comparison on the test part, and the verdict."""
        from shaketable.training.hardening.table import print_hardening

        print_hardening(self)


def _json(measures: Measures | None) -> dict[str, Any] | None:
    return None if measures is None else measures.json()
