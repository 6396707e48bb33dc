"""Print one table of speeds: job, ours, peer, ratio, date; in less than ten minutes on two cores.

    python -m benchmarks                                # all jobs
    python -m benchmarks --only common-224 noise-l2     # some of them
    python -m benchmarks --write docs/performance.md    # into the page

Each job is done by shaketable and, where there is one, by the package that people use for it
today. Their results are compared first; then both run by turns in this process, on one core each,
and the best of several rounds counts. A ratio above 1 means that ours is faster. Peers are
optional: `pip install '.[bench]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / folder) for folder in ("speed", "papers")]


def main() -> None:
    """Run the jobs, and print or write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="jobs to run")
    parser.add_argument("--list", action="store_true", help="print the names of the jobs")
    parser.add_argument(
        "--seconds", type=float, default=4, help="time for a job at least, after its first calls"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of each side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table into a page")
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("--write takes the whole table; leave --only out")
    for name in ("OMP", "OPENBLAS", "MKL"):  # libraries read these when they are imported
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)

    from overview import (
        describe_machine,
        run_job,
        say_machine,
        say_slower,
        write_into,
        write_rows,
        write_section,
    )
    from overview_jobs import JOBS

    names = [job.name for job in JOBS]
    if args.list:
        print("\n".join(f"{job.name:16} {job.title}" for job in JOBS))
        return
    if unknown := set(args.only or ()) - set(names):
        parser.error(f"no job is named {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    machine, started, rows = describe_machine(), time.perf_counter(), []
    for job in JOBS:
        if args.only and job.name not in args.only:
            continue
        print(f"{job.name} …", end="", file=sys.stderr, flush=True)
        began = time.perf_counter()
        rows.append(run_job(job, args.seconds))
        print(f" {time.perf_counter() - began:.0f} s", file=sys.stderr)
    seconds = time.perf_counter() - started
    print("\n".join(write_rows(rows)))
    print("\nA ratio above 1 means that ours is faster.", say_slower(rows))
    print(say_machine(machine, seconds))
    if args.json:
        content = {**machine, "seconds": seconds, "jobs": [row.json() for row in rows]}
        args.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if args.write:
        write_into(args.write, write_section(rows, machine, seconds))
    if any(row.failed for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
