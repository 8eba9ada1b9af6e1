"""Value and gradient: against other programs, plain loops, differences, and themselves."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from opgd.core import kernels
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.penalties import Orthonormality
from opgd.core.targets import Labeled, Strongest
from tests.core import literal
from tests.core.problems import KINDS, small_objective


def reference_cases(reference):
    cases = json.loads((reference / "kernel_cases.json").read_text())
    data = {
        "iris_raw": load_iris().data,
        "wine_std": StandardScaler().fit_transform(load_wine().data),
    }
    for name, X in data.items():
        case = cases[name]
        sizes = np.array(case["n_k"], float)
        moments = Moments(sizes, sizes, np.array(case["MU"]), np.array(case["S"]))
        yield from ((X, np.array(case["y"]) - 1, moments, run) for run in case["runs"])


def reference_objective(X, y, moments, targets, penalty=None):
    engine = RowEngine(X, y, center=X.mean(axis=0))
    at_center = replace(moments, means=moments.means - X.mean(axis=0))
    n_features = X.shape[1]
    return Objective(
        engine,
        np.eye(n_features),
        at_center,
        np.log(moments.priors),
        FORMS["diag"],
        targets,
        penalty,
    )


def test_labeled_value_and_gradient_agree_with_reference(reference):
    n_runs = 0
    for X, y, moments, run in reference_cases(reference):
        objective = reference_objective(X, y, moments, Labeled(np.arange(moments.n_groups)))
        value, gradient = objective.value_and_gradient(np.array(run["V"]).T)
        expected = np.array(run["gradient"]).T
        assert value * len(X) == pytest.approx(run["f"], rel=1e-9)
        np.testing.assert_allclose(
            gradient * len(X), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
        )
        n_runs += 1
    assert n_runs >= 7


@pytest.mark.parametrize("penalized", [False, True])
def test_unlabeled_value_and_gradient_agree_with_reference(reference, penalized):
    for X, y, moments, run in reference_cases(reference):
        penalty = Orthonormality(1.0, np.eye(X.shape[1])) if penalized else None
        objective = reference_objective(X, y, moments, Strongest(), penalty)
        printed = run["cluster_penalty_n" if penalized else "cluster_penalty_0"]
        value, gradient = objective.value_and_gradient(np.array(run["W"]).T)
        expected = np.array(printed["gradient"]).T
        assert value * len(X) == pytest.approx(printed["f"], rel=1e-9)
        np.testing.assert_allclose(
            gradient * len(X), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["diag", "full"])
@pytest.mark.parametrize("n_subclasses", [1, 3])
def test_value_agrees_with_the_literal_formula(kind, form, n_subclasses, rng):
    objective = small_objective(rng, kind, form, n_subclasses, weighted=True)
    engine, moments = objective.engine, objective.moments
    members = {k: range(k * n_subclasses, (k + 1) * n_subclasses) for k in range(3)}
    numerators = [
        None if kind == "strongest" or label < 0 else members[label] for label in engine.labels
    ]
    V = rng.normal(size=(6, 3))
    expected = literal.value(
        engine.X,
        numerators,
        V,
        moments.priors,
        moments.means + engine.center,
        moments.covariances,
        engine.weights,
        full=form == "full",
    )
    value, _ = objective.value_and_gradient(V.T)
    assert value * engine.total_weight == pytest.approx(expected, rel=1e-12)
    assert objective.value(V.T) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["diag", "full"])
@pytest.mark.parametrize("n_subclasses", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_components", [1, 4])
def test_gradient_agrees_with_central_differences(
    kind, form, n_subclasses, weighted, n_components, rng
):
    objective = small_objective(rng, kind, form, n_subclasses, weighted)
    at, step = rng.normal(size=(2, n_components, 6))
    slope = (objective.value(at + 1e-6 * step) - objective.value(at - 1e-6 * step)) / 2e-6
    _, gradient = objective.value_and_gradient(at)
    assert slope == pytest.approx(np.sum(gradient * step), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_length_sign_and_order_do_not_matter(kind, rng):
    objective = small_objective(rng, kind)
    at = rng.normal(size=(3, 6))
    value, gradient = objective.value_and_gradient(at)
    changed = at[[2, 0, 1]] * np.array([[3.0], [-0.01], [-7.0]])
    assert objective.value_and_gradient(changed)[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(np.sum(gradient * at, axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_full_covariances_see_the_span_only(kind, rng):
    objective = small_objective(rng, kind, "full")
    at, mix = rng.normal(size=(3, 6)), rng.normal(size=(3, 3))
    value, gradient = objective.value_and_gradient(at)
    assert objective.value_and_gradient(mix @ at)[0] == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(gradient @ at.T, 0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["diag", "full"])
def test_one_block_equals_many_and_threads_change_nothing(kind, form, rng):
    at = rng.normal(size=(3, 6))
    seed = rng.integers(2**31)
    whole = {"block_rows": 10_000}
    results = [
        small_objective(
            np.random.default_rng(seed), kind, form, 2, weighted=True, **engine
        ).value_and_gradient(at)
        for engine in (
            whole,
            {"block_rows": 7},
            {"block_rows": 7, "n_threads": 3},
            {"subtract": True},
        )
    ]
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-13)
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-11, atol=1e-13)


def test_any_number_of_threads_gives_the_same_bits(rng):
    at, seed = rng.normal(size=(3, 6)), rng.integers(2**31)
    first, *others = [
        small_objective(
            np.random.default_rng(seed), block_rows=5, n_threads=n_threads
        ).value_and_gradient(at)
        for n_threads in (1, 2, 2, 3, 3, 8)
    ]
    for value, gradient in others:
        assert value == first[0]
        assert np.array_equal(gradient, first[1])


@pytest.mark.parametrize("kind", KINDS)
def test_limit_of_tiny_posteriors_changes_no_bit(kind, rng, monkeypatch):
    objective, at = small_objective(rng, kind, n_subclasses=2), rng.normal(size=(3, 6))
    objective.engine.X[:] *= 30.0
    value, gradient = objective.value_and_gradient(at)
    limited = []
    monkeypatch.setattr(kernels, "limit_logs", lambda logs: limited.append(logs.min()))
    unlimited_value, unlimited_gradient = objective.value_and_gradient(at)
    assert min(limited) < kernels.LOWEST_LOG
    assert value == unlimited_value
    np.testing.assert_array_equal(gradient, unlimited_gradient)


def test_value_stays_finite_when_every_density_underflows(rng):
    objective = small_objective(rng, n_subclasses=3)
    objective.engine.X[:] *= 1e6
    value, gradient = objective.value_and_gradient(rng.normal(size=(2, 6)))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_no_array_of_rows_by_gaussians_by_components_is_made(rng):
    objective = small_objective(rng, n_rows=500, n_subclasses=4)
    q, C = 5, 12
    objective.value_and_gradient(rng.normal(size=(q, 6)))
    largest = max(
        buffer.size
        for workspace in objective.engine._workspaces
        for buffer in workspace._buffers.values()
    )
    assert largest < 500 * C * q / 2
