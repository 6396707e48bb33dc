"""Pages are printed by an installed Chromium; without one, the message says what to do."""

import os
from pathlib import Path

import pytest

from helpers.commands import run_failing
from shaketable.core.browsers import VARIABLE, find_browser, print_page
from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.page import report


def make_program(folder: Path, name: str, *lines: str) -> Path:
    """Write an executable script."""
    program = folder / name
    program.write_text("\n".join(["#!/bin/sh", *lines]))
    program.chmod(0o755)
    return program


@pytest.mark.skipif(os.name != "posix", reason="runs shell scripts")
def test_a_browser_is_found_by_name_and_by_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    make_program(tmp_path, "google-chrome")
    assert find_browser() == str(tmp_path / "google-chrome")
    make_program(tmp_path, "chromium")
    assert find_browser() == str(tmp_path / "chromium")
    monkeypatch.setenv(VARIABLE, str(make_program(tmp_path, "mine")))
    assert find_browser() == str(tmp_path / "mine")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(InputError, match=f"{VARIABLE} must name .*none'; correct or unset it"):
        find_browser()


@pytest.mark.skipif(os.name != "posix", reason="runs shell scripts")
def test_a_browser_that_does_not_print_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make_program(tmp_path, "broken", "echo no display >&2", "exit 1")
    monkeypatch.setenv(VARIABLE, str(program))
    with pytest.raises(InputError, match=r"broken did not print the page \(no display\); name"):
        print_page("<p>", tmp_path / "p.pdf")
    assert not (tmp_path / "p.pdf").exists()


def test_without_a_browser_nothing_is_measured_or_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    noise_records: Records,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    try:
        find_browser()
    except InputError:
        pass
    else:
        pytest.skip("a browser is installed outside the path")
    with pytest.raises(InputError, match=r"none was found; install one, .* or write \.html"):
        report(noise_records, tmp_path / "r.pdf")
    words = ["evaluate", "--model", "rf", "--data", "bands(n=60)"]
    files = ["--store", str(tmp_path / "r.sqlite"), "--report", str(tmp_path / "r.pdf")]
    assert f"environment variable {VARIABLE}" in run_failing(capsys, *words, *files)
    assert not list(tmp_path.iterdir())
