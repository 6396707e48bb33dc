"""Class-index files: every form that is in use, subsets of their classes, and models of all."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import shaketable as st
from helpers.commands import run_failing, run_json
from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.data.class_index import ClassIndex, name_classes, read_class_index
from shaketable.models.classifier import as_classifier

KEYS = ["n01440764", "n01443537", "n01484850", "n02012849", "n03126707"]
NAMES = ["tench", "goldfish", "great_white_shark", "crane", "crane"]
UNIQUE = (*NAMES[:3], "crane (n02012849)", "crane (n03126707)")
KERAS = {str(i): [key, name] for i, (key, name) in enumerate(zip(KEYS, NAMES, strict=True))}

pytestmark = pytest.mark.usefixtures("own_directory")


def write(content, path="index.json"):
    with open(path, "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def make_folder(path, keys, *, n=2):
    """Folder of images, one subfolder per key; those of class i have brightness 10 i."""
    for key in keys:
        (path / key).mkdir(parents=True)
        for i in range(n):
            image = np.full((8, 8, 3), 20 * KEYS.index(key), np.uint8)
            image[0, 0] = i  # no two are equal
            Image.fromarray(image).save(path / key / f"{i}.png")
    return path


def know_all(x):
    """Scores of five classes: the brightness says which."""
    place = np.asarray(x)[:, 4, 4, 0] * 255 / 20
    return -np.square(place[:, None] - np.arange(5))


@pytest.mark.parametrize(
    ("content", "keys", "names"),
    [
        (KERAS, KEYS, UNIQUE),
        (dict(reversed(KERAS.items())), KEYS, UNIQUE),
        ([*KERAS.values()], KEYS, UNIQUE),
        ({key: i for i, key in enumerate(KEYS)}, KEYS, KEYS),
        ({"0": "tench", "1": "goldfish"}, NAMES[:2], NAMES[:2]),
        (["tench", "goldfish"], NAMES[:2], NAMES[:2]),
        ("tench\ngreat white shark\n\n", ["tench", "great white shark"], None),
        ("\ufeff" + "\n".join(KEYS), KEYS, KEYS),
        ("n01440764 tench, Tinca tinca\nn01443537\tgoldfish\n", KEYS[:2], NAMES[:2]),
    ],
)
def test_every_form_names_the_same_classes(content, keys, names):
    index = read_class_index(Path(write(content)))
    assert index.keys == tuple(keys)
    assert index.names == tuple(names or keys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"0": ', "cannot be read"),
        ({"0": "a", "2": "b"}, "score 1 of 2 has no class; it must be JSON such as"),
        ({"a": 0, "b": 0}, "score 1 of 2 has no class"),
        ({"0": "a", "1": 7}, "got 7 as a class"),
        ({"0": [], "1": "b"}, r"got \[\] as a class"),
        (["a", "b", "a"], "its classes must differ, and 'a.*' is there twice"),
        ("one", "two classes or more"),
        ("", "two classes or more"),
    ],
)
def test_files_that_are_none_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        st.load("iris", class_index=write(content))
    with pytest.raises(InputError, match="class index 'none' cannot be read: .*No such file"):
        st.load("iris", class_index="none")


def test_labels_are_keys_or_names_or_places():
    index = ClassIndex(tuple(KEYS), UNIQUE)
    for labels in (["n01484850", "n01440764"], ["great_white_shark", "tench"], [2, 0], ["2", "0"]):
        data = name_classes(st.make_dataset([[0.0], [1.0], [2.0]], [*labels, labels[0]]), index)
        assert data.classes == ("tench", "great_white_shark")
        assert data.labels.tolist() == ["great_white_shark", "tench", "great_white_shark"]
        assert data.model_classes == UNIQUE
    with pytest.raises(InputError, match="the class index lacks: 'n0148485'.*'n01484850'"):
        name_classes(st.make_dataset([[0.0], [1.0]], ["n0148485", "n01440764"]), index)


def test_a_folder_with_some_classes_goes_with_a_model_of_all(tmp_path):
    folder = make_folder(tmp_path / "val", [KEYS[4], KEYS[1], KEYS[2]])
    data = st.load(folder, class_index=write(KERAS))
    assert data.classes == ("goldfish", "great_white_shark", "crane (n03126707)")
    assert data.files[-1] == "n03126707/1.png"
    assert as_classifier(know_all, data)(data.rows(slice(None))).tolist() == data.y.tolist()
    wrong = as_classifier(lambda x: np.roll(know_all(x), -1, axis=1), data)
    assert wrong(data.rows(slice(None))).tolist() == [-1, -1, 0, 0, -1, -1]
    (note,) = wrong.notes
    assert note == (
        "5 classes are known to the model, 2 of which the data lack; answers of them are wrong"
    )
    for answer in (
        lambda x: know_all(x).argmax(1),
        lambda x: np.array(UNIQUE)[know_all(x).argmax(1)],
    ):
        labels = as_classifier(answer, data)
        assert labels(data.rows(slice(None))).tolist() == data.y.tolist()
    of_three = as_classifier(lambda x: know_all(x)[:, [1, 2, 4]], data)  # trained on these data
    assert of_three(data.rows(slice(None))).tolist() == data.y.tolist()


def test_the_order_of_an_index_is_part_of_what_decides(tmp_path):
    folder = make_folder(tmp_path / "val", KEYS[:3])
    found = []
    for i, order in enumerate([[0, 1, 2, 3, 4], [0, 1, 2, 4, 3], [0, 1, 4, 3, 2]]):
        content = {str(place): list(KERAS.values())[j] for place, j in enumerate(order)}
        data = st.load(folder, class_index=write(content, f"{i}.json"))
        model = {"model_id": "brightness", "store": "results.db"}
        found += [st.evaluate(know_all, data, "clean", **model).cells[0]]
    assert [cell.accuracy for cell in found] == [1, 1, pytest.approx(2 / 3)]
    assert len({cell.key for cell in found}) == 3


def test_scores_of_other_classes_can_be_left_out(tmp_path):
    data = st.load(make_folder(tmp_path / "val", KEYS[1:3]), class_index=write(KERAS))
    x = data.rows(slice(None))

    def beside(x):  # most likely is a class that the data lack, then the true one
        return np.exp(know_all(x)) + 2 * np.eye(5)[3]

    shares = lambda x: beside(x) / beside(x).sum(axis=1, keepdims=True)  # noqa: E731
    assert as_classifier(shares, data)(x).tolist() == [-1] * 4
    for scores in (shares, lambda x: np.log(beside(x))):
        model = as_classifier(st.adapt(scores, restrict_classes=True), data)
        assert model(x).tolist() == data.y.tolist()
        assert model.notes[0].endswith("3 of which the data lack; their scores are left out")
        record, *_ = st.evaluate(st.adapt(scores, restrict_classes=True), data, "clean")
        expected = shares(x)[:, 1:3] / shares(x)[:, 1:3].sum(axis=1, keepdims=True)
        assert np.allclose(record.answers.scores[:, 0], expected, atol=1e-6)
    with pytest.raises(InputError, match="must give scores to be restricted"):
        as_classifier(st.adapt(lambda x: shares(x).argmax(1), restrict_classes=True), data)(x)


@pytest.mark.parametrize("softmax", [False, True])
def test_a_module_is_restricted_in_itself(tmp_path, softmax):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data = st.load(make_folder(tmp_path / "val", KEYS[1:3]), class_index=write(KERAS))
    torch.manual_seed(0)
    layers = [torch.nn.Flatten(), torch.nn.Linear(192, 5)]
    net = torch.nn.Sequential(*layers, *[torch.nn.Softmax(dim=1)] * softmax)
    model = as_classifier(st.adapt(net, restrict_classes=True), data)
    answer = model.start(data.rows(slice(None)), scored=True)()
    assert (answer.scores.shape, answer.columns) == ((4, 2), (0, 1))
    points = torch.tensor(data.rows(slice(None))).permute(0, 3, 1, 2)
    expected = torch.nn.Sequential(*layers)(points)[:, 1:3].softmax(1).detach().numpy()
    found = np.exp(answer.scores) / np.exp(answer.scores).sum(axis=1, keepdims=True)
    assert np.allclose(found, expected, atol=1e-5)
    free = as_classifier(net, data)
    assert free.identity != model.identity
    assert free.start(data.rows(slice(None)), scored=True)().scores.shape == (4, 5)


def test_the_command_line_takes_an_index(tmp_path, capsys):
    make_folder(tmp_path / "val", KEYS[1:4])
    with open("mine.py", "w") as file:
        file.write(
            "import numpy as np\ndef answer(x):\n"
            "    place = np.asarray(x)[:, 4, 4, 0] * 255 / 20\n"
            "    return -np.square(place[:, None] - np.arange(5)) + [0, 0, 0, 0, 2.5]\n"
        )
    data = ("--data", tmp_path / "val", "--class-index", write(KERAS))
    command = ("evaluate", *data, "--model", "mine:answer", "--quiet", "--k", "1")
    assert run_json(capsys, *command)["models"][0]["cells"][0]["mean"] == pytest.approx(
        66.67, abs=0.01
    )
    found = run_json(capsys, *command, "--restrict-classes")
    assert found["models"][0]["cells"][0]["mean"] == 100
    assert "cannot be read" in run_failing(capsys, *command[:4], "none", *command[5:])


def test_names_of_an_index_reach_networks_that_are_trained(tmp_path):
    x, y = make_images(40, 8, 8, 3), np.array(KEYS)[np.arange(40) % 3]
    np.savez("d.npz", x=x, y=y)
    data = st.load("d.npz", class_index=write(KERAS), points=20)
    assert data.classes == UNIQUE[:3]
    assert data.sampled
    assert data.model_classes == UNIQUE
