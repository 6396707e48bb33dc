from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.corruptions import parse
from shaketable.corruptions.common.corruption import BENCHMARK
from shaketable.corruptions.common.severities import NAMES
from shaketable.corruptions.published import PublishedCorruption, open_published

N = 12


def first_pixel(x):
    """A model that separates images by one value."""
    return (np.rint(x.reshape(len(x), -1)[:, 0] * 255)).astype(int) % 3


@pytest.fixture
def data():
    return st.make_dataset(make_images(30, 8, 8), np.arange(30) % 3, name="tiles", n_train=30 - N)


def write_arrays(folder, data, kinds=NAMES):
    """Random images in the layout of CIFAR-10-C."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    x = {k: rng.integers(256, size=(5 * N, *data.shape), dtype=np.uint8) for k in kinds}
    for kind, array in x.items():
        np.save(folder / f"{kind}.npy", array)
    np.save(folder / "labels.npy", np.tile(data.y[-N:], 5).astype(np.uint8))
    return x


def write_files(folder, data, kinds=NAMES, deeper=""):
    """Random images in the layout of ImageNet-C, as PNG files."""
    rng = np.random.default_rng(0)
    x = {k: rng.integers(256, size=(5, N, *data.shape), dtype=np.uint8) for k in kinds}
    names = [f"{label}/{i}" for i, label in enumerate(data.labels[-N:])]
    for kind, arrays in x.items():
        for severity, array in enumerate(arrays, start=1):
            for name, image in zip(names, array, strict=True):
                path = folder / deeper / kind / str(severity) / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path)
    return x


@pytest.fixture
def named():
    """Data whose images come from files."""
    x, y = make_images(N, 8, 8), np.array(["cat", "dog", "emu"])[np.arange(N) % 3]
    plain = st.make_dataset(x, y, name="pets")
    return replace(plain, files=tuple(f"{label}/{i}.JPEG" for i, label in enumerate(y)))


def test_specs_parse_back():
    one = parse("fog(3, published=CIFAR-10-C)")
    assert one == PublishedCorruption("fog", 3, "CIFAR-10-C")
    for c in (one, one.for_shape((224, 224, 3)), PublishedCorruption("snow", 1, "./7", id="h01")):
        assert parse(c.spec) == c
    assert one.for_shape((3, 224, 224)).spec == "fog(3, imagenet, published=CIFAR-10-C)"
    assert one.ladder == parse("fog(1, published=CIFAR-10-C)").ladder
    assert parse("fog(3, published=a (1)/b+c)").folder == "a (1)/b+c"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fog(6, published=a)", "severity must be"),
        ("fog(1.5, published=a)", "severity must be"),
        ("fog(1, published=a) + linf(0.1)", "must stand alone"),
        ("frost(1, published=a, textures=b)", "not for published ones"),
        ("fog(1, id=h1)", "goes with published="),
        ("fog(1, published=2019)", "cannot be written in a spec"),
        ("fog(1, mars, published=a)", "unknown profile"),
        ("linf(1, published=a)", "takes epsilon"),
    ],
)
def test_odd_specs_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        parse(spec)


@pytest.mark.parametrize("folder", ["a,b", "a=b", "a)b", "a(b", "a)+(b", "1e3", "nan", " a", ""])
def test_folders_that_no_spec_can_tell_are_refused(folder):
    with pytest.raises(InputError, match="cannot be written in a spec"):
        st.suite("common-19", published=folder)


def test_a_model_sees_the_images_of_its_rows(data, tmp_path):
    x = write_arrays(tmp_path / "c", data)
    records = st.evaluate(
        first_pixel, data, st.suite("common-19", published=tmp_path / "c"), k=4, model_id="m"
    )
    assert len(records) == 96
    for record in list(records)[1:]:
        c = parse(record.corruption)
        part = x[c.name][(c.severity - 1) * N : c.severity * N]
        np.testing.assert_array_equal(record.hits, part[:, 0, 0, 0] % 3 == data.y[-N:])
        assert record.k == 1, "the same image again would tell nothing"
    (suite,) = records.suites
    assert suite.derived == ""
    assert suite.specs[0].startswith(f"gaussian_noise(1, 8px, published={tmp_path / 'c'}, id=h")


def test_batches_and_random_splits_change_nothing(data, tmp_path, monkeypatch):
    write_arrays(tmp_path / "c", data)
    specs = [f"fog({s}, published={tmp_path / 'c'})" for s in (2, 5)]
    expected = st.evaluate(first_pixel, data, specs, model_id="m")
    monkeypatch.setattr("shaketable.evaluation.cells.BATCH_ROWS", 5)
    for mine, other in zip(
        expected, st.evaluate(first_pixel, data, specs, model_id="m"), strict=True
    ):
        np.testing.assert_array_equal(mine.hits, other.hits)
    # where a part is drawn at random, rows are those of all points
    test = st.make_dataset(data.x[-N:], data.y[-N:], name="test alone")

    class Model(KNeighborsClassifier):
        def fit(self, x, y):
            return super().fit(x.reshape(len(x), -1), y)

        def predict(self, x):
            return first_pixel(x)

    monkeypatch.setattr("shaketable.data.dataset.TEST_SHARE", 0.5)
    records = st.evaluate(Model(1), test, specs, refit=True)
    for record, whole in zip(list(records)[1:], list(expected)[1:], strict=True):
        assert len(record.points.rows) == N // 2
        np.testing.assert_array_equal(record.hits, whole.hits[record.points.rows])


def test_float_images_in_their_own_range_and_channels_first(data, tmp_path):
    x = write_arrays(tmp_path / "c", data)
    floats = np.moveaxis(data.x, -1, 1).astype(np.float64) * (2 / 255) - 1
    other = st.make_dataset(floats, data.y, name="t", n_train=data.n_train, bounds=(-1, 1))
    seen = []

    def model(points):
        seen.append(points)
        return np.zeros(len(points), int)

    st.evaluate(model, other, f"fog(2, published={tmp_path / 'c'})")
    expected = np.moveaxis(x["fog"][N : 2 * N], -1, 1) * (2 / 255) - 1
    np.testing.assert_allclose(seen[-1], expected, atol=1e-12)
    with pytest.raises(InputError, match="none is declared"):
        st.evaluate(model, other, f"fog(2, published={tmp_path / 'c'})", bounds=None)


def test_tensors_meet_the_same(data, tmp_path):
    torch = pytest.importorskip("torch")
    write_arrays(tmp_path / "c", data)
    (c,) = open_published([parse(f"fog(2, published={tmp_path / 'c'})")], data)
    c = c.bind(data.bounds)
    points, rows = data.rows(np.arange(18, 22)), np.arange(4, dtype=np.uint64)
    np.testing.assert_array_equal(c(torch.from_numpy(points), rows).numpy(), c(points, rows))


@pytest.mark.parametrize("deeper", ["", "weather"])
def test_images_in_folders_are_matched_by_name(named, tmp_path, deeper):
    x = write_files(tmp_path, named, kinds=("fog", "snow"), deeper=deeper)
    specs = [f"{kind}({s}, published={tmp_path})" for kind in ("fog", "snow") for s in (1, 4)]
    order = np.random.default_rng(1).permutation(N)
    mixed = replace(
        named, x=named.x[order], y=named.y[order], files=tuple(named.files[i] for i in order)
    )
    records = st.evaluate(lambda p: np.array(named.classes)[first_pixel(p)], mixed, specs)
    for record in list(records)[1:]:
        c = parse(record.corruption)
        right = x[c.name][c.severity - 1][order][:, 0, 0, 0] % 3 == mixed.y
        np.testing.assert_array_equal(record.hits, right)


def suite_on(data, folder, name="common-19"):
    return st.evaluate(first_pixel, data, st.suite(name, published=folder))


def test_what_is_missing_is_named_with_the_suite_that_fits(data, tmp_path):
    write_arrays(tmp_path / "c", data, kinds=BENCHMARK)
    with pytest.raises(
        InputError, match=r"lacks 4 of 19 .*speckle_noise.npy.*use the suite common-15"
    ):
        suite_on(data, tmp_path / "c")
    assert len(suite_on(data, tmp_path / "c", "common-15")) == 76
    (tmp_path / "c" / "fog.npy").unlink()
    with pytest.raises(InputError, match=r"lacks 1 of 15 kinds .*: fog.npy; get them"):
        suite_on(data, tmp_path / "c", "common-15")
    with pytest.raises(InputError, match="does not exist"):
        suite_on(data, tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no published images"):
        suite_on(data, tmp_path / "empty")


def damage(kind):
    def work(folder):
        path = folder / "fog.npy"
        content, array = path.read_bytes(), np.load(path)
        if kind == "cut off":
            path.write_bytes(content[:-100])
        elif kind == "empty":
            path.write_bytes(b"")
        elif kind == "text":
            path.write_text("404: not found")
        elif kind == "objects":
            np.save(path, np.array([{}], dtype=object))
        elif kind == "short":
            np.save(path, array[:-N])
        elif kind == "floats":
            np.save(path, array / 255)
        elif kind == "size":
            np.save(path, array[:, :7])
        elif kind == "no labels":
            (folder / "labels.npy").unlink()
        elif kind == "few labels":
            np.save(folder / "labels.npy", np.zeros(7, int))
        elif kind == "bad labels":
            (folder / "labels.npy").write_text("?")
        elif kind == "other labels":
            labels = np.load(folder / "labels.npy")
            labels[-1] += 1
            np.save(folder / "labels.npy", labels)

    return work


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cut off", "fog.npy' cannot be read"),
        ("empty", "fog.npy' cannot be read"),
        ("text", "fog.npy' cannot be read"),
        ("objects", "fog.npy' cannot be read"),
        ("short", r"fog.npy holds 48 images, and 5 x 12 are needed"),
        ("floats", r"fog.npy holds float64"),
        ("size", r"fog.npy holds uint8 of shape \(7, 8, 3\)"),
        ("no labels", "labels.npy is missing"),
        ("few labels", "labels.npy holds"),
        ("bad labels", "labels.npy' cannot be read"),
        ("other labels", "labels.npy holds other labels"),
    ],
)
def test_damaged_arrays_are_named_before_any_work(data, tmp_path, kind, message):
    write_arrays(tmp_path / "c", data)
    damage(kind)(tmp_path / "c")

    def model(x):
        raise AssertionError("nothing is measured")

    with pytest.raises(InputError, match=message) as caught:
        st.evaluate(model, data, st.suite("common-19", published=tmp_path / "c"))
    assert "get these files again" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_may_be_the_labels_themselves(data, tmp_path):
    write_arrays(tmp_path / "c", data)
    other = st.make_dataset(data.x, data.y * 10 + 5, name="tens", n_train=data.n_train)
    np.save(tmp_path / "c" / "labels.npy", other.labels[-N:])
    suite = st.suite("common-19", published=tmp_path / "c")
    records = st.evaluate(lambda x: np.full(len(x), 5), other, suite)
    assert len(records) == 1 + 19 * 5
    assert {r.accuracy for r in records} == {np.mean(data.y[-N:] == 0)}
    np.save(tmp_path / "c" / "labels.npy", other.labels[-N:] + 1)
    with pytest.raises(InputError, match="holds other labels"):
        st.evaluate(lambda x: np.full(len(x), 5), other, suite)


def test_faults_in_folders_are_named(named, data, tmp_path):
    folder = tmp_path / "C"
    write_files(folder, named)
    with pytest.raises(InputError, match="was not read from a folder"):
        suite_on(data, folder)
    (folder / "fog" / "2" / "cat" / "3.png").unlink()
    with pytest.raises(InputError, match=r"fog/2/ lacks 1 of 12 test images: cat/3;"):
        suite_on(named, folder)
    path = folder / "fog" / "2" / "cat" / "3.jpg"
    Image.new("RGB", (9, 8)).save(path)
    with pytest.raises(InputError, match=r"3.jpg' must have 8 x 8 pixels .*, got 8 x 9"):
        suite_on(named, folder)
    path.write_text("no image")
    with pytest.raises(InputError, match=r"3.jpg' cannot be read"):
        suite_on(named, folder)
    twice = replace(named, files=("cat/3.png", *named.files[1:]))
    with pytest.raises(InputError, match="got 2 called cat/3"):
        suite_on(twice, folder)


def test_other_images_in_the_same_place_are_measured_anew(data, tmp_path):
    x = write_arrays(tmp_path / "c", data, kinds=("fog",))
    spec = f"fog(2, published={tmp_path / 'c'})"

    def measured():
        return list(
            st.evaluate(first_pixel, data, spec, model_id="m", store=tmp_path / "s.sqlite")
        )[1]

    before = measured()
    assert measured().created == before.created
    np.save(tmp_path / "c" / "fog.npy", 255 - x["fog"])
    after = measured()
    assert after.corruption != before.corruption
    assert not np.array_equal(after.hits, before.hits)
    with pytest.raises(InputError, match="names other images"):
        st.evaluate(first_pixel, data, before.corruption)


def test_they_are_met_in_evaluate_alone(data, tmp_path):
    write_arrays(tmp_path / "c", data)
    spec = f"fog(2, published={tmp_path / 'c'})"
    with pytest.raises(InputError, match="evaluate alone"):
        st.corrupt(data.x, spec, bounds=(0, 255))
    with pytest.raises(InputError, match="copy those files instead"):
        st.corrupted(data, spec)
    with pytest.raises(InputError, match="evaluate alone"):
        st.gallery(data, [spec])


def test_every_view_tells_published_from_generated(data, tmp_path):
    write_arrays(tmp_path / "c", data)
    records = st.Records(())
    for chosen in (st.suite("common-15"), st.suite(f"common-15(published={tmp_path / 'c'})")):
        records += st.evaluate(first_pixel, data, chosen, model_id="m", name="m")
    from helpers.findings import score_boards
    from shaketable.findings.results import find

    words = f"published images from {tmp_path / 'c'}"
    made, read = score_boards(records)
    assert "published images" not in made.sizes
    assert read.sizes == words
    assert [s["published"] for s in find(records).json()["suites"]] == [None, str(tmp_path / "c")]
    page = st.report(records, tmp_path / "p.html", dataset=data).read_text("utf-8")
    assert words in page
    assert f"published images that were read from {tmp_path / 'c'}, not generated" in page
    assert "12 test points, 1 image each." in page
    assert "not read from a published set" in page


def test_alexnets_errors_go_with_published_images_of_224_pixels(tmp_path):
    data = st.make_dataset(np.zeros((2, 224, 224, 3), np.uint8), [0, 1], name="t")
    c = tmp_path / "c"
    c.mkdir()
    for kind in BENCHMARK:
        np.save(c / f"{kind}.npy", np.zeros((10, 224, 224, 3), np.uint8))
    np.save(c / "labels.npy", [0, 1] * 5)
    records = st.evaluate(first_pixel, data, st.suite("common-15", published=c))
    assert st.metrics.mce_alexnet(records).value > 0


def test_suites_of_other_noise_have_no_images():
    with pytest.raises(InputError, match="for suites of common corruptions"):
        st.suite("pnorm-cifar", published="a")
    with pytest.raises(InputError, match="for suites of common corruptions"):
        st.suite("ice", frost="a")
    with pytest.raises(InputError, match="for suites of common corruptions"):
        st.suite("two-factor(jpeg=85)")
    for made in ({"frost": "b"}, {"jpeg": 85}):
        for first, second in (({"published": "a"}, made), (made, {"published": "a"})):
            with pytest.raises(InputError, match="not for published ones"):
                st.suite("common-19", **first).with_options(**second)
        with pytest.raises(InputError, match="not for published ones"):
            st.suite("common-19", published="a", **made)


def test_an_option_of_a_suite_is_given_once(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for written in ("common-19(jpeg=85, published=a)", "common-19(jpeg=85)"):
        with pytest.raises(InputError, match="takes published=, frost= and jpeg="):
            st.suite(written, jpeg=85)
    for option in ("frost", "published"):
        written, called = st.suite(f"common-19({option}=~/c)"), {option: str(tmp_path / "c")}
        assert written == st.suite("common", **called)


def test_images_in_folders_are_those_of_the_test_part(named, tmp_path):
    x = write_files(tmp_path, named, kinds=("fog",))
    before = 5
    classes = np.array(["cat", "dog", "emu"])
    labels = np.concatenate([classes[[0, 1, 2, 0, 1]], named.labels])
    images = np.concatenate([make_images(before, 8, 8), named.x])
    files = (*(f"{label}/t{i}.png" for i, label in enumerate(labels[:before])), *named.files)
    data = replace(st.make_dataset(images, labels, n_train=before), files=files)
    answer = lambda p: classes[first_pixel(p)]  # noqa: E731
    record = st.evaluate(answer, data, f"fog(2, published={tmp_path})").cells[1]
    right = x["fog"][1][:, 0, 0, 0] % 3 == data.y[before:]
    np.testing.assert_array_equal(record.hits, right)


def test_a_sample_of_the_test_part_gets_its_own_images(tmp_path, data):
    x = write_arrays(tmp_path / "c", data, ["fog"])["fog"]
    spec = f"fog(4, published={tmp_path / 'c'})"
    some = data.sample(5, seed=1)
    (fog,) = open_published([parse(spec).for_shape(data.shape)], some)
    images = fog.source.read("fog", 4, np.arange(5))
    np.testing.assert_array_equal(images, x[3 * N + some.test_places])
    whole = st.evaluate(first_pixel, data, spec, model_id="m").cells[1]
    cell = st.evaluate(first_pixel, some, spec, model_id="m").cells[1]
    np.testing.assert_array_equal(cell.hits, whole.hits[some.test_places])
    np.save(tmp_path / "c" / "labels.npy", np.tile(np.roll(data.y[-N:], 1), 5))
    with pytest.raises(InputError, match="other labels than the test part"):
        st.evaluate(first_pixel, some, spec, model_id="m")
