"""Reproductions that are registered for one test."""

import numpy as np
import pytest

from shaketable.reproductions import registry
from shaketable.reproductions.claims import Within
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.registry import REPRODUCTIONS, Form, Measured


@pytest.fixture
def throw_away(monkeypatch):
    """Register a reproduction of a number, whose claim is that it is positive; forget it after."""
    assert [*REPRODUCTIONS]
    monkeypatch.setattr(REPRODUCTIONS, "_declared", {**REPRODUCTIONS._declared})
    asked = []

    def register(value=1.0, *, name="pnorm-made-up", forms=("full",), errata=(), **measured):
        claims = [Within("the number is positive", "t: a", low=0)]
        form = Form(about="made up", takes="no time", claims=claims, deviations=["All is made up."])

        @registry.declare(
            name,
            place="Table 0",
            about="a number",
            forms=dict.fromkeys(forms, form),
            takes=("data", "runs", "norm", "draws"),
            errata=errata,
        )
        def measure(each):
            asked.append(each)
            number = Number("a", value, Printed(2.0, 0.5, 10))
            return Measured(tables=[NumberTable("t", "Numbers", [number])], **measured)

        return asked

    return register


@pytest.fixture
def runs():
    """Values of five runs, all positive."""
    return np.array([2.0, 2.1, 2.2, 1.9, 1.8])
