"""Model cards hold the metrics of the records; MLflow gets the same metrics and the page."""

import os
import re
import sys
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

import shaketable as st
from helpers.commands import run_command, run_failing
from helpers.records import draw_hits, make_records
from shaketable.findings.export import list_headlines, make_card
from shaketable.findings.mlflow_runs import log_mlflow

SETS = ("clean", "sp(0.1)", "rotation(30)", "sp(0.1) + rotation(30)", "rotation(30) + sp(0.1)")
HOSTILE = 'a: "b"\n<script>'


@pytest.fixture(scope="module")
def records():
    both = make_records(draw_hits(0, SETS), k=4, model=HOSTILE)
    both += make_records(draw_hits(1, SETS), k=4, model="b")
    return replace(both, cells=tuple(replace(cell, seconds=0.1) for cell in both))


@pytest.fixture
def store(tmp_path, records):
    path = tmp_path / "r.sqlite"
    with st.Store(path) as results_file:
        results_file.add(records)
    return path


def test_headlines_are_the_metrics_of_the_records(noise_records):
    headlines = {
        (h.model, h.metric, h.condition): h.value for h in list_headlines(st.find(noise_records))
    }
    for model in noise_records.models:
        selected = noise_records.select(model=model)
        mscr = next(v for (m, metric, _), v in headlines.items() if (m, metric) == (model, "mscr"))
        assert mscr == st.metrics.mscr(selected)
        assert headlines[model, "accuracy", "clean"] == st.metrics.accuracy(
            selected, corruption="clean"
        )


def test_headlines_of_suites_stand_for_their_corruptions(records):
    headlines = [h for h in list_headlines(st.find(records)) if h.model == "b"]
    assert [(h.metric, h.condition) for h in headlines] == [
        ("accuracy", "clean"),
        ("mean_accuracy", "by-hand"),
        ("cv", "by-hand"),
    ]
    stability = st.metrics.mcv(records.select(model="b"))
    assert [h.value for h in headlines[1:]] == [stability.mean, stability.cv]


def test_a_card_is_markdown_with_all_tables_and_settings(records):
    card = make_card(records)
    assert card.startswith("## Robustness\n\nMeasured with shaketable ")
    html = MarkdownIt("commonmark").enable("table").render(card)
    assert html.count("<table>") >= 3
    assert "<script>" not in html
    assert "Fingerprint of the data" in html
    for headline in list_headlines(st.find(records)):
        assert f"{100 * headline.value.value:.2f}" in card


def test_a_model_index_is_what_hugging_face_reads(records):
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the front matter")
    card = make_card(records, task="image-classification")
    head = card.split("---\n")[1]
    index = yaml.safe_load(head)["model-index"]
    assert [model["name"] for model in index] == [HOSTILE.replace("\n", " "), "b"]
    (entry,) = index[1]["results"]
    assert entry["task"] == {"type": "image-classification"}
    assert entry["dataset"] == {"type": "by hand", "name": "by hand"}
    headlines = [h for h in list_headlines(st.find(records)) if h.model == "b"]
    for metric, headline in zip(entry["metrics"], headlines, strict=True):
        assert metric["value"] == pytest.approx(100 * headline.value.value, abs=1e-4)
        assert metric["args"]["low"] == pytest.approx(100 * headline.value.low, abs=1e-4)
    hub = pytest.importorskip("huggingface_hub", reason="the Hub's own reader is not installed")
    loaded = hub.ModelCard(card)
    read = {(r.metric_type, r.metric_value) for r in loaded.data.eval_results}
    assert (headlines[0].metric, round(100 * headlines[0].value.value, 4)) in read


def test_the_command_prints_or_writes_a_card(store, tmp_path, capsys):
    code, out, _ = run_command(capsys, "export", store, "--to", "card")
    assert code == 0
    path = tmp_path / "README.md"
    assert run_command(capsys, "export", store, "-o", path)[0] == 0
    assert f"{path.read_text(encoding='utf-8')}\n" == out
    argv = ["export", store, "--to", "card", "--task", "image-classification"]
    assert run_command(capsys, *argv)[1].startswith("---\nmodel-index:\n- name: ")


@pytest.fixture
def mlflow(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # for the tests' own looks at folders
    return pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")


@pytest.mark.filterwarnings("ignore")  # of MLflow, on its file store
def test_mlflow_gets_metrics_with_intervals_and_the_page(mlflow, records, tmp_path):
    uri = (tmp_path / "runs").as_uri()
    client = mlflow.MlflowClient(uri)
    parent = client.get_run(log_mlflow(records, tracking_uri=uri, experiment="robust"))
    assert parent.data.params["data"] == "by hand"
    assert parent.data.params["k"] == "4"
    names = {artifact.path for artifact in client.list_artifacts(parent.info.run_id)}
    assert names == {"report.html", "findings.csv", "findings.json"}
    experiment = client.get_experiment_by_name("robust")
    runs = client.search_runs([experiment.experiment_id])
    children = {r.data.params["model"]: r for r in runs if "model" in r.data.params}
    assert set(children) == {HOSTILE.replace("\n", " "), "b"}
    for headline in list_headlines(st.find(records)):
        metrics = children[headline.model].data.metrics
        name = f"{headline.metric}/{headline.condition}"
        assert metrics[name] == 100 * headline.value.value
        assert metrics[f"{name}.low"] == 100 * headline.value.low
        assert metrics[f"{name}.high"] == 100 * headline.value.high


@pytest.mark.filterwarnings("ignore")
def test_one_model_is_one_run(mlflow, records, tmp_path, capsys):
    store = tmp_path / "r.sqlite"
    with st.Store(store) as results_file:
        results_file.add(records.select(model="b"))
    uri = (tmp_path / "runs").as_uri()
    code, out, err = run_command(capsys, "export", store, "--to", "mlflow", "--tracking-uri", uri)
    assert code == 0, err
    run = mlflow.MlflowClient(uri).get_run(out.strip())
    assert run.info.run_name == "r.sqlite"
    assert run.data.params["model"] == "b"
    assert run.data.metrics["accuracy/sp_0.1.low"] < run.data.metrics["accuracy/sp_0.1"]
    assert run.info.status == "FINISHED"
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("shaketable")
    assert len(client.search_runs([experiment.experiment_id])) == 1
    assert mlflow.active_run() is None


def test_a_run_that_fails_is_marked(mlflow, records, tmp_path, monkeypatch):
    uri = (tmp_path / "runs").as_uri()
    monkeypatch.setattr("shaketable.findings.mlflow_runs.write_report", lambda *_: 1 / 0)
    with pytest.raises(st.InputError, match="MLflow failed: ZeroDivisionError"):
        log_mlflow(records.select(model="b"), tracking_uri=uri)
    client = mlflow.MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("shaketable").experiment_id])
    assert run.info.status == "FAILED"


def test_without_mlflow_the_error_says_what_to_install(monkeypatch, store, capsys):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    err = run_failing(capsys, "export", store, "--to", "mlflow")
    hint = "MLflow is not installed; pip install 'shaketable[mlflow]'"
    assert err == f"shaketable: error: {hint}\n"


@pytest.mark.filterwarnings("ignore")
def test_a_folder_is_written_to_though_mlflow_needs_to_be_told(mlflow, records, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "false")
    run_id = log_mlflow(records.select(model="b"), tracking_uri="./mlruns")
    assert os.environ["MLFLOW_ALLOW_FILE_STORE"] == "false"
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    again = log_mlflow(records.select(model="b"))  # the folder is the default once it has runs
    assert "MLFLOW_ALLOW_FILE_STORE" not in os.environ
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = mlflow.MlflowClient("./mlruns")
    assert {client.get_run(each).info.status for each in (run_id, again)} == {"FINISHED"}


@pytest.mark.parametrize("package", ["sqlalchemy", "alembic"])
@pytest.mark.usefixtures("mlflow")
def test_a_database_without_its_packages_says_what_to_install(store, capsys, monkeypatch, package):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db")  # its own default by now
    monkeypatch.setitem(sys.modules, package, None)
    err = run_failing(capsys, "export", store, "--to", "mlflow")
    assert "'sqlite:///mlflow.db' is a database, for which mlflow-skinny alone lacks the" in err
    assert "pip install 'shaketable[mlflow]', or name a folder or the address of a server" in err


@pytest.mark.filterwarnings("ignore")
def test_a_database_is_written_to(mlflow, store, capsys, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db")
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip("alembic", reason="Alembic is not installed")
    code, out, err = run_command(capsys, "export", store, "--to", "mlflow")
    assert code == 0, err
    assert mlflow.MlflowClient().get_run(out.strip()).info.status == "FINISHED"


def test_a_server_that_does_not_answer_is_an_error_of_one_line(mlflow, store, capsys):
    err = run_failing(capsys, "export", store, "--to", "mlflow", "--tracking-uri", "nowhere://x")
    assert re.search(r"MLflow failed: .*nowhere", err)
