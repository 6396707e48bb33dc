"""Remake severities.json with the authors' generators of the common corruptions.

They are the scripts of ImageNet-C/create_c of github.com/hendrycks/robustness, commit 8190fe3
(Apache-2.0), which are not part of this package; give the folder. No function of theirs is changed.
What their libraries have renamed since is given its old name, and random numbers come from ours:

- np.float_ and np.fromstring are gone; gaussian's multichannel is channel_axis, and
  scipy.ndimage.interpolation is scipy.ndimage.
- cv2.imread gives our textures of ice, in the place of the six photographs.
- For the 15 corruptions that are compared bit by bit, np.random gives the numbers that ours draw.
  The four noises draw with numpy's generator; scikit-image's of impulse_noise gets its seeds.
- OpenCV must be 4.10 or older, since warpAffine interpolates otherwise from 5.0; ImageMagick's
  library must be there for wand (Debian: libmagickwand-6.q16-6).

    python -m venv original
    original/bin/pip install . scikit-image 'opencv-python-headless<=4.10.0.84' wand pillow
    original/bin/python benchmarks/papers/original_severities.py ROBUSTNESS/ImageNet-C/create_c
"""

import argparse
import json
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import scipy.ndimage
import skimage.filters
import skimage.util
from PIL import Image
from wand.version import MAGICK_VERSION

from shaketable.core.keys import _mix, fold, uniforms
from shaketable.core.types import Array, FloatArray
from shaketable.corruptions.common.corruption import NO_NOISE
from shaketable.corruptions.common.severities import SIDES, parameters
from shaketable.corruptions.common.textures import textures
from shaketable.corruptions.compiled.streams import SIDE
from shaketable.corruptions.gaussian import Gaussian
from shaketable.reproductions.papers.severities import (
    DRAWS,
    NOISES,
    SEVERITIES,
    count_changes,
    make_images,
    make_keys,
    measure_change,
    sum_up,
)

COMMIT = "8190fe329f5f072a06e3a2aea02bb5dda69aed9f"
SCRIPTS = {
    "cifar": "make_cifar_c.py",
    "tiny": "make_tinyimagenet_c.py",
    "imagenet": "make_imagenet_c.py",
}
OUT = Path(__file__).parents[2] / "src/shaketable/reproductions/papers/severities.json"
LOADERS = (  # of data, which the functions do not use
    "torch",
    "torch.utils",
    "torch.utils.data",
    "torchvision",
    "torchvision.datasets",
    "torchvision.transforms",
)
LAST = "# /////////////// End Distortions"  # what follows makes the published sets


def rename() -> None:
    """Give libraries the names that they had."""
    sys.modules["scipy.ndimage.interpolation"] = scipy.ndimage
    vars(np).update(float_=np.float64, fromstring=np.frombuffer)
    seeds = count()
    filtered, salted = skimage.filters.gaussian, skimage.util.random_noise

    def gaussian(image: Array, sigma: float, *, multichannel: bool = False, **options: Any) -> Any:
        return filtered(image, sigma, channel_axis=-1 if multichannel else None, **options)

    def random_noise(image: Array, **options: Any) -> Any:
        return salted(image, rng=next(seeds), **options)

    skimage.filters.gaussian = gaussian
    skimage.util.random_noise = random_noise

    def imread(name: str) -> Array:
        return textures()[int(name[-5]) - 1][..., ::-1].copy()

    cv2.imread = imread


def load_functions(path: Path) -> dict[str, Any]:
    """Return the functions of a script, without what it runs at its end."""
    found: dict[str, Any] = {"__name__": "original"}
    text = path.read_text(encoding="utf-8")
    stubs = {name: types.ModuleType(name) for name in LOADERS}
    for name, stub in stubs.items():
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(stubs[parent], own, stub)
    stubs["torch.utils.data"].Dataset = object  # type: ignore[attr-defined]
    sys.modules.update(stubs)
    exec(compile(text[: text.index(LAST)], str(path), "exec"), found)
    for name in stubs:
        del sys.modules[name]
    return found


def list_draws(name: str, severity: int, profile: str, key: Any) -> Iterator[FloatArray]:
    """What ours draws for an image: uniform numbers, or normal ones where those are asked for."""
    own, side = np.array([key], np.uint64), SIDES[profile]
    if name in ("snow", "spatter"):
        yield Gaussian(1.0).draw(np.zeros((1, side * side)), own)[0]
        yield uniforms(_mix(own ^ SIDE), 1)[0]
    elif name == "elastic_transform":
        yield uniforms(own, 6)[0]
        yield uniforms(fold(own, 0), side * side)[0]
        yield uniforms(fold(own, 1), side * side)[0]
    elif name == "glass_blur":
        _, _, sweeps = parameters(name, severity, profile)
        words = _mix(own + np.arange(1, 1 + sweeps * side * side, dtype=np.uint64) * GOLDEN)
        for word in words.tolist():
            yield np.array([word >> 32, word & 0xFFFFFFFF]) / 2.0**32
    elif name == "fog":
        points = 1 << (side - 1).bit_length()
        yield uniforms(own, points * points)[0]
    else:
        for u in uniforms(own, 3)[0]:
            yield np.array([u])


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Injected:
    """Stands for np.random, and gives the numbers that ours draws."""

    def __init__(self, draws: Iterator[FloatArray], *, in_a_row: bool) -> None:
        self.draws, self.in_a_row, self.at = draws, in_a_row, 0
        self.row = next(draws) if in_a_row else np.empty(0)

    def take(self, size: Any) -> FloatArray:
        """Return the next numbers, in a shape."""
        count = int(np.prod(size)) if size is not None else 1
        if self.in_a_row:
            found = self.row[self.at : self.at + count]
            self.at += count
        else:
            found = next(self.draws)
        assert len(found) == count, (len(found), count)
        return found.reshape(size) if size is not None else found[0]

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """As of numpy."""
        return low + (high - low) * self.take(size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """As of numpy."""
        return loc + scale * self.take(size)

    def randint(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """As of numpy."""
        low, high = (0, low) if high is None else (low, high)
        return low + np.floor(self.take(size) * (high - low)).astype(int)


@contextmanager
def inject(name: str, severity: int, profile: str, key: Any) -> Iterator[None]:
    """Give the original the numbers of ours."""
    draws = Injected(list_draws(name, severity, profile, key), in_a_row=name == "fog")
    names = ("uniform", "normal", "randint")
    before = [getattr(np.random, each) for each in names]
    for each in names:
        setattr(np.random, each, getattr(draws, each))
    try:
        yield
    finally:
        for each, function in zip(names, before, strict=True):
            setattr(np.random, each, function)


def run(function: Any, image: Array, severity: int) -> Array:
    """What the original makes of an image, cast to 8 bits as its script does."""
    found: Array = np.asarray(function(Image.fromarray(image), severity)).astype(np.uint8)
    return found


def make(folder: Path, profiles: Sequence[str]) -> dict[str, Any]:
    """Return all that is stored."""
    found: dict[str, Any] = {
        "code": f"github.com/hendrycks/robustness, {COMMIT[:7]}, ImageNet-C/create_c",
        "with": ", ".join(
            [*(f"{p} {version(p)}" for p in ("numpy", "scipy", "scikit-image", "pillow")),
             f"OpenCV {cv2.__version__}", MAGICK_VERSION.split(" http")[0]]
        ),
        "images": {},
    }  # fmt: skip
    np.random.seed(0)  # noqa: NPY002  (the functions draw from it)
    for profile in profiles:
        functions = load_functions(folder / SCRIPTS[profile])
        images = make_images(profile)
        keys = make_keys(len(images))
        stored: dict[str, Any] = {"clean": [sum_up(image) for image in images]}
        for name in NO_NOISE:
            stored[name] = []
            for severity in SEVERITIES:
                changed = []
                for image, key in zip(images, keys, strict=True):
                    with inject(name, severity, profile, key):
                        changed.append(run(functions[name], image, severity))
                change = round(measure_change(images, np.array(changed)), 4)
                stored[name].append({"change": change, "crc": [sum_up(c) for c in changed]})
            print(profile, name, [level["change"] for level in stored[name]])
        for name in NOISES:
            stored[name] = []
            many = np.repeat(images, DRAWS[profile], axis=0)
            for severity in SEVERITIES:
                noisy = np.array([run(functions[name], image, severity) for image in many])
                change = round(measure_change(many, noisy), 4)
                counts = count_changes(many, noisy).tolist()
                stored[name].append({"change": change, "counts": counts})
            print(profile, name, [level["change"] for level in stored[name]])
        found["images"][profile] = stored
    return found


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="ImageNet-C/create_c of the authors' code")
    parser.add_argument("-o", "--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    rename()
    found = make(arguments.folder, list(SCRIPTS))
    arguments.out.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
