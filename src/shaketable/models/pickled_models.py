"""Models in files of joblib and pickle, such as fitted scikit-learn estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shaketable.models.loading import ModelLoader, declare_loader


def load_pickled(path: Path) -> Any:
    """Return the object that joblib or pickle saved; this runs the code in the file."""
    import joblib  # 0.1 s

    return joblib.load(path)


declare_loader(
    ModelLoader(
        (".joblib", ".pkl", ".pickle"),
        load_pickled,
        help="fitted estimator or another callable, saved with joblib or pickle",
        safer="an .onnx file",
    )
)
