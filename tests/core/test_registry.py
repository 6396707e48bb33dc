"""Registries find what is built in, installed by other packages, or referred to by name."""

import sys

import pytest

from helpers.plugin import install_plugin
from shaketable.core.errors import InputError
from shaketable.core.registry import Registry


def make_registry(**options) -> Registry[str]:
    return Registry("test colour", admit=lambda name, thing: f"{name}={thing}", **options)


def test_built_in_things_come_in_order_and_once():
    colours = make_registry()
    colours.add("red", "r")
    colours.add("blue", "b")
    assert list(colours) == ["red", "blue"]
    assert colours.items() == [("red", "r"), ("blue", "b")]
    assert "red" in colours
    with pytest.raises(InputError, match="test colour 'red' is declared already"):
        colours.add("red", "again")
    with pytest.raises(InputError, match="unknown test colour 'rad'; did you mean 'red'"):
        colours.get("rad")


def test_what_is_declared_is_made_once_and_when_it_is_looked_up():
    colours, made = make_registry(), []
    for name in ("red", "blue"):
        colours.declare(name, lambda name=name: made.append(name) or name.upper())
    assert list(colours) == ["red", "blue"]
    assert colours.get("blue") is colours.get("blue") == "BLUE"
    assert made == ["blue"]


def test_homes_are_imported_when_a_name_is_looked_up(tmp_path, monkeypatch):
    (tmp_path / "colour_home.py").write_text("LOADED = True")
    monkeypatch.syspath_prepend(tmp_path)
    colours = make_registry(homes=("colour_home",))
    assert "colour_home" not in sys.modules
    assert "red" not in colours
    assert "colour_home" in sys.modules
    del sys.modules["colour_home"]


def test_things_of_installed_packages_are_converted(tmp_path, monkeypatch):
    colours = make_registry()
    colours.add("red", "r")
    points = {"red": "paint:RED", "green": "paint:GREEN", "broken": "paint:MISSING"}
    install_plugin(
        monkeypatch, tmp_path, colours, name="paint", source="RED = GREEN = 7", entry_points=points
    )
    assert colours.group == "shaketable.test_colours"
    assert sorted(colours) == ["broken", "green", "red"]
    assert (colours.get("red"), colours.get("green")) == ("r", "green=7")
    with pytest.raises(InputError, match="test colour 'broken' of an installed package cannot"):
        colours.get("broken")


def test_a_broken_package_is_listed_with_its_error(tmp_path, monkeypatch):
    colours = Registry("test colour", admit=lambda name, thing: str(1 // thing))
    colours.add("red", "r")
    install_plugin(
        monkeypatch,
        tmp_path,
        colours,
        name="paint",
        source="BLACK, WHITE = 0, 1",
        entry_points={"black": "paint:BLACK", "white": "paint:WHITE", "lost": "paint:LOST"},
    )
    listed = colours.describe(lambda name, colour: {f"{name}()": f"is {colour}"})
    assert (listed["red()"], listed["white()"]) == ("is r", "is 1")
    assert "cannot be used: test colour 'lost' of an installed package" in listed["lost"]
    assert "'black' cannot be used: ZeroDivisionError: integer division" in listed["black"]
    assert len(listed) == 4
    broken = colours.describe(lambda name, colour: {name: colour.about})
    assert broken["red"] == "cannot be used: AttributeError: 'str' object has no attribute 'about'"


def test_references_are_imported():
    colours = make_registry()
    assert colours.get("math:pi") == "math:pi=3.141592653589793"
    for reference, message in {
        "no_such_module:x": "cannot import 'no_such_module'",
        "math:no_such_name": "name an attribute of the module",
        "math.py:pi": "name the module, not its file, as in math:pi",
    }.items():
        with pytest.raises(InputError, match=message):
            colours.get(reference)
