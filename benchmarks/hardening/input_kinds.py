"""Good inputs of every kind that a command reads, and that command; for damaged_inputs.py."""

from __future__ import annotations

import io
import pickle
import shutil
import tarfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from input_damages import (
    Damage,
    change_archive_member,
    change_csv_cell,
    change_idx_header,
    change_image_header,
    change_json_value,
    change_npy_header,
    change_npz_member,
    change_parquet_column,
    change_schema,
    change_toml_value,
    copy_page,
    flip_weight,
)
from input_models import (
    LABELS,
    POINTS,
    make_booster,
    make_checkpoint,
    make_exported,
    make_joblib,
    make_old_weights,
    make_onnx,
    make_points,
    make_pt,
    make_script,
    make_skops,
    make_trained,
    make_weights,
)
from shaketable.cli.main import main


@dataclass(frozen=True)
class Kind:
    """One kind of input: how good ones are made, and which command reads them."""

    name: str
    make: Callable[[Path], None]
    """Writes good files into an empty folder."""
    argv: Callable[[Path], list[str]]
    """Arguments of the command that reads them."""
    files: str = "**/*"
    """Pattern of the files that are damaged."""
    odd: tuple[Damage, ...] = ()
    """Damages that only this kind has."""
    same: bool = False
    """Whether a command that succeeds must give the results of the good input."""
    varies: str = "$^"
    """Pattern of what differs from run to run in these results."""
    codes: tuple[int, ...] = (0,)
    """Exit codes of a result."""


def _pixels(side: int = 8) -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(0, 256, (POINTS, side, side, 3), dtype=np.uint8)


def run_command(argv: Sequence[str]) -> tuple[int, str, str]:
    """Run a command; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


def make_npy(folder: Path) -> None:
    """Arrays as ``corrupt --form arrays`` writes them."""
    data = folder / "clean.npz"
    np.savez(data, x=make_points(), y=LABELS)
    run_command(
        ["corrupt", str(data), "--grid", "linf(0.1)", "linf(0.2)", "-o", str(folder / "sets")]
    )
    data.unlink()
    array = min(p for p in (folder / "sets").glob("*.npy") if p.name != "labels.npy")
    shutil.copy(array, folder / "x.npy")
    for name in ("labels.npy", "manifest.json"):
        shutil.copy(folder / "sets" / name, folder / name)
    shutil.rmtree(folder / "sets")


def make_npz(folder: Path) -> None:
    """Points and labels in one archive."""
    np.savez_compressed(folder / "data.npz", x=make_points(), y=LABELS)


def make_table(ending: str) -> Callable[[Path], None]:
    """Points as a table."""

    def make(folder: Path) -> None:
        import pandas as pd

        table = pd.DataFrame(make_points(), columns=["a", "b", "c"]).assign(y=LABELS)
        if ending == ".parquet":
            table.to_parquet(folder / "data.parquet", index=False)
        else:
            table.to_csv(folder / f"data{ending}", index=False)

    return make


def _save_images(folder: Path, ending: str, pixels: np.ndarray[Any, Any]) -> None:
    from PIL import Image

    for i, (label, image) in enumerate(zip(LABELS, pixels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / label / f"{i}{ending}")


def make_images(ending: str) -> Callable[[Path], None]:
    """Folder of images, one subfolder per class."""
    return lambda folder: _save_images(folder, ending, _pixels())


def make_published_arrays(folder: Path) -> None:
    """Corrupted images as in CIFAR-10-C, with the clean ones."""
    np.savez(folder / "clean.npz", x=_pixels(), y=LABELS)
    (folder / "C").mkdir()
    np.save(folder / "C" / "fog.npy", np.tile(_pixels(), (5, 1, 1, 1)))
    np.save(folder / "C" / "labels.npy", np.tile(np.arange(POINTS) % 3, 5))


def make_published_images(folder: Path) -> None:
    """Corrupted images as in ImageNet-C, with the clean ones."""
    _save_images(folder / "clean", ".png", _pixels())
    _save_images(folder / "C" / "fog" / "3", ".jpg", _pixels())


def make_textures(folder: Path) -> None:
    """Images of ice, with the data they are for."""
    from PIL import Image

    np.savez(folder / "clean.npz", x=_pixels(), y=LABELS)
    (folder / "ice").mkdir()
    for i in range(2):
        Image.fromarray(np.tile(_pixels(16)[i], (6, 6, 1))).save(folder / "ice" / f"{i}.png")


def make_scores(ending: str) -> Callable[[Path], None]:
    """Scores of models under conditions."""

    def make(folder: Path) -> None:
        import pandas as pd

        names = [f"net{i}" for i in range(POINTS)]
        scores = pd.DataFrame(make_points(), columns=["clean", "rain", "snow"])
        scores.insert(0, "model", names)
        if ending == ".parquet":
            scores.to_parquet(folder / "scores.parquet", index=False)
        else:
            scores.to_csv(folder / "scores.csv", index=False)

    return make


def make_results(folder: Path) -> None:
    """Results file of a small evaluation."""
    data = "bands(n=40, separation=0.1)"
    for model in ("1nn", "rf"):
        argv = ["evaluate", "--data", data, "--model", model, "--k", "2", "--quiet"]
        argv += ["--corruptions", "linf(eps_min)", "l2(0.1)", "--store", str(folder / "r.sqlite")]
        run_command(argv)


def _write_idx(file: Path, values: np.ndarray[Any, Any]) -> None:
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    file.write_bytes(head + values.astype(np.uint8).tobytes())


def make_idx(folder: Path) -> None:
    """Images and labels as in MNIST."""
    for part in ("train", "t10k"):
        _write_idx(folder / f"{part}-images-idx3-ubyte", _pixels()[..., 0])
        _write_idx(folder / f"{part}-labels-idx1-ubyte", np.arange(POINTS) % 3)


def make_cifar(folder: Path) -> None:
    """Batches as in CIFAR-10 for Python."""
    for name in ("data_batch_1", "test_batch"):
        batch: dict[bytes, Any] = {b"labels": (np.arange(POINTS) % 3).tolist()}
        batch[b"data"] = _pixels(32).transpose(0, 3, 1, 2).reshape(POINTS, -1)
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))


def make_cifar_archive(folder: Path) -> None:
    """Batches as in CIFAR-10 for Python, packed."""
    make_cifar(folder)
    with tarfile.open(folder / "cifar.tar.gz", "w:gz") as archive:
        for batch in ("data_batch_1", "test_batch"):
            archive.add(folder / batch, f"cifar-10-batches-py/{batch}")
            (folder / batch).unlink()


def make_tiny_imagenet(folder: Path) -> None:
    """Images and labels as in Tiny ImageNet."""
    from PIL import Image

    lines = []
    (folder / "val" / "images").mkdir(parents=True)
    for i, pixels in enumerate(_pixels()):
        kind = str(LABELS[i])
        (folder / "train" / kind / "images").mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / "train" / kind / "images" / f"{kind}_{i}.JPEG")
        Image.fromarray(pixels).save(folder / "val" / "images" / f"val_{i}.JPEG")
        lines.append(f"val_{i}.JPEG\t{kind}\t0\t0\t7\t7\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(lines))


def make_study(folder: Path) -> None:
    """Study file of a small study."""
    (folder / "study.toml").write_text(
        'data = "bands(n=40, separation=0.1)"\nmodel = ["1nn"]\nnorm = "inf"\n'
        "train_eps = [0, 0.05]\ntest_eps = [0, 0.05]\nruns = 1\nk = 1\nseed = 3\nscale = false\n"
    )


def make_study_results(folder: Path) -> None:
    """Results file of a small study, which can be made again."""
    argv = ["study", "--data", "bands(n=40, separation=0.1)", "--model", "1nn", "--k", "1"]
    run_command(
        [*argv, "--runs", "1", "--jobs", "1", "--quiet", "--store", str(folder / "s.sqlite")]
    )


def make_requirements(folder: Path) -> None:
    """Requirements on the models of a results file."""
    make_results(folder)
    (folder / "limits.toml").write_text(
        'require = [\n"accuracy >= 10",\n"error[l2(0.1)] <= 95",\n]\n'
    )


# Commands


def _separate(file: str, *more: str) -> Callable[[Path], list[str]]:
    return lambda folder: ["separation", str(folder / file), "--quiet", *more]


def _evaluate_model(model: str, *more: str) -> Callable[[Path], list[str]]:
    def argv(folder: Path) -> list[str]:
        data = str(folder / "data" / "clean.npz")
        args = ["evaluate", "--data", data, "--model", model.format(folder), "--quiet"]
        return [*args, "--corruptions", "linf(0.1)", "--k", "1", *more]

    return argv


def _train(folder: Path) -> list[str]:
    argv = [
        "train",
        "--data",
        str(folder / "data" / "clean.npz"),
        "--recipe",
        "auto(epochs=3)",
        "--json",
    ]
    return [*argv, "--network", "mlp(width=4, depth=1)", "-o", str(folder / "net.pt"), "--quiet"]


def _evaluate_booster(ending: str) -> Callable[[Path], list[str]]:
    return _evaluate_model(f"{{}}/model{ending}", "--classes", "ape,bee,cat")


def _corrupt_images(data: str, spec: str) -> Callable[[Path], list[str]]:
    def argv(folder: Path) -> list[str]:
        args = ["evaluate", "--data", str(folder / data), "--model", "1nn", "--fit", "--quiet"]
        return [*args, "--k", "1", "--corruptions", spec.format(folder)]

    return argv


KINDS = (
    Kind("npy", make_npy, _separate("x.npy"), "x.npy", (change_npy_header,) * 3),
    Kind("labels npy", make_npy, _separate("x.npy"), "labels.npy", (change_npy_header,) * 3),
    Kind("manifest", make_npy, _separate("x.npy"), "manifest.json", (change_json_value,) * 5),
    Kind("npz", make_npz, _separate("data.npz"), odd=(change_npz_member,) * 5),
    Kind(
        "csv", make_table(".csv"), _separate("data.csv", "--label", "y"), odd=(change_csv_cell,) * 5
    ),
    Kind("csv.gz", make_table(".csv.gz"), _separate("data.csv.gz", "--label", "y")),
    Kind(
        "parquet",
        make_table(".parquet"),
        _separate("data.parquet", "--label", "y", "--non-numeric", "onehot"),
        odd=(change_parquet_column,) * 3,
    ),
    Kind("png folder", make_images(".png"), _separate("."), odd=(change_image_header,) * 3),
    Kind("jpg folder", make_images(".jpg"), _separate(".")),
    Kind(
        "published arrays",
        make_published_arrays,
        _corrupt_images("clean.npz", "fog(3, published={}/C)"),
        "C/*.npy",
        (change_npy_header,) * 3,
    ),
    Kind(
        "published images",
        make_published_images,
        _corrupt_images("clean", "fog(3, published={}/C)"),
        "C/**/*.jpg",
    ),
    Kind(
        "frost textures",
        make_textures,
        _corrupt_images("clean.npz", "frost(3, textures={}/ice)"),
        "ice/*",
        (change_image_header,) * 3,
    ),
    Kind(
        "scores csv",
        make_scores(".csv"),
        lambda folder: ["figure", "mcv", str(folder / "scores.csv")],
        odd=(change_csv_cell,) * 5,
    ),
    Kind(
        "scores parquet",
        make_scores(".parquet"),
        lambda folder: ["figure", "mcv", str(folder / "scores.parquet")],
        odd=(change_parquet_column,) * 3,
    ),
    Kind(
        "results file",
        make_results,
        lambda folder: ["report", str(folder / "r.sqlite"), "--json"],
        odd=(copy_page, change_schema) * 2,
        same=True,
    ),
    Kind(
        "rerun",
        make_study_results,
        lambda folder: ["rerun", str(folder / "s.sqlite"), "--jobs", "1", "--quiet"],
        odd=(copy_page, change_schema) * 2,
        codes=(0, 1),
    ),
    Kind("onnx", make_onnx, _evaluate_model("{}/model.onnx"), "model.onnx"),
    Kind(
        "pt",
        make_pt,
        _evaluate_model("{}/model.pt", "--trust"),
        "model.pt",
        (change_archive_member,) * 3,
    ),
    Kind(
        "pt, weights",
        make_pt,
        _evaluate_model("net={}/model.pt", "--trust", "--json"),
        "model.pt",
        (flip_weight,) * 9,
        same=True,
    ),
    Kind("joblib", make_joblib, _evaluate_model("{}/model.joblib", "--trust"), "model.joblib"),
    Kind(
        "study file",
        make_study,
        lambda folder: ["study", str(folder / "study.toml"), "--quiet"],
        odd=(change_toml_value,) * 5,
    ),
    Kind(
        "weights",
        make_weights,
        _evaluate_model("net=input_models:make_network@{}/weights.pt", "--json"),
        "weights.pt",
        (flip_weight,) * 9,
        same=True,
    ),
    Kind(
        "weights, parts",
        make_weights,
        _evaluate_model("input_models:make_network@{}/weights.pt"),
        "weights.pt",
        (change_archive_member,) * 30,
    ),
    Kind(
        "old weights",
        make_old_weights,
        _evaluate_model("input_models:make_network@{}/weights.pt"),
        "weights.pt",
    ),
    Kind(
        "checkpoint",
        make_checkpoint,
        _train,
        "net.pt.checkpoint",
        (flip_weight,) * 9,
        same=True,
        varies=r'"seconds": .*|"file": .*',
    ),
    Kind(
        "checkpoint, parts",
        make_checkpoint,
        _train,
        "net.pt.checkpoint",
        (change_archive_member,) * 30,
    ),
    Kind("idx", make_idx, _separate("."), odd=(change_idx_header,) * 3),
    Kind("cifar batches", make_cifar, _separate(".")),
    Kind("tiny imagenet", make_tiny_imagenet, _separate(".")),
    Kind(
        "skops",
        make_skops,
        _evaluate_model("{}/model.skops"),
        "model.skops",
        (change_archive_member,) * 5,
    ),
    Kind("xgboost json", make_booster(".json"), _evaluate_booster(".json"), "model.json"),
    Kind("xgboost ubj", make_booster(".ubj"), _evaluate_booster(".ubj"), "model.ubj"),
    Kind("lightgbm", make_booster(".txt"), _evaluate_booster(".txt"), "model.txt"),
    Kind(
        "trained network",
        make_trained,
        _evaluate_model("net={}/model.pt", "--json"),
        "model.pt",
        (flip_weight,) * 3,
        same=True,
    ),
    Kind(
        "network, parts",
        make_trained,
        _evaluate_model("net={}/model.pt", "--json"),
        "model.pt",
        (change_archive_member,) * 30,
    ),
    Kind(
        "torchscript",
        make_script,
        _evaluate_model("{}/model.pt", "--trust"),
        "model.pt",
        (change_archive_member,) * 3,
    ),
    Kind(
        "exported",
        make_exported,
        _evaluate_model("{}/model.pt2", "--trust"),
        "model.pt2",
        (change_archive_member,) * 3,
    ),
    Kind("cifar archive", make_cifar_archive, _separate("cifar.tar.gz")),
    Kind(
        "requirements",
        make_requirements,
        lambda folder: [
            *("check", str(folder / "r.sqlite"), "--require", str(folder / "limits.toml"))
        ],
        "limits.toml",
        (change_toml_value,),
        codes=(0, 1, 3),
    ),
)
