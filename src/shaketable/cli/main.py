"""Run one command. Results go to stdout, progress and errors to stderr."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from typing import Any

from shaketable.cli.commands import COMMANDS, GROUPS
from shaketable.cli.parser import parse_args
from shaketable.core.errors import (
    InputError,
    ModelError,
    ShaketableError,
    ShaketableWarning,
    describe_error,
    speak_of_flags,
)
from shaketable.core.importing import trust_only
from shaketable.views.formats import TABLE_FORMATS
from shaketable.views.terminal import print_lines, print_notes, write_as

_SAFE = {"PYTHONSAFEPATH": "1", "NUMBA_CACHE_DIR": "", "NUMBA_CACHE_LOCATOR_CLASSES": ""}
"""Variables that keep files in the working directory from being run, unless the user set them.

Python would put it first on the path of worker processes, and numba would take the folder that
`.numba_config.yaml` there names as its cache, which holds code.
"""

_PATH_ERRORS = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    args = argparse.Namespace()
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _report_thread_error
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a sign the terminal lacks must not end a study
            stream.reconfigure(errors="replace")
    try:
        if argv[:1] == ["--version"]:
            from importlib.metadata import version

            print_lines(f"shaketable {version('shaketable')}")
            return 0
        words = [word for word in argv if not _is_path(word)]
        with speak_of_flags(), trust_only(words):
            args = parse_args(argv, COMMANDS, GROUPS)
        with (
            speak_of_flags(),
            _catch_interrupts(),
            _limit_trust(args, words),
            warnings.catch_warnings(),
        ):
            warnings.showwarning = _note_warning  # type: ignore[assignment]  # takes all others
            return _run(args)
    except KeyboardInterrupt as interrupt:  # a command may say what it kept
        store = getattr(args, "store", None)
        kept = f"what was measured is in {store}, run the same command to go on"
        lost = "nothing was kept" + (", use --store" if hasattr(args, "store") else "")
        return _fail(f"interrupted; {str(interrupt) or (kept if store else lost)}", 130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            print_lines(*traceback.format_exc().rstrip().split("\n"), to_stderr=True)
        return _fail(*_explain(error))


def _run(args: argparse.Namespace) -> int:
    """Run the command; only `main` decides when the program ends, and with which exit code."""
    table_format = TABLE_FORMATS.get(str(getattr(args, "format", "text")))
    try:
        with write_as(table_format):
            code: int = args.run(args)
    except SystemExit as error:  # of a model or another package; 0 must not pass for success
        raise InputError(
            f"code of a model or of another package ended the command ({describe_error(error)}); "
            "remove that from it; --debug shows where"
        ) from error
    return code


def _is_path(word: str) -> bool:
    """Whether a word names a file or folder, whose name others may have chosen, and no module."""
    return any(map(os.path.exists, (word, word.partition("=")[2])))


@contextmanager
def _limit_trust(args: argparse.Namespace, words: Sequence[str]) -> Iterator[None]:
    """Run nothing that only a file names, unless it is trusted, or that just lies around."""
    before = {name: os.environ.get(name) for name in _SAFE}
    os.environ.update({name: _SAFE[name] for name, value in before.items() if not value})
    try:
        with nullcontext() if getattr(args, "trust", False) else trust_only(words):
            yield
    finally:
        for name in _SAFE:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


@contextmanager
def _catch_interrupts() -> Iterator[None]:
    """Let SIGTERM stop the command as Ctrl-C does: its workers end, and what it has is kept.

    An interrupt stays one, also if a library makes another error of it, such as lost workers.
    """
    received = False

    def interrupt(*_: object) -> None:
        nonlocal received
        received = True
        raise KeyboardInterrupt

    usual: list[tuple[int, Any]] = [
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
    ]
    if threading.current_thread() is not threading.main_thread():
        usual = []
    caught = [(number, handler) for number, handler in usual if signal.getsignal(number) == handler]
    for number, _ in caught:
        signal.signal(number, interrupt)
    try:
        yield
    except Exception as error:
        if received:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in caught:
            signal.signal(number, handler)


def _explain(error: Exception) -> tuple[str, int]:
    """Return what to say of an error, and the exit code."""
    if isinstance(error, ShaketableError):
        hint = "; --debug shows where" if isinstance(error, ModelError) else ""
        return f"error: {error}{hint}", error.exit_code
    if isinstance(error, OSError) and error.errno in _PATH_ERRORS:
        return f"error: {error.filename!r}: {error.strerror}; check the path", 2
    return f"error: {type(error).__name__}: {error}; --debug shows where", 4


def _note_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    """Print a warning of ours, or of a library such as a model's, as a note of one line."""
    kind = "" if issubclass(category, ShaketableWarning) else f"{category.__name__}: "
    print_notes([f"{kind}{' '.join(str(message).split())}"])


def _report_thread_error(error: threading.ExceptHookArgs) -> None:
    """Report it, unless joblib's own thread reports workers that were stopped: its caller does."""
    if error.thread is None or error.thread.name != "ExecutorManagerThread":
        threading.__excepthook__(error)


def _fail(message: str, code: int) -> int:
    print_lines(f"shaketable: {' '.join(message.split())}", to_stderr=True)
    return code
