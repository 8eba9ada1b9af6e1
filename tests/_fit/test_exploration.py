"""The race of many starts behind init="auto"."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from opgd import OPGDClassifier
from opgd._fit import exploration
from opgd._fit.problem import pose, prepare
from opgd._fit.search import search
from opgd.core.engines import RowEngine

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COLUMNS = {"start", "log_likelihood", "n_iter", "n_samples", "converged", "found_best"}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def few_are_many(monkeypatch):
    """First iterations on a subsample of 100."""
    monkeypatch.setattr(exploration, "LEAST_ROWS", 100)
    monkeypatch.setattr(exploration, "ROWS_PER_COEFFICIENT", 1)


def overlapping(n_samples=400, n_features=6, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    spread = rng.uniform(0.3, 2, (n_classes, n_features))
    means = rng.normal(size=(n_classes, n_features))
    return means[y] + spread[y] * rng.normal(size=(n_samples, n_features)), y


def assert_consistent(model):
    table = model.search_
    assert set(table) == COLUMNS
    assert len({len(column) for column in table.values()}) == 1
    assert len(set(table["start"])) == len(table["start"])
    whole = table["n_samples"] == table["n_samples"].max()
    best = table["log_likelihood"][whole].max()
    assert best == pytest.approx(model.log_likelihood_, rel=1e-9)
    assert table["found_best"].sum() >= 1
    assert table["found_best"][whole][np.argmax(table["log_likelihood"][whole])]
    assert np.all(table["n_iter"] <= model.max_iter)


def test_same_bits_with_more_threads_and_always(wine):
    for X, y in (wine, overlapping(2000)):
        one, again, two = (OPGDClassifier(2, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 1, 2))
        for other in (again, two):
            np.testing.assert_array_equal(other.components_, one.components_)
            np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
            for name in COLUMNS:
                np.testing.assert_array_equal(other.search_[name], one.search_[name])


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("ridge", [0.0, "auto"])
def test_never_worse_than_the_start_of_lda(covariance_type, ridge, wine, iris):
    settings = {"covariance_type": covariance_type, "ridge": ridge}
    for X, y in (wine, iris, overlapping()):
        for n_components in (1, 2, 3):
            many = OPGDClassifier(n_components, **settings).fit(X, y)
            one = OPGDClassifier(n_components, init="lda", **settings).fit(X, y)
            # two searches of one optimum end where gradients are small, not at the same bits
            assert many.log_likelihood_ >= one.log_likelihood_ - 1e-3
            assert_consistent(many)


def test_better_where_lda_starts_near_a_poor_optimum():
    X, y = overlapping(seed=11)
    many, few = (
        OPGDClassifier(1, ridge=0.0, init=init).fit(X, y) for init in ("auto", ("lda", "pca"))
    )
    assert many.log_likelihood_ > few.log_likelihood_ + 5
    assert not many.search_["found_best"][:2].any()


@pytest.mark.parametrize("max_iter", [0, 1, 2, 8])
def test_few_iterations(max_iter, iris):
    model = OPGDClassifier(2, max_iter=max_iter).fit(*iris)
    assert_consistent(model)
    assert max(model.search_["n_iter"]) == max_iter
    if max_iter == 0:
        starts = [OPGDClassifier(2, init=init, max_iter=0).fit(*iris) for init in ("lda", "pca")]
        best = max(start.log_likelihood_ for start in starts)
        assert model.log_likelihood_ == pytest.approx(best, rel=1e-9)


def test_several_names_give_the_value_of_the_better_one(wine, iris):
    for X, y in (wine, iris, overlapping()):
        both, lda, pca = (
            OPGDClassifier(2, init=init, ridge=0.0, tol=1e-9).fit(X, y)
            for init in (("lda", "pca"), "lda", "pca")
        )
        best = max(lda.log_likelihood_, pca.log_likelihood_)
        assert both.log_likelihood_ == pytest.approx(best, rel=1e-5, abs=1e-5)
        assert list(both.search_["start"]) == ["lda, pca"]
        listed = OPGDClassifier(2, init=["lda", "pca"], ridge=0.0, tol=1e-9).fit(X, y)
        np.testing.assert_array_equal(listed.components_, both.components_)


@pytest.mark.parametrize("n_iterations", [1, 5, 9, 40, 60])
@pytest.mark.parametrize("subsample", [False, True])
@pytest.mark.usefixtures("few_are_many")
def test_a_callback_ends_the_exploration(n_iterations, subsample):
    X, y = overlapping()
    problem = pose(prepare(RowEngine(X, y), 4), np.full(4, 0.25), covariance_type="diag")
    seen = []

    def stop(name, directions, value):
        seen.append((name, value))
        if len(seen) >= n_iterations:
            raise StopIteration

    settings = {"max_iter": 500, "tol": 1e-6, "on_iteration": stop}
    result = search(problem, 2, subsample=subsample, **settings)
    assert len(seen) == n_iterations
    assert np.all(np.isfinite(result.best.directions))
    assert np.isfinite(result.best.value)
    reached = problem.objective.likelihood(result.best.directions)
    assert result.best.value == pytest.approx(reached, rel=1e-9)
    assert np.sum(result.table["found_best"]) >= 1


@pytest.mark.usefixtures("few_are_many")
def test_a_subsample_ends_at_an_optimum_of_all_samples():
    X, y = overlapping(1000)
    model = OPGDClassifier(2).fit(X, y)
    assert_consistent(model)
    assert set(model.search_["n_samples"]) == {250, 1000}
    again = OPGDClassifier(2, init=model.components_).fit(X, y)
    assert again.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-6)
