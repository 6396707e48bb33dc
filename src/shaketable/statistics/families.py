"""Which intervals are computed: `own_intervals`, shaketable's, or `standard_intervals`.

Counts are measured once, so the choice is made where results are looked at: it is in force inside
``with use_intervals("standard"):``. What findings keep is kept for each family by itself
(`cached_by_family`), so no table mixes the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar, cast, get_args, overload

from shaketable.core.checks import unknown_name

Family: TypeAlias = Literal["own", "standard"]
FAMILIES: tuple[Family, ...] = get_args(Family)

_Value = TypeVar("_Value")
_chosen: ContextVar[Family] = ContextVar("intervals", default="own")


@contextmanager
def use_intervals(family: str) -> Iterator[None]:
    """Compute confidence intervals by one family of methods, for all that is computed inside.

    Parameters
    ----------
    family
        ``"own"``, the default everywhere: intervals that also cover at high accuracy and for few
        points. ``"standard"``: Clopper–Pearson, Wilson, Tango's score interval, Student's t and the
        bootstrap of points. docs/intervals/ defines and compares both.

    Yields
    ------
    None
        The family that was in force before returns at the end.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(-1, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0, (x, x[:, 0] > 0), "linf(0.2)")
    >>> print(st.metrics.relative_loss(records))
    -0.0440 (95 % interval -0.0727 to -0.0104)
    >>> with st.use_intervals("standard"):
    ...     print(st.metrics.relative_loss(records))
    -0.0440 (95 % interval -0.0720 to -0.0250)
    """
    if family not in FAMILIES:
        raise unknown_name("intervals", family, FAMILIES)
    token = _chosen.set(family)
    try:
        yield
    finally:
        _chosen.reset(token)


def get_family() -> Family:
    """Return the family that is in force.

    >>> with use_intervals("standard"):
    ...     get_family()
    'standard'
    """
    return _chosen.get()


class cached_by_family(Generic[_Value]):  # noqa: N801, used as functools.cached_property is
    """A property that is computed once for each family of intervals.

    >>> class Finding:
    ...     @cached_by_family
    ...     def method(self):
    ...         print("computed")
    ...         return get_family()
    >>> finding = Finding()
    >>> finding.method, finding.method
    computed
    ('own', 'own')
    >>> with use_intervals("standard"):
    ...     finding.method
    computed
    'standard'
    """

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, thing: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, thing: object, owner: type | None = None) -> _Value: ...

    def __get__(self, thing: object | None, owner: type | None = None) -> Self | _Value:
        if thing is None:
            return self
        # the key differs from the name, so that no lookup finds the value without asking here
        key, kept = f"{self.name} ({get_family()})", vars(thing)
        if key not in kept:
            kept[key] = self.compute(thing)
        return cast("_Value", kept[key])
