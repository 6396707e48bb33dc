"""The 19 common corruptions against stored output of an independent implementation.

``severities.json`` beside this file is made by ``benchmarks/papers/original_severities.py`` with
the generators of the authors: checksums of their images for 15 corruptions, given the numbers that
ours draw, and counts of changes for the four noises, with draws of their own.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from shaketable.core.errors import InputError
from shaketable.core.keys import digest, row_keys
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.common.corruption import NO_NOISE, CommonCorruption, corrupt_images
from shaketable.corruptions.common.severities import NAMES, SIDES
from shaketable.data.builtin import shapes
from shaketable.reproductions.claims import Close, Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.registry import Asked, Form, Measured, declare

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

NOISES = tuple(name for name in NAMES if name not in NO_NOISE)
SEVERITIES = range(1, 6)
IMAGES = {"cifar": 6, "tiny": 6, "imagenet": 2}
"""How many images there are of every size."""

DRAWS = {"cifar": 100, "tiny": 25, "imagenet": 6}
"""How often noise is drawn for every image."""

EDGES = (-31.5, -15.5, -7.5, -3.5, -0.5, 0.5, 3.5, 7.5, 15.5, 31.5)
"""Between bins of changes, in levels."""

BANDS = 4
"""Of levels before the change, whose changes are counted apart."""

FIXED = (
    "gaussian_blur",
    "defocus_blur",
    "zoom_blur",
    "brightness",
    "contrast",
    "saturate",
    "pixelate",
    "jpeg_compression",
)
"""Corruptions that draw nothing."""

FALLING = ("saturate", "elastic_transform")
"""Corruptions whose severities do not grow."""

FAR = 4.5
"""Score from which a noise is another one: once in 5000 times among all 60."""

_FEWEST = 10  # expected counts of a bin that is compared
_SEED = 32  # of the keys, not of `--seed`: stored checksums go with these draws


def make_images(profile: str) -> Array:
    """Return images of a size: built-in figures, side by side where they are smaller.

    >>> make_images("tiny").shape
    (6, 64, 64, 3)
    """
    n, side, small = IMAGES[profile], SIDES[profile], SIDES["cifar"]
    times = side // small
    figures = np.asarray(shapes(n=n * times * times).x)
    tiled = figures.reshape(n, times, times, small, small, 3).swapaxes(2, 3)
    return np.ascontiguousarray(tiled.reshape(n, side, side, 3))


def make_keys(n: int) -> KeyArray:
    """Return a key per image.

    >>> len(make_keys(3))
    3
    """
    return row_keys(_SEED, np.arange(n), np.arange(1))[:, 0]


def corrupt(images: Array, name: str, severity: int, keys: KeyArray) -> Array:
    """Return corrupted images, by the numbers for their size."""
    corruption = CommonCorruption(name, severity).for_shape(images.shape[1:])
    return corrupt_images(images, keys, corruption)


def sum_up(image: Array) -> str:
    """Return the checksum of an image, CRC-32.

    >>> sum_up(np.zeros((2, 2, 3), np.uint8))
    '7bd5c66f'
    """
    return f"{zlib.crc32(np.ascontiguousarray(image).tobytes()):08x}"


def measure_change(images: Array, changed: Array) -> float:
    """Return the mean absolute change, in levels."""
    return float(np.abs(changed.astype(np.int16) - images).mean())


def count_changes(images: Array, changed: Array) -> IntArray:
    """Return how many values change by how much, (`BANDS`, bins)."""
    bins = np.digitize(changed.astype(np.int16) - images, EDGES)
    size = len(EDGES) + 1
    places = images.astype(np.int64) * BANDS // 256 * size + bins
    return np.bincount(places.ravel(), minlength=BANDS * size).reshape(BANDS, size)


@cache
def load_original() -> Mapping[str, Any]:
    """Return what is stored of the original: how it was made, checksums, changes and counts."""
    text = files("shaketable.reproductions.papers").joinpath("severities.json").read_text()
    found: Mapping[str, Any] = json.loads(text)
    return found


def compare_counts(ours: IntArray, theirs: IntArray) -> float:
    """Return the normal quantile of a chi-square test that two tables of counts have one law.

    Bins in which fewer than ten are expected join their neighbour; rows are tested together.

    >>> round(compare_counts(np.array([[500, 500]]), np.array([[50, 50]])), 2)
    -inf
    >>> round(compare_counts(np.array([[500, 500]]), np.array([[60, 40]])), 1)
    1.6
    """
    total, freedom = 0.0, 0
    for own, other in zip(ours, theirs, strict=True):
        both = _join(np.stack([own, other]).astype(np.float64))
        if both.shape[1] > 1:
            sums = both.sum(axis=1)
            expected = sums[:, None] * both.sum(axis=0) / sums.sum()
            total += float(((both - expected) ** 2 / expected).sum())
            freedom += both.shape[1] - 1
    tail = float(special.chdtrc(freedom, total)) if freedom else 1.0
    return -float(special.ndtri(max(tail, 1e-300)))


def _join(counts: FloatArray) -> FloatArray:
    """Join neighbouring bins until enough are expected in each row."""
    joined: list[FloatArray] = []
    share = counts.sum(axis=1) / max(counts.sum(), 1)
    open_: FloatArray | None = None
    for column in counts.T:
        open_ = column if open_ is None else open_ + column
        if min(share) * open_.sum() >= _FEWEST:
            joined.append(open_)
            open_ = None
    if open_ is not None and joined:
        joined[-1] = joined[-1] + open_
    return np.array(joined).T if joined else np.zeros((len(counts), 0))


def _name_size(profile: str) -> str:
    return f"{SIDES[profile]} px"


def _check_images(profile: str, images: Array) -> None:
    """Raise an `InputError` if images are not those whose output is stored."""
    if load_original()["images"][profile]["clean"] != [sum_up(image) for image in images]:
        raise InputError(
            f"the built-in figures of {_name_size(profile)} must be those of the stored checksums, "
            "but they are others; remake severities.json by benchmarks/papers"
        )


@dataclass(frozen=True)
class _Found:
    """What was found at one size: numbers by corruption, and what is not equal in words."""

    equal: list[Number]
    """Images that are equal, in per cent."""
    changes: list[Number]
    """Mean absolute change beside the original's."""
    scores: list[Number]
    """Of noises: the largest normal quantile of all severities."""
    growth: list[Number]
    """Change at severity 5 over that at 1."""
    notes: list[str]


def _compare(profile: str, seed: int) -> _Found:
    """Corrupt the images of a size in every way, and compare what comes out with what is stored."""
    images, size = make_images(profile), _name_size(profile)
    _check_images(profile, images)
    stored, found = load_original()["images"][profile], _Found([], [], [], [], [])
    many, fixed = np.repeat(images, DRAWS[profile], axis=0), make_keys(len(images))
    for name in NAMES:
        changes, shares, scores = [], [], []
        for severity in SEVERITIES:
            theirs = stored[name][severity - 1]
            where = f"{name}, severity {severity}, {size}"
            if name in NOISES:
                key = digest("severities", name, severity, seed)
                keys = row_keys(key, np.arange(len(many)), np.arange(1))[:, 0]
                clean, changed = many, corrupt(many, name, severity, keys)
                counts = count_changes(many, changed)
                scores.append(compare_counts(counts, np.array(theirs["counts"])))
                if scores[-1] >= FAR:
                    found.notes.append(f"{where}: changes of values have another distribution")
            else:
                clean, changed = images, corrupt(images, name, severity, fixed)
                pairs = zip(changed, theirs["crc"], strict=True)
                shares.append(np.mean([sum_up(image) == crc for image, crc in pairs]))
                if shares[-1] < 1:
                    found.notes.append(f"{where}: {shares[-1]:.0%} of the images are equal")
            changes.append(measure_change(clean, changed))
            printed = Printed(theirs["change"])
            found.changes.append(Number(name, changes[-1], printed, column=str(severity)))
        found.growth.append(Number(name, changes[-1] / changes[0], column=size))
        if name in NOISES:
            found.scores.append(Number(name, max(scores), column=size))
        else:
            found.equal.append(Number(name, 100 * float(np.mean(shares)), column=size))
    return found


@declare(
    "hendrycks-severities",
    place="code, the 19 at 5 severities",
    about="common corruptions beside those of the authors' generators",
    forms={
        "full": Form(
            about="images of 32, 64 and 224 pixels, corrupted by ours and by the authors' code",
            takes="half a minute",
            claims=[
                Within(
                    "images of the 8 without randomness are equal bit by bit",
                    "; ".join(f"equal: {name} / *" for name in FIXED),
                    low=99.99,
                ),
                Within(
                    "images of 7 more are equal bit by bit, given the same random numbers",
                    "; ".join(f"equal: {name} / *" for name in NO_NOISE if name not in FIXED),
                    low=99.99,
                ),
                Close(
                    "the mean change of these 15 is the original's to a hundredth of a level",
                    "; ".join(f"change at *: {name} / *" for name in NO_NOISE),
                    tolerance=0.01,
                ),
                Within(
                    "changes of values by the 4 noises have the original's distribution",
                    "noise: *",
                    high=FAR,
                ),
                Within(
                    "severity 5 changes images more than severity 1, but for two corruptions",
                    "; ".join(f"growth: {name} / *" for name in NAMES if name not in FALLING),
                    low=1,
                ),
            ],
            deviations=[
                "Images are built-in figures, and those of 64 and 224 pixels are several of them "
                "side by side: they are the same on every machine, and no data set is needed.",
                "The authors set no seed, so that their published images cannot be made again. "
                "Their functions were given the random numbers that ours draw; the four noises, "
                "which ours draws from tables, drew their own.",
                "Both mix our textures into frost, since the photographs are not part of this "
                "package.",
                "Images of 64 and 224 pixels are compared before the JPEG compression with which "
                "the authors saved them.",
                "The last claim leaves out saturate and elastic_transform: by their published "
                "severities the first drains colour before it adds any, and the second moves "
                "corners less where it moves pixels more.",
            ],
        )
    },
    errata=[
        "common-truncation",
        "common-glass",
        "common-defocus",
        "common-zoom",
        "common-frost",
        "common-fog",
        "common-saturate",
        "common-elastic",
        "common-spatter",
        "common-jpeg",
    ],
)
def compare_severities(asked: Asked) -> Measured:
    """Corrupt images, and compare them with what the authors' generators make of them."""
    found = {profile: _compare(profile, asked.seed) for profile in IMAGES}
    equal, scores, growth = (
        [number for each in found.values() for number in getattr(each, part)]
        for part in ("equal", "scores", "growth")
    )
    tables = [
        NumberTable("equal", "Images that are equal bit by bit", equal, unit="%", digits=1),
        NumberTable(
            "noise", "Distribution of changes: largest score of 5 severities", scores, digits=1
        ),
        NumberTable("growth", "Change at severity 5 over that at 1", growth),
        *(
            NumberTable(
                f"change at {_name_size(profile)}",
                f"Mean absolute change by severity at {_name_size(profile)}, ours and the original",
                each.changes,
                unit="levels",
            )
            for profile, each in found.items()
        ),
    ]
    original = load_original()
    return Measured(
        tables=tables,
        figure=lambda: _draw_changes(found["cifar"].changes),
        settings={
            "Independent implementation": original["code"],
            "It ran with": original["with"],
            "Images": ", ".join(f"{n} of {_name_size(p)}" for p, n in IMAGES.items()),
            "Draws of noise per image": ", ".join(
                f"{n} at {_name_size(p)}" for p, n in DRAWS.items()
            ),
        },
        notes=[
            *(note for each in found.values() for note in each.notes),
            "The score of a noise is the normal quantile of a chi-square test that counts of "
            "changes, by four bands of levels, are of one distribution; it is large if not.",
        ],
    )


def _draw_changes(numbers: list[Number]) -> Chart:
    """Draw the mean change of every corruption by severity, with the original as rings."""
    import altair as alt

    from shaketable.views import drawing

    rows = [
        {"corruption": n.row, "noise": n.column, "ours": n.value, "original": n.printed.value}
        for n in numbers
        if n.printed is not None
    ]
    base = drawing.make_chart(rows).encode(
        y=alt.Y("corruption:N", title=None, sort=None), color=drawing.noise_colour("12345")
    )
    axis = alt.Scale(zero=True)
    dots = base.mark_circle(size=30).encode(
        x=alt.X("ours:Q", title="mean absolute change, levels", scale=axis)
    )
    rings = base.mark_point(size=90, filled=False).encode(x=alt.X("original:Q", scale=axis))
    return drawing.finish_chart(
        alt.layer(dots, rings).properties(
            width=420, height=19 * 18, title="Severities 1 to 5 (dots: ours, rings: the original)"
        )
    )
