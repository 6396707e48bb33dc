"""Tiny ImageNet's own layout is the same data as a folder of images by class."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.data import folders
from shaketable.data.files import load

CLASSES = ("n02124075", "n01443537", "n04067472")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Four training and two validation images per class, and a test part without labels."""
    root = tmp_path / "tiny-imagenet-200"
    images = iter(make_images(24, 8, 8))
    for label in CLASSES:
        folder = root / "train" / label / "images"
        folder.mkdir(parents=True)
        (root / "train" / label / f"{label}_boxes.txt").write_text("a\t0\t0\t1\t1\n")
        for i in range(4):
            Image.fromarray(next(images)).save(folder / f"{label}_{i}.JPEG")
    for part, n in (("val", 6), ("test", 2)):
        folder = root / part / "images"
        folder.mkdir(parents=True)
        for i in range(n):
            Image.fromarray(next(images)).save(folder / f"{part}_{i}.JPEG")
    rows = [f"val_{i}.JPEG\t{CLASSES[i % 3]}\t0\t0\t7\t7\n" for i in range(6)]
    (root / "val" / "val_annotations.txt").write_text("".join(rows))
    (root / "wnids.txt").write_text("".join(f"{label}\n" for label in CLASSES))
    (root / "words.txt").write_text("n01443537\tgoldfish, Carassius auratus\n")
    return root


def test_it_equals_the_same_images_by_class(tiny: Path, tmp_path: Path) -> None:
    data = load(tiny)
    assert (data.name, data.n, data.n_train) == ("tiny-imagenet-200", 18, 12)
    assert data.classes == tuple(sorted(CLASSES))
    for i in range(6):
        place = tmp_path / "sorted" / CLASSES[i % 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"val_{i}.JPEG").write_bytes((tiny / f"val/images/val_{i}.JPEG").read_bytes())
    by_class = load(tiny / "train", test=tmp_path / "sorted")
    assert data.fingerprint == by_class.fingerprint
    assert data.files == by_class.files, "which published sets are matched by"
    val = load(tiny / "val")
    np.testing.assert_array_equal(val.x, data.x[12:])
    assert val.n_train is None


def test_only_images_that_are_drawn_are_read(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load(tiny).sample(4, seed=1)
    read: list[Path] = []
    plain = folders._read_images
    monkeypatch.setattr(folders, "_read_images", lambda paths: read.extend(paths) or plain(paths))
    some = load(tiny, points=4, seed=1)
    assert len(read) == 12 + 4
    assert (some.fingerprint, some.name) == (expected.fingerprint, expected.name)
    assert (some.files, some.parts_before, some.sampled) == (expected.files, (12, 6), True)
    np.testing.assert_array_equal(some.kept, expected.kept)


def test_what_is_missing_is_named(tiny: Path) -> None:
    (tiny / "val/images/val_3.JPEG").unlink()
    with pytest.raises(InputError, match=r"lacks 1 of the 6 images that .* names: val_3.JPEG; get"):
        load(tiny)
    labels = tiny / "val/val_annotations.txt"
    labels.write_text("val_0.JPEG\tn1\nval_1.JPEG\n")
    with pytest.raises(InputError, match="a tab between, in every line, and line 2 has not"):
        load(tiny)
    labels.write_text("../../x.JPEG\tn1\n")
    with pytest.raises(InputError, match="line 1 has not"):
        load(tiny)
    labels.write_text("")
    with pytest.raises(InputError, match="names no images"):
        load(tiny)
    with pytest.raises(InputError, match="label is for tables, and this is Tiny ImageNet"):
        load(tiny, label="x")
