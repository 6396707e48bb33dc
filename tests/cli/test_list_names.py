import pytest

from helpers.commands import run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.mark.parametrize("kind", ["datasets", "models", "corruptions", "suites", "metrics"])
def test_lists_name_everything(capsys, kind):
    code, out, _ = run_command(capsys, "list", kind)
    assert code == 0
    entries = run_json(capsys, "list", kind)
    assert len(entries) >= 3
    assert all(name in out and about for name, about in entries.items())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["list", "everything"], "unknown kind"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
