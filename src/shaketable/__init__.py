"""How robust is a classifier? Bolt it to a shake table.

Known random noise, of exactly the size that the data themselves allow, and what gives under it::

    import shaketable as st
    print(st.assess(model, (x_train, y_train), (x_test, y_test)))

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what __getattr__ does, for type checkers
    from shaketable import balls as balls
    from shaketable import metrics as metrics
    from shaketable.adversary.agreement import agreement as agreement
    from shaketable.adversary.curves import adversarial_accuracy as adversarial_accuracy
    from shaketable.adversary.curves import adversarial_curve as adversarial_curve
    from shaketable.adversary.measures import AdversarialAccuracy as AdversarialAccuracy
    from shaketable.adversary.worst_cases import WorstCase as WorstCase
    from shaketable.adversary.worst_cases import worst_case as worst_case
    from shaketable.arrays import make_dataset as make_dataset
    from shaketable.assessments import Assessment as Assessment
    from shaketable.assessments import assess as assess
    from shaketable.audits import Audit as Audit
    from shaketable.audits import audit as audit
    from shaketable.augment import NoiseAugmented as NoiseAugmented
    from shaketable.copies import corrupted as corrupted
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
    from shaketable.corruptions.common import CommonCorruption as CommonCorruption
    from shaketable.data import Dataset as Dataset
    from shaketable.effects import Effects as Effects
    from shaketable.errors import InputError as InputError
    from shaketable.errors import ShaketableError as ShaketableError
    from shaketable.errors import StoreError as StoreError
    from shaketable.errors import UndefinedError as UndefinedError
    from shaketable.evaluation import evaluate as evaluate
    from shaketable.files import load as load
    from shaketable.galleries import gallery as gallery
    from shaketable.one_nns import OneNN as OneNN
    from shaketable.one_nns import one_nn as one_nn
    from shaketable.onnx_models import OnnxModel as OnnxModel
    from shaketable.records import Record as Record
    from shaketable.records import Records as Records
    from shaketable.report import write_report as write_report
    from shaketable.report import write_separation as write_separation
    from shaketable.report import write_worst_case as write_worst_case
    from shaketable.score_files import read_scores as read_scores
    from shaketable.separations import Separation as Separation
    from shaketable.separations import separation as separation
    from shaketable.statistics import Estimate as Estimate
    from shaketable.store import Store as Store
    from shaketable.studies import study as study
    from shaketable.suite_copies import write_suite as write_suite
    from shaketable.suites import Suite as Suite
    from shaketable.suites import grid as grid
    from shaketable.suites import suite as suite
    from shaketable.variation import Variation as Variation
    from shaketable.variation import VariationTable as VariationTable

_HOME = {
    "AdversarialAccuracy": "adversary.measures",
    "Assessment": "assessments",
    "Audit": "audits",
    "Bounds": "corruptions",
    "CameraGaussian": "corruptions",
    "CommonCorruption": "corruptions.common",
    "Dataset": "data",
    "Effects": "effects",
    "Estimate": "statistics",
    "Gaussian": "corruptions",
    "Impulse": "corruptions",
    "InputError": "errors",
    "Jitter": "corruptions",
    "Missing": "corruptions",
    "NoiseAugmented": "augment",
    "OneNN": "one_nns",
    "OnnxModel": "onnx_models",
    "PNormNoise": "corruptions",
    "Record": "records",
    "Records": "records",
    "Rescaling": "corruptions",
    "Rotation": "corruptions",
    "SaltPepper": "corruptions",
    "Separation": "separations",
    "ShaketableError": "errors",
    "Store": "store",
    "StoreError": "errors",
    "Suite": "suites",
    "UndefinedError": "errors",
    "Variation": "variation",
    "VariationTable": "variation",
    "WorstCase": "adversary.worst_cases",
    "adversarial_accuracy": "adversary.curves",
    "adversarial_curve": "adversary.curves",
    "agreement": "adversary.agreement",
    "assess": "assessments",
    "audit": "audits",
    "balls": "",
    "corrupt": "corruptions",
    "corrupted": "copies",
    "evaluate": "evaluation",
    "gallery": "galleries",
    "grid": "suites",
    "load": "files",
    "make_dataset": "arrays",
    "metrics": "",
    "one_nn": "one_nns",
    "parse": "corruptions",
    "read_scores": "score_files",
    "separation": "separations",
    "study": "studies",
    "suite": "suites",
    "worst_case": "adversary.worst_cases",
    "write_report": "report",
    "write_separation": "report",
    "write_suite": "suite_copies",
    "write_worst_case": "report",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shaketable")
    if name not in _HOME:
        raise AttributeError(f"module 'shaketable' has no attribute {name!r}")
    home = _HOME[name]
    value = (
        getattr(import_module(f"shaketable.{home}"), name)
        if home
        else import_module(f"shaketable.{name}")
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
