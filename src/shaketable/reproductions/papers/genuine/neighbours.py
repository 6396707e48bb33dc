"""Accuracy of 1-NN on MNIST and CIFAR-10, with all ties (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.norms import norm_title
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.reproductions.claims import Claim, Close
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.published import Published, load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.separations.one_nn import OneNN, one_nn
from shaketable.statistics.intervals import proportion

NAMES: Mapping[tuple[int, ...], str] = {(28, 28): "MNIST", (32, 32, 3): "CIFAR-10"}
"""Image sets of the paper by the shape of their points."""

_PART = 500  # test points of the fast form
_REACH = 0.1  # of an accuracy on so many points
_LEFT_OUT = {"MNIST": 5000, "CIFAR-10": 0}
"""Training images that print leaves out, the first of the file."""
_RANGES = ("lowest", "highest", "majority, lowest", "majority, highest")


def _claim_table3(name: str, *, part: bool) -> list[Claim]:
    """What must hold of one data set, on all test points or on a part of them."""
    reach = _REACH if part else None
    words = f"is within {_REACH:g} of" if part else "rounds to"
    claims: list[Claim] = [
        Close(f"{name}: L2 {words} print", f"print: {name} L2 *", reach),
        Close(f"{name}: L-inf, on fractions, {words} print", f"print: {name} L-inf *", reach),
        Close(f"{name}: on whole numbers it {words} what is right", f"exact: {name}*", reach),
    ]
    if name == "MNIST" and not part:
        words = "is within 0.003 of"
        claims[1] = Close(
            f"{name}: L-inf, on fractions, {words} print", "print: MNIST L-inf *", 0.003
        )
    return claims


_FRACTIONS = (
    "What is right is on whole numbers of 255ths. For the comparison with print, pixels are "
    "divided by 255 in float64, which breaks some ties."
)
_FEWER = (
    "MNIST in print is on 55,000 training images, all but the first 5,000, as an early loader of "
    "TensorFlow gave them: L2 is then .9677 to the digit. What is right is on all 60,000."
)
_UNKNOWN = (
    "How print scaled the pixels of MNIST is not known: float64 or float32, divided by 255 or "
    "multiplied by its inverse, none gives all of its L-inf row to the digit."
)


@declare(
    "genuine-table3",
    place="Table 3",
    takes=("data",),
    about="accuracy of 1-NN on MNIST and CIFAR-10, with all ties",
    forms={
        "fast": Form(
            about=f"{_PART} test images, all training images",
            takes="half a minute",
            needs="CIFAR-10, MNIST, or both in a folder",
            claims=[c for n in NAMES.values() for c in _claim_table3(n, part=True)],
            deviations=[
                f"{_PART} of 10,000 test images: accuracies are known to 0.06.",
                _FRACTIONS,
                _FEWER,
            ],
        ),
        "full": Form(
            about="all 10,000 test images",
            takes="a minute",
            needs="CIFAR-10, MNIST, or both in a folder",
            claims=[c for n in NAMES.values() for c in _claim_table3(n, part=False)],
            deviations=[_FRACTIONS, _FEWER, _UNKNOWN],
        ),
    },
    errata=["genuine-ties", "genuine-mnist"],
)
def measure_table3(asked: Asked) -> Measured:
    """Find the nearest training images of test images, on whole numbers and on fractions."""
    published = load_published("genuine-table3")
    path = asked.require_data("CIFAR-10 or MNIST, or a folder that holds both")
    part = asked.form == "fast"
    exact: list[Number] = []
    printed: list[Number] = []
    claims, names, begun = [], [], monotonic()
    given = _load_sets(path)
    lacking = [name for name in NAMES.values() if name not in given]
    unfinished = [f"not given: {' and '.join(lacking)}"] if lacking else []
    with asked.open_store() as store:
        keep = None if store.in_memory else store
        for i, (name, data) in enumerate(given.items()):
            if asked.minutes is not None and i and monotonic() - begun > 60 * asked.minutes:
                unfinished.append(
                    f"{i} of {len(given)} data sets are done; the same command goes on"
                )
                break
            some = data.sample(_PART, seed=asked.seed, part="test") if part else data
            names.append(f"{some.name}, {some.n_train} and {some.n - (some.n_train or 0)} images")
            claims += _claim_table3(name, part=part)
            for p in (2.0, math.inf):
                options: dict[str, Any] = {
                    "norm": p,
                    "device": asked.device,
                    "keep": keep,
                    "progress": not asked.quiet,
                }
                row = f"{name} {norm_title(p)}"
                out = _LEFT_OUT[name]
                whole = one_nn(*_split(some, 0), **options)
                exact += _list_accuracies(row, whole, published, part=part, right=True)
                if p == 2 and not out:
                    as_print = whole  # no two distances are equal, so nothing is broken
                else:
                    as_print = one_nn(*_split(some, out, fractions=p > 2), **options)
                printed += _list_accuracies(row, as_print, published, part=part, right=False)
    return Measured(
        tables=[
            NumberTable("print", "As print was computed", printed, digits=4, corner="data"),
            NumberTable(
                "exact",
                "On whole numbers and all training images",
                exact,
                digits=4,
                corner="data",
                against="right",
            ),
        ],
        settings={"Data": "; ".join(names)},
        unfinished="; ".join(unfinished),
        claims=claims,
    )


_WANTED = (
    "uint8 images with a test part, of 28 x 28 (MNIST) or 32 x 32 x 3 values (CIFAR-10), or a "
    "folder that holds both"
)


def _load_sets(path: str) -> dict[str, Dataset]:
    """Load MNIST and CIFAR-10, by name, from a path or from a folder and what is in it."""
    folder, found = Path(path), dict[str, Dataset]()
    if not folder.is_dir():
        data = as_dataset(folder)
        if not (name := _name_images(data)):
            raise InputError(
                f"{either('--data', 'data')} must be {_WANTED}, got {data.name}: {data.x.dtype}, "
                f"{data.shape}"
            )
        return {name: data}
    inner = [p for p in sorted(folder.iterdir()) if p.is_dir() or p.suffix == ".npz"]
    for source in (folder, *inner):  # the folder itself, of files that belong together
        with suppress(InputError):
            data = as_dataset(source)
            if name := _name_images(data):
                found.setdefault(name, data)
    if not found:
        raise InputError(
            f"{either('--data', 'data')} must be {_WANTED}, got {path!r}, which has neither"
        )
    return found


def _name_images(data: Dataset) -> str:
    """Return which of the two sets the data are, by their shape, or nothing."""
    is_usable = data.n_train is not None and data.x.dtype == np.uint8
    return NAMES.get(data.shape, "") if is_usable else ""


def _split(
    data: Dataset, out: int, *, fractions: bool = False
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Training and test points, without the first of the training points."""
    train, test = data.parts()
    pairs = [(data.x[rows], data.labels[rows]) for rows in (train[out:], test)]
    if fractions:
        pairs = [(x.reshape(len(x), -1) / 255, labels) for x, labels in pairs]
    return pairs[0], pairs[1]


def _list_accuracies(
    row: str, found: OneNN, published: Published, *, part: bool, right: bool
) -> Iterator[Number]:
    """Accuracies of one norm beside print, with intervals if only a part is tested."""
    columns = ("accuracy",) if published.get(row, "accuracy") else _RANGES
    n = len(found.y)
    values = [*found.accuracy, *found.majority_accuracy]
    for column, value in zip(columns, values, strict=False):
        printed = published[row, column]
        if printed.slip and not right:
            text = published.numbers[row, column].text
            printed = Printed(float(text), rounding=printed.rounding, text=text)
        ours = proportion(round(value * n), n) if part else value
        yield Number(row, ours, printed, column=column)
