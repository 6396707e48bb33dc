"""Networks that are trained, as options name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.models.options import NetworkOptions, RecipeChoice, split_weights

if TYPE_CHECKING:
    from shaketable.training.trained import UntrainedNetwork


def make_network(
    options: NetworkOptions, spec: str | None, *, device: str | None, validate: bool = False
) -> UntrainedNetwork:
    """Return a network with the recipe that is named; `validate` as in `UntrainedNetwork`."""
    recipe = options.recipe or RecipeChoice()
    if recipe.rate is not None or recipe.precision != "auto":
        raise InputError("--recipe takes rate and precision for train only; leave them out")
    from shaketable.models.networks.registry import import_torch

    import_torch()
    from shaketable.training.trained import UntrainedNetwork

    network, weights = split_weights(spec)
    return UntrainedNetwork(
        network,
        recipe.name,
        recipe.epochs,
        recipe.batch,
        weights,
        device=device,
        validate=validate,
        shift=recipe.shift,
    )


def refuse_device(device: str | None) -> None:
    """Raise `InputError` for a device where no network is trained."""
    if device is not None:
        raise InputError(
            "--device is for networks, and none is named; add --network or --recipe, or leave it "
            "out"
        )


def choose_jobs(jobs: int | None, device: str | None, models: Iterable[Any]) -> int:
    """Return the number of processes that train."""
    from shaketable.evaluation.trainees import trains_itself

    if jobs is not None:
        return jobs
    if any(map(trains_itself, models)):
        import torch  # networks need it anyway

        if torch.cuda.is_available() and not str(device or "cuda").startswith("cpu"):
            return int(torch.cuda.device_count())
    return -1


def note_training_device(device: str | None) -> list[str]:
    """Say where networks are trained."""
    from shaketable.models.devices import choose_device, describe_device

    return [f"trained on {describe_device(choose_device(device))}"]
