"""The section about a study shows the metrics' numbers."""

from pathlib import Path

from helpers.pages import read_page
from shaketable import metrics
from shaketable.evaluation.records import Records
from shaketable.findings.page import write_report
from shaketable.views import numbers


def test_page_of_a_study_shows_the_matrix_and_mscr_below(
    tmp_path: Path, study_records: Records
) -> None:
    text = " ".join(read_page(write_report(tmp_path / "r.html", study_records)).text.split())
    for s in metrics.series(study_records):
        e = metrics.accuracy(s)
        assert numbers.format_percent(e) + numbers.format_interval(e) in text
        if s.at_eps_min:
            e = metrics.mscr(s)
            assert numbers.format_change(e) + numbers.format_interval(e) in text
