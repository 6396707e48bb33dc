"""An installed package with corruptions and suites of its own, for the tests of registries."""

import sys
from textwrap import dedent

NOISE = '''
"""Corruptions of another package."""

from dataclasses import dataclass, replace

import numpy as np

import shaketable as st
from shaketable.corruptions import Corruption


@st.corruption
def rain(x, rng, *, strength, angle=30):
    """Streaks of rain."""
    return x + strength * rng.random(x.shape) + 0.0 * angle


@st.corruption(on_steps=True)
def drift(x, rng, step=0.1):
    return x + step * rng.normal()


def plain(x, rng, strength=1.0):
    return x


@dataclass(frozen=True)
class Shift(Corruption):
    """Every value moved by a constant."""

    amount: float
    bounds: object = None
    ladder = "plugin_package.noise:Shift"

    @property
    def spec(self):
        return f"plugin_package.noise:Shift({self.amount:g})"

    @property
    def size(self):
        return self.amount

    def bind(self, bounds):
        return replace(self, bounds=bounds)

    def apply(self, x, drawn):
        return x + np.asarray(self.amount, x.dtype)


READY = Shift(0.25)
NOTHING = 3

SUITE = st.corruptions.Suite(
    "wet", "two strengths of rain", ("rain(strength=0.1)", "rain(strength=0.2)")
)


def list_of_specs():
    """Rain, and rain after noise."""
    return [rain(strength=0.5), "linf(eps_min)", "linf(0.1) + rain(0.5, angle=1)"]
'''

ENTRY_POINTS = """
[shaketable.corruptions]
rain = plugin_package.noise:rain
broken = plugin_package.missing:rain

[shaketable.suites]
wet = plugin_package.noise:SUITE
"""


def install_noise_plugin(folder, monkeypatch, *registries):
    """Put the package ``plugin_package`` with its entry points on the path, as if installed."""
    package, info = folder / "plugin_package", folder / "plugin_package-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").touch()
    (package / "noise.py").write_text(dedent(NOISE))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(dedent(ENTRY_POINTS))
    monkeypatch.syspath_prepend(folder)
    for registry in registries:  # they look for entry points once
        registry.__dict__.pop("_installed", None)


def remove_noise_plugin(*registries):
    """Forget the package."""
    for name in ("plugin_package.noise", "plugin_package"):
        sys.modules.pop(name, None)
    for registry in registries:
        registry.__dict__.pop("_installed", None)
