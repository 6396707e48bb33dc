"""The jobs of `python -m benchmarks`: what shaketable is used for, and who else does it.

Every job is small, made from built-in data or fixed random numbers, and checks that both sides
compute the same before anything is timed. Where results are random, a statistic is compared.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import shaketable as st
from overview import Job, Sides, agree
from shaketable.core.keys import row_keys
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.corruption import CommonCorruption, corrupt_images
from shaketable.corruptions.common.severities import NAMES
from shaketable.data.bounds import Bounds
from shaketable.statistics import intervals

TORCH = (("torch", "torch"),)
IMAGECORRUPTIONS = (("imagecorruptions", "imagecorruptions-imaug"),)
SEVERITY = 3
EXACT = (
    "gaussian_blur", "defocus_blur", "zoom_blur", "brightness", "contrast", "saturate", "pixelate",
    "jpeg_compression",
)  # fmt: skip
"""Corruptions without random numbers: both sides give the same images."""
OTHERWISE = ("frost", "elastic_transform")
"""Those that the package does otherwise: other textures, no affine map."""


def make_keys(n: int) -> KeyArray:
    """Keys of n rows, one draw each."""
    return row_keys(1, np.arange(n), np.arange(1))[:, 0]


def load_shapes(n: int) -> tuple[Array, Array]:
    """Images of 32 x 32 x 3, uint8, and their labels."""
    data = st.load(f"shapes(n={n})")
    return data.x, data.y


def compare_noise(p: float) -> Sides:
    """Noise uniform in the ball of radius 1, drawn by numpy from other distributions."""
    from pnorm import D, fill_ball, fill_by_gamma

    n = 1000
    keys, rng = make_keys(n), np.random.default_rng(0)
    mine, theirs = np.empty((n, D), np.float32), np.empty((n, D), np.float32)

    def ours() -> Array:
        fill_ball(keys, mine, p)
        return mine

    def peer() -> Array:
        if p != 2:
            fill_by_gamma(rng, theirs, p)
            return theirs
        rng.standard_normal(out=theirs, dtype=np.float32)
        norm = np.sqrt(np.einsum("ij,ij->i", theirs, theirs))
        theirs[:] *= (rng.random(n) ** (1 / D) / norm).astype(np.float32)[:, None]
        return theirs

    def check(mine: Array, theirs: Array) -> None:
        for x in (mine, theirs):
            volume = np.linalg.norm(x.astype(float), p, axis=1) ** D  # uniform in [0, 1]
            agree(abs(volume.mean() - 0.5) < 0.06, "noise is not uniform in the ball")
            agree(abs(x.mean() / x.std()) < 0.01, "noise has a direction")
        agree(0.99 < np.abs(mine).mean() / np.abs(theirs).mean() < 1.01, "other absolute values")
        agree(0.99 < mine.std() / theirs.std() < 1.01, "other standard deviations")

    return Sides(ours, peer, check)


def compare_corrupt() -> Sides:
    """`st.corrupt` against the line that one writes by hand."""
    x = (load_shapes(1000)[0] / 255).astype(np.float32)
    rng = np.random.default_rng(0)

    def ours() -> Array:
        return np.asarray(st.corrupt(x, "linf(0.1)", rng=0, bounds=(0, 1)))

    def peer() -> Array:
        noise = rng.random(x.shape, np.float32) * np.float32(0.2) - np.float32(0.1)
        return np.clip(x + noise, 0, 1)

    def check(mine: Array, theirs: Array) -> None:
        changes = [np.abs(noisy - x) for noisy in (mine, theirs)]
        agree(max(c.max() for c in changes) < 0.1 + 1e-6, "noise outside of the ball")
        agree(0.99 < changes[0].mean() / changes[1].mean() < 1.01, "other absolute values")

    return Sides(ours, peer, check)


def compare_common(names: tuple[str, ...], n: int, side: int) -> Sides:
    """Common corruptions at one severity, against a package that takes one image at a time."""
    x = load_shapes(n)[0]
    x = np.ascontiguousarray(x.repeat(side // 32, axis=1).repeat(side // 32, axis=2))
    keys = make_keys(n)
    corruptions = {
        name: CommonCorruption(name, SEVERITY, profile="imagenet").for_shape(x.shape[1:])
        for name in names
    }

    def ours() -> dict[str, Array]:
        return {name: corrupt_images(x, keys, c) for name, c in corruptions.items()}

    def peer() -> dict[str, Array]:
        corrupt: Any = import_module("imagecorruptions").corrupt
        import_module("cv2").setNumThreads(1)
        return {
            name: np.stack([corrupt(image, corruption_name=name, severity=SEVERITY) for image in x])
            for name in names
        }

    def check(mine: dict[str, Array], theirs: dict[str, Array]) -> None:
        for name in names:
            a, b = mine[name].astype(float), theirs[name].astype(float)
            if name in EXACT:
                agree(np.abs(a - b).mean() < 0.05, f"{name} gives other images")
            elif name not in OTHERWISE:
                ratio = np.abs(a - x).mean() / np.abs(b - x).mean()
                agree(0.7 < ratio < 1.4, f"{name} changes images {ratio:.2f} times as much")

    return Sides(ours, peer, check)


def compare_rotation() -> Sides:
    """Rotation by the nearest pixel."""
    x = (load_shapes(500)[0] / 255).astype(np.float32)
    corruption = st.parse("rotation(30)").bind(Bounds(0, 1))
    keys = make_keys(len(x))

    def peer() -> Array:
        rotate: Any = import_module("skimage.transform").rotate
        return np.stack([rotate(image, -30, order=0) for image in x])

    def check(mine: Array, theirs: Array) -> None:
        agree((np.abs(mine - theirs) < 1e-5).mean() > 0.998, "other images")

    return Sides(lambda: corruption(x, keys), peer, check)


def compare_separation(p: float, n: int) -> Sides:
    """Every image's nearest image of another class, against scikit-learn by brute force."""
    from sklearn.neighbors import NearestNeighbors

    x, y = load_shapes(n)

    def ours() -> Array:
        return np.asarray(st.separation(st.make_dataset(x, y), norm=p).nearest)

    def peer() -> Array:
        flat, nearest = x.reshape(n, -1).astype(np.float32) / np.float32(255), np.empty(n)
        for label in np.unique(y):
            search = NearestNeighbors(n_neighbors=1, algorithm="brute", metric="minkowski", p=p)
            search.fit(flat[y != label])
            nearest[y == label] = search.kneighbors(flat[y == label])[0][:, 0]
        return nearest

    return Sides(ours, peer, check_distances)


def compare_table_separation() -> Sides:
    """The same for a small table, against all distances from SciPy."""
    from scipy.spatial.distance import cdist
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)

    def ours() -> Array:
        return np.asarray(st.separation(x, y, norm="inf").nearest)

    def peer() -> Array:
        nearest = np.empty(len(x))
        for label in np.unique(y):
            nearest[y == label] = cdist(x[y == label], x[y != label], "chebyshev").min(axis=1)
        return nearest

    return Sides(ours, peer, check_distances)


def check_distances(mine: Array, theirs: Array) -> None:
    """Compare distances; those of scikit-learn have the precision of float32."""
    agree(np.allclose(mine, theirs, rtol=1e-4), "other distances")


def compare_one_nn() -> Sides:
    """The nearest training image of every test image."""
    from sklearn.neighbors import NearestNeighbors

    n_train, n = 10_000, 11_000
    x, y = load_shapes(n)

    def ours() -> Array:
        return st.one_nn((x[:n_train], y[:n_train]), (x[n_train:], y[n_train:]), norm=2).distance

    def peer() -> Array:
        flat = x.reshape(n, -1).astype(np.float32) / np.float32(255)
        search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(flat[:n_train])
        return np.asarray(search.kneighbors(flat[n_train:])[0][:, 0])

    return Sides(ours, peer, check_distances)


def compare_evaluate() -> Sides:
    """`evaluate` under a suite, against as many bare forward passes over clean images."""
    import torch

    from evaluation import make_network, pass_forward

    x, _ = load_shapes(100)
    images = torch.from_numpy(x).permute(0, 3, 1, 2).float().div(255).contiguous()
    network = make_network("small", 32)
    y = pass_forward(network, images, passes=1, batch=len(x)).numpy()
    y[::4] = (y[::4] + 1) % 10  # a quarter counts as wrong
    data, names = st.make_dataset(x, y, classes=tuple(range(10))), st.suite("pnorm-cifar").names
    passes = len({"clean", *names})

    def ours() -> st.Records:
        return st.evaluate(network, data, st.suite("pnorm-cifar"), k=1)

    def peer() -> Array:
        return np.asarray(pass_forward(network, images, passes=passes, batch=len(x)))

    def check(mine: st.Records, theirs: Array) -> None:
        agree(len(mine) == passes, f"{len(mine)} cells, but {passes} passes")
        agree((mine.cells[0].hits == (theirs == y)).all(), "other answers for clean images")

    return Sides(ours, peer, check)


def compare_frame() -> Sides:
    """`evaluate` on a data frame, against as many bare calls of `predict`."""
    from tables import SPECS, make_frame, make_model

    frame, y = make_frame(20_000)
    model, frame = make_model("pipeline", frame, y)

    def ours() -> st.Records:
        return st.evaluate(model, (frame, y), SPECS, k=1)

    def peer() -> Array:
        return np.array([model.predict(frame) for _ in range(1 + len(SPECS))])

    def check(mine: st.Records, theirs: Array) -> None:
        agree(len(mine) == len(theirs), "another number of cells")
        agree((mine.cells[0].hits == (theirs[0] == y)).all(), "other answers for clean rows")

    return Sides(ours, peer, check)


def compare_study() -> Sides:
    """A study, against the bare calls of fit and predict on arrays that are made before."""
    from sklearn.ensemble import RandomForestClassifier

    from engine import LEVELS, K, fit_and_predict, prepare_calls

    data = st.load("bands(n=500)")
    eps_min = st.separation(data).epsilon_min
    calls = prepare_calls(data, 1, eps_min)
    truth = data.labels[data.parts()[1]]

    def ours() -> st.Records:
        model = {"rf": RandomForestClassifier(100)}
        return st.study(data, model, train_eps=LEVELS, test_eps=LEVELS, k=K, runs=1, n_jobs=1)

    def peer() -> list[list[Array]]:
        return [fit_and_predict(call) for call in calls]

    def check(mine: st.Records, theirs: list[list[Array]]) -> None:
        agree(len(mine) == sum(map(len, theirs)), "another number of cells")
        answers = [labels.reshape(len(truth), -1) for tests in theirs for labels in tests]
        right = [float((labels == truth[:, None]).mean()) for labels in answers]
        own = [float(cell.hits.mean() / cell.setting.k) for cell in mine]
        agree(np.allclose(sorted(own), sorted(right)), "other accuracies")

    return Sides(ours, peer, check)


def compare_interval() -> Sides:
    """The interval of MSCR, against the bootstrap."""
    from scipy.stats import bootstrap

    n, k = 1000, 10
    rng = np.random.default_rng(0)
    share = rng.beta(8, 1, n)
    clean, hits = (rng.random(n) < share).astype(int), rng.binomial(k, 0.97 * share)

    def ours() -> tuple[float, float]:
        estimate = intervals.relative_change(clean, hits, k)
        return estimate.low, estimate.high

    def relative_change(clean: Array, hits: Array, axis: int = -1) -> Array:
        return np.asarray(hits.mean(axis=axis) / k / clean.mean(axis=axis) - 1)

    def peer() -> tuple[float, float]:
        found = bootstrap(
            (clean, hits), relative_change, paired=True, method="BCa", batch=1000, rng=0
        ).confidence_interval
        return float(found.low), float(found.high)

    def check(mine: tuple[float, float], theirs: tuple[float, float]) -> None:
        apart = np.abs(np.subtract(mine, theirs)).max()
        agree(apart < 0.1 * (theirs[1] - theirs[0]), "other limits")

    return Sides(ours, peer, check)


def compare_attack() -> Sides:
    """PGD with 20 steps on the cross-entropy, against foolbox."""
    import torch

    from attacks import PGD_STEPS, STEP, Points, foolbox_pgd, run_ours, run_theirs
    from evaluation import make_network
    from shaketable.adversary.attacks.gradients import PGD
    from shaketable.models.classifier import as_classifier

    epsilon = 0.02
    levels, y = load_shapes(200)
    x = (levels / 255).astype(np.float32)
    module = make_network("small", 16)
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(60):
        scores = module(torch.from_numpy(x).permute(0, 3, 1, 2))
        optimizer.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(scores, torch.from_numpy(y))
        loss.backward()
        optimizer.step()
    model = as_classifier(module, st.make_dataset(x, y, classes=tuple(range(10)), bounds=(0, 1)))
    right = model(x) == y
    points = Points(model, module, x[right], y[right], len(x))
    attack = PGD(PGD_STEPS, loss="ce", step=STEP)

    def check(mine: Array, theirs: Array) -> None:
        agree(0.1 < theirs.mean() < 0.9, "nothing to compare: all or no attacks succeed")
        agree(abs(mine.mean() - theirs.mean()) < 0.03, "another share of successes")

    return Sides(
        partial(run_ours, attack, points, np.inf, epsilon),
        partial(run_theirs, foolbox_pgd, points, np.inf, epsilon),
        check,
    )


def compare_augmentation(spec: str) -> Sides:
    """Fifteen batches, augmented; kornia draws the operations once for a batch."""
    import torch

    from augmentations import make_call, make_kornias, measure_distance
    from shaketable.training.augmentations.auto_augment import OF_KORNIA

    batches = 15
    x = torch.rand(384, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    kornia: Any = make_kornias().get(spec)

    def ours() -> None:
        call = make_call(spec, x)  # from the first draw again
        for _ in range(batches):
            call()

    def peer() -> None:
        torch.manual_seed(0)  # the same operations in every round
        for _ in range(batches):
            kornia(x)

    def check(*_: object) -> None:
        whole = x[:64].mul(255).round() / 255
        for operation in OF_KORNIA:
            median, _most = measure_distance(operation, whole)
            agree(median < 0.01, f"{operation.name} is another operation")

    return Sides(ours, peer, check) if kornia else Sides(ours)


def time_page() -> Sides:
    """Tables and page of a large result; nobody else writes it."""
    from findings import make_records, show
    from shaketable.findings.results import find

    records = make_records()

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
            show(find(records), Path(folder))

    return Sides(ours)


def run_python(*words: str) -> None:
    """Run Python in a process of its own."""
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def compare_help() -> Sides:
    """The start of the command, against that of Python."""
    return Sides(partial(run_python, "-m", "shaketable", "--help"), partial(run_python, "-c", ""))


def compare_import() -> Sides:
    """What a script imports before it can evaluate, against a model of scikit-learn."""
    return Sides(
        partial(run_python, "-c", "import shaketable; shaketable.evaluate"),
        partial(run_python, "-c", "import sklearn.ensemble"),
    )


def list_noise_jobs() -> list[Job]:
    """Jobs of noise in balls."""
    ways: dict[float, str] = {2: "normal numbers", 5: "gamma numbers"}
    same = "uniform in the ball on both sides; means of norms and of values agree. The peer is "
    return [
        Job(
            f"noise-l{p:g}", f"L{p:g} noise, 1000 x 3072 values", partial(compare_noise, p),
            f"numpy, {way}",
            note=same + "numpy in float32; ours has a seed for every point and draw.",
        )
        for p, way in ways.items()
    ]  # fmt: skip


def job(
    name: str, title: str, make: Callable[[], Sides], peer: str, note: str,
    *, needs: tuple[tuple[str, str], ...] = (), also: tuple[tuple[str, str], ...] = (),
) -> Job:  # fmt: skip
    """Return a job."""
    return Job(name, title, make, peer, needs, also, note)


JOBS = [
    *list_noise_jobs(),
    job(
        "corrupt", "L-inf noise added to 1000 images", compare_corrupt, "numpy, by hand",
        "uniform numbers, added and clipped to [0, 1]. The noise has the same mean size.",
    ),
    job(
        "common-32", "19 corruptions, 50 images of 32 px",
        partial(compare_common, NAMES, 50, 32), "imagecorruptions",
        "severity 3 of ImageNet on both sides. Eight corruptions give the same images, nine change "
        "them as much on average; frost has other textures, and the package's elastic_transform "
        "does less. The package takes one image at a time.",
        needs=IMAGECORRUPTIONS,
    ),
    job(
        "common-224", "19 corruptions, 6 images of 224 px",
        partial(compare_common, NAMES, 6, 224), "imagecorruptions",
        "as before, on larger images.",
        needs=IMAGECORRUPTIONS,
    ),
    job(
        "jpeg-224", "JPEG alone, 20 images of 224 px",
        partial(compare_common, ("jpeg_compression",), 20, 224), "imagecorruptions",
        "the package calls libjpeg, which has vector instructions by hand. Same images.",
        needs=IMAGECORRUPTIONS,
    ),
    job(
        "rotation", "rotation by 30°, 500 images of 32 px", compare_rotation, "scikit-image",
        "nearest pixel, no resizing. At least 99.8 % of the values are equal.",
        needs=(("skimage", "scikit-image"),),
    ),
    job(
        "separation-l2", "class separation, 3000 images, L2",
        partial(compare_separation, 2, 3000), "scikit-learn",
        "every image's nearest image of another class, 32 x 32 x 3. scikit-learn's "
        "`NearestNeighbors` by brute force takes L2 from a matrix product. Same distances; ours "
        "are exact, and come with closest pairs and minima of classes.",
    ),
    job(
        "separation-linf", "class separation, 1000 images, L-inf",
        partial(compare_separation, np.inf, 1000), "scikit-learn",
        "the same in L-inf, where there is no matrix product.",
    ),
    job(
        "separation-table", "class separation, digits, L-inf", compare_table_separation,
        "scipy cdist", "1797 rows of 64 columns. Same distances.",
    ),
    job(
        "one-nn", "exact 1-NN, 1000 images among 10 000", compare_one_nn, "scikit-learn",
        "L2; same distances. Ours finds all ties. Among 3000 images, scikit-learn is faster.",
    ),
    job(
        "evaluate", "a network under 90 noises, 100 images", compare_evaluate, "91 forward passes",
        "`evaluate` with the suite pnorm-cifar, against the passes that it needs on clean images: "
        "noise and counting are what is added. Same answers on clean images.",
        also=TORCH,
    ),
    job(
        "evaluate-frame", "a pipeline on 20 000 rows with text", compare_frame,
        "6 calls of predict",
        "clean rows and five corruptions of a frame with text, gaps and dates, against `predict` "
        "on the clean frame. Same answers on clean rows.",
    ),
    job(
        "study", "a study of 12 cells", compare_study, "fit and predict",
        "a random forest of 100 trees, 3 training noises, 4 test noises, 10 copies. The peer has "
        "its noisy arrays already. Same accuracies. What is added shrinks with larger data.",
    ),
    job(
        "interval", "the interval of MSCR, 1000 points", compare_interval, "scipy, BCa bootstrap",
        "10 copies per point, 9999 resamples. The limits differ by less than a tenth of the "
        "interval.",
    ),
    job(
        "attack", "PGD with 20 steps, 200 images", compare_attack, "foolbox",
        "cross-entropy, one start, L-inf, a small network. The shares of images that fall differ "
        "by less than 3 %. Ours stops at an image's first success.",
        also=TORCH, needs=(("foolbox", "foolbox"),),
    ),
    job(
        "trivialaugment", "TrivialAugment, 15 batches of 384",
        partial(compare_augmentation, "trivialaugment"), "kornia",
        "kornia draws one operation for a whole batch, ours one for every image, as published. "
        "The operations are the same.",
        also=TORCH, needs=(("kornia", "kornia"),),
    ),
    job(
        "randaugment", "RandAugment, 15 batches of 384",
        partial(compare_augmentation, "randaugment"), "kornia",
        "as before, two operations.",
        also=TORCH, needs=(("kornia", "kornia"),),
    ),
    job(
        "augmix", "AugMix, 15 batches of 384", partial(compare_augmentation, "augmix"), "",
        "no peer here: kornia has no AugMix.",
        also=TORCH,
    ),
    job(
        "page", "tables and page, 5 models x 91 noises", time_page, "",
        "nobody else writes it. 10 000 points; all intervals, charts and the HTML file.",
    ),
    job(
        "help", "`shaketable --help`", compare_help, "python -c ''",
        "the start of Python alone is the peer: the rest is ours.",
    ),
    job(
        "import", "import of what evaluates", compare_import, "import sklearn.ensemble",
        "`import shaketable; shaketable.evaluate`, against what a script with a model of "
        "scikit-learn imports anyway.",
    ),
]  # fmt: skip
