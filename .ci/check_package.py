"""Compare what was built with the source: ``python .ci/check_package.py DIST [--version V]``.

The wheel holds every file of src/shaketable and nothing else. The sdist holds every file of the
repository, so that tests and documentation can be made from it, and nothing else.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]


def list_repository() -> set[str]:
    """Return the files that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def list_source() -> set[str]:
    """Return the files of the package, as they are to be installed."""
    source = ROOT / "src"
    files = (path for path in source.rglob("*") if path.is_file())
    return {f.relative_to(source).as_posix() for f in files if "__pycache__" not in f.parts}


def check_wheel(path: Path) -> Message:
    """Compare a wheel with the source, and return its metadata."""
    with zipfile.ZipFile(path) as file:
        names = {name for name in file.namelist() if not name.endswith("/")}
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = message_from_string(file.read(metadata).decode("utf-8"))
    folder = metadata.partition("/")[0]
    others = {name for name in names if name.startswith(f"{folder}/")}
    compare(path.name, names - others, list_source())
    parts = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    compare(f"{path.name}, {folder}", others, {f"{folder}/{part}" for part in parts})
    return about


def check_sdist(path: Path) -> None:
    """Compare an sdist with the repository."""
    with tarfile.open(path) as file:
        names = {member.name.partition("/")[2] for member in file if member.isfile()}
    compare(path.name, names, list_repository() | {"PKG-INFO"})


def compare(what: str, found: set[str], expected: set[str]) -> None:
    """Raise if two sets of files differ."""
    if found != expected:
        missing, extra = sorted(expected - found), sorted(found - expected)
        raise SystemExit(f"{what}: missing {missing}, not expected {extra}")


def check_text(about: Message) -> None:
    """Raise if the text for PyPI has a link that leads nowhere there."""
    text = about.get_payload()
    assert isinstance(text, str)
    assert text.strip(), "the package has no text"
    links = re.findall(r"\]\(([^)\s]+)|(?:href|src|srcset)=\"([^\"]+)", text)
    relative = [a or b for a, b in links if not re.match(r"[a-z]+:|#", a or b)]
    if relative:
        raise SystemExit(f"links of the text on PyPI must be absolute, got {relative}")


def main() -> None:
    """Check the one wheel and the one sdist in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dist", type=Path)
    parser.add_argument("--version", help="version that it must be, such as that of a tag")
    args = parser.parse_args()
    (wheel,), (sdist,) = args.dist.glob("*.whl"), args.dist.glob("*.tar.gz")
    about = check_wheel(wheel)
    check_sdist(sdist)
    check_text(about)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = args.version or project["version"]
    if about["Version"] != expected:
        raise SystemExit(f"the package must be version {expected}, got {about['Version']}")
    print(f"{wheel.name} and {sdist.name} hold what they should")


if __name__ == "__main__":
    main()
