"""Attacks as another package could bring them, good ones and bad ones."""

from dataclasses import dataclass

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult


@dataclass(frozen=True)
class Shift:
    """Add one step to all values, towards the other class."""

    step: float = 0.1
    claims: str = "honest"

    @property
    def spec(self):
        return f"shift(step={self.step:g})"

    def __call__(self, model, region, rows, y, keys):
        moved = region.x[rows] + self.step * np.where(y == 1, -1, 1)[:, None]
        hit = model(region.round_for_model(rows, moved)) != y
        if self.claims == "all":
            hit[:] = True
        if self.claims == "fails":
            raise ZeroDivisionError("no luck")
        if self.claims == "shape":
            moved = moved[:, :1]
        if self.claims == "queries":
            return AttackResult(moved, hit, float("inf"))
        if self.claims == "nothing":
            return None
        low = np.where(hit, 0.0, region.epsilon) if self.claims == "proof" else None
        return AttackResult(moved, hit, len(rows), low)


class Fragile(Shift):
    """An attack that cannot be made."""

    def __init__(self, step=0.1):
        raise ValueError("no\nway")


class Nameless(Shift):
    """An attack whose spec fails."""

    @property
    def spec(self):
        raise RuntimeError("no name")


class Secretive(Shift):
    """An attack that cannot say what it covers."""

    def covers(self, region):
        raise RuntimeError("no idea")


nameless = Nameless()
ready, number = Shift(0.05), 7


def broken(**options):
    """An attack without a spec."""
    return lambda *arguments: None
