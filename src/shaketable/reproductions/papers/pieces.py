"""Studies that go on: with a limit of time, training by training, as long as the next one fits.

A study whose process is killed goes on by itself: what is done is in the results file, and a
network in training has its checkpoint beside it. A limit of time ends a piece between two trainings
instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.reproductions.registry import Asked

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset


def run_pieces(
    asked: Asked, models: Any, data: Dataset, *, runs: int, options: Mapping[str, Any]
) -> tuple[Records, str]:
    """Carry out a study as far as the time allows; return complete runs, and what is left.

    A training that failed is an error: without it, runs would not be paired.

    `options` are those of `study`, with `train` or `train_eps`. Without a limit of time all is
    done. With one, no training is begun that would end too late if it took as long as the longest
    so far; one at least is done by every call.

    >>> import shaketable as st
    >>> options = {"train_eps": [0, 0.1], "test_eps": [0.1], "k": 1}
    >>> asked = Asked(minutes=0, jobs=1)
    >>> records, left = run_pieces(asked, "1nn", st.load("iris"), runs=2, options=options)
    >>> len(records), left
    (0, '1 of 4 trainings are done; the same command goes on')
    """
    from shaketable.activities.networks import choose_jobs
    from shaketable.evaluation.evaluate import check_complete
    from shaketable.evaluation.study import study

    jobs = choose_jobs(asked.jobs, asked.device, models if isinstance(models, list) else [models])

    def carry_out(store: Path | None, **part: Any) -> Records:
        progress = not asked.quiet
        settings = {**options, **part, "seed": asked.seed, "n_jobs": jobs, "progress": progress}
        records = study(data, models, store=store, **settings)
        check_complete(records)
        return records

    if asked.minutes is None:
        return carry_out(asked.store, runs=runs), ""
    regimes = "train" if "train" in options else "train_eps"
    levels, begun, longest, done = [*options[regimes]], monotonic(), 0.0, 0
    with _find_store(asked) as store:
        for run in range(1, runs + 1):
            for level in levels:
                before, start = _count_cells(store), monotonic()
                carry_out(store, runs=run, **{regimes: [level]})
                done, now = done + 1, monotonic()
                longest = max(longest, now - start)
                is_new = _count_cells(store) > before
                if is_new and now - begun + longest > 60 * asked.minutes:
                    break
            else:
                continue
            break
        complete = done // len(levels)
        records = carry_out(store, runs=complete) if complete else Records(())
    total = runs * len(levels)
    left = f"{done} of {total} trainings are done; the same command goes on"
    return records, left if done < total else ""


@contextmanager
def _find_store(asked: Asked) -> Iterator[Path]:
    """Path of the results file, or of one that lasts as long as this call."""
    if asked.store is not None:
        yield asked.store
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "study.sqlite"


def _count_cells(path: Path) -> int:
    with Store(path) as store:
        return len(store.keys())
