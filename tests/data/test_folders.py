import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

import shaketable as st
from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.data import images
from shaketable.data.files import as_dataset, load
from shaketable.data.folders import load_folder


def fill(folder, *, classes=("cat", "dog"), n=3, size=(9, 12), ending=".png", channels=3):
    """Write n images per class; return all of them in the order of class and name."""
    x = make_images(len(classes) * n, *size, channels)
    for i, image in enumerate(x):
        place = folder / classes[i // n]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[..., 0] if channels == 1 else image).save(
            place / f"p{i % n}{ending}", quality=100
        )
    return x


def test_a_folder_of_images_is_a_data_set(tmp_path):
    x = fill(tmp_path / "pets")
    (tmp_path / "pets" / "notes.txt").write_text("not a class")
    (tmp_path / "pets" / ".cache").mkdir()
    (tmp_path / "pets" / "cat" / "list.txt").write_text("not an image")
    (tmp_path / "pets" / "cat" / "._p0.png").write_text("another system's leftovers")
    data = st.load(tmp_path / "pets")
    assert (data.name, data.classes, data.n_train) == ("pets", ("cat", "dog"), None)
    assert data.files == tuple(f"{c}/p{i}.png" for c in ("cat", "dog") for i in range(3))
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, [0, 0, 0, 1, 1, 1])
    assert data.x.dtype == np.uint8
    assert str(data.bounds) == "clip[0, 1]"
    plain = st.make_dataset(x, data.labels, name="elsewhere")
    assert data.fingerprint == plain.fingerprint, "file names are no part of it"
    assert as_dataset(str(tmp_path / "pets")).n == 6


def test_parts_are_fixed_and_may_be_named(tmp_path):
    fill(tmp_path / "train", n=4)
    fill(tmp_path / "val", n=2)
    data = st.load(tmp_path)
    assert data.n_train == 8
    assert data.name == tmp_path.name
    assert data.files[8:] == ("cat/p0.png", "cat/p1.png", "dog/p0.png", "dog/p1.png")
    again = st.load(tmp_path / "train", test=tmp_path / "val")
    assert again.fingerprint == data.fingerprint
    assert again.name == data.name
    for part, n_train in (("train", 3), ("test", 8)):
        some = st.load(tmp_path, points=3, part=part)
        assert some.fingerprint == data.sample(3, part=part).fingerprint
        assert (some.n_train, some.name) == (n_train, data.sample(3, part=part).name)
        np.testing.assert_array_equal(some.test_places, data.sample(3, part=part).test_places)
    fill(tmp_path / "test")
    with pytest.raises(InputError, match="one test part beside train, got test, train, val"):
        st.load(tmp_path)
    assert st.load(tmp_path / "train", test=tmp_path / "test").n_train == 8
    fill(tmp_path / "elsewhere" / "photos")
    other = st.load(tmp_path / "train", test=tmp_path / "elsewhere" / "photos")
    assert other.name == "photos (training part train)"


def test_a_class_may_be_called_train(tmp_path):
    fill(tmp_path, classes=("bus", "train"))
    assert st.load(tmp_path).classes == ("bus", "train")


def test_a_single_part_is_all(tmp_path):
    fill(tmp_path / "val")
    data = st.load(tmp_path)
    assert (data.n, data.n_train, data.files[0]) == (6, None, "cat/p0.png")


def test_jpeg_files_in_deeper_folders(tmp_path):
    for name in ("cat", "dog"):
        fill(tmp_path / name, classes=("images",), ending=".JPEG")
    data = st.load(tmp_path)
    assert data.classes == ("cat", "dog")
    assert data.files[0] == "cat/images/p0.JPEG"


def test_grey_images_stay_grey_unless_one_has_colours(tmp_path):
    x = fill(tmp_path, channels=1)
    data = st.load(tmp_path)
    assert data.shape == (9, 12)
    np.testing.assert_array_equal(data.x, x[..., 0])
    fill(tmp_path, classes=("emu",))
    data = st.load(tmp_path)
    assert data.shape == (9, 12, 3)
    np.testing.assert_array_equal(data.x[:6], np.repeat(x, 3, axis=3))


@pytest.mark.filterwarnings("error")
def test_palettes_and_transparency(tmp_path):
    fill(tmp_path)
    image = Image.new("RGBA", (12, 9), (10, 20, 30, 7))
    image.save(tmp_path / "cat" / "p0.png")
    image.convert("P").save(tmp_path / "cat" / "p1.png", transparency=bytes([0, 3]))
    np.testing.assert_array_equal(st.load(tmp_path).x[0], np.full((9, 12, 3), [10, 20, 30]))


def test_files_follow_their_rows(tmp_path):
    fill(tmp_path)
    first = (tmp_path / "cat" / "p0.png").read_bytes()
    (tmp_path / "dog" / "p1.png").write_bytes(first)
    data = st.load(tmp_path, drop_clashes=True)
    assert data.files == ("cat/p1.png", "cat/p2.png", "dog/p0.png", "dog/p2.png")
    assert data.scaled().files == data.files
    with pytest.raises(InputError, match="one file per row, got 1 for 6"):
        st.Dataset(
            name="a", x=np.zeros((6, 2)), y=np.arange(6), classes=tuple(range(6)), files=("a",)
        )


def test_odd_images_are_named(tmp_path):
    fill(tmp_path)
    Image.new("RGB", (12, 8)).save(tmp_path / "cat" / "p1.png")
    with pytest.raises(InputError, match=r"1 of 6 do not have 9 x 12 .*p1.png' has 8 x 12"):
        st.load(tmp_path)
    whole = (tmp_path / "dog" / "p1.png").read_bytes()
    for content in (b"no image", b"", whole[:20], whole[: len(whole) // 2]):
        (tmp_path / "cat" / "p1.png").write_bytes(content)
        with pytest.raises(InputError, match=r"p1.png' cannot be read: .*; replace or remove it"):
            st.load(tmp_path)
    Image.fromarray(np.full((9, 12), 1000, np.uint16)).save(tmp_path / "cat" / "p1.png")
    with pytest.raises(InputError, match="more than 8 bits"):
        st.load(tmp_path)


def test_what_is_no_folder_of_classes_is_refused(tmp_path):
    with pytest.raises(InputError, match="one subfolder per class"):
        st.load(tmp_path)
    fill(tmp_path)
    (tmp_path / "emu").mkdir()
    with pytest.raises(InputError, match="these do not: emu; fill or remove"):
        st.load(tmp_path)
    (tmp_path / "emu").rmdir()
    with pytest.raises(InputError, match="leave out label"):
        st.load(tmp_path, label="y")
    table = tmp_path.parent / f"{tmp_path.name}.csv"
    table.write_text("a,y\n1,2\n")
    with pytest.raises(InputError, match="leave out label, and files as test"):
        st.load(tmp_path, test=table)
    with pytest.raises(InputError, match="is a folder; give a file"):
        st.load(table, test=tmp_path, label="y")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_folder(tmp_path / "gone")


def test_pillow_is_asked_for(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"pip install 'shaketable\[image\]'"):
        st.load(tmp_path)


@pytest.mark.parametrize("channels", [1, 3])
def test_png_is_lossless(tmp_path, channels):
    (x,) = make_images(1, 13, 9, channels)
    (tmp_path / "a.png").write_bytes(images.encode_png(x))
    assert images.read_shapes([tmp_path / "a.png"]) == [x.shape]
    np.testing.assert_array_equal(images.read_image(tmp_path / "a.png", channels), x)


def test_an_image_that_declares_a_huge_size_is_refused_without_a_warning(tmp_path):
    fill(tmp_path)
    path = tmp_path / "cat" / "p1.png"
    content = path.read_bytes()
    for width in (10_000, 2**31 - 1):  # Pillow warns of the first, and refuses the second
        header = b"IHDR" + struct.pack(">II", width, 10_000) + content[24:29]
        path.write_bytes(
            content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]
        )
        with pytest.raises(InputError, match=r"p1.png' cannot be read: Image size .*exceeds limit"):
            st.load(tmp_path)
        with pytest.raises(InputError, match=r"p1.png' cannot be read: Image size .*exceeds limit"):
            images.read_images([path], (9, 12, 3))


@pytest.mark.parametrize("options", [{"label": "y"}, {"test": "t.npz"}])
def test_a_folder_has_no_label_and_no_file_as_its_test_part(tmp_path, options):
    fill(tmp_path / "train")
    np.savez(tmp_path / "t.npz", x=np.zeros((2, 9, 12, 3)), y=[0, 1])
    given = {name: tmp_path / v if name == "test" else v for name, v in options.items()}
    with pytest.raises(InputError, match="is a folder of images: .* and files as test$"):
        load(tmp_path / "train", **given)
    fill(tmp_path / "test")
    assert load(tmp_path / "train", test=tmp_path / "test").n_train == 6
