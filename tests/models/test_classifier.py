import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
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


@pytest.mark.parametrize("names", [["width", "count"], None], ids=["frame", "array"])
def test_a_model_gets_plain_numbers_as_it_was_fitted(names):
    frame = pd.DataFrame({"width": X[:, 0], "count": [1, 2, 3, 4]})
    given = []

    class Noting(LogisticRegression):
        def predict(self, x):
            given.append(x)
            return super().predict(x)

    fitted = frame if names else frame.to_numpy()
    data = make_dataset(frame, DATA.labels)
    assert as_classifier(Noting().fit(fitted, DATA.labels), data)(data.x).tolist() == [0, 0, 1, 1]
    assert isinstance(given[0], type(fitted))
    assert pd.DataFrame(given[0], columns=names).equals(pd.DataFrame(fitted, columns=names))


def test_columns_are_matched_by_name():
    frame = pd.DataFrame({"a": X[:, 0], "b": 1 - X[:, 0]})
    model = LogisticRegression().fit(frame, DATA.labels)
    swapped = make_dataset(frame[["b", "a"]], DATA.labels)
    assert as_classifier(model, swapped)(swapped.x).tolist() == [0, 0, 1, 1]
    with pytest.raises(InputError, match="the table lacks a and the model lacks 'c d'; give it"):
        as_classifier(model, make_dataset(frame.rename(columns={"a": "c d"}), DATA.labels))
    more = make_dataset(frame.assign(c=0.0), DATA.labels)
    with pytest.raises(InputError, match=r"the model lacks c; leave them out .* .load\(…, drop="):
        as_classifier(model, more)


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


class TestColumnsOfScores:
    """Networks with a score per label, of which the data hold some."""

    labels = np.array([3, 7, 7, 900])
    x = np.arange(4.0)[:, None]

    def score(self, x):
        """Scores of 1000 labels: right but at the last point, where label 5 is the highest."""
        scores = np.zeros((len(x), 1000))
        answers = np.array([3, 7, 7, 5])[np.clip(np.rint(x[:, 0]), 0, 3).astype(int)]
        scores[np.arange(len(x)), answers] = 1
        return scores

    def test_column_j_is_label_j_and_a_note_says_so(self):
        for labels in (self.labels, self.labels.astype(str)):  # folders name classes by text
            records = st.evaluate(self.score, (self.x, labels), "linf(0.1)", k=2, name="net")
            assert [record.accuracy for record in records] == [0.75, 0.75]
            assert records.cells[0].predictions[-1] == -1
            assert records.notes[-1] == (
                "net: 1000 scores are returned, and the data have 3 classes; the score in column "
                "j, counted from 0, is taken as that of label j"
            )

    def test_labels_without_a_hole_may_be_followed_by_other_columns(self):
        records = st.evaluate(
            lambda x: np.eye(5)[np.rint(x[:, 0]).astype(int)],
            (self.x, [0, 1, 2, 0]),
            (),
            name="net",
        )
        assert records.cells[0].predictions.tolist() == [0, 1, 2, -1]
        assert any("net: 5 scores are returned, and the data have 3" in n for n in records.notes)

    def test_as_many_scores_as_classes_are_those_of_the_classes_in_order(self):
        records = st.evaluate(
            lambda x: np.eye(3)[[0, 1, 1, 2]][: len(x)], (self.x, self.labels), (), name="net"
        )
        assert records.cells[0].accuracy == 1
        assert not records.notes

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([3, 7, 7, 1000], "those of labels 0 to 999, but the data have label 1000; name all"),
            ([-1, 7, 7, 3], r"got shape \(4, 1000\) for 3 classes; name all classes"),
            ([0.5, 7, 7, 3], r"got shape \(4, 1000\) for 3 classes"),
            (["03", "7", "7", "9"], r"got shape \(4, 1000\) for 3 classes"),
        ],
    )
    def test_labels_that_are_no_columns_are_refused(self, labels, message):
        with pytest.raises(InputError, match=message):
            st.evaluate(self.score, (self.x, labels), "linf(0.1)")

    def test_labels_beyond_the_columns_are_refused_before_any_work(self):
        asked = []

        def answer(x):
            asked.append(len(x))
            return self.score(x)

        with pytest.raises(InputError, match="adapt"):
            st.evaluate(answer, (self.x, [3, 7, 7, 1000]), "linf(0.1)")
        assert asked == [1]

    def test_the_model_is_the_same_as_one_whose_classes_are_declared(self):
        torch = pytest.importorskip("torch")
        module = torch.nn.Linear(1, 10)
        data = make_dataset(np.arange(6.0)[:, None], [2, 9, 4, 4, 9, 2])
        found = as_classifier(module, data)
        declared = as_classifier(st.adapt(module, classes=range(10)), data)
        points = np.linspace(-9, 9, 50)[:, None]
        assert (found(points) == declared(points)).all()
        assert found.columns == declared.columns
        assert (
            found.identity == as_classifier(module, make_dataset(points, [*range(10)] * 5)).identity
        )
        worst = st.worst_case(module, data, [1.0], norm="inf", attacks=["pgd"])
        told = st.worst_case(
            st.adapt(module, classes=range(10)), data, [1.0], norm="inf", attacks=["pgd"]
        )
        assert worst.curves[0].accuracies[0].value == told.curves[0].accuracies[0].value
