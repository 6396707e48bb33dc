"""Built-in models: scikit-learn estimators that the command line knows by name and trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset

BUILTIN: Mapping[str, str] = {
    "rf": "random forest, 100 trees",
    "1nn": "nearest neighbour",
    "svm": "support vector machine on standardised features",
    "mlp": "neural network, one hidden layer of 100, on standardised features",
    "logistic": "logistic regression on standardised features",
}
"""Names of the built-in models, with their descriptions."""


def builtin(name: str, data: Dataset | None = None) -> Any:
    """Return a built-in model, not yet fitted, with the preparation that `data` need."""
    from sklearn.ensemble import RandomForestClassifier  # heavy
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    makers: dict[str, Callable[[], Any]] = {
        "rf": lambda: RandomForestClassifier(100),
        "1nn": lambda: KNeighborsClassifier(1),
        "svm": lambda: make_pipeline(StandardScaler(), SVC()),
        "mlp": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=1000)),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    model = makers[name]()
    if data is None:
        return model
    from shaketable.models.preparation import prepare_for_table

    return prepare_for_table(model, data)
