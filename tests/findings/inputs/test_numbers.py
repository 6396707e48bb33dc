from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.commands import check_schema, run_command
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.corruptions.suites.per_feature import per_feature
from shaketable.findings.inputs.numbers import Flips, group_ladders
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics.intervals import mean_share
from shaketable.views.blocks import Sentence

X = np.linspace(0, 1, 101)[:, None]
Y = (X[:, 0] > 0.5).astype(int)


def model(x):
    right = np.clip(x[:, 0], 0, 1)
    return np.stack([1 - right, right], axis=1)


@pytest.fixture(scope="module")
def records():
    noises = ["linf(0.1)", "linf(0.3)", "linf(0.9)"]
    return st.evaluate(model, (X, Y), noises, k=9, name="ramp", bounds=None)


def test_points_that_are_wrong_most_often_come_first(records):
    series = st.metrics.series(records)[2]
    flips, hits = Flips(series, "noise"), series.first.hits
    order = flips.rank(10)
    assert [*hits[order]] == sorted(hits[hits < 9])[:10]
    assert all(series.clean[0].hits[order] == 1)
    assert flips.flipped.sum() == ((hits < 4.5) & (series.clean[0].hits == 1)).sum()
    assert [*hits[flips.rank_least(5)]] == [9] * 5
    wrong = flips.wrong_answers
    np.testing.assert_array_equal(wrong[hits < 9], 1 - Y[hits < 9])
    np.testing.assert_array_equal(wrong[hits == 9], Y[hits == 9])


def test_smallest_size_is_the_first_level_at_which_most_draws_are_wrong(records):
    (ladder,) = group_ladders(st.metrics.series(records))
    assert ladder.sizes == (0.1, 0.3, 0.9)
    cells = records.cells[1:]
    for i in range(101):
        flips = [cell.hits[i] < 4.5 for cell in cells]
        expected = ladder.sizes[flips.index(True)] if any(flips) else np.inf
        expected = expected if records.cells[0].hits[i] else np.nan
        np.testing.assert_equal(ladder.smallest[i], expected)
    shares = st.metrics.flip_size(records)
    right = records.cells[0].hits > 0
    flipped = (np.array([c.hits[right] for c in cells[:2]]) < 4.5).any(axis=0).astype(int)
    assert shares[0.3].low == mean_share(flipped, 1).low
    assert shares[0.1].value <= shares[0.3].value <= shares[0.9].value


def test_answers_and_inputs_are_exported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = {"k": 4, "store": "r.sqlite", "model_id": "m", "name": "ramp"}
    records = st.evaluate(model, (X, Y), "linf(0.3)", **options)
    run_command(capsys, "export", "r.sqlite", "--content", "answers", "-o", "answers.csv")
    run_command(capsys, "export", "r.sqlite", "--content", "inputs", "-o", "inputs.csv")
    answers = pd.read_csv("answers.csv")
    assert len(answers) == 101 * 5
    noisy = answers[answers["corruption"] == "linf(0.3)"]
    right = (noisy["answer"] == noisy["class"]).groupby(noisy["row"]).sum()
    np.testing.assert_array_equal(right.to_numpy(), records.cells[1].hits)
    assert len(pd.read_csv("inputs.csv"))


def test_json_follows_the_schema(records):
    results = st.find(records)
    check_schema("report", {"schema_version": SCHEMA_VERSION, **results.json()})


def test_rows_that_flip_first_are_those_of_the_smallest_size(records):
    (ladder,) = group_ladders(st.metrics.series(records))
    listed = {size: ladder.list_rows(size) for size in ladder.sizes}
    for size, rows in listed.items():
        assert sorted(rows) == np.flatnonzero(ladder.smallest == size).tolist()
        hits = ladder.levels[ladder.sizes.index(size)].cell.hits[rows]
        assert [*hits] == sorted(hits)
    texts = [b.text for b in st.find(records).blocks() if isinstance(b, Sentence)]
    size = next(size for size in ladder.sizes if listed[size])
    (text,) = (text for text in texts if text.startswith("the first to flip"))
    assert text.startswith(f"the first to flip do so at linf({size}), row")
    assert f" {listed[size][0]}" in text


def test_every_feature_of_a_table_has_its_ladder():
    data = st.make_dataset(pd.DataFrame({"a": X[:, 0], "b": 1 - X[:, 0]}), Y)

    def by_frame(frame):
        return model(np.asarray(frame)[:, :1])

    records = st.evaluate(by_frame, data, per_feature(data, "jitter(0.5)", "jitter(2)"), k=5)
    found = st.find(records)
    ladders = {each["ladder"]: each["shares"] for each in found.json()["flip_sizes"]}
    assert ladders.keys() == {'jitter(only="a")', 'jitter(only="b")'}
    assert [share["size"] for share in ladders['jitter(only="a")']] == [0.5, 2.0]
    assert [share["share"]["mean"] for share in ladders['jitter(only="b")']] == [0, 0]
    assert ladders['jitter(only="a")'][1]["share"]["mean"] > 0
    texts = [b.text for b in found.blocks() if isinstance(b, Sentence)]
    assert any("flips most points if it is in a:" in text for text in texts)


def test_where_no_point_flips_first_those_under_other_noise_are_named():
    """Noise of size eps_min comes first, and need not flip any point."""

    def measure(*noises):
        records = st.evaluate(model, (X, Y), noises, k=9, name="ramp", bounds=None)
        fingerprint = records.cells[0].fingerprint
        separation = SeparationRecord(fingerprint, np.inf, 0.002, (0, 1), (0, 1), None, {}, None)
        return replace(records, separations=(separation,))

    both, alone = measure("linf(0.001)", "linf(0.9)"), measure("linf(0.001)")
    texts = [b.text for b in st.find(both).blocks() if isinstance(b, Sentence)]
    (text,) = (text for text in texts if text.endswith("the least accuracy") and ": " not in text)
    assert " flip under linf(0.9), row" in text
    assert "; none does under linf(eps_min); class " in text
    texts = [b.text for b in st.find(alone).blocks() if isinstance(b, Sentence)]
    right = int(alone.cells[0].hits.sum())
    assert f"0 of {right} points that are right when clean flip under linf(eps_min)" in texts
    assert not any("the least accuracy" in text for text in texts)
