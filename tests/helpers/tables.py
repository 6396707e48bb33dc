"""Small tables in files."""

from pathlib import Path

TABLE = "width,height,kind\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n"


def write_table(folder: Path, name: str, text: str = TABLE) -> Path:
    """Write a table to ``folder/name`` and return its path."""
    path = folder / name
    path.write_text(text)
    return path
