"""What attacks would take is what they take, where all points are sampled."""

import json

from helpers.commands import check_schema, run_command, run_json

ARGUMENTS = ("adversary", "--data", "iris", "--model", "logistic", "--eps", "0.2,0.4", "--quiet")


def test_queries_of_a_dry_run_are_those_of_the_run(capsys):
    words = (*ARGUMENTS, "--effort", "1", "--dry-run", "--json")
    planned = json.loads(run_command(capsys, *words)[1])
    check_schema("adversary-dry-run", planned)
    assert planned["points"] == 30
    run = run_json(capsys, *ARGUMENTS, "--effort", "1")["curves"][0]["points"]
    trials = [(a["epsilon"], t["spec"], t["tried"]) for a in run for t in a["trials"]]
    listed = [(a["epsilon"], a["attack"], a["points"]) for a in planned["attacks"]]
    assert listed == trials
    queries = sum(t["queries"] for a in run for t in a["trials"])
    # a run labels all points once per attack and epsilon in addition
    assert 0 < planned["queries"] <= queries <= planned["queries"] + 4 * 30
    assert planned["seconds"] > 0


def test_it_prints_one_row_per_attack(capsys):
    text = run_command(capsys, *ARGUMENTS, "--constraint", "genuine-exact", "--dry-run")[1]
    assert text.count("random(queries=200)") == 2
    assert "points: 30 of iris" in text
