"""Flags that send work to a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from shaketable.core.errors import InputError


def add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    """Add where the work is done."""
    parser.add_argument(
        "--backend",
        metavar="joblib|dask|ray",
        help="who does the work: processes of this machine (joblib, the default of studies), or "
        "the workers of a Dask or Ray cluster",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help="of the cluster of --backend, such as tcp://host:8786 (Dask) or ray://host:10001 "
        "(default: one is started on this machine)",
    )


@contextmanager
def use_cluster(args: argparse.Namespace, workers: int | None = None) -> Iterator[None]:
    """Send the tasks within to the cluster that the flags name, if they do."""
    if args.backend is None:
        if args.address is not None:
            raise InputError("--address needs --backend, such as --backend dask; add it")
        yield
        return
    from shaketable.core.workers.tasks import cluster

    with cluster(args.backend, args.address, workers=workers):
        yield
