"""Disk space of a fresh installation, by package, with what each buys and what keeps it.

    python benchmarks/speed/install_weight.py [EXTRA ...]

Builds the wheel, installs it into a new virtual environment, with the extras that are named, and
prints a table in MB (10**6 bytes): files as they are installed, and compiled Python beside them.
Needs the package index; takes a minute.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

BUYS = {
    "llvmlite": "the compiler behind numba",
    "scipy": "distributions behind all intervals, nearest neighbours in few dimensions",
    "vl-convert-python": "charts in pages, as SVG, PNG and PDF, without a network or a browser",
    "pandas": "tables with text, dates and gaps; CSV",
    "numpy": "arrays",
    "scikit-learn": "built-in models and data, preparation of tables",
    "numba": "exact separation, noise and corruptions at the speed of compiled code",
    "pygments": "needed by rich",
    "shaketable": "this package",
    "altair": "describes charts",
    "narwhals": "needed by altair and scikit-learn",
    "rich": "tables and progress bars in the terminal",
    "joblib": "processes; scikit-learn needs it too",
    "jsonschema": "needed by altair",
    "rpds-py": "needed by jsonschema",
    "tzdata": "needed by pandas",
    "jinja2": "templates of pages; altair needs it too",
    "threadpoolctl": "one thread for small products; scikit-learn needs it too",
}
"""What each package is for; others are small."""

_LIST = """
import json
from importlib.metadata import distributions
found = {}
for each in distributions():
    files = [(str(f), f.locate()) for f in each.files or ()]
    sizes = [(name.endswith(".pyc"), path.stat().st_size) for name, path in files if path.is_file()]
    found[each.metadata["Name"].lower().replace("_", "-")] = {
        "version": each.version,
        "files": sum(size for compiled, size in sizes if not compiled),
        "compiled": sum(size for compiled, size in sizes if compiled),
    }
print(json.dumps(found))
"""


def install(folder: Path, extras: list[str]) -> dict[str, dict[str, Any]]:
    """Install the wheel into a new environment, and return sizes and versions by package."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin" / "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    named = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    subprocess.run([*pip, "install", named], check=True)
    command = [environment / "bin" / "python", "-c", _LIST]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return {name: each for name, each in found.items() if name not in ("pip", "setuptools")}


def main() -> None:
    """Print the table, the largest first."""
    with tempfile.TemporaryDirectory() as folder:
        found = install(Path(folder), sys.argv[1:])
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}")
    print("\n| package | MB | compiled Python, MB | what it buys |\n|---|---:|---:|---|")
    total = compiled = 0.0
    small: list[str] = []
    for name, each in sorted(found.items(), key=lambda pair: -pair[1]["files"]):
        total += each["files"] / 1e6
        compiled += each["compiled"] / 1e6
        if each["files"] < 0.5e6 and name not in BUYS:
            small.append(name)
            continue
        sizes = f"{each['files'] / 1e6:.1f} | {each['compiled'] / 1e6:.1f}"
        print(f"| {name} {each['version']} | {sizes} | {BUYS.get(name, '')} |")
    print(f"| all {len(found)} | {total:.0f} | {compiled:.0f} | |")
    print(f"\nIn the sum only, each below 0.5 MB: {', '.join(small)}.")


if __name__ == "__main__":
    main()
