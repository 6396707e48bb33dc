"""Tables of several kinds on the command line."""

import math

import joblib
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from helpers.commands import run_command, run_failing, run_json
from helpers.frames import make_people, make_pipeline_for_people
from shaketable.data.options import Columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    frame, y = make_people()
    frame.assign(risk=y)[120:].to_csv(place / "people.csv", index=False)
    model = make_pipeline_for_people().fit(frame[:120], y[:120])
    joblib.dump(model, place / "model.joblib")
    return place


def test_flags_are_read_as_columns_and_numbers():
    columns = Columns.parse([r"age, net income,rate\, in %=only", "age=0:120 step 1", "a=b=:5"])
    assert columns.only == ["age", "net income", "rate, in %"]
    assert columns.bounds == {"age": (0, 120), "a=b": (-math.inf, 5)}
    assert columns.steps == {"age": 1}
    columns = Columns.parse(["since=date keep", "id=drop", "c_=onehot"])
    assert (columns.types, columns.keep) == ({"since": "date"}, ["since"])
    assert (columns.drop, columns.one_hot) == (["id"], ["c_"])


def test_a_table_with_text_and_gaps_is_evaluated(capsys, folder):
    subject = ["--model", folder / "model.joblib", "--trust", "--data", folder / "people.csv"]
    found = run_json(
        capsys,
        "evaluate",
        *subject,
        *["--label", "risk", "--quiet", "--k", "2", "--others", "gower", "--column", "since=keep"],
        *["--column", "age=0:120 step 1"],
        *["--corruptions", "linf(eps_min)", "swap(0.2)", "typo(0.2)", "missing(0.2)"],
    )
    frame, y = make_people()
    model = joblib.load(folder / "model.joblib")
    clean = 100 * model.score(frame[120:], y[120:])
    rows = found["models"][0]["cells"]
    assert rows[0]["mean"] == pytest.approx(clean)
    assert any("Gower" in note for note in found["notes"])


def test_categories_alone_are_measured_by_default(capsys, tmp_path):
    frame, y = make_people()
    words = frame[["size", "member"]].assign(job=frame["job"].fillna("other"))
    words.assign(risk=y).to_csv(tmp_path / "words.csv", index=False)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, LogisticRegression()).fit(words.astype({"size": str}), y)
    joblib.dump(model, tmp_path / "m.joblib")
    subject = ["--model", tmp_path / "m.joblib", "--trust", "--data", tmp_path / "words.csv"]
    subject += ["--label", "risk", "--quiet", "--k", "2"]
    found = run_json(capsys, "evaluate", *subject)
    (entry,) = found["models"]
    assert [cell["corruption"] for cell in entry["cells"]] == ["clean", "swap(0.1)", "missing(0.1)"]
    why = "no column holds numbers that noise may change, so eps_min and MSCR are undefined"
    assert why in found["notes"]
    message = run_failing(capsys, "evaluate", *subject, "--require", "mscr >= -1")
    assert f"{why}; measure other corruptions, such as swap(0.1)" in message
    assert "jitter" not in message  # was named as noise that needs no eps_min
    found = run_json(capsys, "evaluate", *subject, "--features", "--points", "40")
    assert [entry["noise"] for entry in found["feature_losses"]] == ["swap(0.1)"]
    assert found["notes"][:2] == ["the points are a random sample", why]
    assert why in run_failing(capsys, "adversary", *subject[:-2], "--eps", "0.1")  # was exit 4


def test_a_study_of_categories_alone_names_its_noise(capsys, tmp_path):
    frame, y = make_people()
    frame[["size", "member"]].assign(risk=y).to_csv(tmp_path / "words.csv", index=False)
    subject = ["study", "--data", tmp_path / "words.csv", "--label", "risk", "--model", "logistic"]
    subject += ["--quiet", "--runs", "2", "--k", "1", "--jobs", "1"]
    remedy = r"give --corruptions such as swap(0.1) and missing(0.1), and train on them or on clean"
    assert remedy in run_failing(capsys, *subject)  # was about columns of linf(0)
    noise = ["--corruptions", "swap(0.1)"]
    assert remedy in run_failing(capsys, *subject, *noise)
    code, out, err = run_command(capsys, *subject, *noise, "--train", "clean")
    assert code == 0, err
    assert "swap(0.1)" in out


def test_separation_names_the_columns(capsys, folder):
    table = folder / "people.csv"
    keep = ["separation", table, "--label", "risk", "--quiet"]
    found = run_json(capsys, *keep, "--others", "gower", "--column", "age=keep")
    assert any("noise changes income, weight and leaves age" in note for note in found["notes"])
    code, out, err = run_command(capsys, *keep, "--others", "gower", "--scale")
    assert code == 0, err
    assert "eps_min = " in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--column", "agee=only"], "unknown column 'agee'; did you mean 'age'"),
        (["--column", "age"], "must be NAME=WORDS, such as 'age=0:120 step 1', got 'age'"),
        (["--column", "age=5"], "unknown word for column 'age': '5'"),
        (["--column", "age=a:b"], "must hold numbers, got 'a'"),
        (["--column", "age=step"], "must be age=step N"),
        (["--others", "gowers"], "unknown others 'gowers'; did you mean 'gower'"),
        (["--non-numeric", "error"], "columns must be numeric"),
        ([], "--others gower"),
    ],
)
def test_messages(capsys, folder, flags, message):
    table = folder / "people.csv"
    assert message in run_failing(capsys, "separation", table, "--label", "risk", *flags)
