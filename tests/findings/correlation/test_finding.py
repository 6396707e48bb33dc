"""Correlation of metrics over models: from records to sentences, JSON, chart and page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from helpers.commands import check_schema, run_command, run_failing, run_json
from helpers.records import make_records
from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.evaluation.store import Store
from shaketable.findings.correlation.finding import find, find_asked_correlations
from shaketable.findings.correlation.numbers import correlate
from shaketable.findings.groups import RecordGroups
from shaketable.separations.separation import SeparationRecord
from shaketable.views.blocks import Heading, Table

SPECS = ("l2(1)", "l2(2)")
SEPARATION = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
N = 80


def make(models: int, *, data: str = "by hand") -> Records:
    """Records of models, the later the more robust, under a suite and noise of size eps_min."""
    records = Records(())
    rng = np.random.default_rng(0)
    for i in range(models):
        share = 0.3 + 0.6 * i / models
        clean = rng.binomial(1, 0.9, N)
        hits = {spec: rng.binomial(2, clean * share) for spec in (*SPECS, "linf(0.1)")}
        records += make_records({"clean": clean, **hits}, k=2, model=f"m{i}")
    suite = SuiteRecord("f", "by-hand", "mce_lp", "", SPECS)
    cells = tuple(replace(c, data=data) for c in records)
    return Records(cells, (SEPARATION,), (suite,))


def test_values_are_the_metrics_of_every_model() -> None:
    records = make(6)
    found = correlate(records, "mscr", "mce_lp")
    assert found.models == tuple(f"m{i}" for i in range(6))
    own = [records.select(model=m) for m in found.models]
    mscr, mce = [metrics.mscr(r).value for r in own], [metrics.mce_lp(r).value for r in own]
    assert [(a.value, b.value) for a, b in found.values] == list(zip(mscr, mce, strict=True))
    assert found.spearman.value == pytest.approx(stats.spearmanr(mscr, mce).statistic)
    assert found.pearson.value == pytest.approx(stats.pearsonr(mscr, mce).statistic)
    assert "higher MSCR tend to have a lower mCE_Lp: Spearman -" in found.words
    chosen = correlate(records, "accuracy[linf(0.1)]", "error")
    assert "it is not shown that" in chosen.words


def test_what_cannot_be_correlated_is_refused() -> None:
    records = make(6)
    with pytest.raises(InputError, match="unknown metric 'mcse'"):
        correlate(records, "mcse", "mce_lp")
    with pytest.raises(InputError, match="no model has a value of mce, got results of m0, m1"):
        correlate(records, "mscr", "mce")
    with pytest.raises(InputError, match=r"several values, under l2\(1\) and l2\(2\)"):
        correlate(records, "relative_loss", "mce_lp")
    with pytest.raises(InputError, match="4 models or more with both mscr and mce_lp.*got 3"):
        correlate(make(3), "mscr", "mce_lp")


def test_ten_models_have_all_pairs_judged_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert find(RecordGroups(make(9))) is None
    finding = find(RecordGroups(make(10)))
    assert finding is not None
    names = [(pair.first, pair.second) for pair in finding.pairs]
    assert names == [("error", "mscr"), ("error", "mce_lp"), ("mscr", "mce_lp")]
    assert finding.shown == [False, False, True]
    content = finding.json()
    check_schema("report", {"schema_version": SCHEMA_VERSION, "notes": [], **content})
    assert len(content["metric_correlations"][2]["models"]) == 10
    finding.print()
    assert "MSCR with mCE_Lp" in capsys.readouterr().out
    assert "for all 3 together (Holm)" in finding.judged
    (table,) = (block for block in finding.blocks() if isinstance(block, Table))
    assert [row[0] for row in table.rows] == [
        "error with MSCR",
        "error with mCE_Lp",
        "MSCR with mCE_Lp",
    ]


def test_the_command_prints_json_and_draws(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    records = make(5)
    with Store(path) as store:
        store.add(list(records))
        store.add_separation(SEPARATION)
        store.add_suite(records.suites[0])
    argv = ("figure", "correlation", path, "--metric", "mscr,mce_lp", "-o", tmp_path / "c.svg")
    found = run_json(capsys, *argv)
    assert len(found["correlations"][0]["models"]) == 5
    assert "<svg" in (tmp_path / "c.svg").read_text()[:5]
    argv = ("report", path, "--correlate", "mscr, mce_lp")
    assert run_json(capsys, *argv)["correlations"] == found["correlations"]
    assert "MSCR with mCE_Lp" in run_command(capsys, *argv)[1]
    heading, *_ = find_asked_correlations(records, "mscr,mce_lp").blocks()
    assert isinstance(heading, Heading)
    assert heading.place == "correlation"
    assert "no model has a value of mce" in run_failing(
        capsys, "report", path, "--correlate", "mscr,mce"
    )
    assert "two metrics" in run_failing(capsys, "report", path, "--correlate", "mscr")


def drop(records: Records, model: str, *specs: str) -> Records:
    """Records without those of one model under some corruptions."""
    kept = (c for c in records if c.model != model or c.corruption not in specs)
    return replace(records, cells=tuple(kept))


def test_models_that_have_one_of_the_two_are_left_out_and_named() -> None:
    records = drop(drop(make(8), "m1", "linf(0.1)"), "m6", "l2(1)")
    for pair in (("mscr", "mce_lp"), ("mce_lp", "mscr")):
        found = correlate(records, *pair)
        assert found.models == ("m0", "m2", "m3", "m4", "m5", "m7")
        assert sorted(found.left_out) == sorted(found.json()["left_out"]) == ["m1", "m6"]


def test_a_model_of_several_k_counts_once_with_the_largest() -> None:
    def study(k: int, models: int) -> Records:
        """The same counts, as of a study that trained every model with k copies."""
        cells = (
            replace(
                c,
                key=f"{c.key} {k}",
                hits=c.hits if c.corruption == "clean" else c.hits * (k // 2),
                setting=replace(c.setting, k=1 if c.is_clean else k),
                train="clean",
                recipe=f"{c.recipe} {k}",
                model_id=f"{c.model_id} {k}",
            )
            for c in make(models)
        )
        return replace(make(models), cells=tuple(cells))

    def join(*parts: Records) -> Records:
        return replace(parts[0], cells=tuple(c for part in parts for c in part))

    both = join(study(2, 6), study(4, 6))
    found = correlate(both, "mscr", "mce_lp")
    assert len(found.models) == 6
    assert found.json() == correlate(study(4, 6), "mscr", "mce_lp").json()
    assert find(RecordGroups(both)) is None, "six models, not twelve"
    assert find(RecordGroups(join(study(2, 10), study(4, 10)))) is not None
