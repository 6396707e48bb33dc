import pytest

from helpers.commands import run_failing

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sepration", "iris"], "did you mean 'separation'"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
