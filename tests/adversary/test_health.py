"""Signs of masked gradients: reported where there are any, and only there."""

import math

import numpy as np
import pytest

from shaketable.core.errors import InputError

torch = pytest.importorskip("torch", reason="torch is not installed")
from helpers.networks import make_classifier, make_keys, make_network, make_points  # noqa: E402
from helpers.regions import make_region  # noqa: E402

health = pytest.importorskip("shaketable.adversary.attacks.health")
nn = torch.nn


def inspect(module, *, p=2.0, epsilon=0.1, n=40, **options):
    x, model = make_points(n, 5), make_classifier(module, 3)
    region = make_region(x, epsilon, dtype="float32", p=p)
    y = model(region.cast_for_model(np.arange(n), x))
    return health.gradient_health(model, region, np.arange(n), y, make_keys(n), **options)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_sound_gradients_show_no_sign(p):
    sound = inspect(make_network(5), p=p)
    assert sound.signs == ()
    assert (sound.points, sound.zero, sound.broken, sound.rising) == (40, 0, 0, 40)
    assert sound.only_random == 0
    assert sound.random <= sound.found < sound.found_farther
    assert str(sound).startswith("No sign of masked gradients at 40 points")
    assert "does not prove" in str(sound)


class Front(nn.Module):
    def __init__(self, front, module, back=lambda scores: scores):
        super().__init__()
        self.front, self.module, self.back = front, module, back

    def forward(self, x):
        return self.back(self.module(self.front(x)))


def test_rounding_in_front_is_reported_by_gradients_of_zero_and_by_random_tries():
    masked = inspect(Front(lambda x: (x * 8).round() / 8, make_network(5)), epsilon=0.2)
    assert (masked.zero, masked.broken) == (40, 0)
    assert masked.random > masked.found
    first, second = masked.signs
    assert first == ("At 40 of 40 points the gradient has no direction: 40 are zero, 0 not finite.")
    assert second.startswith(f"100 random tries per point succeeded at {masked.random} points")
    assert str(masked).endswith("what they did not find is weak evidence of robustness.")


def test_a_saturated_softmax_and_broken_gradients_are_reported():
    sure = Front(lambda x: x, make_network(5), lambda scores: (1000 * scores).softmax(dim=1))
    assert inspect(sure).zero > 20
    root = Front(lambda x: x, make_network(5), lambda scores: scores + 0 * (scores - scores).sqrt())
    broken = inspect(root, tries=5)
    assert broken.broken == 40
    assert "0 are zero, 40 not finite" in broken.signs[0]


def test_a_loss_that_falls_along_its_gradient_is_reported():
    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return -gradient

    wrong = inspect(Front(Reversed.apply, make_network(5)))
    assert wrong.rising < 4
    assert f"raises the loss at {wrong.rising} of 40 points only" in wrong.signs[0]
    assert "only random tries did" in wrong.signs[-1]


def test_points_are_needed():
    with pytest.raises(InputError, match="rows must name points"):
        inspect(make_network(5), n=0)


def test_random_tries_are_as_many_as_asked_for():
    once = inspect(make_network(5), epsilon=2.0, tries=1)
    assert 0 < once.random < 40
    more = inspect(make_network(5), epsilon=2.0, tries=8)
    assert once.random < more.random <= 40
