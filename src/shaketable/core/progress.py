"""Progress bars, on stderr, with an estimate of the time left."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def steps(
    description: str, *, enabled: bool, total: int | None = None
) -> Iterator[Callable[[], None]]:
    """A function to call after every step, and a bar of how many are done."""
    if not enabled or total == 0:
        yield lambda: None
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
        task = progress.add_task(description, total=total)
        yield lambda: progress.advance(task)


def bar(
    items: Iterable[T], description: str, *, enabled: bool, total: int | None = None
) -> Iterator[T]:
    """Pass the items through, showing how many are done."""
    with steps(description, enabled=enabled, total=total) as step:
        for item in items:
            yield item
            step()
