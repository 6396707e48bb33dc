"""Corrupted copies of data sets, one or a whole suite, with the noise that `evaluate` uses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.spec import display_name
from shaketable.core.types import Array, IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Corruption
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.corrupt import check_noisy
from shaketable.corruptions.published import find_published_folder
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import DataLike, as_dataset
from shaketable.evaluation.cells import BATCH_VALUES
from shaketable.evaluation.noise import Draws, Noise, choose_range
from shaketable.evaluation.resolve import resolve
from shaketable.evaluation.suite_layouts import (
    ArrayLayout,
    Plan,
    PngLayout,
    SuiteLayout,
    check_names,
)
from shaketable.views.progress import count_steps


def corrupted(
    data: DataLike,
    corruption: str | Corruption,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "independent",
) -> Dataset:
    """Return a copy of a data set with every point corrupted, as float32 or float64.

    The noise is the first draw of `evaluate` with the same corruption, seed and draws; within
    suites `draws` is ``"ladder"``. Values keep their units.

    Parameters
    ----------
    data
        Data set to copy, ``(x, y)``, or what `load` takes; if it has a training and a test part,
        both are corrupted.
    corruption
        Spec such as ``l2(1)`` or ``linf(eps_min)``, or a corruption.
    seed
        Seed of the noise.
    bounds, draws
        As in `evaluate`.

    Returns
    -------
    Dataset
        The copy, with a name that tells the corruption.

    Examples
    --------
    >>> from shaketable import load
    >>> data = load("bands(n=100)")
    >>> moved = abs(corrupted(data, "linf(0.1)").x - data.x)
    >>> bool(0.09 < moved.max() <= 0.1)
    True
    """
    data = as_dataset(data)
    limits = choose_range(data, bounds)
    (resolved,) = resolve([corruption], data, limits).corruptions
    if resolved.traits.by_row:
        raise InputError(f"{resolved.spec} is read from files of images; copy those files instead")
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    x = np.empty(data.x.shape, data.rows(slice(0, 1)).dtype)
    step = max(1, BATCH_VALUES // data.d)
    with np.errstate(over="ignore"):
        for start in range(0, data.n, step):
            rows = np.arange(start, min(data.n, start + step))
            x[rows] = _corrupt(data, noise, resolved, rows)
    check_noisy(x if data.table is None else np.where(np.isnan(x), 0, x), resolved)
    schema = data.schema
    if schema is not None and resolved.traits.leaves_gaps:
        schema = replace(schema, complete=False)
    return replace(data, name=f"{data.name} under {resolved.spec}", x=x, schema=schema)


Form: TypeAlias = Literal["arrays", "pictures"]

_RENAME = "name it otherwise, as in 'rotation(30) as RO30'"


def write_suite(
    folder: str | Path,
    data: Dataset,
    suite: Suite,
    *,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    draws: Draws = "ladder",
    form: Form | None = None,
    progress: bool = False,
) -> Path:
    """Write the data under every corruption of a suite to a folder, without loss.

    Written are the points of the suite's part (the test part, for training sets the training part),
    or all points if the data have no parts. The noise is the first draw of `evaluate` with the same
    suite.

    Every set of a suite such as ``two-factor`` becomes an array ``<set>.npy``, uint8 for uint8
    data, beside ``labels.npy``; or a folder of PNG files, ``<set>/<class>/<file>.png``. Suites of
    common corruptions have the layouts of the published ones, which ``suite(name,
    published=folder)`` reads: ``<kind>.npy`` with all severities in order, as in CIFAR-10-C, or
    ``<kind>/<severity>/<class>/<file>.png``, as in ImageNet-C. ``manifest.json`` records how all
    was made and holds checksums: of the arrays, or of the lists ``<folder>.sha256``, which hold
    those of the images.

    Parameters
    ----------
    folder
        Where to write; it must be new or empty, and is so again if writing fails.
    data
        Images, or any other points if the suite applies to them.
    suite
        Such as ``suite("two-factor")``.
    seed, bounds, draws
        As in `evaluate`.
    form
        ``"arrays"`` or ``"pictures"``, which are PNG files; by default PNG files for data read from
        a folder of images, else arrays.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    Path
        Path of the folder.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = st.load("bands(n=40)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = st.write_suite(Path(folder) / "sets", data, st.suite("mscr-2d"))
    ...     print(sorted(path.name for path in written.iterdir())[:3])
    ['labels.npy', 'linf_0.001.npy', 'linf_0.002.npy']
    """
    check_target(folder, suite)
    if data.table is not None and data.table.decodes:
        raise InputError(
            "a suite is written as arrays of plain numbers, and these data are a frame of several "
            "kinds; write one corruption at a time "
            f"({either('--corruption … -o noisy.csv', 'corrupt(…)')})"
        )
    limits = choose_range(data, bounds)
    members = resolve(suite, data, limits).corruptions
    noise = Noise(k=1, seed=seed, draws=draws, bounds=limits)
    plan = Plan(Path(folder), data, suite, members, limits)
    as_files = data.files is not None if form is None else form == "pictures"
    layout: SuiteLayout = PngLayout(plan) if as_files else ArrayLayout(plan)
    _check_files(plan, layout)
    _try_each(plan, noise)
    is_new = not plan.folder.exists()
    try:
        layout.start()
        _write_sets(plan, noise, layout, progress=progress)
        manifest = json.dumps(_manifest(plan, noise, layout), indent=1)
        (plan.folder / "manifest.json").write_text(f"{manifest}\n", encoding="utf-8")
    except BaseException as error:
        _remove_content(plan.folder, itself=is_new)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"folder {str(folder)!r} cannot be written ({error.strerror or error}); name another"
        ) from error
    return Path(folder)


def _remove_content(folder: Path, *, itself: bool) -> None:
    """Remove all that is in a folder, and the folder `itself` too."""
    for entry in folder.glob("*"):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    if itself and folder.is_dir():
        folder.rmdir()


def check_target(folder: str | Path, suite: Suite) -> None:
    """Raise an error for a folder that is not empty, and for a suite that is a folder already."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        fault = "is not empty" if path.is_dir() else "is a file"
        raise InputError(f"folder {str(folder)!r} {fault}; name a new one")
    if path.name.lower().endswith((".npz", ".npy", ".csv", ".parquet")):
        raise InputError(f"a suite is written to a folder, got {str(folder)!r}; name a folder")
    if find_published_folder(suite.names):
        raise InputError(f"suite {suite.name!r} is read from a folder of images; copy that folder")


def _check_files(plan: Plan, layout: SuiteLayout) -> None:
    """Raise an error for sets whose files would lie elsewhere, or replace another file."""
    check_names(plan.folder, "set", plan.sets, _RENAME)
    taken = {"labels.npy", "manifest.json"}
    for name in plan.sets:
        files = {name.lower(), layout.file(name).lower()}
        if files & taken:
            raise InputError(f"set {name!r} would replace another file; {_RENAME}")
        taken |= files


def _try_each(plan: Plan, noise: Noise) -> None:
    """Apply every corruption to one point, so that errors come before anything is written."""
    rows = plan.rows[:1]
    for name, levels in plan.sets.items():
        if len(levels) > 1 and not plan.is_common:
            raise InputError(f"sets must have different names, got two called {name!r}")
        for c in levels:
            _corrupt(plan.data, noise, c, rows)


def _write_sets(plan: Plan, noise: Noise, layout: SuiteLayout, *, progress: bool) -> None:
    size = max(1, BATCH_VALUES // plan.data.d)
    batches = [plan.rows[i : i + size] for i in range(0, len(plan.rows), size)]
    title, total = f"corrupting {plan.data.name}", len(plan.members) * len(batches)
    with count_steps(title, total=total, enabled=progress) as step:
        for name, levels in plan.sets.items():
            with layout.open_set(name) as put:
                for (number, c), rows in product(enumerate(levels), batches):
                    put(number, rows, plan.to_written(_corrupt(plan.data, noise, c, rows)))
                    step()


def _corrupt(data: Dataset, noise: Noise, corruption: Corruption, rows: IntArray) -> Array:
    """Return these rows of the data under a corruption, in their units."""
    keys = noise.keys(data, corruption, rows, np.arange(1))[:, 0]
    return corruption.bind(noise.bounds)(data.rows(rows), keys)


def _manifest(plan: Plan, noise: Noise, layout: SuiteLayout) -> dict[str, Any]:
    """Return how the copies were made, and their checksums."""
    data = plan.data
    manifest: dict[str, Any] = {
        "made_by": "shaketable",
        "versions": list_versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": data.name,
        "fingerprint": data.fingerprint,
        "first_row": int(plan.rows[0]),
        "points": len(plan.rows),
        "classes": list(data.classes),
        "suite": plan.suite.name,
        "corruptions": [c.spec for c in plan.members],
        "seed": noise.seed,
        "draws": noise.draws,
        "bounds": str(noise.bounds or "none"),
    }
    if plan.is_common:
        manifest |= _describe_common([c for c in plan.members if isinstance(c, CommonCorruption)])
    else:
        manifest["sets"] = [
            {
                "name": display_name(c.spec),
                "spec": c.spec,
                "seed": noise.seed,
                "file": layout.file(name),
                "sha256": layout.checksums[layout.file(name)],
            }
            for name, (c, *_) in plan.sets.items()
        ]
    return manifest | {"sha256": layout.checksums}


def _describe_common(members: Sequence[CommonCorruption]) -> Mapping[str, Any]:
    """Return what the manifest says of common corruptions only."""
    about: dict[str, Any] = {"severities": "interpolated" if members[0].derived else "published"}
    if frost := [c for c in members if c.name == "frost"]:
        from shaketable.corruptions.common.textures import fingerprint

        source = frost[0].textures
        about["frost"] = {
            "textures": source or "drawn by shaketable",
            "fingerprint": fingerprint(source),
        }
    return about
