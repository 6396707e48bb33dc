import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.per_feature import per_feature
from shaketable.evaluation.records import Records
from shaketable.findings.inputs.redrawn_view import _write_pair
from shaketable.models.classifier import as_classifier
from shaketable.views.blocks import Entry, Picture, Sentence, Table
from shaketable.views.images import to_data_uri

RNG = np.random.default_rng(0)
IMAGES = st.make_dataset(RNG.uniform(size=(60, 8, 8)), np.arange(60) % 2, bounds=(0, 1), name="pix")
FRAME = pd.DataFrame(
    {
        "colour": RNG.choice(["red", "blue", "green"], 80),
        "age": RNG.integers(20, 60, 80),
        "income": RNG.uniform(1000, 9000, 80),
    }
)
LABELS = np.where(FRAME["colour"] == "red", "yes", "no")
PRIVATE = "which may be private"


def score_images(x):
    """Class by the brightness of the upper half, with scores."""
    gap = x[:, :4].mean(axis=(1, 2)) - x[:, 4:].mean(axis=(1, 2))
    yes = 1 / (1 + np.exp(-20 * gap))
    return np.stack([1 - yes, yes], axis=1)


def score_rows(frame):
    return np.where(frame["colour"] == "red", "yes", "no")


def label_images():
    right = score_images(IMAGES.x).argmax(axis=1)
    return replace(IMAGES, y=right)


def list_tables(results):
    blocks = results.findings["inputs"].blocks()
    return [b for b in blocks if isinstance(b, Table) and b.title.startswith("points ")]


def find_redrawn(results):
    return results.findings["inputs"].redrawn


@pytest.fixture(scope="module")
def images():
    data = label_images()
    noises = ["linf(0.2)", "linf(0.8)", "sp(0.5)", "gaussian(0.4)"]
    return data, st.evaluate(score_images, data, noises, name="half", k=6, model_id="m")


@pytest.fixture(scope="module")
def rows():
    data = st.make_dataset(FRAME, LABELS, name="people")
    return data, st.evaluate(score_rows, data, "swap(0.6)", name="red", k=6, model_id="m")


def test_examples_are_what_the_model_got_and_answered(images, rows):
    for model, (data, records) in ((score_images, images), (score_rows, rows)):
        ask = as_classifier(model, data)
        for each in find_redrawn(st.find(records).show_inputs(data, 4)).redrawn:
            cell = each.flips.cell
            assert [e.place for e in each.most] == each.flips.rank(4)
            assert [e.place for e in each.least] == each.flips.rank_least(2)
            for example in (*each.most, *each.least):
                row = int(cell.points.rows[example.place])
                np.testing.assert_array_equal(example.clean, data.rows(slice(row, row + 1))[0])
                (code,) = ask(example.corrupted[None])
                assert example.answer == str(data.classes[code])
                wrong = np.flatnonzero(cell.answers.predicted[example.place] != data.y[row])
                draw = wrong[0] if example in each.most else 0
                assert code == cell.answers.predicted[example.place, draw]
                if cell.answers.has_scores:
                    expected = cell.answers.confidence[example.place, draw]
                    assert example.confidence == pytest.approx(float(expected))


def test_the_worst_corruptions_of_a_model_are_shown_and_others_counted(images):
    data, records = images
    results = st.find(records).show_inputs(data, 2)
    shown = [each.flips.cell.corruption for each in find_redrawn(results).redrawn]
    accuracy = {cell.corruption: cell.accuracy for cell in records if not cell.is_clean}
    assert shown == sorted(accuracy, key=accuracy.get)[:3]
    texts = [b.text for b in results.blocks() if isinstance(b, Sentence)]
    assert any("under 3 of 4 corruptions" in text for text in texts)


def test_a_page_holds_the_images_and_says_so(images, tmp_path):
    data, records = images
    plain = st.report(st.find(records), tmp_path / "plain.html", dataset=data).read_text()
    assert PRIVATE not in plain
    assert "data:image/png" not in plain
    results = st.find(records).show_inputs(data, 3)
    page = st.report(results, tmp_path / "page.html").read_text()
    assert page.count(PRIVATE) == 1
    header, _, _ = page.partition("</header>")
    assert "Images of the data are shown here" in header
    example = find_redrawn(results).redrawn[0].most[0]
    for image in (example.clean, example.corrupted):
        assert to_data_uri(image) in page
    assert f"answer {example.answer}" in page
    assert f"confidence {100 * example.confidence:.2f} %" in page
    assert PRIVATE not in str(results.json()), "which holds no images"


def test_images_beyond_their_range_are_clipped_to_be_seen():
    data = replace(label_images(), bounds=None)
    records = st.evaluate(score_images, data, "linf(2)", bounds=None, name="half")
    (table, *_) = list_tables(st.find(records).show_inputs(data))
    pictures = [cell.value for row in table.rows for cell in row if isinstance(cell, Entry)]
    assert sum(isinstance(value, Picture) for value in pictures) == 10


def test_rows_show_the_cells_that_changed_and_no_others(rows):
    data, records = rows
    results = st.find(records).show_inputs(data, 3)
    table = list_tables(results)[0]
    examples = find_redrawn(results).redrawn[0].most
    assert [column.heading for column in table.columns] == ["row", "class", "changed cells"]
    for example, (name, label, cells) in zip(examples, table.rows, strict=True):
        row = int(name.value)
        old, new = data.decode(np.stack([example.clean, example.corrupted])).to_dict("records")
        changed = {key for key in old if old[key] != new[key]}
        texts = cells.about or cells.value
        assert {text.partition(": ")[0] for text in texts.split("; ")} == changed
        assert f"colour: {FRAME['colour'][row]} → {new['colour']}" in texts
        assert label.value == LABELS[row]
        assert label.note.startswith(f"answer {example.answer}")


def test_largest_changes_come_first_in_the_units_of_the_file(tmp_path):
    x = RNG.uniform(size=(50, 12)) * 10.0 ** np.arange(12)
    y = (x[:, 0] > 0.5).astype(int)
    names = tuple(f"f{i}" for i in range(12))
    for data in (
        st.make_dataset(x, y, features=names),
        st.make_dataset(x, y, features=names).scaled(),
        st.make_dataset(pd.DataFrame(x, columns=names), y).scaled(),
    ):
        noise = "jitter(0.9)"
        records = st.evaluate(lambda z: (np.asarray(z)[:, 0] > 0.5).astype(int), data, noise)
        results = st.find(records).show_inputs(data, 2)
        example = find_redrawn(results).redrawn[0].most[0]
        name, _, cells = list_tables(results)[0].rows[0]
        *few, more = cells.value.split("; ")
        texts = cells.about.split("; ")
        assert (few, more) == (texts[: len(few)], f"and {len(texts) - len(few)} more")
        assert len("; ".join(few)) <= 60 < len("; ".join(texts[: len(few) + 1]) + "; ")
        sizes = np.abs(example.corrupted - example.clean) / data.x.std(axis=0)
        found = [int(text.partition(":")[0][1:]) for text in texts]
        assert found == np.argsort(-sizes).tolist()
        before = [float(re.search(r": (\S+) →", text)[1]) for text in texts]
        np.testing.assert_allclose(before, x[int(name.value), found], rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1.0, 1.0 + 1e-9, "1 → 1.000000001"),
        (29.85, 29.8537, "29.85 → 29.8537"),
        (1234567.8, None, "1234568 → missing"),
        (float("nan"), 3, "missing → 3"),
        (np.True_, np.False_, "True → False"),
        ("a", "b", "a → b"),
    ],
)
def test_a_change_has_the_digits_that_it_needs(old, new, expected):
    assert _write_pair(old, new) == expected


def test_rows_are_named_as_in_the_file_where_some_were_dropped():
    x, y = np.linspace(0, 1, 40)[:, None], (np.arange(40) >= 20).astype(int)
    data = st.make_dataset(np.r_[[[0.3], [0.3]], x], np.r_[[0, 1], y]).drop_clashes()
    records = st.evaluate(lambda x: (x[:, 0] > 0.5).astype(int), data, "linf(0.3)")
    (name, *_) = list_tables(st.find(records).show_inputs(data))[0].rows[0]
    assert name.note == f"{int(name.value) + 2} in the file"


def test_other_data_are_refused(images):
    _, records = images
    other = replace(IMAGES, x=IMAGES.x / 2)
    with pytest.raises(InputError, match="from the same data only"):
        st.find(records).show_inputs(other)
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        st.find(records).show_inputs(label_images(), 0)


def read_sentences(records, data):
    results = st.find(records).show_inputs(data)
    assert not list_tables(results)[1:], "but for the list of rows"
    texts = [b.text for b in results.findings["inputs"].blocks() if isinstance(b, Sentence)]
    assert not any(PRIVATE in text for text in texts), "nothing is shown"
    return " ".join(texts)


def test_what_cannot_be_drawn_again_is_said(images):
    data, records = images
    clean, noisy = records.cells[:2]
    on_device = replace(noisy, setting=replace(noisy.setting, noise="device"))
    told = read_sentences(Records((clean, on_device)), data)
    assert "cannot be drawn again: their noise was made on a device" in told
    foreign = replace(noisy, corruption="no_such_module:boom(1)")
    told = read_sentences(Records((clean, foreign)), data)
    assert "cannot import 'no_such_module'" in told
    hits = st.evaluate(score_images, data, "linf(0.8)", record="hits")
    assert "evaluate with record='answers'" in read_sentences(hits, data)


def test_noise_in_one_feature_is_shown_too():
    data = st.make_dataset(FRAME, LABELS)
    suite = per_feature(data, "swap(0.9)")
    records = st.evaluate(score_rows, data, suite, name="red")
    table = list_tables(st.find(records).show_inputs(data))[0]
    assert "colour" in table.title
    assert all(row[2].value.startswith("colour: red → ") for row in table.rows)


def test_json_lists_a_hundred_rows_per_feature_and_counts_all():
    frame = pd.DataFrame({"colour": ["red", "blue", "green", "grey"] * 250, "n": range(1000)})
    data = st.make_dataset(frame, score_rows(frame))
    records = st.evaluate(score_rows, data, per_feature(data, "swap(1)"))
    (first, *_) = st.find(records).json()["feature_flips"]
    cell = next(cell for cell in records if "colour" in cell.corruption)
    flipped = np.flatnonzero(2 * cell.hits < cell.k)
    flipped = flipped[np.argsort(cell.hits[flipped], kind="stable")].tolist()
    assert first["flipped"] == len(flipped) > 100
    assert first["rows"] == flipped[:100]
