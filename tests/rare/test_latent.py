"""Noise made of normal numbers has the law of the corruption."""

import numpy as np
import pytest
from scipy import stats

from shaketable.corruptions import parse
from shaketable.corruptions.only import fit_to_columns
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns
from shaketable.rare.latent import LatentNoise, draw_normals, find_latent

KEYS = np.arange(4000, dtype=np.uint64)


@pytest.mark.parametrize(
    "spec",
    [
        *("l0.5(1)", "l1(1)", "l2(1)", "l10(1)", "l200(1)", "linf(1)", "gaussian(1)"),
        *("l1(1, surface)", "l2(1, surface)", "l10(1, surface)"),
        *("linf(1, surface)", "linf(1, vertices)"),
    ],
)
def test_it_has_the_law_of_the_corruption(spec):
    corruption, d = parse(spec), 5
    latent = find_latent(corruption, d)
    ours = latent(draw_normals(KEYS, latent.dimensions))
    other = corruption.draw(np.zeros((len(KEYS), d)), KEYS + np.uint64(10**6))
    for statistic in (
        lambda x: x[:, 0],
        lambda x: np.abs(x[:, 0]),
        lambda x: np.abs(x).max(axis=1),
        lambda x: np.abs(x[:, 1]) - np.abs(x[:, 2]),
        lambda x: x.sum(axis=1),
    ):
        assert stats.ks_2samp(statistic(ours), statistic(other)).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 50.0])
def test_extreme_numbers_stay_in_the_ball(p):
    latent = LatentNoise(p, 3)
    u = np.array([[-30, 1e-9, -1e-9, 0, 1], [30, 30, 1e-3, -30, 1], [9, 8, -8, 1, 0]])
    norms = np.linalg.norm(latent(u[:, : latent.dimensions]), p, axis=1)
    assert np.isfinite(norms).all()
    assert norms.max() <= 1 + 1e-9
    assert norms[1] > 0.8


def test_what_is_no_noise_of_a_norm_is_not_known():
    for spec in ("rotation(30)", "sp(0.1)", "l2(1) + l2(1)", "l2(1) | clean"):
        assert find_latent(parse(spec), 4) is None
    cut = PNormNoise(2, 0.5).bind(Bounds(0, 1, rule="truncate"))
    assert find_latent(cut, 4) is None
    flat = PNormNoise(np.inf, 0.5).bind(Bounds(0, 1, rule="truncate"))
    assert find_latent(flat, 4) == LatentNoise(np.inf, 4)


def test_of_a_table_only_columns_that_move_count():
    columns = Columns(lambda: np.random.default_rng(0).normal(size=(9, 3)), ("a", "b", "c"))
    corruption = fit_to_columns(parse('l2(1, only="a,c")'), columns)
    assert find_latent(corruption, 3) == LatentNoise(2.0, 2)
