"""How well dry runs tell time and size: estimates against the studies themselves, on one core.

    python benchmarks/speed/dry_runs.py

Both are CPU seconds of this process, so that the load of the machine does not count.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from shaketable.core.versions import list_versions
from shaketable.evaluation.dry_run import dry_run
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.study import study

STUDIES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("bands(n=200)", ["rf", "1nn"], {"runs": 10}),
    ("bands(n=2000)", ["rf", "1nn"], {"runs": 3}),
    ("sunset(n=1500)", ["rf", "svm", "1nn"], {"runs": 3}),
    ("wine", ["rf", "svm", "1nn", "logistic"], {"runs": 3}),
    (
        "digits",
        ["rf", "1nn"],
        {
            "runs": 2,
            "train": ["clean", "linf(1)"],
            "corruptions": ["linf(4)", "sp(0.2)"],
            "bounds": (0, 16),
        },
    ),
]


def main() -> None:
    """Print one row per study."""
    versions = ", ".join(f"{name} {version}" for name, version in list_versions().items())
    print("# Dry runs against the studies themselves\n")
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core; {versions}\n")
    print("| data | models | trainings | expected, s | real, s | ratio | ratio of sizes |")
    print("|---|---|---|---|---|---|---|")
    for data, models, options in STUDIES:
        with TemporaryDirectory() as folder:
            path = Path(folder, "s.sqlite")
            expected = dry_run(data, models, StudyOptions(jobs=1, **options))
            started = process_time()
            study(data, models, n_jobs=1, store=path, **options)
            seconds, size = process_time() - started, path.stat().st_size
        print(
            f"| {data} | {', '.join(models)} | {expected.trainings} | "
            f"{expected.seconds:.1f} | {seconds:.1f} | {expected.seconds / seconds:.2f} | "
            f"{expected.bytes / size:.2f} |",
            flush=True,
        )
    print("\nRatios are expected over real.")


if __name__ == "__main__":
    main()
