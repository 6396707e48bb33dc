"""The gallery of imperceptible noise: sizes, laws of the surface, and what is shown."""

import pytest

import shaketable as st
from shaketable.reproductions.papers.pnorm import gallery


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(gallery, "_IMAGES", 80)
    monkeypatch.setattr(gallery, "_DEFAULT", "shapes(n=80)")


def test_noise_is_on_the_surface():
    found = st.reproduce("pnorm-fig2")
    assert found.verdict == "holds"
    (change,) = [t for t in found.measured.tables if t.key == "change"]
    laws = {n.row: n.printed.value / 255 for n in change.numbers}
    assert laws["L1"] == pytest.approx(25 / 3072)
    assert laws["L-inf"] == 0.01
    assert laws["L2"] == pytest.approx(0.5 * (2 / (3.141592653589793 * 3072)) ** 0.5, rel=1e-3)


def test_noise_inside_the_ball_is_noticed(monkeypatch):
    monkeypatch.setattr(gallery, "move_to_surface", lambda noise: noise)
    found = st.reproduce("pnorm-fig2")
    failed = {j.claim for j in found.judgements if j.verdict == "fails"}
    assert "noise has exactly the size of its ball" in failed


def test_all_pictures_are_shown():
    found = st.reproduce("pnorm-fig2")
    text = found.measured.figure().to_json()
    assert text.count("data:image/png") == 7
    assert "linf(0.01, vertices)" in text
