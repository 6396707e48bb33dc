"""Texts: names in a row, one line, and each value once."""

from shaketable.views.text import join_distinct, join_names, make_visible, to_one_line, to_sentence


def test_few_names_are_joined_and_many_are_counted():
    assert join_names(["a"], "models") == "a"
    assert join_names(["a", "b"], "models") == "a and b"
    assert join_names(["a", "b", "c"], "models") == "a, b and c"
    assert join_names(["a", "b", "c", "d"], "models") == "4 models"


def test_titles_are_one_line_whatever_breaks_it():
    assert to_one_line("a\n b\u2028c\td") == "a b c d"


def test_sentences_begin_with_a_capital_and_keep_the_rest():
    assert to_sentence("half of it is 0.1 in L2") == "Half of it is 0.1 in L2."
    assert to_sentence("eps_min is 0.1") == "eps_min is 0.1.", "a name stays as it is"


def test_values_are_listed_once_in_order():
    assert join_distinct([3, 1, 3, "1"]) == "3, 1"


def test_what_does_not_show_is_written_out():
    assert make_visible("plain, ä, 漢字, עברית, 😀, no\u00a0break") == (
        "plain, ä, 漢字, עברית, 😀, no\u00a0break"
    )
    assert make_visible("\x1b[2J\r\n\t\x00\x9b") == r"\x1b[2J\r\n\t\x00\x9b"
    assert make_visible("\u202e\u2066\u200b\u2028\ufeff") == r"\u202e\u2066\u200b\u2028\ufeff"
    assert make_visible("file\udcff") == r"file\udcff"


def test_long_texts_lose_their_middle():
    assert make_visible("a" * 80, limit=80) == "a" * 80
    shown = make_visible("a" * 5000 + "b" * 5000, limit=80)
    assert len(shown) == 80
    assert shown.strip("ab") == "…"
    assert shown.endswith("b" * 26)
