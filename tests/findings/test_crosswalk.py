"""The crosswalk: every topic has a source, and names sections that there are."""

import re

from shaketable.findings.dossier.crosswalk import NOTICE, read_crosswalk
from shaketable.findings.dossier.view import DOSSIER_PLACES, EVIDENCE
from shaketable.findings.section_order import PLACES


def test_every_topic_has_a_source_with_its_date_and_known_sections():
    topics = read_crosswalk()
    for topic in topics:
        assert topic.document.source
        assert re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", topic.document.date)
        assert set(topic.sections) <= set(DOSSIER_PLACES), topic.words
        assert topic.sections or topic.lacks, "what no section has says why"
    assert len({(t.document.id, t.words) for t in topics}) == len(topics)
    assert "not legal advice" in NOTICE


def test_sections_that_may_be_missing_are_those_of_the_page():
    assert set(EVIDENCE) <= set(PLACES)


def test_no_topic_has_a_clause_number_but_those_of_the_law():
    for topic in read_crosswalk():
        numbered = re.search(r"\d|clause|Article|Annex", topic.words)
        assert not numbered or topic.document.id == "ai-act", topic.words
