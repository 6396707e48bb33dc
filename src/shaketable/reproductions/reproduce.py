"""`reproduce`: make published numbers again."""

from __future__ import annotations

import platform
import shlex
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from shaketable.core.checks import HUGE, check_real, check_whole
from shaketable.core.errors import InputError, either
from shaketable.core.norms import as_p
from shaketable.core.options import write_settings, write_words
from shaketable.core.versions import list_installed_versions
from shaketable.core.writing import make_folder
from shaketable.evaluation.noise import Draws
from shaketable.reproductions.options import ReproduceOptions
from shaketable.reproductions.registry import REPRODUCTIONS, Asked
from shaketable.reproductions.result import Reproduced
from shaketable.views.numbers import format_seconds


def reproduce(
    name: str,
    *,
    data: str | Path | None = None,
    form: str | None = None,
    runs: int | None = None,
    norm: str | float = "inf",
    draws: Draws = "shared",
    seed: int = 0,
    out: str | Path | None = None,
    minutes: float | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> Reproduced:
    """Make published numbers again, and say which declared claims hold.

    Every name declares what must hold of its numbers, for every form it has, and what differs from
    the paper. ``shaketable reproduce`` lists all names with what they need.

    Parameters
    ----------
    name
        Such as ``pnorm-table6``.
    data
        The data of the paper where they are not part of this package: a file or folder.
    form
        ``"fast"``, ``"gpu"`` or ``"full"``; by default the first that the name has.
    runs
        Runs, or groups of runs; by default as many as the form has.
    norm
        Norm of the noise, of names that can have several.
    draws
        ``"shared"``, as the published study in the plane was made, or ``"independent"``.
    seed
        Of all random numbers.
    out
        Folder that gets page, JSON and figure, and keeps what is done, so that the same call goes
        on after an interruption. Without it, nothing is written.
    minutes
        Begin no run after so many.
    n_jobs
        Number of processes.
    device
        Where networks compute.
    progress
        Show a bar on stderr.

    Returns
    -------
    Reproduced
        Numbers beside print, claims, deviations.

    Examples
    --------
    >>> import shaketable as st
    >>> found = st.reproduce("pnorm-table6")
    >>> [claim["verdict"] for claim in found.json()["claims"]][0]
    'holds'
    """
    reproduction = REPRODUCTIONS.get(name)
    chosen = reproduction.choose_form(form)
    p = as_p(norm)
    if draws not in ("shared", "independent"):
        raise InputError(f"draws must be 'shared' or 'independent', got {draws!r}")
    check_whole("seed", seed, least=0)
    if runs is not None:
        check_whole("runs", runs, least=1)
    if minutes is not None:
        check_real("minutes", minutes, "be 0 or more", low=0, high=HUGE)
    options = ReproduceOptions(
        name=name,
        data=None if data is None else str(data),
        form=form,
        runs=runs,
        norm=f"{p:g}",
        draws=draws,
        seed=seed,
    )
    given = {"data": data, "runs": runs, "norm": options.norm != "inf", "draws": draws != "shared"}
    for option, value in given.items():
        if value and option not in reproduction.takes:
            raise InputError(f"{name} takes no {either(f'--{option}', f'{option}=')}; leave it out")
    _check_needs(name, chosen, reproduction.forms[chosen].needs, device)
    if out is not None:
        make_folder(out, "out")
    asked = Asked(
        name=name,
        form=chosen,
        data=options.data,
        norm=options.norm,
        draws=draws,
        runs=runs,
        seed=seed,
        folder=None if out is None else Path(out),
        minutes=minutes,
        jobs=n_jobs,
        device=device,
        quiet=not progress,
    )
    start = perf_counter()
    with REPRODUCTIONS.guard(name):
        measured = reproduction.measure(asked)
    settings = {
        "Command": write_command(options),
        **{key: str(value) for key, value in measured.settings.items()},
        "Seed": str(seed),
        "Time": format_seconds(perf_counter() - start),
        "Date": datetime.now(UTC).date().isoformat(),
        "Machine": describe_machine(),
        "Versions": ", ".join(f"{n} {v}" for n, v in list_installed_versions().items()),
    }
    found = Reproduced(reproduction, chosen, measured, settings, name_choices(options))
    if out is not None:
        found.write(out)
    return found


def name_choices(options: ReproduceOptions) -> str:
    """Return what was chosen other than by default, for the names of files.

    >>> name_choices(ReproduceOptions()), name_choices(ReproduceOptions(norm="2", runs=3))
    ('', '.l2.runs3')
    """
    chosen = {
        f"l{options.norm}": options.norm != "inf",
        options.draws: options.draws != "shared",
        f"runs{options.runs}": options.runs is not None,
        f"seed{options.seed}": options.seed != 0,
    }
    return "".join(f".{name}" for name, is_so in chosen.items() if is_so)


def _check_needs(name: str, form: str, needs: str, device: str | None) -> None:
    """Raise an `InputError` if torch or a GPU are needed and lacking, before anything is done."""
    from shaketable.models.networks.registry import import_torch

    if "torch" not in needs:
        return
    torch = import_torch()
    if "GPU" in needs and device is None and not torch.cuda.is_available():
        raise InputError(
            f"form {form} of {name} needs a GPU, and none was found; leave "
            f"{either('--form', 'form=')} out, or name a device by {either('--device', 'device=')}"
        )


def write_command(options: ReproduceOptions) -> str:
    """Write the command that does the same; files are called by their names alone.

    >>> write_command(ReproduceOptions(name="mscr-table1", data="/tmp/b.npz", seed=1))
    'shaketable reproduce mscr-table1 --data b.npz --seed 1'
    """
    settings = write_settings(options)
    if options.data is not None:
        settings["data"] = Path(options.data).name
    return shlex.join(["shaketable", "reproduce", *write_words(ReproduceOptions, settings)])


def describe_machine() -> str:
    """Return processor, number of cores, and the GPU if torch is loaded and has one."""
    import os
    import sys

    parts = [_name_processor(), f"{os.cpu_count()} cores"]
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return ", ".join(parts)


def _name_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
