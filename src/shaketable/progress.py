"""Progress bars, on stderr, with an estimate of the time left."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def bar(
    items: Iterable[T], description: str, *, enabled: bool, total: int | None = None
) -> Iterator[T]:
    """Pass the items through, showing how many are done."""
    if not enabled or total == 0:
        yield from items
        return
    from rich.console import Console  # only where a bar is shown
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(items, description=description, total=total)
