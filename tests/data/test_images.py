"""Points that can be displayed as images."""

from dataclasses import replace

from helpers.pages import make_image_data
from shaketable.data.images import are_images


def test_points_on_no_known_scale_are_no_images() -> None:
    data = make_image_data(24, 6, 5)
    assert are_images(data)
    assert not are_images(replace(data, x=data.x.astype(float)))
    assert not are_images(make_image_data(24, 6))
    assert not are_images(make_image_data(24, 6, 5, 2))
