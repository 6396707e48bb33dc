"""Run one command. Results go to stdout, progress and errors to stderr."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

from shaketable.cli.commands import COMMANDS
from shaketable.cli.parser import parse_args
from shaketable.core.errors import ShaketableError


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

            print("shaketable", version("shaketable"))
            return 0
        args = parse_args(argv, COMMANDS)
        code: int = args.run(args)
        return code
    except KeyboardInterrupt:
        store = getattr(args, "store", None)
        kept = f"what was measured is in {store}, run the same command to go on"
        lost = "nothing was kept" + (", use --store" if hasattr(args, "store") else "")
        return _fail(f"interrupted; {kept if store else lost}", 130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        if isinstance(error, ShaketableError):
            return _fail(f"error: {error}", error.exit_code)
        return _fail(f"error: {type(error).__name__}: {error}; --debug shows where", 4)


def _report_thread_error(error: threading.ExceptHookArgs) -> None:
    """Report it, unless joblib's own thread reports workers that were stopped: its caller does."""
    if error.thread is None or error.thread.name != "ExecutorManagerThread":
        threading.__excepthook__(error)


def _fail(message: str, code: int) -> int:
    print("shaketable:", " ".join(message.split()), file=sys.stderr)
    return code
