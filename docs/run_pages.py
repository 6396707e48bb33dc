"""Run the code of the documentation, and compare or write what it prints.

    python docs/run_pages.py                             # compare all pages
    python docs/run_pages.py docs/start/table.md         # compare one page
    python docs/run_pages.py --write docs/start/table.md # write the real outputs into it

A page is run from top to bottom in an empty folder. What its blocks do:

- ``python`` with ``>>>``: a doctest; all of a page share their names;
- ``python`` without: code that is run, in which nothing is printed;
- any language, with ``# name.ext`` as its first line: a file that is written;
- ``console``: commands behind ``$``, and what they print; ``$ echo $?`` shows the exit code;
- ``sh``: commands that are not run here. Their flags must be known, and a comment before the block
  says why: ``<!-- not run: needs a cluster -->``. It exempts blocks of other languages, too.

``...`` stands for any text, and white space is not compared.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Threads of small networks would wait for each other, and burn the cores meanwhile."""
WIDTH = "96"
"""Columns of the terminal in which commands print."""

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_FILE = re.compile(r"# ([\w./-]+\.\w+)\n")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SHELL = re.compile(r"[|<>;&*`]|\$\(")


class PageError(AssertionError):
    """A block that fails, or prints something else than the page says."""


@dataclass
class Page:
    """One page that is being run."""

    path: Path
    write: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    code: int = 0
    """Exit code of the last command."""

    def run(self) -> str:
        """Run all blocks in this folder, and return the text with the outputs that they have."""
        text = self.path.read_text(encoding="utf-8")
        done, at = [], 0
        for block in _BLOCK.finditer(text):
            start, end = block.span("text")
            done += [text[at:start], self._run_block(block, text.count("\n", 0, start))]
            at = end
        return "".join([*done, text[at:]])

    def _run_block(self, block: re.Match[str], line: int) -> str:
        language, text = block["language"], block["text"]
        try:
            if language == "sh" or block["reason"]:
                _check_not_run(block)
            elif file := _FILE.match(text):
                path = Path(file[1])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            elif language == "console":
                return self._run_console(text)
            elif language == "python" and ">>> " in text:
                return self._run_doctest(text)
            elif language == "python":
                exec(compile(text, f"{self.path.name}:{line + 1}", "exec"), self.names)
        except Exception as error:
            error.add_note(f"in {self.path}, the block at line {line + 1}")
            raise
        return text

    def _run_doctest(self, text: str) -> str:
        done = []
        for part in doctest.DocTestParser().parse(text, self.path.name):
            if isinstance(part, str):
                done.append(part)
                continue
            prints: list[str] = []
            test = doctest.DocTest([part], self.names, self.path.name, None, part.lineno, None)
            runner = _Runner(prints, optionflags=_FLAGS)
            runner.run(test, out=lambda _: None, clear_globs=False)
            self.names.update(test.globs)
            want = part.want
            if prints:
                want = self._differ(part.source, part.want, prints[0])
            source = part.source.rstrip("\n").split("\n")
            lines = [f"{'...' if i else '>>>'} {each}".rstrip() for i, each in enumerate(source)]
            done.append("\n".join(lines) + "\n" + want)
        return "".join(done)

    def _run_console(self, text: str) -> str:
        done = []
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
        for i, (command, printed) in enumerate(commands):
            wanted, got = printed, self._run_command(command)
            asked = i + 1 < len(commands) and commands[i + 1][0] == "echo $?"
            if self.code and not asked and command != "echo $?":
                raise PageError(f"{command} ended with {self.code}:\n{got}")
            if not doctest.OutputChecker().check_output(wanted, got, _FLAGS):
                wanted = self._differ(command, wanted, got)
            done.append(f"$ {command}\n{wanted}")
        return "".join(done)

    def _run_command(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        words = shlex.split(command.replace("\\\n", " "))
        if words[0] == "shaketable" and not _SHELL.search(
            re.sub(r"'[^']*'|\"[^\"]*\"", "", command)
        ):
            from shaketable.cli.main import main

            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                try:
                    self.code = main(words[1:])
                except SystemExit as error:  # of --help
                    self.code = int(error.code or 0)
            return _strip(out.getvalue())
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        variables = os.environ | {"PATH": path} | ONE_THREAD
        done = subprocess.run(
            ["bash", "-c", command],
            env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
        )  # fmt: skip
        self.code = done.returncode
        return _strip(done.stdout)

    def _differ(self, source: str, wanted: str, got: str) -> str:
        if self.write:
            return got
        raise PageError(f"{source}\nthe page says:\n{wanted}\nbut it prints:\n{got}")


class _Runner(doctest.DocTestRunner):
    """Keeps what an example printed, if that is not what it should."""

    def __init__(self, prints: list[str], **options: Any) -> None:
        super().__init__(verbose=False, **options)
        self.prints = prints

    def report_failure(self, *args: Any) -> None:
        """Keep what was printed."""
        self.prints.append(args[-1])

    def report_unexpected_exception(self, *args: Any) -> None:
        """Let it end the page."""
        raise args[-1][1]


def _strip(text: str) -> str:
    """Return the lines without progress bars, and without white space at their ends."""
    lines = text.rstrip("\n").split("\n") if text else []
    return "".join(f"{line.rstrip()}\n" for line in lines if "━" not in line)


def _check_not_run(block: re.Match[str]) -> None:
    """Check that a block that is not run says why, and that commands in it can be read."""
    if not block["reason"]:
        raise PageError("a block that is not run needs a comment before it, <!-- not run: … -->")
    if block["language"] not in ("sh", "console"):
        return
    from shaketable.cli.commands import COMMANDS
    from shaketable.cli.parser import parse_args

    lines = block["text"].replace("\\\n", " ").splitlines()
    commands = [line.removeprefix("$ ") for line in lines if "shaketable " in line]
    for words in (shlex.split(line, comments=True) for line in commands):
        if words[:1] == ["shaketable"] and words[1] not in ("study", "--help"):
            parse_args(words[1:], COMMANDS)


def list_pages() -> list[Path]:
    """Return the README and all pages of the documentation."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    return [ROOT / "README.md", *sorted(pages)]


@contextlib.contextmanager
def _own_folder() -> Iterator[None]:
    """Work in an empty folder; modules that were imported from there are forgotten."""
    before, path = Path.cwd(), [*sys.path]
    width = os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        os.environ["COLUMNS"] = WIDTH
        sys.path.append("")  # modules that a page writes can be imported, as in a session
        importlib.invalidate_caches()
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = path
            os.environ.pop("COLUMNS")
            if width is not None:
                os.environ["COLUMNS"] = width
            for module in [
                key
                for key, module in sys.modules.items()
                if str(getattr(module, "__file__", None) or "").startswith(os.path.realpath(name))
            ]:
                del sys.modules[module]


def run_page(path: Path, *, write: bool = False) -> str:
    """Run a page in an empty folder, and return it with the outputs that it has."""
    with _own_folder():
        return Page(path, write).run()


def main() -> None:
    """Run the pages that are named, or all."""
    parser = argparse.ArgumentParser(description="Run the code of the documentation.")
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write outputs into the pages")
    args = parser.parse_args()
    os.environ.update(ONE_THREAD)
    failed = 0
    for path in args.pages or list_pages():
        start = sum(os.times()[:4])  # of this process, and of commands that it ran
        try:
            text = run_page(path.resolve(), write=args.write)
        except Exception as error:
            failed += 1
            print(f"{path}: {type(error).__name__}: {error}\n{error.__notes__[0]}")  # type: ignore[attr-defined]
            continue
        if args.write:
            path.write_text(text, encoding="utf-8")
        print(f"{path}: {sum(os.times()[:4]) - start:.1f} CPU s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
