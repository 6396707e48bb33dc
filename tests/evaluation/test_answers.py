"""Answers that are kept: every number against a plain loop in numpy; packing and its damage."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.evaluation.answers import (
    MOST_SCORES,
    AnswerBuffer,
    Answers,
    _unpack,
    join_answers,
)
from shaketable.models.answers import Answer

CASES = [
    # classes of the data, classes of the model, of which the data know; draws, points per batch
    (2, 2, 2, 1, 7),
    (3, 3, 3, 4, 2),
    (10, 10, 10, 2, 5),
    (4, 9, 4, 3, 3),  # the model has more
    (5, 3, 3, 3, 4),  # and fewer
    (6, 8, 4, 2, 20),  # both
    (30, 30, 30, 2, 6),
    (20, 1000, 20, 3, 4),
    (15, 12, 9, 2, 3),
]


def draw(case, *, seed=0, n=17, by="softmax"):
    """True codes, columns, scores (n, k, columns) and codes of answers: those of highest score."""
    classes, of_model, shared, k, _ = case
    rng = np.random.default_rng(seed)
    known = rng.permutation(classes)[:shared]
    columns = rng.permutation(np.concatenate([known, np.full(of_model - shared, -1)]))
    scores = rng.normal(size=(n, k, of_model)) * 2
    if by == "softmax":
        scores = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    return rng.integers(0, classes, n), columns, scores, columns[scores.argmax(axis=2)]


def gather(case, y, columns, scores, codes, *, split_draws=False):
    """Answers by `AnswerBuffer`, in batches of points, and of draws too."""
    classes, _, _, k, size = case
    buffer = AnswerBuffer(y, k, classes)
    for i in range(0, len(y), size):
        batch = slice(i, min(len(y), i + size))
        for draws in [range(j, j + 1) for j in range(k)] if split_draws else [range(k)]:
            at = (batch, slice(draws.start, draws.stop))
            flat = scores[at].reshape(-1, scores.shape[2])
            buffer.add(Answer(codes[at].reshape(-1), flat, tuple(columns.tolist())), batch, draws)
    return buffer.pack()


def score_of(code, row, columns):
    """Score of a class of the data; 0 if the model does not know it."""
    (places,) = np.nonzero(columns == code)
    return row[places[0]] if len(places) else 0.0


@pytest.mark.parametrize("split_draws", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_all_numbers_are_those_of_a_plain_loop(case, split_draws):
    y, columns, scores, codes = draw(case)
    answers = gather(case, y, columns, scores, codes, split_draws=split_draws)
    assert np.array_equal(answers.predicted, codes)
    assert np.allclose(answers.confidence, scores.max(axis=2), rtol=1e-6)
    assert np.allclose(answers.squares, (scores**2).sum(axis=2), rtol=1e-6)
    assert not answers.disagrees.any()
    for i, j in np.ndindex(codes.shape):
        own = score_of(y[i], scores[i, j], columns)
        assert answers.true_score[i, j] == np.float32(own)
        if own > 0:
            assert answers.rank[i, j] == 1 + (scores[i, j] > own).sum()
        else:
            assert answers.rank[i, j] > scores.shape[2]
    knows_all = {*columns.tolist()} <= {*range(case[0])} and case[0] <= MOST_SCORES
    assert (answers.scores is not None) == knows_all
    if answers.scores is not None:
        for code in range(case[0]):
            ((place,),) = np.nonzero(columns == code) if code in columns else ([()],)
            expected = scores[..., place] if code in columns else 0
            assert np.allclose(answers.scores[..., code], expected, rtol=1e-6)


def test_scores_that_are_no_probabilities_give_their_softmax_and_the_same_ranks():
    case = (20, 1000, 20, 2, 5)
    y, columns, logits, codes = draw(case, by="logits")
    powers = np.exp(logits)
    plain = gather(case, y, columns, logits, codes)
    same = gather(case, y, columns, powers / powers.sum(axis=2, keepdims=True), codes)
    assert np.allclose(plain.confidence, same.confidence, rtol=1e-5)
    assert np.array_equal(plain.rank, same.rank)


def test_rank_of_1000_columns_gives_top_5():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 1000, 400)
    logits = rng.normal(size=(400, 1000)) + 3.5 * np.eye(1000)[y]
    record, *_ = st.evaluate(
        st.adapt(lambda x: logits[np.rint(x[:, 0]).astype(int)], classes=range(1000)),
        (np.arange(400.0)[:, None], y),
        "linf(0.1)",
    )
    answers = record.answers
    order = np.argsort(-logits, axis=1)
    for most in (1, 2, 5, 100):
        top = (order[:, :most] == y[:, None]).any(axis=1)
        assert np.array_equal(answers.rank[:, 0] <= most, top)
    assert 0.3 < (answers.rank <= 1).mean() < (answers.rank <= 5).mean() < 0.99
    assert (answers.rank <= 1).mean() == record.accuracy


def test_an_answer_that_the_scores_do_not_favour_disagrees():
    y, scores = np.array([0, 0, 1]), np.array([[[0.2, 0.8]], [[0.5, 0.5]], [[0.5, 0.5]]])
    answers = Answers.make(y, np.array([[0], [1], [1]]), scores)
    assert answers.disagrees[:, 0].tolist() == [True, False, False]
    assert np.allclose(answers.confidence[:, 0], [0.2, 0.5, 0.5])
    assert answers.rank[:, 0].tolist() == [2, 2, 1]  # of equal scores the answer comes first


def test_nearly_equal_scores_do_not_turn_a_hit_into_rank_2():
    y, codes = np.array([1, 0]), np.array([[1], [0]])
    scores = np.array([[[0.5 - 1e-12, 0.5 + 1e-12]], [[0.5 + 1e-12, 0.5 - 1e-12]]])
    answers = Answers.make(y, codes, scores)
    assert answers.rank.tolist() == [[1], [1]]
    assert not answers.disagrees.any()


def test_an_answer_of_a_class_that_the_data_lack_has_the_score_of_such_a_class():
    buffer = AnswerBuffer(np.array([0, 1]), 1, 2)
    scores = np.array([[0.5, 0.1, 0.3, 0.1], [0.1, 0.1, 0.2, 0.6]])
    buffer.add(Answer(np.array([-1, -1]), scores, (0, 1, -1, -1)), slice(0, 2), range(1))
    answers = buffer.pack()
    assert answers.predicted.tolist() == [[-1], [-1]]
    assert np.allclose(answers.confidence, [[0.3], [0.6]])
    assert answers.disagrees.tolist() == [[True], [False]]
    assert answers.rank.tolist() == [[1], [4]]


def test_scores_of_some_points_only_are_not_kept():
    buffer = AnswerBuffer(np.array([0, 1, 1]), 1, 2)
    scored = Answer(np.array([0]), np.array([[0.9, 0.1]]), (0, 1))
    for i, answer in enumerate([scored, Answer(np.array([1])), scored]):
        buffer.add(answer, slice(i, i + 1), range(1))
    answers = buffer.pack()
    assert not answers.has_scores
    assert answers.predicted.tolist() == [[0], [1], [0]]


@pytest.mark.parametrize("case", CASES)
def test_parts_join_to_the_whole_and_the_first_points_are_theirs(case):
    y, columns, scores, codes = draw(case)
    whole = gather(case, y, columns, scores, codes)
    parts = [gather(case, y[s], columns, scores[s], codes[s]) for s in (slice(5), slice(5, None))]
    for other in (join_answers(parts), whole.first(17)):
        assert other.agrees_with(whole)
        for name in ("confidence", "true_score", "rank", "squares", "disagrees"):
            assert np.array_equal(getattr(other, name), getattr(whole, name))
    assert np.array_equal(whole.first(5).rank, parts[0].rank)
    assert np.array_equal(whole.first(5).y, y[:5])


def test_parts_with_and_without_scores_join_to_classes_alone():
    y = np.array([0, 1])
    scored = Answers.make(y, np.array([[0], [300]]), np.full((2, 1, 2), 0.5))
    joined = Answers.join([scored, Answers.make(y, np.array([[1], [-1]]))])
    assert joined.predicted[:, 0].tolist() == [0, 300, 1, -1]
    assert not joined.has_scores
    assert join_answers([scored, None]) is None


@pytest.mark.parametrize(
    ("most", "size"), [(1, 1), (127, 1), (128, 2), (999, 2), (32767, 2), (32768, 4)]
)
def test_codes_take_the_smallest_type_that_holds_them(most, size):
    codes = np.array([[-1], [most]])
    predicted = Answers.make(np.array([0, 0]), codes).predicted
    assert predicted.dtype.itemsize == size
    assert np.array_equal(predicted, codes)


def test_damaged_answers_are_refused():
    packed = Answers.make(np.array([0, 1]), np.array([[0], [1]]), np.full((2, 1, 2), 0.5)).packed
    for damaged in (b"", packed[:-3], b"x" + packed, packed[:20], packed.replace(b"2", b"3"),
                    packed + b"x", packed + packed):  # fmt: skip
        with pytest.raises(InputError, match="answers .* damaged"):
            Answers(np.array([0, 1]), damaged).predicted  # noqa: B018
    other = Answers.make(np.zeros(3, int), np.zeros((3, 1), int)).packed
    renamed = packed.replace(b"scores", b"scared")
    for damaged in (other, renamed, b"{}" + packed[packed.index(b"\n") :]):
        with pytest.raises(InputError, match="answers .* damaged"):
            Answers(np.array([0, 1]), damaged).predicted  # noqa: B018


def test_digits_that_do_not_compress_are_kept_as_they_are_and_their_damage_is_refused():
    rng = np.random.default_rng(0)
    codes, scores = np.zeros((5000, 10), int), rng.random((5000, 10, 2)).astype(np.float32)
    y = np.zeros(5000, int)
    packed = Answers.make(y, codes, scores).packed
    last = np.ascontiguousarray(scores).view(np.uint8)[..., ::4].tobytes()[:1000]
    place = packed.find(last)
    assert place > 0
    assert len(packed) < 0.85 * (codes.size + scores.nbytes)  # the others are compressed
    assert np.array_equal(Answers(y, packed).scores, scores)
    with pytest.raises(InputError, match="answers .* damaged"):
        Answers(y, packed.replace(last, last[::-1])).scores  # noqa: B018


def test_answers_that_were_not_used_for_long_are_unpacked_again():
    y, codes = np.array([0, 1]), np.array([[0], [1]])
    cells = [Answers.make(y, codes, np.full((2, 1, 2), 0.5 + i / 100)) for i in range(40)]
    for _ in range(2):
        for i, cell in enumerate(cells):
            assert np.allclose(cell.confidence, 0.5 + i / 100)
            assert cell.scores is cell.scores
    kept = _unpack.cache_info()
    assert kept.currsize == kept.maxsize < len(cells)


def test_scores_of_1000_classes_take_a_few_bytes_per_answer():
    case = (20, 1000, 20, 5, 50)
    y, columns, scores, codes = draw(case, n=200)
    buffer = AnswerBuffer(y, 5, 20)
    buffer.add(
        Answer(codes.reshape(-1), scores.reshape(-1, 1000), tuple(columns.tolist())),
        slice(200),
        range(5),
    )
    arrays = [buffer.codes, *vars(buffer.summary).values()]
    assert buffer.scores is None
    assert sum(each.nbytes for each in arrays) <= 32 * codes.size, "while they are gathered"
    kept = gather(case, y, columns, scores, codes)._arrays
    assert sum(each.nbytes for each in kept.values()) == 16 * codes.size


def test_answers_that_the_data_lack_keep_their_names():
    y, codes = np.array([0, 1, 0]), np.array([[0, -1], [-2, 1], [-1, -1]])
    first = Answers.make(y, codes, others=["fox", "cow"])
    assert not first.has_scores
    assert first.predicted.tolist() == [[0, -1], [-1, 1], [-1, -1]]
    second = Answers.make(y[:1], np.array([[-1, -2]]), others=["cow", "owl"])
    joined = Answers.join([first, second])
    assert joined.others == ["fox", "cow", "owl"]
    names = [[joined.name(code, ["a", "b"]) for code in row] for row in joined.exact.tolist()]
    assert names == [["a", "fox"], ["cow", "b"], ["fox", "fox"], ["cow", "owl"]]
    assert first.choose(np.array([False, True, False])).others == ["fox", "cow"]
    with pytest.raises(InputError, match="damaged"):
        Answers.make(y, codes - 1, others=["fox", "cow"]).predicted  # noqa: B018


@pytest.mark.parametrize("kind", ["labels", "columns", "both", "module"])
def test_models_name_what_they_answer_beyond_the_data(kind):
    x = np.linspace(0, 1, 40)[:, None].astype(np.float32)
    data = st.make_dataset(x, np.where(x[:, 0] > 0.5, "dog", "cat"), bounds=None)
    classes = ["cow", "dog", "owl", "cat"]
    meant = np.array([3, 1, 2, 0])[np.minimum((4 * x[:, 0]).astype(int), 3)]  # cat dog owl cow

    def score(x):
        places = np.clip((4 * np.asarray(x)[:, 0]).astype(int), 0, 3)
        return np.eye(4)[np.array([3, 1, 2, 0])[places]]

    if kind == "labels":
        model = st.adapt(lambda x: score(x).argmax(axis=1), classes=classes)
    elif kind == "columns":
        model = st.adapt(score, classes=classes)
    elif kind == "both":
        named = np.array(classes)[meant]
        model = GaussianNB(var_smoothing=1e-12).fit(x, named)
    else:
        torch = pytest.importorskip("torch")

        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.tensor(score(x.numpy()))

        model = st.adapt(Net(), classes=classes)
    clean, noisy = st.evaluate(model, data, "linf(0.1)", k=3)
    answers = clean.answers
    given = [answers.name(code, data.classes) for code in answers.exact[:, 0].tolist()]
    if kind == "both":
        assert given == model.predict(x).tolist()
    else:
        assert given == np.array(classes)[meant].tolist()
    assert {"owl", "cow"} <= set(noisy.answers.others) | set(answers.others)
    found = st.find(st.evaluate(model, data, "linf(0.6)", k=5)).show_inputs(data, 3)
    shown = found.findings["inputs"].redrawn.redrawn[0].most
    assert {example.answer for example in shown} <= {*classes}
