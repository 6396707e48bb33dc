import pytest

from helpers.commands import run_command, run_failing

pytestmark = pytest.mark.usefixtures("own_directory")


def test_a_gallery_shows_the_suite_at_its_largest(capsys):
    code, out, _ = run_command(capsys, "gallery", "shapes(n=20)", "--row", 3, "-o", "g.html")
    assert code == 0
    assert "7 images" in out
    with open("g.html", encoding="utf-8") as file:
        page = file.read()
    assert "l2(0.5, surface)" in page
    assert "linf(0.01, vertices)" in page
    run_command(capsys, "gallery", "shapes(n=20)", "--inside", "-o", "i.html")
    with open("i.html", encoding="utf-8") as file:
        assert "surface" not in file.read()
    assert (
        run_command(capsys, "gallery", "shapes(n=20)", "--corruptions", "l2(9)", "-o", "p.png")[0]
        == 0
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["gallery", "iris", "-o", "g.png"], "must hold images"),
        (["gallery", "shapes(n=20)", "--row", "99", "-o", "g.png"], "row"),
        (["gallery", "shapes(n=20)", "-o", "g.gif"], "must end in"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
