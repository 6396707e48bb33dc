"""A network that is still to be trained, as a model of studies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from shaketable.core.keys import digest
from shaketable.core.types import IntArray
from shaketable.data.bounds import Bounds, Rule
from shaketable.data.dataset import Dataset
from shaketable.evaluation.resolve import check_range
from shaketable.models.identity import Identified
from shaketable.models.networks.registry import check_network, name_network, resolve_network
from shaketable.training.recipes import Recipe, choose_recipe, make_recipe
from shaketable.training.regimes import RegimeStep, make_regime
from shaketable.training.trained import Trained, hash_weights, refuse_table, train


@dataclass(frozen=True)
class UntrainedNetwork(Identified):
    """A network and how to train it; `study` trains it in every run, with every training noise.

    On a CPU, each training uses one core, so that the number of processes changes nothing.

    Parameters
    ----------
    network
        Spec such as ``resnet9``; None: that of the recipe.
    recipe
        Name of a recipe, or a `Recipe`; None: as in `train`, by the data.
    epochs, batch
        Other values than those of the recipe.
    weights
        Network file to start from instead of random weights, as in `train`.
    device
        Torch device; by default CUDA if there is one.
    compiled
        As in `train`; on CUDA it pays for studies of many trainings, as a process compiles once.
    validate
        Whether learning curves have the accuracy on the test points; it changes no network.
    shift
        Whether images are mirrored and cropped at random; None: as the recipe says.

    >>> UntrainedNetwork("resnet9(width=8)", epochs=2).name
    'resnet9(width=8)'
    """

    network: str | None = None
    recipe: str | Recipe | None = None
    epochs: int | None = None
    batch: int | None = None
    weights: str | Path | None = None
    device: str | None = field(default=None, compare=False)
    compiled: bool | None = field(default=None, compare=False)
    validate: bool = field(default=False, compare=False)
    shift: bool | None = None

    @property
    def plan(self) -> Recipe:
        """The recipe with all that is given beside it; while the data are not known, for images."""
        return make_recipe(
            self.recipe or choose_recipe((1, 1)),
            network=self.network,
            epochs=self.epochs,
            batch=self.batch,
            shift=self.shift,
        )

    def for_data(self, data: Dataset) -> UntrainedNetwork:
        """Return the network with the recipe that these data decide, unless it has one."""
        weights = None if self.weights is None else Path(self.weights).absolute()  # for workers
        return replace(self, recipe=self.recipe or choose_recipe(data.shape), weights=weights)

    @property
    def name(self) -> str:  # type: ignore[override]  # follows from the network
        """Name of the network, with options that are not the usual ones."""
        return name_network(self.plan.network)

    @property
    def rule(self) -> Rule:
        """How its recipe keeps noise in the value range."""
        return self.plan.rule

    @property
    def identity(self) -> str:
        """Hash of the network, the recipe and the weights; the device does not count."""
        settings = self.plan.settings | {"network": resolve_network(self.plan.network)}
        if self.batch is not None and self.plan.fit_to(0) != self.plan:
            settings["fitted"] = False  # few points do not make such a batch smaller
        if self.weights is not None:
            settings["weights"] = hash_weights(self.weights)
        return f"{digest(repr(sorted(settings.items()))):016x}"

    @property
    def notes(self) -> list[str]:
        """What a reader of its results should know."""
        return self.plan.note_weights(self.weights)

    def name_noise(self, noise: str, data: Dataset, bounds: Bounds | None) -> str:
        """Return the canonical spec of a training regime, if it and the network fit these data."""
        plan, rows = self.for_data(data).plan, np.arange(data.n)
        refuse_table(data)
        check_network(plan.network, shape=data.shape, classes=len(data.classes))
        regime = make_regime(noise, data, bounds)
        check_range(regime.noise, bounds)
        RegimeStep.of(replace(regime, adversary=None), plan, data, rows, bounds)
        return regime.spec

    def train_on(
        self,
        data: Dataset,
        rows: IntArray,
        *,
        noise: str,
        bounds: Bounds | None,
        seed: int,
        checkpoint: Path | None = None,
        place: int = 0,
    ) -> Trained:
        """Return the network, trained on rows of the data; see `SelfTraining`."""
        device = self.device
        if device is None and torch.cuda.is_available():
            device = f"cuda:{place % torch.cuda.device_count()}"
        on_cpu = device is None or str(device).startswith("cpu")
        with _use_one_thread() if on_cpu else nullcontext():
            return train(
                None,
                data,
                noise=noise,
                recipe=self.for_data(data).plan,
                batch=self.batch,
                rows=rows,
                bounds=bounds,
                validate=self.validate,
                seed=seed % 2**63,  # a hash of 64 bits
                device=device,
                compiled=self.compiled,
                weights=self.weights,
                checkpoint=checkpoint,
            )


@contextmanager
def _use_one_thread() -> Iterator[None]:
    """Let torch use one core: on several, sums are rounded by how many these are.

    A process that is one of several has fewer of them than one that is alone.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
