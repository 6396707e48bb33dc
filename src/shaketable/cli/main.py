"""The command line: parse, call, print. Tables on stdout, progress and errors on stderr."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.cli.adversary import adversary, agreement
from shaketable.cli.mcv import mcv
from shaketable.cli.noise import balls, corrupt, gallery
from shaketable.cli.parser import parse_args
from shaketable.cli.values import bounds_from, data_from, suites_from
from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, ShaketableError, StoreError, UndefinedError
from shaketable.views.terminal import showing

if TYPE_CHECKING:
    from shaketable.data.bounds import BoundsLike
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.evaluate import Corruptions
    from shaketable.evaluation.records import Records


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    args = argparse.Namespace()
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _of_thread
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a sign the terminal lacks must not end a study
            stream.reconfigure(errors="replace")
    try:
        if argv[:1] == ["--version"]:
            print("shaketable", version("shaketable"))
            return 0
        args = parse_args(argv, COMMANDS)
        return int(args.run(args))
    except KeyboardInterrupt:
        store = getattr(args, "store", None)
        kept = f"what was measured is in {store}, run the same command to go on"
        lost = "nothing was kept" + (", use --store" if hasattr(args, "store") else "")
        return _fail(f"interrupted; {kept if store else lost}", 130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        if isinstance(error, ShaketableError):
            return _fail(f"error: {error}", error.exit_code)
        return _fail(f"error: {type(error).__name__}: {error}; --debug shows where", 4)


def _of_thread(error: threading.ExceptHookArgs) -> None:
    """Leave out what joblib's own thread says of workers that were stopped: its caller is told."""
    if error.thread is None or error.thread.name != "ExecutorManagerThread":
        threading.__excepthook__(error)


def _print_json(result: dict[str, Any]) -> None:
    print(json.dumps(result, indent=2))


def _fail(message: str, code: int) -> int:
    print("shaketable:", " ".join(message.split()), file=sys.stderr)
    return code


def demo(args: argparse.Namespace) -> int:
    """Shake two models on built-in data."""
    from shaketable.data.files import load  # heavy parts are loaded by the commands
    from shaketable.evaluation.store import Store
    from shaketable.findings.display import print_evaluation
    from shaketable.findings.page import write_report

    folder = Path(args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {args.out!r} cannot be made: {error.strerror}") from error
    store = folder / "demo.sqlite"
    try:
        Store(store).close()
    except StoreError:  # of another version
        store.unlink()
    data = load("bands(n=10000)")
    print("A random forest and a 1-NN on 'bands': 2-D, two interlocking classes.\n")
    args.model, args.fit, args.store, args.model_id = ["rf", "1nn"], False, store, None
    args.draws, args.device_noise = None, False
    levels = ["linf(eps_min)", *(f"linf({epsilon})" for epsilon in (0.005, 0.02, 0.04))]
    records = _evaluate(args, data, levels, None)
    print_evaluation(records)
    page = write_report(folder / "demo.html", records, dataset=data)
    print(f"""
results file: {store}
page:         {page}

The same on your own data, built-in models first, then your own:
  shaketable separation mydata.csv --label COLUMN
  shaketable evaluate --model rf --data mydata.csv --label COLUMN --report report.html
  shaketable evaluate --model mypackage.mymodule:model --data train.npz --test test.npz
  shaketable study --data mydata.csv --label COLUMN --model rf --runs 20 --store study.sqlite""")
    return 0


def separation(args: argparse.Namespace) -> int:
    """Measure how far apart the classes are."""
    from shaketable.separations.audit import audit
    from shaketable.separations.one_nn import one_nn
    from shaketable.separations.separation import separation
    from shaketable.separations.table import print_separation, separation_json
    from shaketable.views.terminal import print_notes

    before = data_from(args, drop_clashes=False, scale=False)
    data = before.drop_clashes() if args.drop_clashes else before
    data = data.scaled() if args.scale else data
    progress = not args.quiet
    result = separation(
        data, norm=args.norm, points=not args.minimum, progress=progress, device=args.device,
        closest=args.closest + 1,  # so that the last pair shown has an eps_min without it too
    )  # fmt: skip
    neighbours = None
    if args.one_nn:
        neighbours = one_nn(
            data, norm=args.norm, seed=args.seed, progress=progress, device=args.device
        )
    found = audit(result, data, closest=args.closest, before=before if args.drop_clashes else None)
    if args.json:
        _print_json(separation_json(result, data, found, neighbours))
    else:
        print_separation(result, data, found, neighbours)
        print_notes(data.notes())
    if args.html is not None:
        from shaketable.separations.page import write_separation

        page = write_separation(args.html, result, data, one_nn=neighbours, audited=found)
        print(f"page: {page}", file=sys.stderr)
    return 0


def evaluate(args: argparse.Namespace) -> int:
    """Shake fitted models with noise and other corruptions."""
    from shaketable.corruptions import parse
    from shaketable.findings.display import evaluation_json, print_evaluation
    from shaketable.models.classifier import BUILTIN

    if args.reference and args.reference not in args.model:
        raise unknown_name("reference", args.reference, args.model)
    levels = [*args.corruptions, *suites_from(args)] or ["linf(eps_min)"]
    names = [n for level in levels for n in ([level] if isinstance(level, str) else level.names)]
    if args.min_mscr is not None and not any("eps_min" in name for name in names):
        raise InputError("--min-mscr needs noise of size eps_min, such as linf(eps_min)")
    for name in names:
        parse(name, eps_min=lambda _: 1.0)  # found out before any work
    data = data_from(args)
    notes = data.notes()
    if data.n_train is None and not args.fit and set(args.model) - set(BUILTIN):
        notes.append(
            f"models that came fitted are measured on all {data.n} points; name the points they "
            "were not trained on with --test"
        )
    records = _evaluate(args, data, levels, bounds_from(args, data))
    with showing():
        if args.json:
            _print_json(evaluation_json(records, notes, reference=args.reference or ""))
        else:
            print_evaluation(records, notes, reference=args.reference or "")
    return _conclude(args, records, data, notes)


def study(args: argparse.Namespace) -> int:
    """Train with noise, test with noise, many times."""
    from shaketable.evaluation.study import study
    from shaketable.findings.display import print_study, study_json

    data = data_from(args)
    notes = data.notes()
    if data.n_train is not None:
        notes.append(
            "the data have a fixed test part, so runs differ in training and noise alone, and so "
            "do the intervals"
        )
    with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
        records = study(
            data, args.model, norm=args.norm, train_eps=args.train_eps, test_eps=args.test_eps,
            k=args.k, runs=args.runs, seed=args.seed, draws=args.draws,
            bounds=bounds_from(args, data), store=args.store, n_jobs=args.jobs,
            progress=not args.quiet,
        )  # fmt: skip
    with showing():
        if args.json:
            _print_json(study_json(records, notes))
        else:
            print_study(records, notes)
    return _conclude(args, records, data, notes)


def score(args: argparse.Namespace) -> int:
    """Read a results file again."""
    from shaketable.evaluation.evaluate import AS_GIVEN
    from shaketable.evaluation.store import Store
    from shaketable.findings import display

    with Store(args.store, must_exist=True) as store:
        records = store.records()
    if not len(records):
        raise InputError(f"results file {args.store!r} must hold at least one cell, got none")
    given = replace(records, cells=tuple(c for c in records if c.train == AS_GIVEN))
    studied = replace(records, cells=tuple(c for c in records if c.train != AS_GIVEN))
    reference = args.reference or ""
    with showing():
        if args.json:
            shown = display.evaluation_json(given, (), reference=reference) if len(given) else {}
            shown |= {} if not len(studied) else display.study_json(studied, ())
            _print_json(shown)
        else:
            if len(given):
                display.print_evaluation(given, reference=reference)
            if len(studied):
                display.print_study(studied)
    return _conclude(args, records, None, ())


def list_names(args: argparse.Namespace) -> int:
    """List what can be named."""
    from shaketable import metrics
    from shaketable.adversary.attacks.parse import ATTACK_NAMES
    from shaketable.corruptions import CORRUPTION_NAMES
    from shaketable.corruptions.suites import catalogue as suites
    from shaketable.data import builtin as datasets
    from shaketable.models import classifier as models
    from shaketable.views.terminal import print_list

    def first_line(thing: Callable[..., Any]) -> str:
        return (thing.__doc__ or "").strip().partition("\n")[0]

    entries = {
        "datasets": {name: first_line(make) for name, make in datasets.BUILTIN.items()},
        "models": {**models.BUILTIN, **models.EXAMPLES},
        "corruptions": CORRUPTION_NAMES,
        "suites": {s.name: str(s) for s in suites.SUITES.values()},
        "attacks": ATTACK_NAMES,
        "metrics": {name: first_line(metric) for name, metric in metrics.METRICS.items()},
    }[args.kind]
    if args.json:
        _print_json(entries)
    else:
        print_list(entries)
    return 0


def _evaluate(
    args: argparse.Namespace,
    data: Dataset,
    levels: Corruptions,
    bounds: BoundsLike | Literal["declared"],
) -> Records:
    """Measure every model that was named, all with the same noise."""
    from shaketable.evaluation.evaluate import evaluate
    from shaketable.evaluation.records import Records
    from shaketable.models.classifier import load_model

    if args.model_id is not None and len(args.model) > 1:
        raise InputError("--model-id names one model; evaluate them one at a time")
    records = Records(())
    for name in args.model:
        model, unfitted = load_model(name)
        with redirect_stdout(sys.stderr):  # whatever models print must not end up in the results
            records += evaluate(
                model, data, levels, k=args.k, seed=args.seed, store=args.store, bounds=bounds,
                name=name, model_id=args.model_id, refit=unfitted or args.fit, unscale=True,
                draws=args.draws, device_noise=args.device_noise, progress=not args.quiet,
            )  # fmt: skip
    return records


def _conclude(
    args: argparse.Namespace, records: Records, data: Dataset | None, notes: Iterable[str]
) -> int:
    """Compare every model's MSCR with what is required, write the page, and judge."""
    from shaketable.findings.display import undefined

    code = 0 if args.min_mscr is None else _judge(records, args.min_mscr / 100)
    if args.report is not None:
        from shaketable.findings.page import write_report

        reference = getattr(args, "reference", None) or ""
        page = write_report(args.report, records, dataset=data, notes=notes, reference=reference)
        print(f"page: {page}", file=sys.stderr)
    if names := undefined(records):
        raise UndefinedError(
            f"MSCR is undefined for {names}: a clean accuracy of 0 leaves nothing to lose; check "
            "that the model's labels are the data's"
        )
    return code


def _judge(records: Records, least: float) -> int:
    """Exit code: 0 if every MSCR is at least that, 1 if one is not, 3 if that is open."""
    from shaketable import metrics
    from shaketable.findings.subjects import subjects

    codes = []
    for subject in subjects(records):
        for s in subject.at_eps_min:
            mscr = metrics.mscr(s)
            met, missed = mscr.low >= least, mscr.high < least
            codes.append(0 if met else 1 if missed else 3)
            word = "met" if met else "not met" if missed else "inconclusive"
            trained = f", training noise {subject.train_level(s)}," if subject.is_study else ""
            print(
                f"requirement MSCR >= {least:.2%} {word}: {subject.label}{trained} has "
                f"{mscr.value:+.2%}, 95 % interval {mscr.low:+.2%} to {mscr.high:+.2%}",
                file=sys.stderr,
            )
    if not codes:
        raise InputError("--min-mscr needs noise of size eps_min on record")
    return 1 if 1 in codes else max(codes)


COMMANDS = {
    "demo": demo,
    "separation": separation,
    "evaluate": evaluate,
    "study": study,
    "score": score,
    "mcv": mcv,
    "adversary": adversary,
    "agreement": agreement,
    "corrupt": corrupt,
    "gallery": gallery,
    "balls": balls,
    "list": list_names,
}
