"""Progress bars on stderr, whatever is in their titles."""

import pytest

from shaketable.views.progress import count_steps, show_progress


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("evaluating net", "evaluating net"),
        ("evaluating [/red][bold]net", "evaluating [/red][bold]net"),
        ("a\x1b[2J\nb\udcff", r"a\x1b[2J\nb\udcff"),
        ("x" * 10_000, "x" * 20),
    ],
)
def test_titles_are_shown_as_they_are(capsys, title, shown):
    with count_steps(title, enabled=True, total=2) as step:
        step()
        step()
    err = capsys.readouterr().err
    assert shown in err
    assert "2/2" in err
    assert all(c.isprintable() or c == "\n" for c in err)
    assert len(err) < 500


def test_items_pass_through(capsys):
    assert list(show_progress(range(3), "three", enabled=True, total=3)) == [0, 1, 2]
    assert "3/3" in capsys.readouterr().err
    assert list(show_progress(range(3), "three", enabled=False)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
