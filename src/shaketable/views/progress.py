"""Progress bars on stderr, with an estimate of the time left."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from shaketable.views.text import make_visible

T = TypeVar("T")


@contextmanager
def count_steps(
    description: str, *, enabled: bool, total: int | None = None
) -> Iterator[Callable[[], None]]:
    """Show a progress bar; yields the function to call after every step."""
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
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(make_visible(description, limit=40), total=total)
        yield lambda: progress.advance(task)


def show_progress(
    items: Iterable[T], description: str, *, enabled: bool, total: int | None = None
) -> Iterator[T]:
    """Yield the items and show how many are done."""
    with count_steps(description, enabled=enabled, total=total) as step:
        for item in items:
            yield item
            step()
