import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from shaketable.core.errors import InputError, ModelError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier
from shaketable.models.identity import content_hash

X = np.array([[0.0], [0.2], [0.8], [1.0]])
DATA = make_dataset(X, ["no", "no", "yes", "yes"])


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: np.where(x[:, 0] > 0.5, "yes", "no"),
        lambda x: np.where(x[:, 0] > 0.5, "yes", "no").astype(object),
        lambda x: ["yes" if v > 0.5 else "no" for v in x[:, 0]],
        lambda x: np.where(x > 0.5, "yes", "no"),
        lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]),
    ],
    ids=["labels", "objects", "list", "column", "scores"],
)
def test_labels_and_scores_are_read_alike(answer):
    assert as_classifier(answer, DATA)(X).tolist() == [0, 0, 1, 1]


def test_labels_of_equal_value_match_whatever_their_type():
    data = make_dataset(X, [0, 0, 1, 1])
    assert as_classifier(lambda x: x[:, 0] > 0.5, data)(X).tolist() == [0, 0, 1, 1]
    assert as_classifier(lambda x: (x[:, 0] > 0.5).astype(float), data)(X).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: np.full(len(x), "perhaps"), "got 'perhaps'; the data's are 'no', 'yes'"),
        (lambda x: x[:, 0] * 0.37 + 0.1, "one score per class or the labels"),
        (lambda x: np.zeros((len(x), 3)), "one score per class, got shape"),
        (lambda x: np.zeros(len(x) - 1), "one answer per point"),
        (lambda x: 1, "one answer per point"),
        (lambda x: np.full((len(x), 2), np.nan), "NaN scores"),
    ],
    ids=["stranger", "one score", "columns", "length", "scalar", "nan"],
)
def test_answers_that_cannot_be_read_are_refused(answer, message):
    with pytest.raises(InputError, match=message):
        as_classifier(answer, DATA)(X)


def test_a_regressor_is_no_classifier():
    model = LinearRegression().fit(X, [0.1, 0.2, 0.8, 0.9])
    with pytest.raises(InputError, match="must answer with the data's labels"):
        as_classifier(model, DATA)(X)


def test_a_model_may_know_more_classes_than_the_data_at_hand():
    model = KNeighborsClassifier(1).fit([[0.0], [1.0], [5.0]], ["no", "yes", "more"])
    assert as_classifier(model, DATA)(np.array([[0.1], [4.9]])).tolist() == [0, -1]
    stranger = KNeighborsClassifier(1).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(InputError, match="got .*'a'"):
        as_classifier(stranger, DATA)(X)


def test_a_model_may_leave_its_classes_open():
    class Unsure:
        classes_ = None

        def predict(self, x):
            return np.where(x[:, 0] > 0.5, "yes", "no")

    assert as_classifier(Unsure(), DATA)(X).tolist() == [0, 0, 1, 1]


def test_unfitted_models_and_other_objects_are_refused():
    with pytest.raises(InputError, match="must be fitted"):
        as_classifier(LogisticRegression(), DATA)
    with pytest.raises(InputError, match="estimator or a callable, got int"):
        as_classifier(3, DATA)


def test_a_model_fitted_on_a_frame_gets_a_frame():
    frame = pd.DataFrame(X, columns=["width"])
    model = LogisticRegression().fit(frame, DATA.labels)
    assert as_classifier(model, DATA)(X).tolist() == [0, 0, 1, 1]  # warnings are errors here


def test_columns_are_matched_by_name():
    frame = pd.DataFrame({"a": X[:, 0], "b": 1 - X[:, 0]})
    model = LogisticRegression().fit(frame, DATA.labels)
    swapped = make_dataset(frame[["b", "a"]], DATA.labels)
    assert as_classifier(model, swapped)(swapped.x).tolist() == [0, 0, 1, 1]
    with pytest.raises(InputError, match="columns of the data, but only one of them has a, c"):
        as_classifier(model, make_dataset(frame.rename(columns={"a": "c"}), DATA.labels))


def test_what_a_model_refuses_is_an_input_error():
    model = LogisticRegression().fit(np.zeros((4, 3)) + X, DATA.labels)
    with pytest.raises(InputError, match=r"refused points of shape \(1,\)"):
        as_classifier(model, DATA)(X)

    def refuse(x):
        raise ValueError("unseen category\nStack trace:\n  [bt] (0) lib.so(+0x11031e)")

    with pytest.raises(InputError, match=r"unseen category$"):
        as_classifier(refuse, DATA)(X)


def test_labels_of_several_types_are_read():
    data = make_dataset(X, np.array(["no", "no", 1, 1], dtype=object))
    answer = as_classifier(lambda x: np.array(["no", 1, 1, "no"], dtype=object), data)
    assert [data.classes[code] for code in answer(X)] == ["no", 1, 1, "no"]


def test_scaled_data_reach_a_fitted_model_in_raw_units():
    raw = make_dataset(X * 40 + 7, DATA.labels)
    model = KNeighborsClassifier(1).fit(raw.x, raw.labels)
    scaled = raw.scaled()
    behind = as_classifier(model, scaled, unscale=True)
    assert behind(scaled.x).tolist() == [0, 0, 1, 1]
    assert as_classifier(model, scaled)(scaled.x).tolist() == [0, 0, 0, 0]
    other = make_dataset(X * 80 + 7, DATA.labels).scaled()
    assert np.array_equal(other.x, scaled.x)
    assert behind.identity != as_classifier(model, other, unscale=True).identity


def test_identity_tells_models_apart_and_callables_only_by_id():
    a = as_classifier(KNeighborsClassifier(1).fit(X, DATA.labels), DATA)
    b = as_classifier(KNeighborsClassifier(1).fit(X + 1, DATA.labels), DATA)
    assert a.identity != b.identity
    assert as_classifier(lambda x: x, DATA).identity is None
    assert as_classifier(lambda x: x, DATA, model_id="v1").identity == "v1"


def test_models_that_are_no_modules_need_no_torch():
    code = (
        "import sys\n"
        "from shaketable import evaluate\n"
        "evaluate(lambda x: x > 0.5, ([[0.0], [1.0]], [0, 1]), ['linf(0.1)'])\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_bare_callable_is_identified_by_its_model_id_alone():
    for answer in (threshold, partial(threshold, limit=0.5)):
        assert as_classifier(answer, DATA).identity is None
        assert as_classifier(answer, DATA, model_id="mine").identity == "mine"
    fitted = KNeighborsClassifier(1).fit(X, DATA.labels)
    assert as_classifier(fitted, DATA).identity == content_hash(fitted) is not None
    assert as_classifier(fitted, DATA, model_id="mine").identity == "mine"


class Rule:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, x):
        return threshold(x, self.limit)

    def predict(self, x):
        return self(x)


def test_a_callable_object_and_a_method_are_identified_by_content():
    for get in (lambda rule: rule, lambda rule: rule.predict):
        first, same, other = (as_classifier(get(Rule(limit)), DATA) for limit in (0.5, 0.5, 0.6))
        assert first.identity == same.identity is not None
        assert other.identity not in (first.identity, None)


def test_a_model_behind_another_scaling_is_another_model():
    fitted = KNeighborsClassifier(1).fit(X, DATA.labels)
    scaled, otherwise = DATA.scaled(), make_dataset(2 * X, DATA.labels).scaled()
    np.testing.assert_array_equal(scaled.x, otherwise.x)
    identities = [
        as_classifier(fitted, data, unscale=unscale).identity
        for data, unscale in ((scaled, True), (otherwise, True), (scaled, False), (DATA, True))
    ]
    assert identities[2] == identities[3]
    assert len({*identities}) == 3


def threshold(x, limit=0.5):
    return np.where(x[:, 0] > limit, "yes", "no")


def test_an_estimator_that_lost_a_part_is_named():
    model = LogisticRegression().fit(X, DATA.labels)
    del model.intercept_
    with pytest.raises(InputError, match=r"model LogisticRegression .*'intercept_'"):
        as_classifier(model, DATA)(X)


def test_an_estimator_that_lost_a_parameter_is_named():
    class Solved(LogisticRegression):
        def __sklearn_is_fitted__(self):
            return self.solver != ""

    model = Solved().fit(np.eye(4), [0, 0, 1, 1])
    del model.solver  # as in a damaged file
    data = make_dataset(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ModelError, match=r"model Solved failed: .*solver"):
        as_classifier(model, data)
