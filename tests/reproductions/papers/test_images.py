"""Which data reproductions on images take."""

import numpy as np
import pytest

from helpers.commands import run_failing
from shaketable.reproductions.papers.images import load_images
from shaketable.reproductions.registry import Asked

NAMES = ["mscr-table3", "mscr-fig7", "pnorm-table3", "pnorm-table5", "pnorm-fig6"]


@pytest.mark.parametrize("name", [*NAMES, "twofactor-table3"])
def test_points_in_the_plane_are_refused(capsys, tmp_path, name):
    pytest.importorskip("torch")
    x = np.random.default_rng(0).random((40, 2))
    np.savez(tmp_path / "plane.npz", x=x, y=np.arange(40) % 2)
    path = str(tmp_path / "plane.npz")
    message = run_failing(capsys, "reproduce", name, "--data", path, "--out", str(tmp_path))
    assert "CIFAR-10 or images like it" in message
    assert "points of 2 values" in message


def test_colour_images_are_taken(tmp_path):
    x = np.zeros((6, 8, 8, 3), np.uint8)
    np.savez(tmp_path / "images.npz", x=x, y=[0, 1] * 3)
    assert load_images(Asked(data=str(tmp_path / "images.npz")), "CIFAR-10").n == 6
