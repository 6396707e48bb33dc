import pytest

from helpers.commands import run_command, run_failing, run_json
from helpers.plugin import install_plugin
from shaketable.adversary.attacks.registry import ATTACKS
from shaketable.corruptions.registry import CORRUPTIONS
from shaketable.corruptions.suites.suite import SUITES
from shaketable.findings.finding import FINDINGS
from shaketable.training.augmentations.registry import AUGMENTATIONS

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.mark.parametrize(
    "kind", ["datasets", "models", "corruptions", "suites", "augmentations", "metrics", "figures"]
)
def test_lists_name_everything(capsys, kind):
    code, out, _ = run_command(capsys, "list", kind)
    assert code == 0
    entries = run_json(capsys, "list", kind)
    assert len(entries) >= 3
    assert all(name in out and about for name, about in entries.items())


def test_adversaries_are_listed(capsys):
    pytest.importorskip("torch", reason="torch is not installed")
    entries = run_json(capsys, "list", "adversaries")
    assert [form.partition("(")[0] for form in entries] == ["pgd_at", "trades"]
    assert all("constraint=genuine-max" in about for about in entries.values())


@pytest.mark.parametrize(
    ("kind", "registry"),
    [
        ("corruptions", CORRUPTIONS),
        ("suites", SUITES),
        ("attacks", ATTACKS),
        ("augmentations", AUGMENTATIONS),
        ("metrics", FINDINGS),
    ],
)
def test_lists_name_the_error_of_a_broken_package(capsys, tmp_path, monkeypatch, kind, registry):
    before = run_json(capsys, "list", kind)
    install_plugin(
        monkeypatch,
        tmp_path,
        registry,
        name="ruin",
        source="number = 3",
        entry_points={"ruin": "ruin:number", "lost": "ruin:lost"},
    )
    listed = run_json(capsys, "list", kind)
    assert listed.pop("ruin").startswith("cannot be used: ")
    assert "'lost' of an installed package cannot be loaded" in listed.pop("lost")
    assert listed == before


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["list", "everything"], "unknown kind"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
