"""Augmentations by name."""

import pytest

from shaketable.core.errors import InputError
from shaketable.training.augmentations.auto_augment import AugMix, RandAugment, TrivialAugment
from shaketable.training.augmentations.flip_crop import FlipCrop
from shaketable.training.augmentations.mixup import Mixup
from shaketable.training.augmentations.registry import (
    AUGMENTATIONS,
    as_augmentation,
    describe_augmentations,
    parse_augmentation,
)
from shaketable.training.augmentations.released import TorchvisionAugMix, TorchvisionRandAugment

pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize(
    ("spec", "augmentation", "canonical"),
    [
        ("flipcrop(8)", FlipCrop(8), "flipcrop(padding=8)"),
        ("trivialaugment", TrivialAugment(), "trivialaugment"),
        ("TA", TrivialAugment(), "trivialaugment"),
        ("randaugment(n=2, m=9)", RandAugment(), "randaugment(n=2, m=9)"),
        ("RA(3, 4.5)", RandAugment(3, 4.5), "randaugment(n=3, m=4.5)"),
        ("augmix", AugMix(), "augmix(severity=3, width=3, depth=-1, alpha=1)"),
        ("AM(depth=2)", AugMix(depth=2), "augmix(severity=3, width=3, depth=2, alpha=1)"),
        ("RA-TV", TorchvisionRandAugment(), "tv-randaugment(n=2, m=9)"),
        ("tv-randaugment(3, 4)", TorchvisionRandAugment(3, 4), "tv-randaugment(n=3, m=4)"),
        (
            "AM-TV(depth=2)",
            TorchvisionAugMix(depth=2),
            "tv-augmix(severity=3, width=3, depth=2, alpha=1)",
        ),
        ("mixup(0.2)", Mixup(), "mixup(alpha=0.2)"),
        ("MU", Mixup(), "mixup(alpha=0.2)"),
    ],
)
def test_specs_name_augmentations(spec, augmentation, canonical):
    assert parse_augmentation(spec) == augmentation == as_augmentation(augmentation)
    assert augmentation.spec == canonical
    assert parse_augmentation(canonical) == augmentation


def test_every_augmentation_is_listed_once_with_its_short_name():
    described = describe_augmentations()
    assert described.keys() == {
        "flipcrop(padding=4)",
        "trivialaugment",
        "randaugment(n=2, m=9)",
        "augmix(severity=3, width=3, depth=-1, alpha=1)",
        "tv-randaugment(n=2, m=9)",
        "tv-augmix(severity=3, width=3, depth=-1, alpha=1)",
        "mixup(alpha=0.2)",
    }
    assert described["trivialaugment"].endswith("; short: TA")
    assert AUGMENTATIONS.group == "shaketable.augmentations"


class Darken:
    """Half of the brightness."""

    spec = "darken"
    takes_targets = False

    def __call__(self, x, keys):
        return x / 2


class Nameless:
    """Not an augmentation: it has no spec."""

    def __call__(self, x, keys):
        return x


def test_augmentations_of_other_packages_are_taken(tmp_path, monkeypatch):
    source = (
        "class Darken:\n"
        "    def __init__(self, by=2):\n"
        "        self.by, self.spec, self.takes_targets = by, f'darken(by={by})', False\n"
        "    def __call__(self, x, keys):\n"
        "        return x / self.by\n"
    )
    (tmp_path / "dimming.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    made = parse_augmentation("dimming:Darken(4)")
    assert (made.spec, made(8, None)) == ("darken(by=4)", 2)
    darken = Darken()
    assert as_augmentation(darken) is darken


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mixip", "unknown augmentation 'mixip'; did you mean 'mixup'?"),
        ("mixup(beta=1)", r"mixup\(beta=1\) is not understood; write mixup\(alpha=0.2\)"),
        ("mixup(0)", "alpha must lie between"),
        ("trivialaugment(3)", r"trivialaugment\(3\) is not understood; write trivialaugment"),
        (Nameless(), "must be callable and have a spec"),
    ],
)
def test_others_are_refused_in_one_line(given, message):
    with pytest.raises(InputError, match=message) as error:
        as_augmentation(given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("augmentation", [FlipCrop(), TrivialAugment(), AugMix(), Mixup()])
def test_calls_without_keys_say_what_is_meant_for_loops(augmentation):
    with pytest.raises(InputError, match=r"keys\), one key .* use training.Noise") as caught:
        augmentation([[[0.0]]])
    assert parse_augmentation(str(caught.value).split("'")[1]) == augmentation
