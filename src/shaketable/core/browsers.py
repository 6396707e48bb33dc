"""An installed Chromium, which prints pages to PDF."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from shaketable.core.errors import InputError

VARIABLE = "SHAKETABLE_CHROMIUM"
"""Environment variable with the browser to use."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Commands that are tried, beside those of Edge."""

_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_SECONDS = 900
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--no-pdf-header-footer", "--window-size=1024,1400",
    "--virtual-time-budget=600000",  # of the page's clock, which stands still while it computes
)  # fmt: skip


def find_browser() -> str:
    """Return the path of an installed Chromium or a browser made of it.

    Raises
    ------
    InputError
        If there is none, or the environment variable names none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise InputError(
                f"{VARIABLE} must name an installed Chromium, got {named!r}; correct or unset it"
            )
        return found
    for name in (*NAMES, "microsoft-edge", "msedge", *_PLACES):
        if found := shutil.which(name):
            return found
    raise InputError(
        "a PDF is printed by Chromium, Chrome or Edge, and none was found; install one, name it "
        f"in the environment variable {VARIABLE}, or write .html and print that"
    )


def print_page(page: str, path: Path) -> None:
    """Print an HTML page to a PDF file, its scripts run; it can reach nothing else.

    Parameters
    ----------
    page
        Content of the page.
    path
        File to write.

    Raises
    ------
    InputError
        If no browser is installed, or it does not print.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="shaketable", ignore_cleanup_errors=True) as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        # the sandbox of Chromium does not start for root; the page runs nothing but our scripts
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        words = [
            *(browser, *_FLAGS, *(["--no-sandbox"] if is_root else [])),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", source.as_uri()),
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
                check=False,
            )  # fmt: skip
            said = done.stderr.strip().rpartition("\n")[2]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        if not printed.exists():
            raise InputError(
                f"{browser} did not print the page ({said[-200:]}); name another Chromium in the "
                f"environment variable {VARIABLE}, or write .html and print that"
            )
        shutil.copyfile(printed, path)
