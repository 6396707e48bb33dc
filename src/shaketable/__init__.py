"""How robust is a classifier? Bolt it to a shake table.

Known random noise, of exactly the size that the data themselves allow, and what gives under it::

    import shaketable as st
    print(st.assess(model, (x_train, y_train), (x_test, y_test)))

Names are loaded when they are first used, so that importing the package costs next to nothing;
``__init__.pyi`` lists them. Classes of results, of corruptions and of models are in the packages:
`st.corruptions.PNormNoise`, `st.findings.Results`.
"""

from typing import Any

from shaketable.core.lazy import attach

_get_name, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shaketable")
    return _get_name(name)
