"""Install and try the packages that people use for the same questions, each in a fresh environment.

For every package: install it by pip with what its documentation names, beside torch 2.13.0 where it
needs torch; run its first calls on small data; if one fails, install what makes it run, and try
again. Calls answer one question each, such as whether a pipeline on a table with text is taken.
Where a package makes the common corruptions, their CPU time per image is compared with that of the
same kinds here, each in one process with one thread.

    python benchmarks/peers.py                      # all; about ten minutes, mostly downloads
    python benchmarks/peers.py --only foolbox --keep /tmp/peers

Without ``--keep`` the environments are deleted. Results: results/peers.md. What cannot be run is
compared in docs/comparison.md, with sources.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCH = "torch==2.13.0"
LIMIT = 300
"""Seconds that an installation or a call may take."""

DATA = """
import numpy as np
rng = np.random.default_rng(0)
x = rng.normal(size=(60, 4)).astype("float32")
y = (x[:, 0] > 0).astype(int)
"""
FRAME = """
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
frame = pd.DataFrame({"size": x[:, 0], "job": rng.choice(["smith", "baker"], 60)})
text = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
model = make_pipeline(text, RandomForestClassifier(5, random_state=0)).fit(frame, y)
"""
NETWORK = """
import torch
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3)).eval()
images, classes = torch.rand(20, 3, 2, 2), torch.arange(20) % 3
"""
OPERATORS = """
import torch
library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
TIMING = """
import json, time
def measure(kinds, n=100):
    images = np.random.default_rng(0).integers(256, size=(n, 32, 32, 3), dtype=np.uint8)
    done, failed = {}, {}
    for name, corrupt in kinds.items():
        try:
            corrupt(images[:2])
            start = time.process_time()
            corrupt(images)
            done[name] = 1000 * (time.process_time() - start) / n
        except Exception as error:
            failed[name] = repr(error)
    print("MEASURED", json.dumps([done, failed]))
"""


@dataclass(frozen=True)
class Remedy:
    """What makes a package run that does not run as it is installed."""

    words: str
    requirements: tuple[str, ...] = ()
    code: str = ""
    """Runs before every call."""


@dataclass(frozen=True)
class Peer:
    """One package, and what is tried with it."""

    name: str
    distribution: str
    requirements: tuple[str, ...]
    calls: dict[str, str]
    remedies: tuple[Remedy, ...] = ()
    kinds: str = ""
    """Code that calls ``measure`` with the common corruptions that it makes."""


@dataclass
class Outcome:
    """What came of one package."""

    version: str = "?"
    install: str = ""
    versions: str = ""
    calls: dict[str, list[str]] = field(default_factory=dict)
    """Per call the message of every attempt: the first as installed, the others after remedies."""
    tried: list[str] = field(default_factory=list)
    """Remedies that were used."""
    times: list[tuple[str, dict[str, float], dict[str, str]]] = field(default_factory=list)
    """The last remedy, milliseconds per image by kind, and messages of kinds that fail."""


TORCHVISION = Remedy(
    "declaring two operators of torchvision, whose wheel on PyPI is for the CUDA build of torch",
    code=OPERATORS,
)

OURS = Peer(
    "shaketable",
    "shaketable",
    (f"{ROOT}[onnx,image]", "skl2onnx", TORCH),
    {
        "scikit-learn": DATA
        + """
import shaketable as st
from sklearn.linear_model import LogisticRegression
st.evaluate(LogisticRegression().fit(x, y), (x, y), "linf(0.1)")
""",
        "torch": DATA
        + NETWORK
        + """
import shaketable as st
st.evaluate(net, (images.numpy(), classes.numpy()), "linf(0.1)")
""",
        "ONNX": DATA
        + """
import shaketable as st
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
model = LogisticRegression().fit(x, y)
onnx = to_onnx(model, x[:1], options={id(model): {"zipmap": False}})
open("model.onnx", "wb").write(onnx.SerializeToString())
st.evaluate(st.models.OnnxModel("model.onnx"), (x, y), "linf(0.1)")
""",
        "function": DATA
        + """
import shaketable as st
st.evaluate(lambda x: (x[:, 0] > 0).astype(int), (x, y), "linf(0.1)")
""",
        "pipeline on a table with text": DATA
        + FRAME
        + """
import shaketable as st
st.evaluate(model, (frame, y), "swap(0.1)")
""",
    },
)

PEERS = (
    OURS,
    Peer(
        "ART",
        "adversarial-robustness-toolbox",
        ("adversarial-robustness-toolbox", "pandas", TORCH),
        {
            "scikit-learn, FGSM": DATA
            + """
from art.attacks.evasion import FastGradientMethod
from art.estimators.classification import SklearnClassifier
from sklearn.linear_model import LogisticRegression
model = SklearnClassifier(LogisticRegression().fit(x, y))
FastGradientMethod(model, eps=0.3).generate(x)
""",
            "torch, PGD": DATA
            + NETWORK
            + """
from art.attacks.evasion import ProjectedGradientDescent
from art.estimators.classification import PyTorchClassifier
loss = torch.nn.CrossEntropyLoss()
model = PyTorchClassifier(net, loss=loss, input_shape=(3, 2, 2), nb_classes=3)
ProjectedGradientDescent(model, eps=0.1, max_iter=3, verbose=False).generate(images.numpy())
""",
            "function, HopSkipJump": DATA
            + """
from art.attacks.evasion import HopSkipJump
from art.estimators.classification import BlackBoxClassifier
model = BlackBoxClassifier(lambda x: np.eye(2)[(x[:, 0] > 0).astype(int)], (4,), 2)
HopSkipJump(model, max_iter=1, max_eval=20, init_eval=5, verbose=False).generate(x[:3])
""",
            "pipeline on a table with text, HopSkipJump": DATA
            + FRAME
            + """
from art.attacks.evasion import HopSkipJump
from art.estimators.classification import SklearnClassifier
attack = HopSkipJump(SklearnClassifier(model), max_iter=1, max_eval=20, init_eval=5, verbose=False)
attack.generate(frame[:3])
""",
        },
        (Remedy("`packaging` installed", ("packaging",)),),
    ),
    Peer(
        "Foolbox",
        "foolbox",
        ("foolbox", TORCH),
        {
            "torch, PGD": DATA
            + NETWORK
            + """
import foolbox
model = foolbox.PyTorchModel(net, bounds=(0, 1), device="cpu")
foolbox.attacks.LinfPGD(steps=3)(model, images, classes, epsilons=[0.1])
""",
            "function, noise": DATA
            + """
import eagerpy
import foolbox
model = foolbox.models.NumPyModel(lambda x: np.eye(2, dtype="float32")[(x[:, 0] > 0) * 1], (-9, 9))
attack = foolbox.attacks.L2AdditiveGaussianNoiseAttack()
attack(model, eagerpy.astensor(x), eagerpy.astensor(y), epsilons=[0.1])
""",
        },
    ),
    Peer(
        "RobustBench",
        "robustbench",
        ("robustbench", TORCH),
        {
            "torch, clean accuracy": DATA
            + NETWORK
            + """
from robustbench.utils import clean_accuracy
clean_accuracy(net, images, classes)
""",
            "import of the evaluation with AutoAttack": "from robustbench.eval import benchmark",
        },
        (
            TORCHVISION,
            Remedy("setuptools below 81, for `pkg_resources`", ("setuptools<81",)),
            Remedy(
                "its dependency `pyautoattack` under the name `autoattack`",
                code="""
import sys
import pyautoattack, pyautoattack.state
sys.modules["autoattack"] = pyautoattack
sys.modules["autoattack.state"] = pyautoattack.state
""",
            ),
        ),
    ),
    Peer(
        "imagecorruptions",
        "imagecorruptions",
        ("imagecorruptions",),
        {
            "one image, gaussian_noise": DATA + "from imagecorruptions import corrupt\n"
            "corrupt(np.zeros((32, 32, 3), np.uint8), corruption_name='gaussian_noise')",
            "one image, gaussian_blur, the example in its README": DATA
            + "from imagecorruptions import corrupt\n"
            "corrupt(np.zeros((32, 32, 3), np.uint8), corruption_name='gaussian_blur')",
        },
        (Remedy("the fork `imagecorruptions-imaug`", ("imagecorruptions-imaug",)),),
        DATA
        + TIMING
        + """
import cv2
from imagecorruptions import corrupt, get_corruption_names
cv2.setNumThreads(1)
def apply(name):
    return lambda images: [corrupt(i, severity=3, corruption_name=name) for i in images]
measure({name: apply(name) for name in get_corruption_names("all")})
""",
    ),
    Peer(
        "nrtk",
        "nrtk",
        ("nrtk[headless,skimage,pillow]",),
        {
            "one image, Gaussian noise": DATA
            + """
from nrtk.impls.perturb_image.photometric.noise import GaussianNoisePerturber
GaussianNoisePerturber(seed=0, var=0.01)(image=np.zeros((32, 32, 3), np.uint8))
"""
        },
    ),
    Peer(
        "deepchecks",
        "deepchecks",
        ("deepchecks",),
        {
            "pipeline on a table with text, suite": DATA
            + FRAME
            + """
from deepchecks.tabular import Dataset
from deepchecks.tabular.suites import model_evaluation
table = frame.assign(y=y)
parts = [Dataset(p, label="y", cat_features=["job"]) for p in (table[:30], table[30:])]
model_evaluation().run(*parts, model).passed()
"""
        },
        (
            Remedy(
                "numpy below 2, pandas below 3, scikit-learn below 1.8",
                ("numpy<2", "pandas<3", "scikit-learn<1.8"),
            ),
        ),
    ),
    Peer(
        "torch-uncertainty",
        "torch-uncertainty",
        ("torch-uncertainty[cpu,image]", TORCH),
        {
            "torch, test of a classifier": DATA
            + NETWORK
            + """
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty import TUTrainer
from torch_uncertainty.routines import ClassificationRoutine
routine = ClassificationRoutine(num_classes=3, model=net, loss=torch.nn.CrossEntropyLoss())
trainer = TUTrainer(accelerator="cpu", logger=False, enable_progress_bar=False)
trainer.test(routine, DataLoader(TensorDataset(images, classes), batch_size=5), verbose=False)
"""
        },
        (TORCHVISION, Remedy("scikit-learn below 1.7 (its extra `others`)", ("scikit-learn<1.7",))),
        DATA
        + TIMING
        + """
import torch
from torch_uncertainty.transforms.corruption import corruption_transforms
torch.set_num_threads(1)
names = {"elastic": "elastic_transform", "jpegcompression": "jpeg_compression"}
kinds = ["gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur",
         "motion_blur", "zoom_blur"]
names |= {kind.replace("_", ""): kind for kind in kinds}
def apply(transform):
    def corrupt(images):
        for image in torch.from_numpy(images).permute(0, 3, 1, 2) / 255:
            transform(image)
    return corrupt
kinds = {}
for each in corruption_transforms:
    name = each.__name__.lower()
    kinds[names.get(name, name)] = apply(each(3))
measure(kinds)
""",
    ),
)

OUR_KINDS = (
    DATA
    + TIMING
    + """
import shaketable as st
from shaketable.corruptions.common.severities import NAMES
def apply(name):
    return lambda images: st.corrupt(images, f"{name}(3, imagenet)", rng=0)
measure({name: apply(name) for name in NAMES}, n=1000)
"""
)


def run(words: Sequence[str], folder: Path) -> tuple[bool, str]:
    """Run a command on one core in a folder; whether it succeeded, and what it printed."""
    threads = ("OMP", "NUMBA", "OPENBLAS", "MKL")
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in threads}
    try:
        done = subprocess.run(
            words,
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, f"no end after {LIMIT} s"
    return done.returncode == 0, done.stdout


def last_line(text: str) -> str:
    r"""Return the last line that says something, which is the message of an exception.

    >>> last_line("Traceback:\n  x\nImportError: no name\n")
    'ImportError: no name'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.split(":")[0].endswith("Error")]
    return (errors or lines or ["nothing was printed"])[-1][:200].replace("|", "\\|")


class Environment:
    """A virtual environment that takes no other torch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        (folder / "constraints.txt").write_text(f"{TORCH}\n")

    def install(self, requirements: Sequence[str]) -> tuple[bool, str]:
        """Install by pip; whether it succeeded, and what it printed."""
        constraints = str(self.folder / "constraints.txt")
        pip = [str(self.python), "-m", "pip", "install", "-q", "-c", constraints]
        return run([*pip, *requirements], self.folder)

    def call(self, code: str) -> tuple[bool, str]:
        """Run code; whether it succeeded, and what it printed."""
        return run([str(self.python), "-W", "ignore", "-c", code], self.folder)


def try_peer(peer: Peer, folder: Path) -> Outcome:
    """Install a package, and try its calls: as installed, then with one remedy after another."""
    environment, outcome = Environment(folder), Outcome()
    done, printed = environment.install(peer.requirements)
    outcome.install = "yes" if done else last_line(printed)
    if not done:
        return outcome
    _, outcome.version = environment.call(
        f"import importlib.metadata as m; print(m.version('{peer.distribution}'), end='')"
    )
    prefix = ""
    for remedy in (None, *peer.remedies):
        if remedy is not None:
            if remedy.requirements:
                environment.install(remedy.requirements)
            prefix += remedy.code
            outcome.tried.append(remedy.words)
        for name, code in peer.calls.items():
            done, printed = environment.call(prefix + code)
            outcome.calls.setdefault(name, []).append("works" if done else last_line(printed))
        if peer.kinds:
            measure(environment, prefix + peer.kinds, outcome)
        complete = all(tries[-1] == "works" for tries in outcome.calls.values())
        if complete and not any(outcome.times[-1][2:] if outcome.times else ()):
            break
    _, frozen = run([str(environment.python), "-m", "pip", "freeze"], folder)
    shown = ("numpy", "pandas", "scikit-learn", "scikit-image", "torch", "torchvision", "opencv")
    kept = [line for line in frozen.splitlines() if line.split("==")[0].lower() in shown]
    outcome.versions = ", ".join(line.replace("==", " ") for line in kept)
    return outcome


def measure(environment: Environment, code: str, outcome: Outcome) -> None:
    """Time the common corruptions of a package, and note those that fail."""
    _, printed = environment.call(code)
    lines = [line for line in printed.splitlines() if line.startswith("MEASURED ")]
    if lines:
        times, failed = json.loads(lines[-1].removeprefix("MEASURED "))
        outcome.times.append((outcome.tried[-1] if outcome.tried else "", times, failed))


def describe_machine() -> str:
    """Name the processor, and the versions that matter."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor()
    return f"{processor}, {platform.system()}, Python {platform.python_version()}"


def write(outcomes: list[tuple[Peer, Outcome]], ours: dict[str, float]) -> str:
    """Return the results as Markdown."""
    lines = [
        "# Other packages, tried",
        "",
        f"By `python benchmarks/peers.py`, {datetime.now(UTC):%Y-%m-%d}, {describe_machine()}, one "
        "thread. Each package in its own fresh environment, with the newest versions that pip "
        f"takes, and {TORCH.replace('==', ' ')} (build for CPUs) where it needs torch.",
        "",
        "| package | version | installs | at the end beside |",
        "|---|---|---|---|",
        *(f"| {p.name} | {o.version} | {o.install} | {o.versions} |" for p, o in outcomes),
        "",
        "| package | call | as installed | works with |",
        "|---|---|---|---|",
    ]
    for peer, outcome in outcomes:
        for name, tries in outcome.calls.items():
            used = outcome.tried[: tries.index("works")] if "works" in tries else None
            remedy = "; ".join(used) if used else "" if used == [] else f"not: {tries[-1]}"
            lines.append(f"| {peer.name} | {name} | {tries[0]} | {remedy} |")
    lines += [
        "",
        "Common corruptions of severity 3 at 32 x 32 x 3, with the parameters of ImageNet-C, "
        "milliseconds of CPU time per image, the same kinds:",
        "",
        "| package | kinds | fails | its time | shaketable | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for peer, outcome in outcomes:
        for remedy, times, failures in outcome.times:
            if times:
                theirs, mine = sum(times.values()), sum(ours[name] for name in times)
                failed = "; ".join(f"{kind}: {error}" for kind, error in failures.items())
                lines.append(
                    f"| {peer.name}{remedy and ', with ' + remedy} | {len(times)} | {failed} | "
                    f"{theirs:.1f} | {mine:.3f} | {theirs / mine:.0f} |"
                )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Try all packages, or those that are named, and write results/peers.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="names of packages; prints, and writes no file")
    parser.add_argument("--keep", type=Path, help="folder in which environments are kept")
    args = parser.parse_args()
    chosen = [peer for peer in PEERS if not args.only or peer.name in args.only]
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        done, printed = run([sys.executable, "-W", "ignore", "-c", OUR_KINDS], folder)
        if not done:
            sys.exit(printed)
        ours = json.loads(printed.partition("MEASURED ")[2])[0]
        for peer in chosen:
            start = time.perf_counter()
            outcomes.append((peer, try_peer(peer, folder / peer.name)))
            if args.keep is None:
                shutil.rmtree(folder / peer.name)
            print(f"{peer.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    text = write(outcomes, ours)
    print(text)
    if not args.only:
        (ROOT / "benchmarks" / "results" / "peers.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
