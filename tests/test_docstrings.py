"""Every public callable says what it takes and returns, and shows it in an example that runs.

The rules are numpydoc's. A method may be shown in the example of its class, and one that overrides
a method of another class of ours is described there. Classes of results are made by functions, so
their fields need not be listed as parameters.
"""

import inspect
import re

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import shaketable

SECTIONS = {
    "GL08",  # no docstring
    "SS01",  # no summary
    "PR01",  # parameters that are not described
    "PR02",  # unknown parameters that are described
    "PR07",  # a parameter without description
    "RT01",  # no Returns
    "RT03",  # a return value without description
    "YD01",  # no Yields
    "EX01",  # no Examples
}
PARAMETERS = {"PR01", "PR02"}


def list_public(module, name):
    """Public functions and classes of a module and of the modules that it names."""
    for member in module.__all__:
        value = getattr(module, member)
        if inspect.ismodule(value):
            yield from list_public(value, f"{name}.{member}")
        elif inspect.isclass(value) or inspect.isfunction(value):
            yield f"{name}.{member}", value


def list_methods(cls):
    """Public methods that a class adds to those of its bases."""
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("shaketable")]
    for name, member in vars(cls).items():
        method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        added = not any(name in vars(base) for base in bases)
        if inspect.isfunction(method) and added and not name.startswith("_"):
            yield name, method


def is_result(cls):
    """Whether callers get such objects, and need not make them."""
    return issubclass(cls, BaseException) or cls.__name__ in RESULTS


RESULTS = {
    "AdversarialAccuracy", "Assessment", "Audit", "Certificates", "Check", "Correlation",
    "Corruption", "Dataset", "Distances", "Effects", "Forecast", "Hardening", "OneNN", "Overlap",
    "Record", "Records", "Reproduced", "Rerun", "Results", "Separation", "Trained",
    "VolumeFactor", "WorstCase",
}  # fmt: skip

PUBLIC = {value: name for name, value in list_public(shaketable, "st")}
METHODS = {
    f"{name}.{method}": (cls, function)
    for cls, name in PUBLIC.items()
    if inspect.isclass(cls)
    for method, function in list_methods(cls)
}


def find_faults(thing):
    """What numpydoc misses, by its codes."""
    return dict(validate(get_doc_object(thing))["errors"])


@pytest.mark.parametrize("thing", PUBLIC, ids=PUBLIC.values())
def test_public_functions_and_classes_are_described(thing):
    faults = find_faults(thing)
    ignored = PARAMETERS if inspect.isclass(thing) and is_result(thing) else set()
    assert {c: text for c, text in faults.items() if c in SECTIONS - ignored} == {}
    assert ">>>" in inspect.getdoc(thing)


@pytest.mark.parametrize("name", METHODS)
def test_public_methods_are_described(name):
    cls, method = METHODS[name]
    faults = find_faults(method)
    if re.search(rf"\.{method.__name__}\(", inspect.getdoc(cls)):
        faults.pop("EX01", None)
    assert {c: text for c, text in faults.items() if c in SECTIONS} == {}
