"""How robust is a classifier? Bolt it to a shake table.

Known random noise, of exactly the size that the data themselves allow, and what gives under it::

    import shaketable as st
    print(st.assess(model, (x_train, y_train), (x_test, y_test)))

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what __getattr__ does, for type checkers
    from shaketable import metrics as metrics
    from shaketable import training as training
    from shaketable.adversary.accuracy import AdversarialAccuracy as AdversarialAccuracy
    from shaketable.adversary.agreement import agreement as agreement
    from shaketable.adversary.curve import adversarial_accuracy as adversarial_accuracy
    from shaketable.adversary.curve import adversarial_curve as adversarial_curve
    from shaketable.adversary.page import write_worst_case as write_worst_case
    from shaketable.adversary.worst_case import WorstCase as WorstCase
    from shaketable.adversary.worst_case import worst_case as worst_case
    from shaketable.cli.rerun import rerun as rerun
    from shaketable.core.errors import InputError as InputError
    from shaketable.core.errors import ShaketableError as ShaketableError
    from shaketable.core.errors import StoreError as StoreError
    from shaketable.core.errors import UndefinedError as UndefinedError
    from shaketable.core.workers.tasks import cluster as cluster
    from shaketable.corruptions import Bounds as Bounds
    from shaketable.corruptions import CameraGaussian as CameraGaussian
    from shaketable.corruptions import Gaussian as Gaussian
    from shaketable.corruptions import Impulse as Impulse
    from shaketable.corruptions import Jitter as Jitter
    from shaketable.corruptions import Missing as Missing
    from shaketable.corruptions import PNormNoise as PNormNoise
    from shaketable.corruptions import Rescaling as Rescaling
    from shaketable.corruptions import Rotation as Rotation
    from shaketable.corruptions import SaltPepper as SaltPepper
    from shaketable.corruptions import corrupt as corrupt
    from shaketable.corruptions import parse as parse
    from shaketable.corruptions.balls import numbers as balls  # noqa: F401  (its public name)
    from shaketable.corruptions.common.corruption import CommonCorruption as CommonCorruption
    from shaketable.corruptions.custom import corruption as corruption
    from shaketable.corruptions.gallery.gallery import gallery as gallery
    from shaketable.corruptions.suites.grids import grid as grid
    from shaketable.corruptions.suites.per_feature import per_feature as per_feature
    from shaketable.corruptions.suites.suite import Suite as Suite
    from shaketable.corruptions.suites.suite import suite as suite
    from shaketable.data.arrays import make_dataset as make_dataset
    from shaketable.data.dataset import Dataset as Dataset
    from shaketable.data.files import load as load
    from shaketable.evaluation import maite as maite
    from shaketable.evaluation.copies import corrupted as corrupted
    from shaketable.evaluation.evaluate import evaluate as evaluate
    from shaketable.evaluation.records import Record as Record
    from shaketable.evaluation.records import Records as Records
    from shaketable.evaluation.rerun import Rerun as Rerun
    from shaketable.evaluation.store import Store as Store
    from shaketable.evaluation.study import study as study
    from shaketable.evaluation.suite_copies import write_suite as write_suite
    from shaketable.findings import figures as figures
    from shaketable.findings.assessment import Assessment as Assessment
    from shaketable.findings.assessment import assess as assess
    from shaketable.findings.card import make_card as make_card
    from shaketable.findings.correlation.numbers import Correlation as Correlation
    from shaketable.findings.correlation.numbers import correlate as correlate
    from shaketable.findings.export import export as export
    from shaketable.findings.mcv.effects import Effects as Effects
    from shaketable.findings.mcv.score_files import read_scores as read_scores
    from shaketable.findings.mcv.variation import Variation as Variation
    from shaketable.findings.mcv.variation import VariationTable as VariationTable
    from shaketable.findings.mlflow_runs import log_mlflow as log_mlflow
    from shaketable.findings.page import write_report as write_report
    from shaketable.findings.requirements.check import Check as Check
    from shaketable.findings.requirements.check import check as check
    from shaketable.findings.results import Results as Results
    from shaketable.findings.results import find as find
    from shaketable.findings.scorers import ScoringError as ScoringError
    from shaketable.findings.scorers import make_scorer as make_scorer
    from shaketable.findings.stopping.numbers import Forecast as Forecast
    from shaketable.findings.stopping.numbers import forecast as forecast
    from shaketable.findings.stopping.rules import Decided as Decided
    from shaketable.findings.stopping.rules import Precision as Precision
    from shaketable.models.adapted import adapt as adapt
    from shaketable.models.augmented import NoiseAugmented as NoiseAugmented
    from shaketable.models.onnx_models import OnnxModel as OnnxModel
    from shaketable.models.preprocess import Preprocess as Preprocess
    from shaketable.separations.audit import Audit as Audit
    from shaketable.separations.audit import audit as audit
    from shaketable.separations.one_nn import OneNN as OneNN
    from shaketable.separations.one_nn import one_nn as one_nn
    from shaketable.separations.page import write_separation as write_separation
    from shaketable.separations.separation import Separation as Separation
    from shaketable.separations.separation import separation as separation
    from shaketable.statistics.estimate import Estimate as Estimate
    from shaketable.statistics.families import use_intervals as use_intervals
    from shaketable.training.hardening.result import Hardening as Hardening
    from shaketable.training.hardening.search import harden as harden

_HOME = {
    "AdversarialAccuracy": "adversary.accuracy",
    "Assessment": "findings.assessment",
    "Audit": "separations.audit",
    "Bounds": "corruptions",
    "CameraGaussian": "corruptions",
    "Check": "findings.requirements.check",
    "CommonCorruption": "corruptions.common.corruption",
    "Correlation": "findings.correlation.numbers",
    "Dataset": "data.dataset",
    "Decided": "findings.stopping.rules",
    "Effects": "findings.mcv.effects",
    "Estimate": "statistics.estimate",
    "Forecast": "findings.stopping.numbers",
    "Gaussian": "corruptions",
    "Hardening": "training.hardening.result",
    "Impulse": "corruptions",
    "InputError": "core.errors",
    "Jitter": "corruptions",
    "Missing": "corruptions",
    "NoiseAugmented": "models.augmented",
    "OneNN": "separations.one_nn",
    "OnnxModel": "models.onnx_models",
    "PNormNoise": "corruptions",
    "Precision": "findings.stopping.rules",
    "Preprocess": "models.preprocess",
    "Record": "evaluation.records",
    "Records": "evaluation.records",
    "Rerun": "evaluation.rerun",
    "Rescaling": "corruptions",
    "Results": "findings.results",
    "Rotation": "corruptions",
    "SaltPepper": "corruptions",
    "ScoringError": "findings.scorers",
    "Separation": "separations.separation",
    "ShaketableError": "core.errors",
    "Store": "evaluation.store",
    "StoreError": "core.errors",
    "Suite": "corruptions.suites.suite",
    "UndefinedError": "core.errors",
    "Variation": "findings.mcv.variation",
    "VariationTable": "findings.mcv.variation",
    "WorstCase": "adversary.worst_case",
    "adapt": "models.adapted",
    "adversarial_accuracy": "adversary.curve",
    "adversarial_curve": "adversary.curve",
    "agreement": "adversary.agreement",
    "assess": "findings.assessment",
    "audit": "separations.audit",
    "check": "findings.requirements.check",
    "cluster": "core.workers.tasks",
    "correlate": "findings.correlation.numbers",
    "corrupt": "corruptions",
    "corrupted": "evaluation.copies",
    "corruption": "corruptions.custom",
    "evaluate": "evaluation.evaluate",
    "export": "findings.export",
    "find": "findings.results",
    "forecast": "findings.stopping.numbers",
    "gallery": "corruptions.gallery.gallery",
    "grid": "corruptions.suites.grids",
    "harden": "training.hardening.search",
    "load": "data.files",
    "log_mlflow": "findings.mlflow_runs",
    "make_card": "findings.card",
    "make_dataset": "data.arrays",
    "make_scorer": "findings.scorers",
    "one_nn": "separations.one_nn",
    "parse": "corruptions",
    "per_feature": "corruptions.suites.per_feature",
    "read_scores": "findings.mcv.score_files",
    "rerun": "cli.rerun",
    "separation": "separations.separation",
    "study": "evaluation.study",
    "suite": "corruptions.suites.suite",
    "use_intervals": "statistics.families",
    "worst_case": "adversary.worst_case",
    "write_report": "findings.page",
    "write_separation": "separations.page",
    "write_suite": "evaluation.suite_copies",
    "write_worst_case": "adversary.page",
}

_MODULES = {
    "balls": "corruptions.balls.numbers",
    "figures": "findings.figures",
    "maite": "evaluation.maite",
    "metrics": "metrics",
    "training": "training",
}

__all__ = list(_HOME | _MODULES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shaketable")
    if name in _MODULES:
        value = import_module(f"shaketable.{_MODULES[name]}")
    elif name in _HOME:
        value = getattr(import_module(f"shaketable.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'shaketable' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
