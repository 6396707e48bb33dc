import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import shaketable as st
from helpers.disks import limit_file_size
from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.corruptions.common.severities import NAMES
from shaketable.evaluation.copies import corrupted, write_suite


@pytest.fixture
def images():
    x = np.random.default_rng(0).integers(256, size=(30, 4, 4, 3), dtype=np.uint8)
    return st.make_dataset(x, np.arange(30) % 3, name="images", n_train=20)


def test_a_copy_holds_the_noise_of_evaluate(images):
    seen = []

    def model(x):
        seen.append(x)
        return np.zeros(len(x), int)

    st.evaluate(model, images, ["l2(0.5)"], k=1, seed=3)
    copy = corrupted(images, "l2(0.5)", seed=3)
    np.testing.assert_array_equal(copy.x[20:], seen[-1])
    assert copy.x.dtype == np.float32
    assert 0 <= copy.x.min() <= copy.x.max() <= 1


@pytest.mark.parametrize("values", [100, 1], ids=["two points", "less than a point"])
def test_copies_do_not_depend_on_batches(images, values, monkeypatch):
    whole = corrupted(images, "l1(2)").x
    monkeypatch.setattr("shaketable.evaluation.copies.BATCH_VALUES", values)
    np.testing.assert_array_equal(corrupted(images, "l1(2)").x, whole)


def test_eps_min_is_measured():
    data = st.load("bands(n=200)")
    half = st.separation(data).epsilon_min
    moved = np.abs(corrupted(data, "linf(eps_min)").x - data.x)
    assert 0.9 * half < moved.max() <= half


def test_points_and_labels_are_data_too(images):
    x, y = images.x, images.labels
    np.testing.assert_array_equal(
        corrupted((x, y), "l2(0.5)").x, corrupted(st.make_dataset(x, y), "l2(0.5)").x
    )


def coarse(x):
    """A model that noise easily turns: it counts levels."""
    return np.rint(x.reshape(len(x), -1).sum(axis=1) * 255).astype(int) % 3


def sets(n=40):
    x, y = make_images(n, 16, 16), np.arange(n) % 3
    grey = make_images(n, 12, 9, 1)[..., 0]
    plain = st.make_dataset(x, y, name="plain", n_train=25)
    names = tuple(f"{label}/p{i}.jpg" for i, label in enumerate(y))
    return {
        "uint8 with a test part": plain,
        "all points": replace(plain, n_train=None),
        "floats, channels first": st.make_dataset(
            np.moveaxis(x, -1, 1) / 127.5 - 1, y, name="floats", n_train=25, bounds=(-1, 1)
        ),
        "grey": st.make_dataset(grey, y, name="grey", n_train=25),
        "from files": replace(plain, files=names),
        "grey from files": replace(st.make_dataset(grey, y, n_train=25), files=names),
    }


@pytest.mark.parametrize("kind", sets())
def test_a_written_suite_gives_the_very_hits_of_the_generated_one(kind, tmp_path, monkeypatch):
    data, suite = sets(31)[kind], st.suite("common-19")
    monkeypatch.setattr("shaketable.evaluation.copies.BATCH_VALUES", 4 * data.d)
    folder = write_suite(tmp_path / "c", data, suite, seed=3)
    made = st.evaluate(coarse, data, suite, seed=3, model_id="m")
    read = st.evaluate(coarse, data, suite.with_options(published=folder), model_id="m")
    assert len(made) == len(read) == 96
    for mine, other in zip(made, read, strict=True):
        np.testing.assert_array_equal(mine.hits, other.hits)
    other = st.evaluate(coarse, data, suite, seed=4, model_id="m")
    assert any(not np.array_equal(a.hits, b.hits) for a, b in zip(made, other, strict=True))


def test_the_layout_is_that_of_cifar_10_c(tmp_path):
    data = sets()["uint8 with a test part"]
    folder = write_suite(tmp_path / "a" / "c", data, st.suite("common-19"))
    assert {p.name for p in folder.iterdir()} == {
        *(f"{name}.npy" for name in NAMES),
        "labels.npy",
        "manifest.json",
    }
    fog = np.load(folder / "fog.npy")
    assert fog.shape == (75, 16, 16, 3)
    assert fog.dtype == np.uint8
    labels = np.load(folder / "labels.npy")
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, np.tile(data.y[25:], 5))
    for severity in (1, 5):
        expected = st.corrupted(data, f"contrast({severity})", draws="ladder").x[25:]
        found = np.load(folder / "contrast.npy")[(severity - 1) * 15 : severity * 15]
        np.testing.assert_array_equal(found, np.rint(expected * 255))


def test_the_manifest_tells_how(tmp_path):
    data = sets()["uint8 with a test part"]
    folder = write_suite(tmp_path / "c", data, st.suite("common-19"), seed=5)
    about = json.loads((folder / "manifest.json").read_text())
    assert about["fingerprint"] == data.fingerprint
    assert (about["seed"], about["draws"], about["first_row"]) == (5, "ladder", 25)
    assert about["corruptions"][0] == "gaussian_noise(1, 16px)"
    assert about["severities"] == "interpolated"
    assert about["frost"]["textures"] == "drawn by shaketable"
    assert about["versions"]["shaketable"] == st.__version__
    assert len(about["sha256"]) == 20
    for name, checksum in about["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == checksum


def test_images_from_files_become_lossless_files(tmp_path):
    data = sets()["from files"]
    folder = write_suite(tmp_path / "c", data, st.suite("common-15"))
    found = sorted(p.relative_to(folder).as_posix() for p in folder.glob("fog/3/*/*"))
    assert found == sorted(f"fog/3/{data.y[i]}/p{i}.png" for i in range(25, 40))
    expected = st.corrupted(data, "fog(3)", draws="ladder").x[30]
    with Image.open(folder / f"fog/3/{data.y[30]}/p30.png") as image:
        np.testing.assert_array_equal(np.asarray(image), np.rint(expected * 255))
    about = json.loads((folder / "manifest.json").read_text())
    assert len(about["sha256"]) == 75
    lines = (folder / "fog/3.sha256").read_text().splitlines()
    assert len(lines) == 15
    for line in lines:
        checksum, name = line.split("  ")
        assert hashlib.sha256((folder / "fog/3" / name).read_bytes()).hexdigest() == checksum


def test_frost_from_a_folder_is_recorded(tmp_path):
    (tmp_path / "ice").mkdir()
    Image.fromarray(make_images(1, 60, 80)[0]).save(tmp_path / "ice" / "a.png")
    data = sets()["uint8 with a test part"]
    suite = st.suite("common-15", frost=tmp_path / "ice")
    folder = write_suite(tmp_path / "c", data, suite)
    plain = write_suite(tmp_path / "d", data, st.suite("common-15"))
    one, two = (json.loads((f / "manifest.json").read_text()) for f in (folder, plain))
    assert one["frost"]["textures"] == str(tmp_path / "ice")
    changed = {name for name, h in one["sha256"].items() if two["sha256"][name] != h}
    assert changed == {"frost.npy"}


@pytest.mark.parametrize("form", ["arrays", "pictures"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_leaves_the_folder_as_it_was(tmp_path, form, exists, monkeypatch):
    data, suite = sets()["uint8 with a test part"], st.suite("common-15")
    folder = tmp_path / "c"
    if exists:
        folder.mkdir()
    with limit_file_size(400), pytest.raises(InputError, match="cannot be written"):
        write_suite(folder, data, suite, form=form)
    assert folder.exists() == exists
    assert not list(tmp_path.rglob("*.*"))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("shaketable.evaluation.copies._manifest", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_suite(folder, data, st.suite("common-15"), form=form)
    assert folder.exists() == exists
    assert not list(tmp_path.rglob("*.*"))


def test_what_cannot_be_written_is_refused_before_work(tmp_path):
    data, suite = sets()["uint8 with a test part"], st.suite("common-15")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("precious")
    with pytest.raises(InputError, match="is not empty; name a new one"):
        write_suite(tmp_path / "full", data, suite)
    with pytest.raises(InputError, match="is a file"):
        write_suite(tmp_path / "full" / "a.txt", data, suite)
    with pytest.raises(InputError, match="cannot be written"):
        write_suite(tmp_path / "full" / "a.txt" / "b", data, suite)
    with pytest.raises(InputError, match="is for points of 3072 values"):
        write_suite(tmp_path / "new", data, st.suite("pnorm-cifar"))
    with pytest.raises(InputError, match="is read from a folder of images; copy that folder"):
        write_suite(tmp_path / "new", data, suite.with_options(published="x"))
    for odd in (None, "declared"):
        floats = st.make_dataset(data.x * 1.0, data.y, name="no range")
        with pytest.raises(InputError, match="needs a finite value range"):
            write_suite(tmp_path / "new", floats, suite, bounds=odd)
    with pytest.raises(InputError, match="is for images"):
        write_suite(tmp_path / "new", st.load("digits"), suite, bounds=(0, 16))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize(
    "name", ["../../evil", "/evil", "", ".", "..", "a/b", "a\\b", "a\0b", "a\nb", "\ud800", "CAT"]
)
def test_a_class_cannot_lead_out_of_the_folder(name, common, tmp_path):
    name = f"{tmp_path}/evil" if name == "/evil" else name
    data = replace(sets()["uint8 with a test part"], classes=("cat", "dog", name))
    suite = st.suite("common-15") if common else st.grid(["sp(0.1)"], ["rotation(30)"])
    with pytest.raises(InputError, match=r"^class .*; rename it, or write arrays$") as error:
        write_suite(tmp_path / "a" / "b" / "c", data, suite, form="pictures")
    assert repr(name) in str(error.value)
    assert list(tmp_path.iterdir()) == [], "refused before anything is written"


def test_classes_of_arrays_may_have_any_name(tmp_path):
    data = replace(sets()["uint8 with a test part"], classes=("cat", "CAT", "../evil"))
    folder = write_suite(
        tmp_path / "a", data, st.grid(["sp(0.1)"], ["rotation(30)"]), form="arrays"
    )
    assert list(tmp_path.iterdir()) == [folder]
    assert json.loads((folder / "manifest.json").read_text())["classes"][2] == "../evil"


def test_a_file_name_cannot_lead_out_of_the_folder(tmp_path):
    data = sets()["from files"]
    for stem in ("a\\b", "a\0b"):
        odd = replace(data, files=(*data.files[:-1], f"0/{stem}.jpg"))
        with pytest.raises(InputError, match=r"^file .* cannot name a file or folder; rename it$"):
            write_suite(tmp_path / "c", odd, st.grid(["sp(0.1)"], ["rotation(30)"]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["arrays", "pictures"])
def test_sets_that_differ_only_by_case_are_refused(form, tmp_path):
    data = sets()["uint8 with a test part"]
    names = ("rotation(30) as turn", "rotation(40) as Turn")
    suite = replace(st.grid(["sp(0.1)"], ["rotation(30)"]), names=names)
    with pytest.raises(InputError, match=r"^set 'Turn' and set 'turn' differ only by case"):
        write_suite(tmp_path / "c", data, suite, form=form)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("arrays", ["labels"]),
        ("arrays", ["Labels"]),
        ("pictures", ["manifest.json"]),
        ("pictures", ["turn", "turn.sha256"]),
    ],
)
def test_sets_that_would_replace_another_file_are_refused(form, names, tmp_path):
    data = sets()["uint8 with a test part"]
    specs = tuple(f"rotation({30 + i}) as {name}" for i, name in enumerate(names))
    suite = replace(st.grid(["sp(0.1)"], ["rotation(30)"]), names=specs)
    with pytest.raises(InputError, match=f"^set '{names[-1]}' would replace another file; name it"):
        write_suite(tmp_path / "c", data, suite, form=form)
    assert list(tmp_path.iterdir()) == []


def test_an_array_has_its_name_only_when_it_is_whole(tmp_path, monkeypatch):
    data, suite = sets()["uint8 with a test part"], st.suite("common-15")
    names = []

    def stop(*_):
        names.extend(path.name for path in (tmp_path / "c").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr("shaketable.evaluation.copies.Plan.to_written", stop)
    with pytest.raises(KeyboardInterrupt):
        write_suite(tmp_path / "c", data, suite)
    assert "gaussian_noise.npy" not in names
    assert len(names) == 2, "the labels, and the array that was begun"


def read(folder, name):
    return np.load(folder / f"{name}.npy")


def test_every_two_factor_set_is_an_array_of_what_models_meet(tmp_path):
    data, suite = sets()["uint8 with a test part"], st.suite("two-factor")
    folder = write_suite(tmp_path / "c", data, suite, seed=3)
    about = json.loads((folder / "manifest.json").read_text())
    names = [display_name(spec) for spec in suite.names]
    assert [one["name"] for one in about["sets"]] == names
    assert [one["spec"] for one in about["sets"]] == list(suite.names)
    assert {one["seed"] for one in about["sets"]} == {3}
    for one in about["sets"]:
        content = (folder / one["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == one["sha256"]
    np.testing.assert_array_equal(read(folder, "clean"), data.x[25:])
    np.testing.assert_array_equal(np.load(folder / "labels.npy"), data.y[25:])
    cells = st.evaluate(coarse, data, suite, seed=3, model_id="m")
    assert len(cells) == 69
    for cell in cells:
        x = read(folder, display_name(cell.corruption))
        assert x.dtype == np.uint8
        np.testing.assert_array_equal(coarse(x / np.float32(255)) == data.y[25:], cell.hits)


def test_training_sets_are_made_of_the_training_part(tmp_path):
    data = sets()["uint8 with a test part"]
    folder = write_suite(tmp_path / "c", data, st.suite("two-factor-train"))
    assert len(list(folder.glob("*.npy"))) == 10
    np.testing.assert_array_equal(read(folder, "clean"), data.x[:25])
    turned = st.corrupted(data, "rotation(-30)").x[:25]
    np.testing.assert_array_equal(read(folder, "RL30"), np.rint(turned * 255))


@pytest.mark.parametrize("kind", ["uint8 with a test part", "from files"])
def test_a_set_can_be_a_folder_of_images(kind, tmp_path):
    data = sets()[kind]
    suite = st.grid(["sp(0.1)"], ["rotation(30)"])
    arrays = write_suite(tmp_path / "a", data, suite, form="arrays")
    folder = write_suite(tmp_path / "c", data, suite, form="pictures")
    about = json.loads((folder / "manifest.json").read_text())
    assert [one["file"] for one in about["sets"]] == [
        "clean.sha256",
        "rotation_30.sha256",
        "sp_0.1.sha256",
        "sp_0.1_rotation_30.sha256",
        "rotation_30_sp_0.1.sha256",
    ]
    name = "p30" if data.files else "000030"
    with Image.open(folder / "sp_0.1_rotation_30" / f"{data.y[30]}" / f"{name}.png") as image:
        np.testing.assert_array_equal(np.asarray(image), read(arrays, "sp_0.1_rotation_30")[5])
    assert len(list(folder.glob("sp_0.1/*/*.png"))) == 15


def test_tables_and_other_noise_are_written_as_floats(tmp_path):
    table = st.load("iris")
    folder = write_suite(tmp_path / "t", table, st.suite("two-factor-table"))
    found = read(folder, "NO0.2MI0.1")
    assert found.shape == (150, 4)
    assert found.dtype == np.float64
    np.testing.assert_allclose(read(folder, "MI0SC1.1"), table.x * 1.1)
    data = sets()["uint8 with a test part"]
    noisy = write_suite(tmp_path / "n", data, st.suite("pnorm"))
    np.testing.assert_array_equal(
        read(noisy, "l2_0.125"), st.corrupted(data, "l2(0.125)", draws="ladder").x[25:]
    )
    with pytest.raises(InputError, match="image files hold 256 levels"):
        write_suite(tmp_path / "p", data, st.suite("pnorm"), form="pictures")


def test_written_sets_are_data_again(tmp_path):
    data = replace(sets()["uint8 with a test part"], classes=("cat", "dog", "eel"))
    train = write_suite(tmp_path / "train", data, st.suite("two-factor-train"))
    test = write_suite(tmp_path / "test", data, st.suite("two-factor"))
    found = st.load(train / "SP0.1.npy", test=test / "RO30SP0.2.npy")
    assert (found.n_train, found.n, found.classes) == (25, 40, ("cat", "dog", "eel"))
    np.testing.assert_array_equal(found.labels, data.labels)
    np.testing.assert_array_equal(found.x[:25], read(train, "SP0.1"))
    np.testing.assert_array_equal(found.x[25:], read(test, "RO30SP0.2"))
    (train / "labels.npy").unlink()
    with pytest.raises(InputError, match="put labels.npy beside"):
        st.load(train / "SP0.1.npy")


def test_a_grid_of_common_corruptions_has_a_file_a_set(tmp_path):
    data = sets()["uint8 with a test part"]
    suite = st.grid(["sp(0.1)"], ["fog(1)", "fog(3)"], orders="given")
    names = {p.stem for p in write_suite(tmp_path / "c", data, suite).glob("*.npy")}
    assert names == {
        "clean",
        "labels",
        "sp_0.1",
        "fog_1_16px",
        "fog_3_16px",
        "sp_0.1_fog_1_16px",
        "sp_0.1_fog_3_16px",
    }
    with pytest.raises(InputError, match="written to a folder"):
        write_suite(tmp_path / "c.npz", data, suite)
