"""Missing values in X, for every estimator that accepts them."""

import functools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from opgd import (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
)
from opgd.baselines import (
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
)

ESTIMATORS = [
    OPGDClassifier(),
    OPGDClassifier(2, covariance_type="full", n_subclasses=2),
    OPGDClassifierCV(2, shrinkage=0, ridge=(0, 0.1), n_subclasses=1, cv=3),
    OPGDMixture(3, random_state=0),
    OPGDMixture((3, 4), covariance_type="full", n_rounds=2, random_state=0),
    OPGDSemiSupervised(),
    ReducedRankLDA(),
    RegularizedDiscriminantAnalysis(),
    RegularizedDiscriminantAnalysis(1.0, 0.1),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
METHODS = ["predict_proba", "predict", "transform", "typicality", "score_samples"]


@functools.cache
def read_wine(missing=0.0):
    X, y = load_wine(return_X_y=True)
    drawn = np.random.default_rng(0).uniform(size=X.shape)
    return np.where(drawn < missing, np.nan, X / X.std(axis=0)), y


@functools.cache
def fit_once(estimator, missing=0.1):
    """The fitted estimator, which tests only read."""
    return clone(estimator).fit(*read_wine(missing))


@pytest.fixture
def wine():
    return read_wine()


@pytest.fixture
def incomplete():
    return read_wine(0.1)


def answers(model, X):
    return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


@each_estimator
def test_results_are_finite_and_good(estimator, incomplete):
    X, y = incomplete
    before = X.copy()
    model = clone(estimator).fit(X, y)
    for values in answers(model, X).values():
        assert np.all(np.isfinite(values))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    if isinstance(model, OPGDMixture):
        assert adjusted_rand_score(y, model.labels_) > 0.8
        np.testing.assert_array_equal(model.labels_, model.predict(X))
    else:
        assert model.score(X, y) > 0.95


@each_estimator
def test_an_incomplete_sample_changes_no_complete_one(estimator, wine, incomplete):
    X, _ = wine
    model = fit_once(estimator, 0.0)
    together = np.vstack([X, incomplete[0]])
    both = answers(model, together)
    for name, values in answers(model, X).items():
        np.testing.assert_allclose(values, both[name][: len(X)], rtol=1e-9, err_msg=name)


@each_estimator
def test_infinity_is_refused(estimator, wine):
    X, y = wine
    broken = X.copy()
    broken[5, 2] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        clone(estimator).fit(broken, y)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fit_once(estimator, 0.0).predict(broken)


@each_estimator
@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_a_feature_without_values_is_ignored(estimator, incomplete):
    X, y = incomplete
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    model = clone(estimator)
    with pytest.warns(match="without a single value are ignored: column 13"):
        model.fit(empty, y)
    expected = fit_once(estimator)
    np.testing.assert_allclose(model.predict_proba(empty), expected.predict_proba(X), atol=1e-3)
    empty[:, -1] = 5.0
    np.testing.assert_allclose(model.predict_proba(empty), expected.predict_proba(X), atol=1e-3)


@each_estimator
def test_a_class_may_lack_all_values_of_a_feature(estimator, incomplete):
    X, y = incomplete
    X = X.copy()
    X[y == 2, 6] = np.nan
    model = clone(estimator).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    if not isinstance(model, OPGDMixture):
        assert model.score(X, y) > 0.95


def test_samples_without_values_do_not_matter_for_the_moments(incomplete):
    X, y = incomplete
    nothing = np.full((3, X.shape[1]), np.nan)
    model = ReducedRankLDA(priors="uniform").fit(X, y)
    other = ReducedRankLDA(priors="uniform").fit(np.vstack([X, nothing]), np.append(y, [0, 1, 2]))
    np.testing.assert_allclose(other.means_, model.means_, atol=0.02)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_features_may_be_more_than_samples(rng):
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 40)) + 2 * y[:, None]
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    model = OPGDClassifier(1).fit(X[:16], y[:16])
    assert model.score(X[16:], y[16:]) == 1


@each_estimator
def test_weights_of_two_are_repeated_samples(estimator, incomplete):
    if isinstance(estimator, OPGDClassifierCV | OPGDMixture):
        pytest.skip("splits and initializations depend on the samples")
    X, y = incomplete
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    repeated = clone(estimator).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_threads_memory_maps_and_single_precision_agree(incomplete, tmp_path):
    X, y = incomplete
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    expected = OPGDClassifier(2).fit(X, y).predict_proba(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(OPGDClassifier(2, n_jobs=2).fit(X, y).predict_proba(X), expected)
    np.testing.assert_array_equal(OPGDClassifier(2).fit(mapped, y).predict_proba(mapped), expected)
    single = OPGDClassifier(2).fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=1e-2)


def test_cross_validated_accuracy_beats_imputation_by_medians(incomplete):
    X, y = incomplete
    native = cross_val_score(OPGDClassifier(), X, y).mean()
    imputed = cross_val_score(
        make_pipeline(SimpleImputer(strategy="median"), OPGDClassifier()), X, y
    )
    assert native > imputed.mean()


@pytest.mark.parametrize(("alpha", "gamma"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 0.2)])
def test_rda_uses_the_marginal_gaussians_of_the_observed_features(incomplete, alpha, gamma):
    X, y = incomplete
    model = RegularizedDiscriminantAnalysis(alpha, gamma).fit(X, y)
    joint = np.empty((len(X), 3))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        for k in range(3):
            covariance = model.covariances_[k][np.ix_(o, o)]
            joint[i, k] = multivariate_normal.logpdf(x[o], model.means_[k][o], covariance)
    joint = np.exp(joint - joint.max(axis=1, keepdims=True)) * model.priors_
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


def test_held_out_samples_of_the_selection_may_be_incomplete(incomplete):
    X, y = incomplete
    model = OPGDClassifierCV((1, 2), n_subclasses=1, cv=3).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.best_score_ > 0.9


@pytest.mark.parametrize(
    "estimator",
    [
        OPGDClassifier(2),
        OPGDMixture(3, random_state=0),
        OPGDSemiSupervised(2, init="lda", calibrate=False),
        pytest.param(OPGDSemiSupervised(2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_dask_agrees_with_arrays(estimator, incomplete):
    da = pytest.importorskip("dask.array")
    X, y = incomplete
    if isinstance(estimator, OPGDSemiSupervised):
        y = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    expected = clone(estimator).fit(X, y).predict_proba(X)
    lazy = da.from_array(X, chunks=(60, -1))
    model = clone(estimator).fit(lazy, da.from_array(y, chunks=60))
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), expected, atol=1e-4)
    broken = np.where(X > 5, np.inf, X)
    with pytest.raises(ValueError, match="contains infinity"):
        clone(estimator).fit(da.from_array(broken, chunks=(60, -1)), y)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_rda_without_values_has_the_priors_where_samples_span_a_subspace(rng):
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 30)) * (1 + y[:, None])  # classes of different variance
    model = RegularizedDiscriminantAnalysis(1.0, 0.3, priors=[0.4, 0.6]).fit(X, y)
    posteriors = model.predict_proba(np.full((1, 30), np.nan))
    np.testing.assert_allclose(posteriors, [[0.4, 0.6]], rtol=1e-5)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    assert model.score(X, y) > 0.9


def test_completed_samples_are_conditional_means(wine, incomplete):
    X, y = wine
    model = OPGDClassifier(2).fit(X, y)
    missing = incomplete[0]
    completed = model._projection.complete(missing)
    observed = ~np.isnan(missing)
    np.testing.assert_array_equal(completed[observed], X[observed])
    error, error_of_means = (
        np.mean((values - X)[~observed] ** 2) for values in (completed, X.mean(axis=0))
    )
    assert error < 0.7 * error_of_means


def test_noise_of_a_mixture_needs_complete_samples(wine, incomplete):
    model = OPGDMixture(3, noise=True, random_state=0)
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN, which noise does not support; set noise=False"):
        clone(model).fit(incomplete[0])
    model.fit(wine[0])
    for method in (model.predict, model.predict_proba, model.score_samples, model.transform):
        with pytest.raises(ValueError, match="NaN, which noise does not support"):
            method(incomplete[0])


def test_the_number_of_clusters_is_selected_by_observed_values(incomplete):
    X, _ = incomplete
    model = OPGDMixture(range(1, 5), random_state=0).fit(X)
    assert model.n_clusters_ == 3
    alone = model.selection_["n_clusters"] == 1
    bic, first_bic = (model.selection_[name][alone][0] for name in ("bic", "first_bic"))
    assert bic == pytest.approx(first_bic, rel=2e-3)  # both densities are one Gaussian
    assert model.bic(X) == pytest.approx(model.selection_["bic"][2], rel=1e-6)


def test_few_distinct_values_are_counted_among_observed_ones(wine, incomplete):
    X = np.column_stack([incomplete[0], np.where(np.arange(len(wine[1])) % 3, 1.0, 2.0)])
    X[::5, -1] = np.nan
    with pytest.warns(match="at most 10 distinct values: column 13"):
        OPGDMixture(3, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_clusters_do_not_separate_completed_from_observed_values(rng):
    # a rounded mean of other features, and a feature that is mostly zero
    y = np.repeat(np.arange(3), 100)
    centers = 3 * np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1]])
    parts = np.round(rng.normal(size=(300, 3)) + centers[y], 2)
    rare = rng.uniform(size=300) < 0.04
    X = np.column_stack([parts, np.round(parts.mean(axis=1), 1), rare])
    incomplete = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    complete = OPGDMixture(3, random_state=0).fit(X)
    model = OPGDMixture(3, random_state=0).fit(incomplete)
    assert adjusted_rand_score(y, model.labels_) > 0.7
    assert adjusted_rand_score(complete.labels_, complete.predict(incomplete)) > 0.8
