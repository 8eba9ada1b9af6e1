"""Searches among many rows that begin on samples of them."""

import numpy as np
import pytest

from opgd import OPGDClassifier, OPGDMixture
from opgd._fit import search as search_module
from opgd._fit.problem import pose, prepare
from opgd.core.engines import RowEngine


@pytest.fixture
def few_are_many(monkeypatch):
    """Samples from 2000 rows on, the first of 200."""
    monkeypatch.setattr(search_module, "MANY_ROWS", 2000)
    monkeypatch.setattr(search_module, "FIRST_SAMPLE", 200)
    monkeypatch.setattr(search_module, "ROWS_PER_COEFFICIENT", 1)


@pytest.fixture
def evaluations(monkeypatch):
    """Numbers of rows of all evaluations with a gradient."""
    seen = []
    whole_sum = RowEngine.sum

    def counted(self, function, width=0):
        if width:  # only evaluations with a gradient tell their buffers
            seen.append(self.n_samples)
        return whole_sum(self, function, width)

    monkeypatch.setattr(RowEngine, "sum", counted)
    return seen


def overlapping(n_rows=4000, n_columns=6, n_classes=3):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_rows)
    spread = rng.uniform(0.5, 1.5, (n_classes, n_columns))
    means = 1.2 * rng.normal(size=(n_classes, n_columns))
    return means[labels] + spread[labels] * rng.normal(size=(n_rows, n_columns)), labels


@pytest.mark.usefixtures("few_are_many")
def test_samples_come_first_and_all_rows_last(evaluations):
    X, y = overlapping()
    model = OPGDClassifier(2, ridge=0.0, init=("lda", "pca")).fit(X, y)
    first = evaluations.index(4000)
    assert evaluations[:first] == [200] * first
    assert evaluations[-1] == 4000
    # later samples are drawn from all rows
    assert {size for size in evaluations[first:] if size < 4000}.isdisjoint({200})
    assert len(evaluations) == model.n_evaluations_
    # what is reported of the search is that on all rows
    assert len(model.loss_curve_) == model.n_iter_ + 1
    assert -model.loss_curve_[-1] * len(X) == pytest.approx(model.log_likelihood_, rel=1e-9)


@pytest.mark.usefixtures("few_are_many")
def test_the_end_is_an_optimum_on_all_rows_and_always_the_same():
    X, y = overlapping()
    first = OPGDClassifier(2).fit(X, y)
    np.testing.assert_array_equal(first.components_, OPGDClassifier(2).fit(X, y).components_)
    assert first.converged_
    again = OPGDClassifier(2, init=first.components_).fit(X, y)  # on all samples
    assert again.n_iter_ <= 2


@pytest.mark.usefixtures("few_are_many")
def test_a_callback_stops_the_search_on_all_rows():
    X, y = overlapping()
    problem = pose(prepare(RowEngine(X, y), 3), np.full(3, 1 / 3), covariance_type="diag")

    def stop(name, directions, value):
        if name == "all samples":
            raise StopIteration

    settings = {"max_iter": 500, "tol": 1e-6, "subsample": True}
    result = search_module.search(problem, 2, on_iteration=stop, **settings).best
    assert result.n_iter == 1
    assert not result.converged
    assert result.value == pytest.approx(problem.objective.value(result.directions), rel=1e-9)


@pytest.mark.usefixtures("few_are_many")
def test_many_starts_are_compared_on_the_first_sample(evaluations):
    X, y = overlapping()
    model = OPGDClassifier(2, ridge=0.0).fit(X, y)
    first = evaluations.index(4000)
    assert evaluations[:first] == [200] * first
    assert len(evaluations) <= model.n_evaluations_
    assert model.search_["start"][-1] == "all samples"
    assert set(model.search_["n_samples"]) == {200, 4000}
    assert list(np.flatnonzero(model.search_["found_best"])) == [len(model.search_["start"]) - 1]
    one = OPGDClassifier(2, ridge=0.0, init="lda").fit(X, y)
    assert model.log_likelihood_ >= one.log_likelihood_ - 1e-3


@pytest.mark.usefixtures("few_are_many")
def test_warm_starts_are_not_thrown_away(evaluations):
    X, y = overlapping()
    model = OPGDClassifier(2, warm_start=True).fit(X, y)
    evaluations.clear()
    model.fit(X, y)
    assert set(evaluations) == {4000}


@pytest.mark.usefixtures("few_are_many")
def test_mixtures_too(evaluations):
    X, _ = overlapping()
    model = OPGDMixture(3, random_state=0, regularization=0).fit(X)
    assert {200, 4000} < set(evaluations)
    whole = OPGDMixture(3, random_state=0, regularization=0, components_init=model.components_).fit(
        X
    )
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-5)
