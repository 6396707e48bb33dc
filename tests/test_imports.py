"""Imports between packages go one way: a package imports those above it in `ORDER` alone."""

import ast
import shutil
from pathlib import Path

import pytest

import shaketable

ROOT = Path(shaketable.__file__).parent

ORDER = (
    "core",
    "statistics",
    "views",
    "data",
    "corruptions",
    "models",
    "separations",
    "evaluation",
    "findings",
    "adversary",
    "rare",
    "training",
    "metrics",
    "activities",
    "reproductions",
    "cli",
)
"""Packages and modules of shaketable; the list in ARCHITECTURE.md has the same order."""


def imported_modules(path):
    """Every shaketable module that a file imports, with the line: anywhere in its syntax tree."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports must be absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "shaketable")


def upward_imports(root):
    """Imports of a package that comes later in `ORDER`, one line each."""
    upward = []
    for path in sorted(root.rglob("*.py")):
        mine = path.relative_to(root).with_suffix("").parts[0]
        if mine in ("__init__", "__main__"):  # the public names are gathered from everywhere
            continue
        for name, line in imported_modules(path):
            package = name.partition(".")[2].partition(".")[0]
            if package not in ORDER:
                upward.append(f"{path.relative_to(root)}:{line} imports {name}, a public name")
            elif ORDER.index(package) > ORDER.index(mine):
                upward.append(f"{path.relative_to(root)}:{line} imports {name}, which is above it")
    return upward


def test_every_package_has_its_place_in_the_order():
    names = {path.stem for path in ROOT.glob("[a-z]*") if path.name != "py.typed"}
    assert names == set(ORDER)


def test_the_architecture_shows_the_same_order():
    picture = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    assert [
        line.split()[0].strip("/").removesuffix(".py") for line in picture.splitlines()[1:]
    ] == [*ORDER]


def test_imports_between_packages_go_one_way():
    assert upward_imports(ROOT) == []


@pytest.mark.parametrize(
    "planted",
    [
        "def f():\n    from shaketable.cli.main import main\n",
        "if TYPE_CHECKING:\n    from shaketable.cli.main import main\n",
        "import shaketable.cli.main\n",
        "class A:\n    def f(self):\n        import shaketable.cli as c\n",
        "from shaketable import evaluate\n",
    ],
    ids=["in a function", "for types only", "plain", "in a method", "a public name"],
)
@pytest.mark.parametrize("module", ["core/norms.py", "corruptions/common/blurs.py"])
def test_an_upward_import_is_found_wherever_it_stands(tmp_path, module, planted):
    path = tmp_path / module
    path.parent.mkdir(parents=True)
    shutil.copy(ROOT / module, path)
    assert upward_imports(tmp_path) == []
    path.write_text(f"{path.read_text()}\n{planted}")
    (upward,) = upward_imports(tmp_path)
    assert upward.startswith(module)
