"""What a release says about itself: version, addresses, text on PyPI, citation, workflows."""

import importlib.util
import io
import re
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import shaketable as st

ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
SOURCE = PROJECT["urls"]["Source"]


def read(path):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check_package():
    spec = importlib.util.spec_from_file_location("check", ROOT / ".ci" / "check_package.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_text():
    """README.md as PyPI shows it."""
    hook = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join((ROOT / part["path"]).read_text(encoding="utf-8") for part in hook["fragments"])
    return replace_links(text, hook["substitutions"])


def replace_links(text, rules):
    for rule in rules:
        new = rule["replacement"].replace("$HFPR_VERSION", PROJECT["version"])
        text = re.sub(rule["pattern"], new, text)
    return text


def test_all_say_the_same_version():
    assert st.__version__ == PROJECT["version"]
    assert read("CITATION.cff")["version"] == PROJECT["version"]
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == PROJECT["version"]
    source = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    assert not any(re.search(r"__version__\s*=|version\s*=\s*[\"']\d", text) for text in source)


def test_all_say_the_same_address():
    assert all(address.startswith(SOURCE) for address in PROJECT["urls"].values())
    assert read("CITATION.cff")["repository-code"] == SOURCE
    hook = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    path = SOURCE.removeprefix("https://github.com")
    assert all(f"{path}/" in rule["replacement"] for rule in hook["substitutions"])


def test_links_of_the_text_on_pypi_lead_somewhere(check_package):
    text = make_text()
    message = message_from_string("Name: x\n\n")
    message.set_payload(text)
    check_package.check_text(message)
    assert f"{SOURCE}/blob/v{PROJECT['version']}/" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](docs/a.md)", "[a](SOURCE/blob/docs/a.md)"),
        ("[a](docs/a.md#b) [c](#d)", "[a](SOURCE/blob/docs/a.md#b) [c](#d)"),
        ("[a](https://a.org) <a href='x'>", "[a](https://a.org) <a href='x'>"),
        ("![a](docs/a.svg)", "![a](RAW/docs/a.svg)"),
        ("[![a](docs/a.svg)](b.md)", "[![a](RAW/docs/a.svg)](SOURCE/blob/b.md)"),
        ('<a href="b.md">a</a>', '<a href="SOURCE/blob/b.md">a</a>'),
        ('<img src="a.svg">', '<img src="RAW/a.svg">'),
    ],
)
def test_links_and_images_become_absolute(text, expected):
    hook = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    found = replace_links(text, hook["substitutions"]).replace(f"/v{PROJECT['version']}/", "/")
    raw = SOURCE.replace("github.com", "raw.githubusercontent.com")
    assert found == expected.replace("RAW", raw).replace("SOURCE", SOURCE)


def test_only_what_is_tested_is_classified():
    page = (ROOT / "docs" / "reference" / "platforms.md").read_text(encoding="utf-8")
    tested = re.findall(r"^\| (\w+).* \| ([\d.]+) \| tested", page, re.MULTILINE)
    start = "Programming Language :: Python :: 3."
    said = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith(start)}
    assert said == {python for _, python in tested}
    assert PROJECT["requires-python"] == f">={min(said)}"
    systems = {c for c in PROJECT["classifiers"] if c.startswith("Operating System")}
    assert {c.rpartition(" ")[2] for c in systems} == {system for system, _ in tested}


def test_the_citation_names_the_software_and_four_papers():
    citation = read("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["license"]
    assert "preferred-citation" not in citation
    papers = citation["references"]
    assert [paper["year"] for paper in papers] == [2022, 2024, 2022, 2020]
    assert all(paper["title"] and paper["authors"] for paper in papers)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_can_be_read_and_run_what_there_is(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True]  # "on", which YAML 1.1 takes for a truth value
    for name, job in workflow["jobs"].items():
        assert job["runs-on"], name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            for file in re.findall(r"(?:\.ci|tests|docs)/[\w/.]+", step.get("run", "")):
                assert (ROOT / file).exists() or file.startswith("docs/_build"), file
            extras = re.findall(r"\.\[(.*?)\]", step.get("run", ""))
            assert set(",".join(extras).split(",")) - {""} <= set(PROJECT["optional-dependencies"])


def test_only_linux_decides_and_only_publishing_may_sign():
    jobs = {name: job for path in WORKFLOWS for name, job in read(path)["jobs"].items()}
    free = {name for name, job in jobs.items() if job.get("continue-on-error")}
    assert free == {name for name, job in jobs.items() if job["runs-on"] != "ubuntu-latest"}
    assert [n for n, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert read(ROOT / ".github/workflows/publish.yml")[True]["push"] == {"tags": ["v*"]}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms_can_be_read(path):
    form = read(path)
    assert form["name"]
    assert form["description"]
    for part in form["body"]:
        assert part["type"] in {"textarea", "input", "markdown"}
        assert part["attributes"]["value" if part["type"] == "markdown" else "label"]


def make_wheel(path, names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "Version: 1\n\ntext" if name.endswith("METADATA") else "")
    return path


def test_a_wheel_must_hold_the_source_and_nothing_else(check_package, tmp_path):
    parts = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    names = {*check_package.list_source(), *(f"shaketable-1.dist-info/{part}" for part in parts)}
    assert {"shaketable/py.typed", "shaketable/views/templates/page.js"} <= names
    assert check_package.check_wheel(make_wheel(tmp_path / "a.whl", names))["Version"] == "1"
    with pytest.raises(SystemExit, match=r"missing \['shaketable/py.typed'\], not expected \[\]"):
        check_package.check_wheel(make_wheel(tmp_path / "b.whl", names - {"shaketable/py.typed"}))
    with pytest.raises(SystemExit, match=r"missing \[\], not expected \['tests/test_a.py'\]"):
        check_package.check_wheel(make_wheel(tmp_path / "c.whl", names | {"tests/test_a.py"}))


def test_an_sdist_must_hold_the_repository(check_package, tmp_path, monkeypatch):
    monkeypatch.setattr(check_package, "list_repository", lambda: {"README.md", "src/a.py"})
    for names, message in ((["README.md"], r"missing \['src/a.py'\]"), ([], "missing")):
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as file:
            for name in (*names, "PKG-INFO"):
                file.addfile(tarfile.TarInfo(f"shaketable-1/{name}"), io.BytesIO())
        with pytest.raises(SystemExit, match=message):
            check_package.check_sdist(path)


def test_a_relative_link_is_refused(check_package):
    for text in ("[a](docs/a.md)", '<img src="a.svg">', ""):
        with pytest.raises((SystemExit, AssertionError)):
            check_package.check_text(message_from_string(f"Name: x\n\n{text}"))
