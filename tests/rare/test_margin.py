"""Margins say how far an answer is from a wrong one, and never disagree with the answer."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shaketable.data.arrays import make_dataset
from shaketable.data.builtin import build
from shaketable.models.classifier import as_classifier
from shaketable.rare.margin import Margin

DATA = build("iris")


def make_margin(model, data=DATA):
    return Margin.of(as_classifier(model, data), data.x[:50])


def test_it_is_at_most_0_where_the_answer_is_wrong_and_only_there():
    for model in (
        LogisticRegression(max_iter=500),
        RandomForestClassifier(5, random_state=0),
        MLPClassifier((5,), random_state=0, max_iter=500),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ):
        model.fit(DATA.x, DATA.labels)
        found = make_margin(model)(DATA.x, DATA.y)
        np.testing.assert_array_equal(found > 0, model.predict(DATA.x) == DATA.labels)
        assert len(np.unique(found)) > 2


def test_it_goes_on_where_probabilities_are_rounded_to_1():
    x = np.array([[-1.0], [1.0]])
    model = LogisticRegression(C=1e6).fit(x, [0, 1])
    far = np.array([[100.0], [1000.0]])
    assert (model.predict_proba(far)[:, 1] == 1).all()
    margin = make_margin(model, make_dataset(x, [0, 1]))(far, np.array([1, 1]))
    np.testing.assert_allclose(margin, 2 * model.decision_function(far))


def test_probabilities_count_by_their_logarithms():
    def model(x):
        return np.stack([x[:, 0], 1 - x[:, 0]], axis=1)

    data = make_dataset([[0.25], [0.75]], [1, 0])
    margin = make_margin(model, data)(np.array([[1e-30], [0.75]]), np.array([1, 0]))
    np.testing.assert_allclose(margin, [30 * np.log(10), np.log(3)])


def test_labels_alone_have_no_margin():
    assert make_margin(lambda x: np.where(x[:, 0] > 6, "setosa", "virginica")) is None
