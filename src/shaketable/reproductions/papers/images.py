"""Networks on images: how they are trained in each form, and what their numbers stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.reproductions.claims import Open
from shaketable.reproductions.registry import Asked

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.data.sampling import Part
    from shaketable.training.trained import UntrainedNetwork

SETS: Mapping[tuple[int, int], str] = {
    (32, 10): "CIFAR-10",
    (32, 100): "CIFAR-100",
    (64, 200): "TinyImageNet",
}
"""The papers' image sets, by height and number of classes."""


OTHER_IMAGES = Open("what holds on other images than those of the paper")
"""Stands for the claims on numbers that were measured on other images."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Which network is trained, how, and on how many of the images."""

    recipe: str
    runs: int
    network: str | None = None
    """Of its recipe, if None; so are epochs, batch and rate."""
    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None
    training_images: int | None = None
    """All, if None."""
    test_images: int | None = None

    def take_images(self, data: Dataset) -> Dataset:
        """Return as many images as it says, drawn with seed 0, in every run the same."""
        return take_points(data, self.training_images, self.test_images)

    def make_network(self, asked: Asked, *, validate: bool = False) -> UntrainedNetwork:
        """Return the network to train; it is compiled on a GPU, where a study trains many."""
        import torch

        from shaketable.training.recipes import make_recipe
        from shaketable.training.trained import UntrainedNetwork

        recipe = make_recipe(
            self.recipe,
            network=self.network,
            epochs=self.epochs,
            batch=self.batch,
            rate=self.rate,
        )
        on_gpu = torch.cuda.is_available() and not str(asked.device or "").startswith("cpu")
        return UntrainedNetwork(
            None,
            recipe,
            batch=self.batch,
            device=asked.device,
            compiled=True if on_gpu else None,
            validate=validate,
        )

    def count_runs(self, asked: Asked) -> int:
        """Return the number of runs that was asked for, or its own."""
        return self.runs if asked.runs is None else asked.runs

    def describe(self, network: UntrainedNetwork, data: Dataset, runs: int) -> dict[str, Any]:
        """Return how it is trained, for the settings of a result."""
        train, test = data.parts()
        recipe = network.plan
        return {
            "Data": data.name,
            "Network": f"{recipe.network}, recipe {self.recipe}, {recipe.epochs} epochs",
            "Batch": f"{recipe.batch} images",
            "Images": f"{len(train)} for training, {len(test)} for tests, the same in every run",
            "Runs": runs,
        }


def load_images(asked: Asked, what: str) -> Dataset:
    """Return the images that were asked for; an `InputError` if the data are no images."""
    from shaketable.data.files import load

    data = load(asked.require_data(what))
    check_images(data, what)
    return data


def check_images(data: Dataset, what: str) -> None:
    """Raise an `InputError` unless the data are colour images, as those of CIFAR-10 are."""
    if len(data.shape) != 3 or data.shape[-1] != 3:
        shape = " x ".join(map(str, data.shape))
        raise InputError(
            f"data must be {what} or images like it, of height x width x 3 values, got "
            f"{data.name}: points of {shape} values"
        )


def name_set(data: Dataset) -> str:
    """Return the name of an image set of the papers, or nothing, by size and number of classes.

    >>> import shaketable as st
    >>> name_set(st.load("iris"))
    ''
    """
    if len(data.shape) != 3:
        return ""
    return SETS.get((data.shape[0], len(data.classes)), "")


def take_points(data: Dataset, train: int | None, test: int | None, *, seed: int = 0) -> Dataset:
    """Return so many training points and test points, or all where there are no more.

    Of data without fixed parts, as many points are drawn as both together.

    >>> import shaketable as st
    >>> take_points(st.load("digits"), 100, 50).n
    150
    """
    if data.n_train is None:
        both = None if train is None or test is None else train + test
        return data if both is None else data.sample(min(both, data.n), seed=seed)
    sizes: dict[Part, tuple[int | None, int]] = {
        "train": (train, data.n_train),
        "test": (test, data.n - data.n_train),
    }
    for part, (points, size) in sizes.items():
        if points is not None:
            data = data.sample(min(points, size), seed=seed, part=part)
    return data
