"""From spec strings to corruptions, and the one-line way to corrupt an array."""

import re
from collections.abc import Callable
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.norms import as_p
from shaketable.core.spec import Call, Value, format_value, parse_call, split_name, split_top_level
from shaketable.corruptions.camera_faults import CameraGaussian, Rotation, SaltPepper
from shaketable.corruptions.common.corruption import CommonCorruption
from shaketable.corruptions.common.severities import NAMES as COMMON
from shaketable.corruptions.compose import NAME_RULE, Named, Sequence
from shaketable.corruptions.corruption import Clean, Corruption
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.published import PublishedCorruption
from shaketable.corruptions.table_faults import Jitter, Missing, Rescaling

CORRUPTION_NAMES = {
    "clean": "no corruption",
    "linf(epsilon)": "noise uniform in the L-inf ball: every value moves by at most epsilon",
    "l2(epsilon)": "noise uniform in the L2 ball",
    "l1(epsilon)": "noise uniform in the L1 ball",
    "lP(epsilon)": "noise uniform in the ball of any other norm, P > 0, such as l0.5 or l10",
    "lP(epsilon, surface)": "noise on the surface of the ball: always of norm epsilon",
    "linf(epsilon, vertices)": "every value moves by epsilon, up or down",
    "l0(share)": "that share of the values is set to the low or high end of the value range",
    "l0(share, uniform)": "that share of the values is set to values uniform in the value range",
    "gaussian(sigma)": "normal noise on every value; gaussian(sigma, mean=M) moves it as well",
    "sp(density)": "salt & pepper: every value turns black or white with that probability",
    "ga(mean, var)": "MATLAB's Gaussian noise, for values in [0, 1]; var is 0.01 if left out",
    "rotation(degrees)": "pictures turned clockwise; rotation(30, bilinear, fill=1): nearest or "
    "bilinear or bicubic, corners from 0 (black) to 1 (white)",
    "jitter(deviations)": "normal noise of that many standard deviations of a value's column",
    "missing(share)": "every value is missing with that probability: set to its column's mean",
    "scaling(factor)": "every value times factor: a wrong gain or unit",
    "KIND(severity)": "common corruption of pictures, severity 1 to 5: " + ", ".join(COMMON),
    "KIND(severity, published=FOLDER)": "the same, read from CIFAR-10-C, ImageNet-C and the like",
    "A + B": "A, then B",
    "A as NAME": "A under a name of its own, with draws of its own",
}
"""What can be written, with its meaning; epsilon may be ``eps_min`` where the data are known."""


def parse(spec: str, *, eps_min: Callable[[float], float] | None = None) -> Corruption:
    """Corruption that a spec string names.

    Parameters
    ----------
    spec
        Such as ``linf(0.1)`` or ``l2(0.5) + linf(eps_min)``.
    eps_min
        What ``eps_min`` stands for in the p-norm, as a function of p; without it the word is an
        error.

    >>> parse("linf(1e-1)").spec
    'linf(0.1)'
    """
    if not isinstance(spec, str):
        raise InputError(f"corruption must be a spec such as 'linf(0.1)', got {spec!r}")
    text, name = split_name(spec)
    if not name and (odd := re.search(r"[)\w]\s+as\s+([^)]*)$", spec)):
        raise InputError(f"{NAME_RULE}, got {odd[1]!r}")
    factors = [_parse_one(parse_call(part), eps_min) for part in split_top_level(text, "+")]
    if not factors:
        raise InputError("corruption must not be empty; write for example linf(0.1)")
    found = factors[0] if len(factors) == 1 else Sequence(tuple(factors))
    return Named(found, name) if name else found


def _parse_one(call: Call, eps_min: Callable[[float], float] | None) -> Corruption:
    if call.name == "clean" and not call.args and not call.options:
        return Clean()
    if call.name in _KINDS:
        kind, names = _KINDS[call.name]
        number, more = _arguments(call, *names)
        return kind(number, **more)
    if call.name in COMMON:
        return _common(call)
    if re.fullmatch(r"l(inf|(\d+(\.\d+)?|\.\d+)(e-?\d+)?)", call.name):
        p = as_p(call.name)
        epsilon, more = _arguments(_filled_in(call, p, eps_min), "epsilon", "kind")
        return PNormNoise(p, epsilon, **more)
    if call.name == "clean":
        raise InputError(f"corruption clean takes nothing, got {call}")
    heads = {name.partition("(")[0] for name in CORRUPTION_NAMES}
    known = {head for head in heads if " " not in head} - {"KIND"} | {*COMMON}
    raise unknown_name("corruption", call.name, known)


_KINDS: dict[str, tuple[Callable[..., Corruption], tuple[str, ...]]] = {
    "l0": (Impulse, ("share", "to")),
    "gaussian": (Gaussian, ("sigma", "mean")),
    "sp": (SaltPepper, ("density",)),
    "ga": (CameraGaussian, ("mean", "var")),
    "rotation": (Rotation, ("degrees", "interpolation", "fill")),
    "jitter": (Jitter, ("deviations",)),
    "missing": (Missing, ("share",)),
    "scaling": (Rescaling, ("factor",)),
}
"""What makes a corruption, and the names of its arguments: the first must be there."""


def _common(call: Call) -> CommonCorruption | PublishedCorruption:
    folders = {name: format_value(v) for name, v in call.options.items() if name in _FOLDERS}
    rest = {name: value for name, value in call.options.items() if name not in _FOLDERS}
    severity, more = _arguments(Call(call.name, call.args, rest), "severity", "profile")
    profile = str(more.get("profile", ""))
    if severity not in range(1, 6):
        raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {severity:g}")
    place = call.name, int(severity)
    if "published" not in folders:
        if "id" in folders and "textures" not in folders:
            raise InputError(f"id goes with published= or textures=, got {call}")
        textures = folders.get("textures", "")
        return CommonCorruption(*place, profile, textures, id=folders.get("id", ""))
    if "textures" in folders:
        raise InputError(f"textures are for pictures made here, not for published ones, got {call}")
    return PublishedCorruption(
        *place, folders["published"], profile=profile, id=folders.get("id", "")
    )


_FOLDERS = ("textures", "published", "id")


def _arguments(call: Call, *names: str) -> tuple[float, dict[str, Any]]:
    """The first argument, a number that must be there, and the others, by place or by name."""
    given: dict[str, Value] = dict(zip(names, call.args, strict=False)) | call.options
    extra = len(given) != len(call.args) + len(call.options)
    if extra or names[0] not in given or not set(given) <= set(names):
        takes = ", then maybe ".join(names)
        raise InputError(f"corruption {call.name} takes {takes}, got {call}")
    value = given.pop(names[0])
    if isinstance(value, str):
        raise InputError(f"corruption {call}: {names[0]} must be a number, got {value!r}")
    return value, given


def _filled_in(call: Call, p: float, eps_min: Callable[[float], float] | None) -> Call:
    """Return the call with the data's number in the place of ``eps_min``."""
    if "eps_min" not in (*call.args, *call.options.values()):
        return call
    if eps_min is None:
        raise InputError(f"{call}: eps_min is known only where data are; give a number")
    value = eps_min(p)
    args = tuple(value if arg == "eps_min" else arg for arg in call.args)
    options = {k: value if arg == "eps_min" else arg for k, arg in call.options.items()}
    return Call(call.name, args, options)
