"""Train a network on data, with noise; and a network that is still to be trained, for studies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn

from shaketable.core.checks import check_whole, list_names, unknown_name
from shaketable.core.errors import InputError, ShaketableWarning, either
from shaketable.core.keys import digest
from shaketable.core.types import IntArray
from shaketable.data.bounds import Bounds, BoundsLike, Rule
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.noise import apply_rule, choose_range
from shaketable.evaluation.resolve import check_range
from shaketable.models.devices import choose_device
from shaketable.models.identity import Identified, content_hash
from shaketable.models.networks.files import TrainedNetwork, find_held_out, save_network
from shaketable.models.networks.registry import (
    build_network,
    check_network,
    count_parameters,
    name_network,
    resolve_network,
)
from shaketable.models.networks.weights import match_names, read_weights
from shaketable.training.loop import Checkpoint, EpochResult, Precision, Trainer
from shaketable.training.recipes import Recipe, choose_recipe, make_recipe
from shaketable.training.regimes import Regime, RegimeStep, make_regime

_COUNTER = "num_batches_tracked"
"""Of batch normalisation; it is no weight, and older files lack it."""


@dataclass(frozen=True, eq=False)
class Trained(TrainedNetwork):
    """A trained network, and how its training went; `evaluate` takes it as a model.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> trained = train("mlp(width=4)", st.load("bands(n=40)"), epochs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained.save(Path(folder) / "net.pt")
    >>> trained.network
    'mlp(width=4, depth=3)'
    """

    curve: tuple[EpochResult, ...] = field(default=(), repr=False)
    by_name: bool = field(default=True, repr=False)
    """Whether `network` makes the module; it does not if a module was given to be trained."""
    held_out: IntArray | None = field(default=None, repr=False)
    """Rows of the data that it was not trained on; None if the data have a fixed test part."""

    @cached_property
    def model(self) -> Any:
        """The model as `evaluate` takes it: it answers with the labels of the data."""
        return self.as_model()

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return count_parameters(self.module)

    def save(self, path: str | Path) -> None:
        """Write the network to a ``.pt`` file, which ``evaluate --model`` takes.

        Such a file names what makes the network, so a module that was given has none.

        Parameters
        ----------
        path
            File to write.
        """
        if not self.by_name:
            weights = (
                ", or save its weights, torch.save(trained.module.state_dict(), 'weights.pt'), for "
                "the model package.module:factory@weights.pt"
            )
            raise InputError(
                f"network must be known by name to be saved, got a module ({self.network}); train "
                "it by the name of what makes it, as in train('package.module:factory', …)"
                f"{'' if self.scaling is not None else weights}"
            )
        info = dict(self.info) | {"curve": [asdict(result) for result in self.curve]}
        if self.held_out is not None:
            info["held_out"] = self.held_out.tolist()
        save_network(
            path,
            self.module,
            network=self.network,
            shape=self.shape,
            classes=self.classes,
            labels=self.labels,
            info=info,
            scaling=self.scaling,
        )


def train(
    network: str | nn.Module | None = None,
    data: Any = None,
    *,
    noise: str | Regime = "clean",
    recipe: str | Recipe | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    shift: bool | None = None,
    bounds: BoundsLike | Literal["declared"] = "declared",
    rows: IntArray | None = None,
    validate: bool = False,
    seed: int = 0,
    device: str | torch.device | None = None,
    precision: Precision = "auto",
    compiled: bool | None = None,
    weights: str | Path | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
) -> Trained:
    """Train a network.

    Parameters
    ----------
    network
        Spec such as ``resnet9`` or ``wrn-28-10(dropout=0.3)``, or a torch module, of which a copy
        is trained, and which `Trained.save` cannot write; None: that of the recipe.
    data
        ``(x, y)``, a `Dataset`, or what `load` takes; uint8 images count as x/255.
    noise
        Training regime: a corruption such as ``linf(0.1)``, ``C1`` or ``l2(1) | sp(0.1)``, drawn
        anew for every image and epoch; augmentations before it, as in ``trivialaugment + C1``; or
        an adversary, as in ``pgd_at(0.03)`` or ``trades(0.03)``. ``eps_min`` stands for half the
        class separation of the data.
    recipe
        Name of a recipe (``shaketable list recipes``), or a `Recipe`; by default ``fast`` for
        images and ``points`` for all else.
    epochs, batch, rate, shift
        Other values than those of the recipe; its schedule is stretched to other epochs. Without
        `batch`, few points get smaller batches than the recipe's, and a smaller rate. `shift` is
        whether images are mirrored and cropped at random.
    bounds
        Value range that noise is kept in, as in `evaluate`; by default what the data declare.
        Unless `Bounds` are given, by the rule of the recipe.
    rows
        Rows of the data to train on: their numbers, each once, or a mask of all rows; by default
        the training part, or 80 % of the points.
    validate
        Whether the learning curve has the accuracy on the points that are held out.
    seed
        Decides weights, order, augmentation and noise: the same seed gives the same network on the
        same machine.
    device
        Torch device; by default CUDA if there is one.
    precision
        ``float32``, or ``bfloat16`` where torch deems it safe; ``auto``: bfloat16 on CUDA.
    compiled
        Whether to compile the network; by default on CUDA for long trainings.
    weights
        File to start from instead of random weights: a network file, or a ``state_dict()``. A
        warning names the weights of the network that it does not fit, such as those of scores.
    checkpoint
        File that keeps the state of the training: the same call goes on from there.
    progress
        Show a bar on stderr.

    Returns
    -------
    Trained
        The network, with accuracies by epoch.

    Examples
    --------
    >>> import shaketable as st
    >>> trained = train("mlp(width=8)", st.load("bands(n=200)"), noise="linf(0.01)", epochs=2)
    >>> len(trained.curve)
    2
    """
    data = as_dataset(data)
    refuse_table(data)
    plan = make_recipe(
        recipe or choose_recipe(data.shape), epochs=epochs, batch=batch, rate=rate, shift=shift
    )
    train_rows, test_rows = data.parts(seed=seed)
    if rows is not None:  # another split: what it leaves out, or the fixed test part
        train_rows = _read_rows(rows, data.n)
        if data.n_train is None:
            test_rows = np.setdiff1d(np.arange(data.n), train_rows)
    rows = train_rows
    plan = plan if batch is not None else plan.fit_to(len(rows))
    limits = apply_rule(choose_range(data, bounds), plan.rule, given=bounds)
    if precision not in get_args(Precision):
        raise unknown_name("precision", str(precision), get_args(Precision))
    place = choose_device(device)
    regime = make_regime(noise, data, limits)
    seed = check_whole("seed", seed, least=0)
    module, spec = _make_module(plan.network if network is None else network, data, seed)
    settings = {
        "network": spec,
        "noise": regime.spec,
        "recipe": plan.settings | {"network": spec},
        "seed": seed,
        "data": data.fingerprint,
        "bounds": str(limits or "none"),
    }
    if weights is not None:
        earlier = find_held_out(weights, data.fingerprint)
        if earlier is not None and data.n_train is None:  # what the weights were trained on is not
            test_rows = np.intersect1d(test_rows, earlier)
        load_matching(module, weights)
        settings["weights"] = hash_weights(weights)
    trainer = Trainer(
        module,
        data,
        rows,
        plan,
        RegimeStep.of(regime, plan, data, rows, limits, device=place),
        seed,
        place,
        precision,
        compiled,
        replays=not isinstance(network, nn.Module),  # which may do anything
        held_out=test_rows if validate and len(test_rows) else None,
    )
    kept = None
    if checkpoint is not None:
        identity = digest(repr(settings), rows.tobytes(), precision)
        kept = Checkpoint(Path(checkpoint), f"{identity:016x}")
        kept.check_place()
    trainer.run(kept, progress=progress)
    return Trained(
        module,
        spec,
        data.shape,
        len(data.classes),
        tuple(data.classes),
        settings,
        data.scaling,
        tuple(trainer.curve),
        by_name=not isinstance(network, nn.Module),
        held_out=None if data.n_train is not None else np.sort(test_rows),
    )


def refuse_table(data: Dataset) -> None:
    """Raise an `InputError` for data that no network can be trained on."""
    if data.table is None:
        return
    found = (
        "got a table of several kinds or with gaps; encode it, or train a built-in model, such as "
        "mlp, with study or harden, which prepares it"
        if data.table.is_frame
        else "all of which may change, got columns that were chosen; leave out "
        + either("--column", "Dataset.touching")
    )
    raise InputError(f"networks are trained on points that are plain numbers, {found}")


def load_matching(module: nn.Module, path: str | Path) -> None:
    """Put weights of a file into a network, except those of another shape, such as of scores.

    A warning names the weights of the network that stay as they are. The file is one that
    `read_weights` reads.
    """
    given = match_names(read_weights(path), module)
    own = module.state_dict()
    fit = {
        name: w
        for name, w in given.items()
        if name in own and isinstance(w, torch.Tensor) and w.shape == own[name].shape
    }
    if sum(w.numel() for w in fit.values()) < sum(w.numel() for w in own.values()) / 2:
        raise InputError(
            f"weights in {str(path)!r} are of another network: {len(fit)} of {len(own)} fit; name "
            "the network that they were saved from"
        )
    module.load_state_dict(fit, strict=False)
    if left := [name for name in own if name not in fit and not name.endswith(_COUNTER)]:
        warnings.warn(
            f"weights in {str(path)!r} do not fit {len(left)} of {len(own)} tensors of the "
            f"network, which stay as they are: {list_names(left)}",
            ShaketableWarning,
            stacklevel=3,  # the caller of train
        )


def _read_rows(rows: Any, n: int) -> IntArray:
    """Return row numbers, on which order and noise depend, from such numbers or from a mask."""
    given = np.asarray(rows)
    got = f"{given.dtype} of shape {given.shape}"
    if given.dtype == bool and given.shape == (n,):
        given = np.flatnonzero(given)
        got = "a mask without True"
    if given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu":
        known = np.unique(given)
        if known[0] >= 0 and known[-1] < n and len(known) == len(given):
            return given.astype(np.int64)
        got = f"{len(given)} from {known[0]} to {known[-1]}, {len(known)} of them different"
    raise InputError(
        f"rows must be different row numbers from 0 to {n - 1}, or a mask of {n} truth values, "
        f"got {got}; leave rows out for the training part"
    )


def hash_weights(path: str | Path) -> str:
    """Return a hash of a file of weights, by which trainings from other weights are told apart."""
    try:
        state = Path(path).stat()
        return _hash_file(Path(path), state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise InputError(
            f"weights must be a file that can be read, got {str(path)!r} ({error.strerror})"
        ) from error


@lru_cache(maxsize=8)  # a study asks once per training, and such files can be large
def _hash_file(path: Path, changed: int, size: int) -> str:  # noqa: ARG001  (other content)
    return f"{digest(path.read_bytes()):016x}"


def _make_module(network: str | nn.Module, data: Dataset, seed: int) -> tuple[nn.Module, str]:
    """Return a network to train, and its spec or, for a module, what tells it from others."""
    if isinstance(network, nn.Module):
        if not any(weight.requires_grad for weight in network.parameters()):
            raise InputError("network must have weights to train, got none; unfreeze some of them")
        return deepcopy(network), f"{type(network).__qualname__} {content_hash(network)}"
    if not isinstance(network, str):
        raise InputError(
            f"network must be a spec such as 'resnet9', or a torch module, got {network!r}"
        )
    spec = resolve_network(network)
    return build_network(spec, shape=data.shape, classes=len(data.classes), seed=seed), spec


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

    Examples
    --------
    >>> UntrainedNetwork("resnet9(width=8)", epochs=2).name
    'resnet9(width=8)'
    >>> import numpy as np
    >>> import shaketable as st
    >>> data = st.load("bands(n=40)")
    >>> network = UntrainedNetwork("mlp(width=4)", epochs=1).for_data(data)
    >>> noise = network.name_noise("linf(1e-1)", data, None)
    >>> noise
    'linf(0.1)'
    >>> network.train_on(data, np.arange(40), noise=noise, bounds=None, seed=0).network
    'mlp(width=4, depth=3)'
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
        """Return the network with the recipe that these data decide, unless it has one.

        Parameters
        ----------
        data
            Data that it will be trained on.

        Returns
        -------
        UntrainedNetwork
            The network for them.
        """
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
        """Return the canonical spec of a training regime, if it and the network fit these data.

        Parameters
        ----------
        noise
            Spec of the training noise.
        data
            Data that it will be trained on.
        bounds
            Value range.

        Returns
        -------
        str
            Canonical spec.
        """
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
        """Return the network, trained on rows of the data; see `SelfTraining`.

        Parameters
        ----------
        data
            Data to train on.
        rows
            Row numbers of the training points.
        noise
            Spec of the training noise.
        bounds
            Value range.
        seed
            Seed of weights, batches and noise.
        checkpoint
            File in which the state is kept while it trains; None for none.
        place
            Number of the process.

        Returns
        -------
        Trained
            The trained network.
        """
        device = self.device
        if device is None and torch.cuda.is_available():
            device = f"cuda:{place % torch.cuda.device_count()}"
        on_cpu = device is None or str(device).startswith("cpu")
        with use_one_thread() if on_cpu else nullcontext():
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
def use_one_thread() -> Iterator[None]:
    """Let torch use one core: on several, sums are rounded by how many these are.

    A process that is one of several has fewer of them than one that is alone.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
