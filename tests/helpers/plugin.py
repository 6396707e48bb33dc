"""Packages of other people, installed for one test."""

import sys
from importlib import metadata


def install_plugin(monkeypatch, folder, registry, *, name, source, entry_points):
    """Put a package into `folder` as pip would, with entry points in the registry's group.

    `source` is the package's code, `entry_points` maps names to ``package:attribute``.
    """
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{point} = {target}" for point, target in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{registry.group}]", *lines, ""]))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    # a registry reads what is installed only once
    points = {point.name: point for point in metadata.entry_points(group=registry.group)}
    monkeypatch.setitem(vars(registry), "_installed", points)
