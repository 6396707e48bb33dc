"""JSON of a study: settings at the top only where all entries share them."""

from shaketable.data.dataset import Dataset
from shaketable.evaluation.study import study
from shaketable.findings.results import find

SETTINGS = "data", "norm", "eps_min", "k", "seed", "draws", "bounds"


def test_settings_that_differ_are_null_at_the_top_and_in_every_entry(data: Dataset) -> None:
    def run(**settings: object) -> object:
        levels = {"train_eps": [0], "test_eps": [0, "eps_min"]}
        return study(data, "1nn", **levels, runs=2, n_jobs=1, **settings)

    records = run(k=2)
    found = find(records).json()
    top = {name: found[name] for name in SETTINGS}
    assert (top["k"], top["norm"], top["seed"]) == (2, "inf", 0)
    assert [entry["k"] for entry in found["cells"]] == [1, 2]  # clean points have no draws
    assert [entry["k"] for entry in found["mscr"]] == [2]

    both = find(records + run(k=3, norm=2)).json()
    assert {name for name in SETTINGS if both[name] is None} == {"k", "norm", "eps_min"}
    assert {name: both[name] for name in SETTINGS if both[name] is not None}.items() <= top.items()
    noisy = [e for e in both["cells"] if e["test_eps"]]
    assert [(e["k"], e["norm"], e["seed"]) for e in noisy] == [(2, "inf", 0), (3, 2, 0)]
    assert [(e["k"], e["norm"]) for e in both["mscr"]] == [(2, "inf"), (3, 2)]
