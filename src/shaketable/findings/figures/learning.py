"""Learning curves of trained networks (Siedel et al. 2024, Fig. 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from shaketable.core.errors import InputError, either
from shaketable.core.spec import display_name
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.models.networks.files import TrainedNetwork, is_network_file, load_network
from shaketable.models.networks.registry import is_network, name_network
from shaketable.views import drawing
from shaketable.views.drawing import WIDTH, Chart, Row, make_tooltip

_HEIGHT = 300
_PARTS = {"accuracy": "training points, with noise", "held_out": "held-out points, clean"}


def draw_learning(*networks: str | Path | TrainedNetwork, trust: bool = False) -> Chart:
    """Accuracy by epoch of trained networks, on training points and on held-out ones (figure 6).

    Parameters
    ----------
    *networks
        Networks that `training.train` returned, their files (``.pt``), or folders of them, such as
        those of ``study --keep-models``. Those of the same network and noise are averaged; a band
        reaches from the lowest to the highest.
    trust
        Whether files whose networks are made by code of other packages are loaded: it runs.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> network = st.training.train("mlp(width=4)", st.load("bands(n=40)"), epochs=1, validate=True)
    >>> type(st.figures.draw_learning(network)).__name__
    '_ConcatChart'
    """
    curves: dict[str, list[list[dict[str, Any]]]] = {}
    for network in _load(networks, trust=trust):
        curve = getattr(network, "curve", None) or network.info.get("curve")
        if curve:
            steps = [step if isinstance(step, dict) else vars(step) for step in curve]
            curves.setdefault(_name(network), []).append(steps)
    rows = [row for name, same in curves.items() for row in _average(name, same)]
    if not rows:
        raise InputError(
            "the figure needs learning curves, and the files hold none; keep what is "
            + either(
                "trained with train -o, or study --keep-models", "trained with study(keep_models=)"
            )
        )
    return drawing.compose_figure(
        [_draw_curves(rows)],
        finding=_describe(rows),
        about="Accuracy after every epoch. Solid: on training points as the network got them; "
        "dashed: on clean points that it was not trained on"
        + ("; bands: lowest to highest of several trainings." if _has_bands(rows) else "."),
    )


def _load(networks: Sequence[str | Path | TrainedNetwork], *, trust: bool) -> list[TrainedNetwork]:
    loaded = []
    for network in networks:
        if isinstance(network, TrainedNetwork):
            loaded.append(network)
            continue
        path = Path(network)
        files = sorted(path.glob("*.pt")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"folder {str(path)!r} must hold files of networks (.pt), got none")
        for file in files:
            if file.suffix != ".pt" and file.exists() and not is_network_file(file):
                raise InputError(
                    "source of learning curves must be a file of a network, as "
                    + either("train -o and study --keep-models write", "study(keep_models=) writes")
                    + f", got {str(file)!r}"
                )
            loaded.append(load_network(file, trust=trust))
    return loaded


def _name(network: TrainedNetwork) -> str:
    noise = str(network.info.get("noise", "clean"))
    spec = network.network
    name = name_network(spec) if is_network(spec) else re.split("[( ]", spec)[0]
    return f"{name}({display_name(noise)})"


def _average(name: str, curves: Sequence[Sequence[dict[str, Any]]]) -> list[Row]:
    """Return the mean over trainings, with its lowest and highest, of every epoch and part."""
    rows: list[Row] = []
    for part, title in _PARTS.items():
        for steps in zip(*curves, strict=False):  # up to the shortest
            values = [100 * step[part] for step in steps if step.get(part) is not None]
            if values:
                mean = sum(values) / len(values)
                row = {"model": name, "part": title, "epoch": steps[0]["epoch"]}
                row |= {"value": mean, "low": min(values), "high": max(values)}
                rows.append(row)
    return rows


def _has_bands(rows: Sequence[Row]) -> bool:
    return any(row["low"] < row["high"] for row in rows)


def _draw_curves(rows: Sequence[Row]) -> Chart:
    colour = drawing.model_colour(row["model"] for row in rows)
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100), nice=False)
    parts = list(_PARTS.values())
    dash = alt.StrokeDash(
        "part:N",
        title=None,
        scale=alt.Scale(domain=parts, range=[[1, 0], [6, 4]]),
        legend=alt.Legend(symbolSize=700, symbolStrokeWidth=2),
    )
    epochs = sorted({row["epoch"] for row in rows})
    every = max(1, epochs[-1] // 8)
    base = drawing.make_chart(rows).encode(
        x=alt.X(
            "epoch:Q",
            title="epoch",
            axis=alt.Axis(format="d", values=[e for e in epochs if e % every == 0]),
            scale=alt.Scale(zero=False, nice=False),
        ),
        color=colour,
        tooltip=make_tooltip(model="network", epoch="epoch", value="accuracy, %"),
    )
    y, low = (alt.Y(f"{n}:Q", title="accuracy, per cent", scale=scale) for n in ("value", "low"))
    marks = base.transform_filter(f"datum.epoch % {every} == 0")
    layers = (
        base.mark_area(opacity=0.1, clip=True).encode(low, alt.Y2("high:Q"), detail="part:N"),
        base.mark_line(strokeWidth=2).encode(y, strokeDash=dash),
        marks.mark_point(filled=True, size=45, opacity=1).encode(
            y, shape=drawing.shape_like(colour)
        ),
    )
    return alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT)


def _describe(rows: Sequence[Row]) -> str:
    """Say how high networks end, on held-out points if they were measured.

    One is ahead only if all its trainings end above those of all others.
    """
    held_out = [row for row in rows if row["part"] == _PARTS["held_out"]] or list(rows)
    last = {row["model"]: row for row in held_out}  # epochs come in order
    best = max(last.values(), key=lambda row: float(row["value"]))
    where = best["part"].partition(",")[0]
    start = f"After {best['epoch']} epochs, accuracy on {where} is"
    if len(last) == 1:
        return f"{start} {best['value']:.1f} %."
    values = [row["value"] for row in last.values()]
    ahead = _has_bands(list(last.values())) and all(
        best["low"] > row["high"] for row in last.values() if row is not best
    )
    rest = (
        f"all trainings of {best['model']} end above those of the others"
        if ahead
        else "their order may be chance"
    )
    return f"{start} {min(values):.1f} % to {max(values):.1f} % for {len(last)} networks; {rest}."


FIGURES.add("learning", FigureKind(draw_learning, source="networks"))
