"""What the commands print and write, recorded, and compared with what another version makes.

Every subcommand runs on small data, as text and as JSON; pages and results files are kept too. A
second recording, made by a changed version, must hold the same numbers: JSON value by value,
results files cell by cell. Texts and pages may say them elsewhere, more often or with more digits;
a number that is nowhere in the new text is reported. Texts whose words differ are listed.

    python benchmarks/recording.py record before
    python benchmarks/recording.py record after        # of the changed version
    python benchmarks/recording.py compare before after

The exit code is 1 if a number differs. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

COMMANDS = {
    "demo": "demo --out demo",
    "separation": "separation bands(n=400) --report separation.html",
    "separation-l2": "separation iris --norm 2",
    "evaluate": "evaluate --model rf --model 1nn --data bands(n=400) --store evaluate.sqlite "
    "--report evaluate.html",
    "evaluate-four": "evaluate --model rf --model 1nn --model svm --model logistic "
    "--data bands(n=300) --store four.sqlite --report four.html",
    "evaluate-other": "evaluate --model rf=svm --model 1nn --data bands(n=400) "
    "--store other.sqlite",
    "evaluate-table": "evaluate --model people.joblib --trust --data people.csv --label risk "
    "--column 'age=step 1' --others gower --features --by sex --corruptions linf(eps_min) "
    "swap(0.05) missing(0.1) --store table.sqlite --report table.html",
    "evaluate-pnorm": "evaluate --model logistic --model 1nn --data digits --suite pnorm "
    "--suite ice --points 300 --k 2 --store pnorm.sqlite --report pnorm.html",
    "evaluate-common": "evaluate --model logistic --model 1nn --data digits.npz --suite common-19 "
    "--points 200 --store common.sqlite --report common.html",
    "evaluate-two-factor": "evaluate --model logistic --model 1nn --model rf --data digits.npz "
    "--suite two-factor --points 200 --store two.sqlite --report two.html",
    "evaluate-precision": "evaluate --model rf --data bands(n=4000) --precision 3 "
    "--report precision.html",
    "evaluate-requirements": "evaluate --model rf --data bands(n=400) --require 'mscr >= -50'",
    "risk": "risk --model logistic --model rf --data iris --corruption linf(eps_min) "
    "--corruption gaussian(0.3) --points 4 --budget 8000 --store risk.sqlite --report risk.html",
    "study": "study --model rf --model 1nn --data bands(n=300) --train-eps 0,0.01,eps_min "
    "--test-eps 0,0.01,eps_min --runs 4 --store study.sqlite --report study.html",
    "study-regimes": "study --model logistic --model 1nn --data breast_cancer --scale "
    "--train clean --train linf(0.1) --suite pnorm --runs 3 --k 1 --store regimes.sqlite "
    "--report regimes.html",
    "study-dry-run": "study --model 1nn --data bands(n=300) --train-eps 0 --test-eps 0 --dry-run",
    "train": "train --data bands(n=300) --network mlp --noise linf(0.01) "
    "--recipe 'auto(epochs=3)' --device cpu -o net.pt",
    "evaluate-network": "evaluate --model net.pt --data bands(n=300) --held-out",
    "harden": "harden --data bands(n=300) --model 1nn --k 2 --runs 2 -o hardened.joblib",
    "score": "report evaluate.sqlite -o score.html",
    "score-study": "report study.sqlite",
    "score-suites": "report common.sqlite",
    "score-latex": "report table.sqlite --format latex",
    "score-markdown": "report two.sqlite --format markdown",
    "export": "export table.sqlite -o findings.csv",
    "figure": "figure tradeoff study.sqlite -o tradeoff.svg",
    "card": "export evaluate.sqlite --to card",
    "check": "check evaluate.sqlite --require 'mscr >= -50' --require 'accuracy >= 50'",
    "compare": "compare evaluate.sqlite other.sqlite",
    "correlate": "figure correlation four.sqlite --metric mscr,error -o correlate.html",
    "merge": "merge evaluate.sqlite two.sqlite -o merged.sqlite",
    "rerun": "rerun evaluate.sqlite",
    "rerun-show": "rerun study.sqlite --show",
    "mcv": "figure mcv two.sqlite --reference logistic -o mcv.html",
    "mcv-scores": "figure mcv scores.csv --reference plain -o scores.html",
    "adversary": "adversary --model rf --model 1nn --data bands(n=200) --eps 0.01,eps_min "
    "--constraint none --constraint genuine-max --points 20 --report adversary.html",
    "agreement": "adversary --agreement neither --model rf --model svm --data bands(n=400)",
    "corrupt": "corrupt bands(n=100) --corruption l2(0.1) -o noisy.csv",
    "gallery": "corrupt digits.npz --row 7 -o gallery.html",
    "balls-volumes": "figure balls-volumes",
    "balls-overlap": "figure balls-overlap",
    "list-suites": "list suites",
    "list-corruptions": "list corruptions",
    "list-metrics": "list metrics",
}
"""Words of each command by name; later ones use the files of earlier ones."""

NO_JSON = {
    "score-latex", "score-markdown", "card", "demo", "export", "figure", "merge", "corrupt",
    "gallery", "rerun-show",
}  # fmt: skip
VOLATILE = {
    "seconds", "created", "versions", "version", "date", "duration", "cpu_seconds", "checksum",
}  # fmt: skip
"""Keys and columns that differ from run to run."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def make_inputs(folder: Path) -> None:
    """Write the table, its model and the table of scores that the commands use."""
    import joblib
    import numpy as np
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    n = 400
    age, sex = rng.integers(18, 80, n), rng.choice(["f", "m"], n)
    income = rng.normal(30, 8, n).round(1) + (sex == "m")
    city = rng.choice(["Aachen", "Bonn", "Celle"], n)
    high = age + 2 * income + 10 * (city == "Bonn") + rng.normal(0, 10, n) > 112
    people = pd.DataFrame({"age": age, "sex": sex, "income": income, "city": city})
    people.loc[rng.random(n) < 0.05, "income"] = np.nan
    people["risk"] = np.where(high, "high", "low")
    people.to_csv(folder / "people.csv", index=False)
    x = pd.read_csv(folder / "people.csv").drop(columns="risk")
    columns = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, RandomForestClassifier(30, random_state=0)).fit(
        x, people["risk"]
    )
    digits = load_digits()
    np.savez(folder / "digits.npz", x=(digits.images * 15).astype(np.uint8), y=digits.target)
    joblib.dump(model, folder / "people.joblib")
    scores = pd.DataFrame(rng.uniform(60, 95, (3, 6)).round(2), index=["plain", "a", "b"])
    scores.columns = [f"condition {i}" for i in range(6)]
    scores.rename_axis("model").to_csv(folder / "scores.csv")


def run(words: str, folder: Path) -> tuple[str, str, int]:
    """Run a command in the folder; what it prints, its messages and its exit code."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "shaketable", *shlex.split(words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def record(folder: Path) -> None:
    """Run all commands, as text and then as JSON, and keep what they print beside their files."""
    folder.mkdir(parents=True)
    make_inputs(folder)
    for name, words in COMMANDS.items():
        began = time.perf_counter()
        out, messages, code = run(words, folder)
        (folder / f"{name}.txt").write_text(f"{out}\nexit code {code}\n")
        if code not in (0, 1, 3):
            print(f"{name}: exit code {code}: {messages.strip()[-300:]}")
        if name not in NO_JSON:
            out, messages, code = run(f"{words} --json", folder)
            if code in (0, 1, 3):
                (folder / f"{name}.json").write_text(out)
            else:
                print(f"{name} --json: exit code {code}: {messages.strip()[-300:]}")
        print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every leaf of a JSON value that does not depend on the run."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in VOLATILE:
                yield from flatten(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from flatten(inner, f"{path}[{i}]")
    else:
        yield path, value


def read_cells(path: Path) -> dict[tuple[str, ...], Any]:
    """Return every value of a results file by table, first column and column."""
    with closing(sqlite3.connect(path)) as db, db:
        db.row_factory = sqlite3.Row
        tables = [r[0] for r in db.execute("select name from sqlite_master where type = 'table'")]
        rows = {table: list(db.execute(f'select * from "{table}"')) for table in sorted(tables)}
    return {
        (table, str(row[0]), column): row[column]
        for table, kept in rows.items()
        for row in kept
        for column in row.keys()  # noqa: SIM118  a Row iterates over its values
        if column not in VOLATILE
    }


def read_text(path: Path) -> str:
    """Return a text; of a page, what is between its tags, and the data of its charts."""
    text = path.read_text()
    if path.suffix == ".html":
        text = re.sub(r"(?s)<style.*?</style>", "", text)
        libraries = r"(?s)<script(?![^>]*json)[^>]*>.{100000,}?</script>"
        text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(libraries, "", text)))
    volatile = r"\d{4}-\d\d-\d\d[T ]?[\d:.+]*|\d+(?:\.\d+)? (?:s|ms|min|h)\b"
    return re.sub(volatile, "(time)", text)


def find_lost(before: str, after: str) -> list[str]:
    """Numbers with a decimal point that a text says, and no number of the other rounds to.

    >>> find_lost("1.25 and 3.7", "1.250, 3.75")
    ['3.7']
    """
    numbers = [abs(float(number)) for number in NUMBER.findall(after.replace(",", ""))]
    lost = []
    for text in dict.fromkeys(NUMBER.findall(before.replace(",", ""))):
        if "." not in text or "e" in text:
            continue
        size, half = abs(float(text)), 0.5 * 10.0 ** -len(text.partition(".")[2])
        if not any(abs(n - size) <= half * (1 + 1e-9) or n == size for n in numbers):
            lost.append(text)
    return lost


def compare(before: Path, after: Path) -> int:
    """Print what differs between two recordings; the number of files in which numbers differ."""
    different = 0
    kinds = {".json", ".txt", ".html", ".sqlite", ".csv"}
    for old in sorted(p for p in before.rglob("*") if p.suffix in kinds):
        new = after / old.relative_to(before)
        if not new.exists():
            print(f"{old.name}: missing")
            different += 1
            continue
        values: list[dict[Any, Any]]
        if old.suffix == ".json":
            values = [dict(flatten(json.loads(p.read_text()))) for p in (old, new)]
        elif old.suffix == ".sqlite":
            values = [read_cells(p) for p in (old, new)]
        else:
            texts = [read_text(p) for p in (old, new)]
            lost = find_lost(*texts)
            values = [dict.fromkeys(lost, "said"), dict.fromkeys(lost, "nowhere")]
            if texts[0].split() != texts[1].split():
                print(f"{old.name}: the words differ")
        wrong = [
            key for key in values[0].keys() | values[1].keys()
            if values[0].get(key) != values[1].get(key)
        ]  # fmt: skip
        if wrong:
            different += 1
            shown = sorted(wrong, key=str)[:5]
            print(f"{old.name}: {len(wrong)} values differ, such as")
            for key in shown:
                print(f"    {key}: {values[0].get(key)!r} -> {values[1].get(key)!r}"[:300])
    print(f"{different} files differ in their numbers")
    return different


def main() -> None:
    """Record, or compare two recordings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    recorder = actions.add_parser("record", help="run all commands")
    recorder.add_argument("folder", type=Path)
    comparer = actions.add_parser("compare", help="compare two recordings")
    comparer.add_argument("before", type=Path)
    comparer.add_argument("after", type=Path)
    args = parser.parse_args()
    if args.action == "record":
        record(args.folder)
    else:
        sys.exit(bool(compare(args.before, args.after)))


if __name__ == "__main__":
    main()
