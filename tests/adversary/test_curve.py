"""Standard and genuine adversarial accuracy: theorems, the paper's examples, the command."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from shaketable.adversary.attacks.cover import Cover
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import parse_attack
from shaketable.adversary.curve import adversarial_accuracy, adversarial_curve
from shaketable.core.errors import InputError, UndefinedError
from shaketable.models.builtin import circle, f1, f2, f3, flat, oracle

GENUINE = ("genuine-max", "genuine-exact")


def blobs(seed, n, d, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, classes, n)


@settings(max_examples=12, deadline=None)
@given(
    seed=some.integers(0, 10_000),
    n=some.integers(4, 40),
    d=some.integers(1, 4),
    p=some.sampled_from([1, 2, np.inf]),
    epsilon=some.sampled_from([0.05, 0.7, 5.0, 40.0]),
    constraint=some.sampled_from(GENUINE),
)
def test_theorem_2_one_nn_is_never_turned_on_its_own_data(  # noqa: PLR0917  (all are drawn)
    seed, n, d, p, epsilon, constraint
):
    x, y = blobs(seed, n, d)
    y[:2] = 0, 1
    model = KNeighborsClassifier(1, p=p).fit(x, y)
    proven = adversarial_accuracy(model, x, y, norm=p, epsilon=epsilon, constraint=constraint)
    assert "Theorem 2" in proven.bound
    # the theorem is not taken for granted: a callable is searched, and nothing is found
    searched = adversarial_accuracy(
        model.predict,
        x,
        y,
        norm=p,
        epsilon=epsilon,
        constraint=constraint,
        attacks=[Cover(0.1) if d <= 2 else RandomSearch(60), RandomSearch(40)],
    )
    assert not len(searched.examples)
    assert searched.withstood.all()
    assert searched.n == proven.n
    assert searched.n == n or constraint == "genuine-exact"
    assert searched.queries >= searched.n


@pytest.mark.parametrize("constraint", GENUINE)
@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_theorem_1_no_point_is_used_for_two(constraint, p):
    x, y = blobs(3, 60, 2)
    found = adversarial_accuracy(
        lambda z: (z[:, 0] > 0.2).astype(int), x, y, norm=p, epsilon=0.6, constraint=constraint
    )
    assert len(found.examples) > 5
    for row, moved in zip(found.examples.rows, found.examples.moved, strict=True):
        away = np.linalg.norm(x - moved, ord=p, axis=1)
        assert away.argmin() == row
        assert np.sort(away)[1] > away[row]


def test_examples_are_what_they_are_said_to_be():
    x, y = blobs(5, 80, 2)
    model = RandomForestClassifier(20, random_state=0).fit(x, y)
    found = adversarial_accuracy(model, x, y, epsilon=0.3)
    examples = found.examples
    assert (model.predict(examples.moved) != y[examples.rows]).all()
    np.testing.assert_array_equal(model.predict(examples.moved), examples.codes)
    assert (np.linalg.norm(examples.moved - x[examples.rows], axis=1) <= 0.3 * (1 + 1e-6)).all()
    hit = np.zeros(80, bool)
    hit[examples.rows] = True
    np.testing.assert_array_equal(found.withstood, ~hit & (model.predict(x) == y))
    assert found.low <= found.value <= found.high


TOY = np.linspace(0, 3.2, 41)


def test_standard_accuracy_cannot_tell_f2_from_f3():
    toy = st.load("toy1d(n=200)")
    # labels change once on the way out, so the ends of rays decide, whatever the resolution
    curves = {
        f.__name__: adversarial_curve(f, toy, TOY, attacks="cover(0.1)") for f in (f1, f2, f3)
    }
    for a, b in zip(curves["f2"], curves["f3"], strict=True):
        np.testing.assert_array_equal(a.withstood, b.withstood)
    for curve in curves.values():
        assert curve.area == pytest.approx(1.5, abs=0.01)
        assert curve.clean == 1


def test_area_needs_no_function_of_newer_numpy(monkeypatch):
    monkeypatch.delattr(np, "trapezoid", raising=False)  # numpy 1.26 has none
    x, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    curve = adversarial_curve(lambda z: z[:, 0] > 2.5, (x, y), [1, 3], attacks="cover(0.1)")
    assert [a.value for a in curve] == [1, 0]
    assert curve.area == 1 + 2 * 0.5


def test_genuine_accuracy_puts_f3_first():
    toy = st.load("toy1d(n=200)")
    for epsilon in (0.3, 0.9):
        values = [
            adversarial_accuracy(f, toy.x, toy.labels, epsilon=epsilon, constraint="genuine-exact")
            for f in (f1, f2, f3)
        ]
        assert [v.n for v in values] == [4, 4, 4]  # the four ends have fresh space
        assert [v.value for v in values] == [0.75, 1, 1]
        assert values[0].remains_exactly
    for epsilon in (2.1, 3.0):
        values = [
            adversarial_accuracy(
                f, toy.x, toy.labels, epsilon=epsilon, constraint="genuine-exact"
            ).value
            for f in (f1, f2, f3)
        ]
        assert values == [1, 0.5, 1]


def test_sunset_standard_prefers_invariance_genuine_the_oracle():
    sun = st.load("sunset(n=200)")
    one = KNeighborsClassifier(1).fit(sun.x, sun.labels)

    def value(model, constraint, epsilon=0.5):
        found = adversarial_accuracy(
            model, sun.x, sun.labels, epsilon=epsilon, constraint=constraint
        )
        return found.value

    assert value(flat, "none") > value(oracle, "none") + 0.2
    assert value(flat, "none") > value(one, "none") + 0.2
    genuine = {f: value(f, "genuine-exact", 0.1) for f in (circle, flat, oracle)}
    assert genuine[oracle] > max(genuine[flat], genuine[circle]) + 0.1
    assert value(one, "genuine-exact", 0.1) == value(one, "genuine-max") == 1


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_accuracy_falls_along_epsilon_and_keeps_its_examples(constraint):
    x, y = blobs(1, 100, 3)
    model = RandomForestClassifier(10, random_state=0).fit(x, y)
    curve = adversarial_curve(
        model, (x, y), [0.4, 0.1, 0.2], constraint=constraint, attacks=[RandomSearch(60)]
    )
    values = [a.value for a in curve]
    assert [a.epsilon for a in curve] == [0.1, 0.2, 0.4]
    assert values == sorted(values, reverse=True)
    for a, b in zip(curve.accuracies, curve.accuracies[1:], strict=False):
        assert set(a.examples.rows) <= set(b.examples.rows)


def test_genuine_is_never_below_standard_and_zero_is_clean():
    x, y = blobs(2, 120, 2)
    model = RandomForestClassifier(10, random_state=0, max_depth=3).fit(x, y)
    for epsilon in (0.1, 0.5):
        standard, genuine = (
            adversarial_accuracy(model, x, y, epsilon=epsilon, constraint=c)
            for c in ("none", "genuine-max")
        )
        assert (genuine.withstood >= standard.withstood).all()
    for constraint in ("none", *GENUINE):
        at_zero = adversarial_accuracy(model, x, y, epsilon=0, constraint=constraint)
        assert at_zero.value == (model.predict(x) == y).mean()
        assert at_zero.proven


def test_one_nn_elsewhere_is_exact_in_l2():
    x, y = blobs(4, 60, 3)
    test, labels = blobs(7, 40, 3)
    model = KNeighborsClassifier(1).fit(x, y)
    exact = adversarial_accuracy(model, test, labels, epsilon=0.4)
    assert exact.proven
    searched = adversarial_accuracy(
        model.predict,
        test,
        labels,
        epsilon=0.4,
        attacks=[RandomSearch(500), RayBisection(500, aim="first")],
    )
    assert exact.value <= searched.value
    assert (exact.withstood <= searched.withstood).all()


def test_results_follow_from_the_seed():
    x, y = blobs(6, 60, 4)
    model = RandomForestClassifier(10, random_state=0).fit(x, y)
    one, two, other = (
        adversarial_accuracy(model, x, y, epsilon=0.3, attacks=[RandomSearch(40)], seed=s)
        for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.examples.moved, two.examples.moved)
    assert not np.array_equal(one.examples.moved, other.examples.moved)


def test_what_cannot_be_measured_is_refused():
    x, y = blobs(0, 10, 2)
    y[:2] = 0, 1
    model = lambda z: np.zeros(len(z), int)  # noqa: E731
    with pytest.raises(InputError, match="unknown constraint 'genuin'"):
        adversarial_accuracy(model, x, y, epsilon=0.1, constraint="genuin")
    with pytest.raises(InputError, match="epsilon must be finite, 0 or more, got -1"):
        adversarial_accuracy(model, x, y, epsilon=-1)
    with pytest.raises(InputError, match="norm must be 1 or more for cells"):
        adversarial_accuracy(model, x, y, epsilon=1, norm=0.5, constraint="genuine-max")
    clash = np.vstack([x, x[:1]]), np.append(y, 1 - y[0])
    with pytest.raises(InputError, match="drop_clashes"):
        adversarial_accuracy(model, *clash, epsilon=1, constraint="genuine-max")
    square = np.array([[0.0], [1.0], [0.5]]), np.array([0, 1, 0])
    found = adversarial_accuracy(
        model, *square, epsilon=0.4, constraint="genuine-exact", bounds=(0, 1)
    )
    assert found.n == 0
    with pytest.raises(UndefinedError, match="take a smaller epsilon"):
        found.value  # noqa: B018
    assert json.dumps(found.json())


@pytest.mark.parametrize(
    "spec",
    [
        "random(queries=50)",
        "rays(queries=80, aim=first)",
        "cover(resolution=0.1)",
        "pgd(steps=5, restarts=2, loss=ce)",
        "apgd(steps=7, restarts=1, loss=margin)",
    ],
)
def test_attacks_have_names(spec):
    pytest.importorskip("torch") if "pgd" in spec else None
    assert parse_attack(spec).spec == spec
    with pytest.raises(InputError, match="is not understood"):
        parse_attack(spec.replace(")", ", x=3)"))
    with pytest.raises(InputError, match="did you mean"):
        parse_attack(f"x{spec}")


def trained(x, y):
    """A small network of torch's."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
    )
    optimiser = torch.optim.Adam(net.parameters(), 0.05)
    points, labels = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(points), labels).backward()
        optimiser.step()
    return net


def test_gradients_of_a_network_are_inspected():
    torch = pytest.importorskip("torch")
    x, y = blobs(8, 120, 3)
    y = (x[:, 0] > 0).astype(int)
    net = trained(x, y)
    found = adversarial_accuracy(net, x, y, epsilon=0.3)
    assert [trial.spec.partition("(")[0] for trial in found.trials] == [
        "pgd",
        "apgd",
        "apgd",
        "square",
    ]
    assert "No sign of masked gradients" in found.notes[0]
    black = adversarial_accuracy(
        lambda z: net(torch.from_numpy(z.astype(np.float32))).detach().numpy(), x, y, epsilon=0.3
    )
    assert black.notes == ()
    assert found.value <= black.value + 0.02


def test_ladders_go_on_where_no_point_is_left():
    x, y = blobs(11, 60, 3)
    y = (x[:, 0] > 0).astype(int)
    model = KNeighborsClassifier(1).fit(x, y)
    test = blobs(12, 20, 3)[0]
    labels = (test[:, 0] > 0).astype(int)
    curve = adversarial_curve(model, (test, labels), [0.5, 4, 8])
    assert [a.value for a in curve][1:] == [0, 0]
    assert curve.accuracies[-1].proven == "no point withstands"
    assert curve.accuracies[-1].trials == ()  # nothing was left to try
    wrong = adversarial_accuracy(model, test, 1 - model.predict(test), epsilon=0.5)
    assert (wrong.value, len(wrong.examples)) == (0, 0)


def test_theorem_2_is_about_labels_too():
    x, _ = blobs(13, 40, 2)
    y = (x[:, 0] > 0).astype(int)
    model = KNeighborsClassifier(1).fit(x, 1 - y)
    for constraint in GENUINE:
        found = adversarial_accuracy(model, x, y, epsilon=0.1, constraint=constraint)
        assert "Theorem 2" in found.proven
        assert found.value == 0


def test_columns_of_a_frame_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(14)
    x, test = (rng.normal(size=(n, 3)) * [1, 5, 1] for n in (60, 50))
    y, labels = ((z[:, 0] + 0.1 * z[:, 1] > 0).astype(int) for z in (x, test))
    frame, asked = (pd.DataFrame(z, columns=list("abc")) for z in (x, test))
    one, two = (
        adversarial_accuracy(KNeighborsClassifier(1).fit(f, y), asked, labels, epsilon=0.5)
        for f in (frame, frame[["b", "c", "a"]])
    )
    assert one.proven
    assert one.value == two.value


def test_no_example_leaves_the_ball_or_the_range_by_rounding():
    rng = np.random.default_rng(15)
    x = (2000 + rng.normal(size=(40, 3))).astype(np.float32)
    y = np.arange(40) % 2
    own = {row.tobytes(): label for row, label in zip(x, y, strict=True)}
    elsewhere = lambda z: np.array([own.get(row.tobytes(), 1) for row in z])  # noqa: E731
    for epsilon in (1e-4, 2e-3):  # below and above what float32 can tell apart there
        found = adversarial_accuracy(elsewhere, x, y, epsilon=epsilon, attacks=[RandomSearch(100)])
        away = np.linalg.norm(
            found.examples.moved.astype(float) - x[found.examples.rows].astype(float), axis=1
        )
        assert (away <= epsilon * (1 + 1e-6)).all()
        assert len(found.examples) == (20 if epsilon > 1e-3 else 0)
    x = rng.uniform(0, 0.3, (30, 3)).astype(np.float32)
    over = lambda z: (z.astype(float) > 0.3).any(axis=1).astype(int)  # noqa: E731
    found = adversarial_accuracy(over, x, [1] + [0] * 29, epsilon=0.5, bounds=(0, 0.3))
    assert len(found.examples) == 0
    # values that rounding put beyond the range may stay there
    x[:, 0] = np.float32(0.3)
    found = adversarial_accuracy(
        lambda z: (z[:, 1] > 0.2).astype(int), x, [1] + [0] * 29, epsilon=0.5, bounds=(0, 0.3)
    )
    assert found.value == 0


def test_room_is_found_by_one_rule_for_all_points():
    x = np.random.default_rng(3).uniform(0, 1, (300, 3))
    y = (x[:, 0] > 0.5).astype(int)
    late = lambda z: (z[:, 0] > 0.55).astype(int)  # noqa: E731
    other = lambda z: (z[:, 1] > 0.5).astype(int)  # noqa: E731
    found, other = (
        adversarial_accuracy(f, x, y, epsilon=0.3, constraint="genuine-exact")
        for f in (late, other)
    )
    assert not found.remains_exactly
    assert (found.remains == other.remains).all()  # whatever the model says
    assert "an upper bound for the points found to have room" in found.bound


def test_norms_below_1_need_no_cover():
    x, _ = blobs(16, 30, 2)
    y = (x[:, 0] > 0).astype(int)
    sure = lambda z: (z[:, 0] > 0).astype(int)  # noqa: E731
    found = adversarial_accuracy(sure, x, y, epsilon=0.3, norm=0.5)
    lost = np.abs(x[:, 0]) < 0.3  # a step along the first axis
    assert (found.withstood == ~lost).mean() > 0.9
    assert not (~found.withstood & ~lost).any()


def test_the_health_of_gradients_is_reported_where_points_withstand():
    x, _ = blobs(8, 120, 3)
    y = (x[:, 0] > 0).astype(int)
    curve = adversarial_curve(trained(x, y), (x, y), [0, 1e-7, 0.2, 100])
    notes = [a.notes for a in curve]
    assert notes[0] == notes[3] == ()  # nothing moves, or nothing withstands
    assert notes[1] == notes[2]
    assert "Gradients at epsilon 0.2: No sign of masked gradients" in notes[1][0]
    tiny = adversarial_accuracy(trained(x, y), x, y, epsilon=1e-6)
    assert "No sign" in tiny.notes[0]  # rounding of float32 is no sign


def test_where_gradients_are_masked_rays_follow():
    torch = pytest.importorskip("torch")
    x, _ = blobs(8, 120, 3)
    y = (x[:, 0] > 0).astype(int)
    plain = trained(x, y)

    class Sharp(torch.nn.Module):
        """Scores that are all but 0 and 1: slopes vanish."""

        def forward(self, scores):
            return (1e3 * scores).softmax(dim=1)

    masked = torch.nn.Sequential(plain, Sharp())
    found, free = (adversarial_accuracy(net, x, y, epsilon=0.3) for net in (masked, plain))
    assert "may be masked" in found.notes[0]
    assert found.trials[-1].spec == "rays(queries=500, aim=first)"
    assert abs(found.value - free.value) <= 0.02
    chosen = adversarial_accuracy(masked, x, y, epsilon=0.3, attacks=[parse_attack("pgd")])
    assert len(chosen.trials) == 1  # what was asked for, and the note
    assert chosen.value > free.value + 0.02


def test_what_rounding_leaves_open_is_searched():
    rng = np.random.default_rng(17)
    x = 1e8 + rng.normal(size=(30, 20))  # squares of these lose all that tells them apart
    model = KNeighborsClassifier(1).fit(x, (x[:, 0] > 1e8).astype(int))
    y = model.predict(x)
    found = adversarial_accuracy(model, x, y, epsilon=1.0)
    assert found.trials[0].spec == "1nn-exact"
    assert len(found.trials) > 1
    assert found.trials[1].tried == 30 - found.trials[0].found  # no row was settled
    assert found.proven in ("", "no point withstands")
