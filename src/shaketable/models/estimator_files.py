"""Fitted estimators in files of joblib, pickle and skops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError, either
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


def load_skops(path: Path, *, trust: bool) -> Any:
    """Return the estimator in a skops file; the user must trust types that skops does not."""
    from skops.io import get_untrusted_types, load

    unknown = get_untrusted_types(file=path)
    if unknown and not trust:
        raise InputError(
            f"model file {str(path)!r} must be trusted: it holds {list_names(unknown)}, which "
            "skops does not trust, as such parts may run code or crash; if you know who made it, "
            f"add {either('--trust', 'trust=True')}, else use an .onnx file"
        )
    return load(path, trusted=unknown)


declare_loader(
    ModelLoader(
        (".skops",),
        load_skops,
        help="fitted estimator, saved with skops",
        needs="skops",
        install="shaketable[skops]",
        asks_for_trust=True,
    )
)
