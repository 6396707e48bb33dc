"""Compiled loops that draw ice crystals, as feathers, into a height map."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import math

import numba
import numpy as np

_GOLDEN = 0.6180339887498949  # multiples modulo 1 are spread evenly, so that barbs differ
_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def draw_feathers(land, uniform, lengths, angle, spacing, bend):
    """Draw one feather per row of eight uniform numbers, each over the previous ones.

    A feather is a bent stem with barbs on both sides, at an `angle` to it and `spacing` apart,
    which become shorter towards its tip; sizes are between the two `lengths`. The map is periodic.
    """
    height, width = land.shape
    for i in range(len(uniform)):
        u = uniform[i]
        y, x, heading = u[0] * height, u[1] * width, 2 * math.pi * u[2]
        length = lengths[0] + (lengths[1] - lengths[0]) * u[3] * u[3]
        turn, bright = bend * (2 * u[4] - 1) / length, 0.5 + 0.5 * u[5]
        reach, slant = length * (0.25 + 0.25 * u[6]), angle * (0.8 + 0.4 * u[7])
        steps = np.int64(length / spacing)
        for step in range(steps):
            share = step / steps
            barb = reach * (1 - share) * min(1.0, 0.3 + 4 * share)
            barb *= 0.7 + 0.6 * ((u[6] + _GOLDEN * step) % 1)
            light = bright * (1 - 0.4 * share)
            _stroke(land, y, x, heading, spacing + 1, light, light)
            _stroke(land, y, x, heading + slant, barb, light, 0.45 * light)
            _stroke(land, y, x, heading - slant, barb, 0.8 * light, 0.3 * light)
            y += spacing * math.sin(heading)
            x += spacing * math.cos(heading)
            heading += spacing * turn


@_compiled
def _stroke(land, y, x, heading, length, first, last):
    """Draw a line whose height goes from `first` to `last`, and a groove below it."""
    height, width = land.shape
    dy, dx = math.sin(heading), math.cos(heading)
    for step in range(np.int64(length / 0.7) + 1):
        share = min(1.0, 0.7 * step / length)
        v, u = y + 0.7 * step * dy, x + 0.7 * step * dx
        row, column = np.int64(math.floor(v)), np.int64(math.floor(u))
        value = first + (last - first) * share
        for j in range(2):
            for i in range(2):
                weight = (1 - abs(v - row - j)) * (1 - abs(u - column - i))
                above, below = (row + j) % height, (row + j + 1) % height
                place = (column + i) % width
                land[above, place] += weight * (value - land[above, place])
                land[below, place] *= 1 - 0.25 * weight
