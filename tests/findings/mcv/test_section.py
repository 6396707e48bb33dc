"""The section about a suite of sets."""

import json

import pytest

import shaketable as st
from helpers.pages import read_page

pytestmark = pytest.mark.usefixtures("own_directory")


def test_the_page_has_plot_tables_and_sentences(two_factor_records, board, tmp_path):
    page = read_page(st.report(two_factor_records, tmp_path / "p.html", reference="rf"))
    text = " ".join(page.text.split())
    assert "suite two-factor on shapes(n=300)" in text
    assert "Reference: rf, as chosen" in text
    for entry in board.entries:
        for sentence in entry.sentences:
            assert " ".join(sentence.split())[1:] in text
        assert f"{100 * entry.variation.least:.2f}%{entry.variation.lowest}" in text
    assert "GA0.15SP0.2" in text
    assert any("I: better" in json.dumps(spec) for spec in page.specs)
