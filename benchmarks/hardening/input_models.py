"""Good models of every kind that a command reads, for damaged_inputs.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

POINTS = 24
LABELS = np.array(["ape", "bee", "cat"])[np.arange(POINTS) % 3]


def make_points(shape: tuple[int, ...] = (3,)) -> np.ndarray[Any, Any]:
    """Points of three classes."""
    return np.random.default_rng(1).random((POINTS, *shape))


def make_onnx(folder: Path) -> None:
    """Linear classifier as an ONNX graph."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    save_model_data(folder)
    weights = np.random.default_rng(3).normal(size=(3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["s"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))


def make_pt(folder: Path) -> None:
    """Linear classifier as a whole torch module."""
    import torch

    save_model_data(folder)
    torch.manual_seed(0)
    torch.save(torch.nn.Linear(3, 3), folder / "model.pt")


def make_network() -> Any:
    """Return the network that the weights of `make_weights` are for."""
    import torch

    return torch.nn.Linear(3, 3)


def make_weights(folder: Path) -> None:
    """Weights of a network."""
    import torch

    save_model_data(folder)
    torch.manual_seed(0)
    torch.save(make_network().state_dict(), folder / "weights.pt")


def make_old_weights(folder: Path) -> None:
    """Weights of a network as torch before 1.6 wrote them, without checksums."""
    import torch

    save_model_data(folder)
    torch.manual_seed(0)
    torch.save(
        make_network().state_dict(), folder / "weights.pt", _use_new_zipfile_serialization=False
    )


def make_checkpoint(folder: Path) -> None:
    """Checkpoint of a training that was interrupted after its first epoch."""
    from shaketable.training.loop import Checkpoint
    from shaketable.training.trained import train

    class StopError(Exception):
        pass

    def stop(checkpoint: Any, trainer: Any) -> None:
        checkpoint.save(trainer)
        if trainer.done == 3:
            raise StopError

    save_model_data(folder)
    kept: Any = Checkpoint
    usual = kept.save_if_due
    try:
        kept.save_if_due = stop
        train(
            "mlp(width=4, depth=1)",
            str(folder / "data" / "clean.npz"),
            epochs=3,
            validate=True,
            checkpoint=folder / "net.pt.checkpoint",
        )
    except StopError:
        pass
    finally:
        kept.save_if_due = usual


def make_joblib(folder: Path) -> None:
    """Fitted estimator of scikit-learn."""
    import joblib
    from sklearn.linear_model import LogisticRegression

    save_model_data(folder)
    joblib.dump(LogisticRegression().fit(make_points(), LABELS), folder / "model.joblib")


def save_model_data(folder: Path) -> None:
    """Save the points that all models are for."""
    (folder / "data").mkdir()
    np.savez(folder / "data" / "clean.npz", x=make_points(), y=LABELS)


def make_skops(folder: Path) -> None:
    """Fitted estimator of scikit-learn in the format of skops."""
    import skops.io
    from sklearn.linear_model import LogisticRegression

    save_model_data(folder)
    skops.io.dump(LogisticRegression().fit(make_points(), LABELS), folder / "model.skops")


def make_booster(ending: str) -> Callable[[Path], None]:
    """Booster of XGBoost or, as text, of LightGBM."""

    def make(folder: Path) -> None:
        save_model_data(folder)
        codes = np.arange(POINTS) % 3
        settings: dict[str, Any] = {"num_class": 3, "num_threads": 1, "nthread": 1}
        if ending == ".txt":
            import lightgbm

            settings |= {"objective": "multiclass", "min_data_in_leaf": 1, "verbose": -1}
            booster: Any = lightgbm.train(settings, lightgbm.Dataset(make_points(), codes), 2)
        else:
            import xgboost

            del settings["num_threads"]
            settings |= {"objective": "multi:softprob"}
            booster = xgboost.train(settings, xgboost.DMatrix(make_points(), codes), 2)
        booster.save_model(str(folder / f"model{ending}"))

    return make


def make_script(folder: Path) -> None:
    """Linear classifier as TorchScript."""
    import torch

    save_model_data(folder)
    trace: Any = torch.jit.trace
    trace(make_network(), torch.zeros(1, 3)).save(str(folder / "model.pt"))


def make_trained(folder: Path) -> None:
    """Trained network of ours, which holds no code."""
    from shaketable.models.networks.files import save_network
    from shaketable.models.networks.registry import build_network

    save_model_data(folder)
    spec = "mlp(width=4, depth=1)"
    module = build_network(spec, shape=(3,), classes=3, seed=0)
    about: dict[str, Any] = {"network": spec, "labels": ["ape", "bee", "cat"], "info": {"seed": 0}}
    save_network(folder / "model.pt", module, shape=(3,), classes=3, **about)


def make_exported(folder: Path) -> None:
    """Linear classifier as a program of torch.export."""
    import torch

    save_model_data(folder)
    batch = torch.export.Dim("batch", min=1, max=1024)
    program = torch.export.export(
        make_network(), (torch.zeros(2, 3),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(program, folder / "model.pt2")
