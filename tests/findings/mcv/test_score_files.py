"""Tables of scores from files."""

import gzip

import pandas as pd
import pytest

from helpers.commands import run_failing
from helpers.table_iii import PRINTED, ROWS
from shaketable.core.errors import InputError
from shaketable.findings.mcv.score_files import read_scores
from shaketable.findings.mcv.variation import VariationTable

TABLE = "model,Clean,SP0.1,GA0.1\nnet(clean),92.1,83,85.5\nNA,90,88,87\n"


def write_table(folder, text, name="scores.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_all_file_types_give_the_same_table(tmp_path):
    plain = read_scores(write_table(tmp_path, TABLE))
    assert [v.label for v in plain] == ["net(clean)", "NA"]
    assert dict(plain[0].scores) == {"Clean": 92.1, "SP0.1": 83.0, "GA0.1": 85.5}
    assert [v.clean for v in plain] == [92.1, 90.0]
    packed = tmp_path / "scores.csv.gz"
    packed.write_bytes(gzip.compress(TABLE.encode()))
    frame = pd.DataFrame([{"model": v.label, **v.scores} for v in plain])
    frame.to_parquet(tmp_path / "scores.parquet")
    assert read_scores(packed) == plain
    assert read_scores(str(tmp_path / "scores.parquet")) == plain


def test_columns_can_be_chosen(tmp_path):
    path = write_table(tmp_path, "day,net,night\n1,a,2\n3,b,4\n")
    rows = read_scores(path, model="net", clean="day")
    assert [(v.label, v.clean, dict(v.scores)) for v in rows] == [
        ("a", 1, {"day": 1, "night": 2}),
        ("b", 3, {"day": 3, "night": 4}),
    ]
    numbers = write_table(tmp_path, "id,day\n1,2\n2,3\n")
    assert [v.label for v in read_scores(numbers, model="id")] == ["1", "2"]
    assert read_scores(numbers, model="id")[0].clean is None


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "model must name .* first one, 'a', holds numbers; add a column"),
        ("a,net\n1,x\n", {}, "first one, 'a', holds numbers; give model='net'"),
        ("net,a\nx,1\n", {"model": "nett"}, "unknown model column 'nett'; did you mean 'net'"),
        ("net,a\nx,1\n", {"clean": "b"}, "unknown clean column 'b'"),
        ("net,a\nx,1\n", {"clean": "net"}, "unknown clean column 'net'"),
        ("net,clean,Clean\nx,1,2\n", {}, "got several: clean, Clean; give clean='clean'"),
        ("net,a\nx,1\nx,2\n", {}, "must name every model once, got 'x' 2 times"),
        ("net,a\nx,1\n,2\n", {}, "must name every model, got none in row 1"),
        ("net,a,b\nx,1,2\ny,3,\n", {}, "'b' must hold a finite number .* got no value for 'y'"),
        ("net,a\nx,1\ny,n/a?\n", {}, "'a' must hold a finite number .* got 'n/a\\?' for 'y'"),
        ("net,a\nx,inf\n", {}, "finite number for every model, got .*inf.* for 'x'"),
        ("net,a\nx,True\n", {}, "'a' must hold numbers, got True and False"),
        ("net\nx\n", {}, "must have a column of scores beside 'net', got none"),
        ("net,a\n", {}, "holds no rows"),
        ("", {}, "is empty"),
        ("net;a\nx;1\n", {}, "must be separated by commas"),
        ("net,a\nx,1,2\n", {}, "cannot be read"),
    ],
)
def test_unreadable_files_are_errors_of_one_line(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message) as error:
        read_scores(write_table(tmp_path, text), **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "header",
    [
        "network,training set,CV,mean,clean,min,max",
        "net,data,CV (%),Mean Accu(all images) (%),Accu(clean images) (%),Min Accu,Max Accu (%)",
        "n,t,Coefficient of variation,average accuracy,Clean,Minimum,HIGHEST",
    ],
)
def test_summaries_are_read_as_such_with_one_reference_per_network(tmp_path, header):
    lines = [",".join(line.split()) for line in PRINTED.strip().splitlines()]
    rows = read_scores(write_table(tmp_path, "\n".join([header, *lines])))
    assert rows == tuple(row for _, _, row in ROWS)
    table = VariationTable(rows)
    assert table.references == {row.label: f"{network}(clean)" for network, _, row in ROWS}
    by_network = {
        network: {trained: table.groups[row.label] for n, trained, row in ROWS if n == network}
        for network in ("AlexNet", "ResNet50", "VGG-19")
    }
    for network, (most, others) in {
        "AlexNet": ("I", {"RL30": "II", "RR30": "II"}),
        "ResNet50": ("III", {"clean": "I", "RR30": "IV", "SP0.1RR30": "IV"}),
        "VGG-19": ("III", {"clean": "I", "GA0.1SP0.1": "I"}),
    }.items():
        assert by_network[network] == {t: others.get(t, most) for t in by_network[network]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "m,CV,mean,min,fog\na,1,2,1,3\n",
            r"must be conditions, got summaries .*: CV, mean, min; .*conditions=\['fog'\]",
        ),
        ("m,clean,fog,mean\na,1,2,1\n", r"scores: mean; leave .*conditions=\['clean', 'fog'\]"),
        ("m,clean,fog,Mean Acc\na,1,2,1\n", "scores: Mean Acc; leave"),
        ("m,clean,fog,acc_mean,Std. dev.\na,1,2,1,1\n", r"scores: acc_mean, Std\. dev\.; leave"),
        ("m,fog,rain,Avg. error (pct)\na,1,2,1\n", r"scores: Avg\. error \(pct\); leave"),
        ("m,fog,rain,Worst,Best acc.\na,1,2,1,2\n", r"scores: Worst, Best acc\.; leave"),
        ("m,CV,mean,min\na,1,2,1\n", "give summaries alone: CV in per cent, mean, min and max"),
        ("m,CV,mean,average,min,max\na,1,2,2,1,3\n", "once each"),
        ("m,CV,mean,min,max\na,1,9,1,3\n", "mean of 'a' must lie between .* got 9, 1 and 3"),
        ("m,CV,mean,min,max\na,0.02,0.8,0.7,0.9\n", "'a' must be in per cent .*got 0.02 .* is 2 %"),
        ("m,CV,mean,min,max\na,30,80,70,90\n", "'a' must be in per cent of its mean, got 30"),
        ("m,CV,mean,min,max\na,-1,2,1,3\n", "CV of 'a' must be 0 or more, got -1"),
        ("m,CV,mean,min,max\na,x,2,1,3\nb,1,2,1,3\n", "'CV' must hold a finite number"),
        ("m,t,CV,mean,min,max\na,,1,2,1,3\na,x,1,2,1,3\n", "name every training set, got none"),
        ("m,fog,rain,snow\na,1,2,3\nb,1..5,2,3\n", "'fog' must hold a finite number"),
    ],
)
def test_summaries_among_scores_or_incomplete_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_scores(write_table(tmp_path, text))


def test_a_command_is_told_the_flag_with_the_columns_of_scores(tmp_path, capsys):
    path = write_table(tmp_path, "m,clean,fog,mean\na,1,2,1\n")
    assert "by --conditions clean,fog,…, or" in run_failing(capsys, "figure", "mcv", path)


def test_columns_that_are_named_are_conditions_whatever_they_are_called(tmp_path):
    path = write_table(tmp_path, "m,mean,max\na,1,2\n")
    (row,) = read_scores(path, conditions=["mean", "max"])
    assert dict(row.scores) == {"mean": 1, "max": 2}
    more = write_table(tmp_path, "m,CV,mean,min,max,std,group\na,1,2,1,3,9,I\n", "more.csv")
    (row,) = read_scores(more)  # what is not needed is left out
    assert (row.cv, row.mean, row.least, row.most, row.clean) == (1, 2, 1, 3, None)


def test_only_existing_tables_are_read(tmp_path):
    with pytest.raises(InputError, match=r"must be a table that ends in \.csv, .* got '.*\.txt'"):
        read_scores(write_table(tmp_path, TABLE, "scores.txt"))
    with pytest.raises(InputError, match="does not exist"):
        read_scores(tmp_path / "none.csv")


def test_a_frame_with_the_models_as_its_index_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(",clean,rain\nnet,0.9,0.7\nrf,0.8,0.8\n")
    rows = read_scores(tmp_path / "t.csv")
    assert [(row.label, dict(row.scores)) for row in rows] == [
        ("net", {"clean": 0.9, "rain": 0.7}), ("rf", {"clean": 0.8, "rain": 0.8})
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "got"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], r"got array\(\[1., 2.\]\)"),
        ([b"\xff", b"\xfe"], r"got b'\\xff'"),
        ([0.5, float("inf")], "got inf"),
        ([{"a": 1}, {"a": 2}], r"got \{'a': 1\}"),
    ],
)
def test_columns_of_other_types_are_no_scores(tmp_path, scores, got):
    pd.DataFrame({"model": ["a", "b"], "rain": scores}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"column 'rain' must hold a finite number .*{got}"):
        read_scores(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"c": [None, "x"] * 2}, r"column 'c' must name every condition, got none in row 0"),
        ({"c": ["y", ""] * 2}, r"column 'c' must name every condition, got none in row 1"),
        (
            {"c": [[1, 2], [2, 3]] * 2},
            r"column 'c' must name every condition by text .*got array",
        ),
        ({"c": [b"y", b"x"] * 2}, r"column 'c' must name .* by text .*got b'y' in row 0"),
        ({"model": [b"a", b"a", b"b", b"b"]}, r"column 'model' must name every model by text"),
        ({"": [0.5] * 4}, r"a column without a name, column 3 \(from 0\)"),
        ({" ": [0.5] * 4}, r"a column without a name, column 3 \(from 0\)"),
    ],
)
def test_models_and_conditions_without_a_name_are_refused(tmp_path, columns, message):
    table = {"model": ["a", "a", "b", "b"], "c": ["x", "y"] * 2, "score": [1.0, 2, 3, 4]}
    pd.DataFrame(table | columns).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=message):
        read_scores(tmp_path / "t.parquet")


def test_a_condition_of_a_csv_file_needs_a_name(tmp_path):
    path = write_table(tmp_path, "model,condition,score\na,,1\na,x,2\nb,,3\nb,x,4\n")
    with pytest.raises(InputError, match="column 'condition' must name every condition, got none"):
        read_scores(path)
