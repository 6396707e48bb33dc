"""Train a model with scikit-learn; save it, the training points and the test points."""

import joblib
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def main() -> None:
    """Write model.joblib, train.npz and test.npz."""
    x, y = load_breast_cancer(return_X_y=True)
    parts = train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)
    x_train, x_test, y_train, y_test = parts
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(x_train, y_train)
    joblib.dump(model, "model.joblib")
    np.savez("train.npz", x=x_train, y=y_train)
    np.savez("test.npz", x=x_test, y=y_test)


if __name__ == "__main__":
    main()
