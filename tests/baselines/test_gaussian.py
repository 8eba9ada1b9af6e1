"""The baselines: agreement with formulas and other programs, hostile data, manners."""

import inspect
import pickle
import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneGroupOut

from opgd import DataWarning, OPGDClassifier, compare
from opgd._base.posterior import normalize_log_joints
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.baselines.cpc import CommonAxesLikelihood, fit_common_components

IGNORE_DATA = pytest.mark.filterwarnings("ignore::opgd.DataWarning")
SCALE_FREE = [
    ReducedRankLDA(),
    RegularizedDiscriminantAnalysis(),
    SlicedAverageVariance(),
    MixtureDiscriminantAnalysis(2),
    MixtureDiscriminantAnalysis(2, covariance_type="full"),
]
UNIT_BOUND = [RegularizedDiscriminantAnalysis(0.5, 0.1), CommonPrincipalComponents()]
WITH_AXES = [ReducedRankLDA(), SlicedAverageVariance(), CommonPrincipalComponents()]
TINY_CLASSES = np.r_[0:50, 50:52, 100]  # 50, 2 and 1 rows of iris
EVERY = pytest.mark.parametrize("baseline", SCALE_FREE + UNIT_BOUND, ids=str)
EVERY_SCALE_FREE = pytest.mark.parametrize("baseline", SCALE_FREE, ids=str)
EVERY_WITH_AXES = pytest.mark.parametrize("baseline", WITH_AXES, ids=str)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def class_moments(X, y):
    """Shares, means and covariances (divided by the number of rows) of the classes."""
    own = [X[y == k] for k in np.unique(y)]
    shares = np.array([len(rows) / len(X) for rows in own])
    means = np.array([rows.mean(axis=0) for rows in own])
    return shares, means, np.array([np.cov(rows.T, ddof=0) for rows in own])


def gaussian_posteriors(X, priors, means, covariances):
    """Posteriors of one Gaussian per class, from the formula of its density."""
    joint = np.log(priors) + np.stack(
        [
            -0.5 * np.linalg.slogdet(S)[1]
            - 0.5 * np.einsum("ij,ji->i", X - m, np.linalg.solve(S, (X - m).T))
            for m, S in zip(means, covariances, strict=True)
        ],
        axis=1,
    )
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def qda(X, y):
    return gaussian_posteriors(X, *class_moments(X, y))


def regularized_posteriors(X, y, alpha, gamma):
    """Posteriors of regularized discriminant analysis, its formula on raw columns."""
    shares, means, covariances = class_moments(X, y)
    within = np.tensordot(shares, covariances, axes=1)
    p = X.shape[1]
    drawn = [alpha * own + (1 - alpha) * within for own in covariances]
    drawn = [(1 - gamma) * own + gamma * np.trace(own) / p * np.eye(p) for own in drawn]
    return gaussian_posteriors(X, shares, means, drawn)


def wide_problem(rng, n_rows=40):
    """More columns than rows, of many sizes."""
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 60))
    X[:, :3] += 1.5 * np.eye(3)[y]
    return X * np.exp(rng.normal(size=60)), y


def assert_usable(model, X):
    assert np.all(np.isfinite(model.means_))
    assert np.all(np.isfinite(model.covariances_))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert set(model.predict(X)) <= set(model.classes_)


# --- RDA --------------------------------------------------------------------------------------


def test_rda_without_own_covariances_is_scikit_learns_lda(wine):
    X, y = wine
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = RegularizedDiscriminantAnalysis(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_rda_with_own_covariances_is_qda(iris):
    X, y = iris[0][:140], iris[1][:140]
    posteriors = RegularizedDiscriminantAnalysis(alpha=1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(posteriors, qda(X, y), atol=1e-8)
    expected = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    if not np.allclose(expected.covariance_, class_moments(X, y)[2], rtol=1e-6):
        pytest.skip("this scikit-learn divides by n_k - 1; newer ones by n_k, as we do")
    np.testing.assert_allclose(posteriors, expected.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
def test_rda_follows_its_formula(alpha, gamma, wine):
    X, y = wine
    model = RegularizedDiscriminantAnalysis(alpha, gamma).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), regularized_posteriors(X, y, alpha, gamma), atol=1e-8
    )


@IGNORE_DATA
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_rda_follows_its_formula_with_collinear_columns(alpha, iris):
    X, y = np.column_stack([iris[0], 3 * iris[0][:, 1]]), iris[1]
    model = RegularizedDiscriminantAnalysis(alpha, 0.3).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), regularized_posteriors(X, y, alpha, 0.3), atol=1e-8
    )


@IGNORE_DATA
def test_rda_is_scikit_learns_shrunk_lda_with_fewer_rows_than_columns(rng):
    X, y = wide_problem(rng)
    expected = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5).fit(X, y)
    model = RegularizedDiscriminantAnalysis(0, 0.5).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


@IGNORE_DATA
@pytest.mark.parametrize("exponent", [3, 6])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_gamma_copes_with_columns_of_different_units(gamma, exponent, iris):
    X, y = iris[0] * np.logspace(-exponent, exponent, 4), iris[1]
    model = RegularizedDiscriminantAnalysis(0.5, gamma).fit(X, y)
    assert model.score(X, y) > 0.6
    assert_usable(model, X)


# --- reduced-rank LDA -------------------------------------------------------------------------


def test_lda_on_all_its_axes_is_lda(wine):
    X, y = wine
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = ReducedRankLDA().fit(X, y)
    assert model.components_.shape == (2, 13)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_lda_on_some_axes_is_the_nearest_projected_mean_with_priors(n_components, load):
    X, y, _ = load("vowel")
    X, y = X[: -len(X) // 3], y[: -len(X) // 3]
    shares, means, covariances = class_moments(X, y)
    within = np.tensordot(shares, covariances, axes=1)
    between = np.cov(means.T, aweights=shares, ddof=0)
    V = eigh(between, within)[1][:, ::-1][:, :n_components]
    priors = np.arange(1, 12) / 66
    ones = [np.eye(n_components)] * 11
    expected = gaussian_posteriors(X @ V, priors, means @ V, ones)
    model = ReducedRankLDA(n_components, priors=priors).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)
    assert np.array_equal(model.predict(X), np.unique(y)[expected.argmax(axis=1)])
    assert np.diag(model.components_ @ within @ model.components_.T) == pytest.approx(1)


SINGULAR = {
    "fewer rows than columns": lambda iris, rng: wide_problem(rng),
    "a column constant in classes": lambda iris, rng: (
        np.column_stack([iris[0], (iris[1] == 1) + 0.0]),
        iris[1],
    ),
}


@IGNORE_DATA
@pytest.mark.parametrize(
    "baseline", [ReducedRankLDA(), MixtureDiscriminantAnalysis(1)], ids=lambda own: str(own)[:3]
)
@pytest.mark.parametrize("how", SINGULAR)
def test_all_that_is_lda_agrees_where_the_pooled_covariance_is_singular(how, baseline, iris, rng):
    X, y = SINGULAR[how](iris, rng)
    elsewhere = X + 0.3 * X.std(axis=0) * rng.normal(size=X.shape)
    expected = RegularizedDiscriminantAnalysis(alpha=0).fit(X, y).predict_log_proba(elsewhere)
    found = clone(baseline).fit(X, y).predict_log_proba(elsewhere)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_more_axes_than_lda_has_are_refused(iris):
    with pytest.raises(ValueError, match=r"n_components=3 is larger than n_classes - 1 = 2"):
        ReducedRankLDA(3).fit(*iris)


@pytest.mark.parametrize("sparsity", [0.6, 3, 1])
def test_sparse_lda_is_the_classifier_with_pooled_covariances(sparsity, wine):
    X, y = wine
    weights = 1.0 + (y == 1)
    settings = {"shrinkage": 1, "ridge": 0, "init": "lda", "max_iter": 0}
    n_components = min(2, round(13 * 0.4) if sparsity == 0.6 else sparsity)
    expected = OPGDClassifier(n_components, sparsity=sparsity, **settings).fit(X, y, weights)
    model = ReducedRankLDA(sparsity=sparsity).fit(X, y, weights)
    assert np.array_equal(model.feature_order_, expected.feature_order_)
    assert np.array_equal(model.get_support(), expected.get_support())
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-10)
    columns = model.get_support(indices=True)
    alone = ReducedRankLDA().fit(X[:, columns], y, weights)
    np.testing.assert_allclose(model.components_[:, columns], alone.components_, rtol=1e-8)


def test_without_sparsity_lda_is_dense_to_the_bit(wine):
    dense, other = ReducedRankLDA().fit(*wine), ReducedRankLDA(sparsity=13).fit(*wine)
    assert np.array_equal(dense.components_, other.components_)
    assert not hasattr(dense, "feature_order_")


# --- SAVE -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_save_axes_span_what_statsmodels_finds(n_components, iris):
    """It divides by n_k - 1, which is n_k within rounding of the angles for so many copies."""
    dimred = pytest.importorskip("statsmodels.regression.dimred")
    X, y = iris
    many = np.tile(X, (1000, 1)), np.tile(y, 1000)
    theirs = dimred.SlicedAverageVarianceEstimation(many[1], many[0]).fit(slice_n=50_000)
    ours = SlicedAverageVariance(n_components).fit(X, y)
    angles = subspace_angles(ours.components_.T, theirs.params[:, :n_components])
    assert angles.max() < 1e-4


def exact_rows(rng, n, p):
    """Rows with mean zero and covariance one exactly."""
    X = rng.normal(size=(n, p))
    X -= X.mean(axis=0)
    return np.linalg.solve(np.linalg.cholesky(X.T @ X / n), X.T).T


def test_save_spans_differences_of_means_and_covariances(rng):
    y = np.repeat([0, 1, 2], [60, 80, 100])
    X = np.vstack([exact_rows(rng, n, 8) for n in (60, 80, 100)])
    X[y == 1, 0] += 2
    X[y == 1, 1] *= 3
    X[y == 2, :3] @= rng.normal(size=(3, 3))
    X = X @ rng.normal(size=(8, 8))

    total = np.cov(X.T, ddof=0)
    sphered = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(total)).T
    _, means, covariances = class_moments(sphered, y)
    told = np.vstack([means, *(covariances[1:] - covariances[0])])
    sizes, rows = np.linalg.svd(told)[1:]
    assert np.sum(sizes > 1e-8 * sizes[0]) == 3
    in_columns = np.linalg.solve(np.linalg.cholesky(total).T, rows[:3].T)

    model = SlicedAverageVariance(3).fit(X, y)
    assert subspace_angles(model.components_.T, in_columns).max() < 1e-6


def test_save_on_all_axes_is_qda(wine):
    X, y = wine
    model = SlicedAverageVariance().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), qda(X, y), atol=1e-8)


def test_save_on_some_axes_is_qda_of_the_scores(wine):
    X, y = wine
    model = SlicedAverageVariance(3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), qda(model.transform(X), y), atol=1e-8)


# --- common principal components --------------------------------------------------------------


def common_axes_problem(rng, n):
    """Three classes with the same principal axes (rows of the third array)."""
    axes = np.linalg.qr(rng.normal(size=(5, 5)))[0].T
    variances = np.array([[10, 5, 2, 1, 0.3], [1, 8, 3, 0.5, 2], [4, 0.2, 6, 2, 1]])
    y = np.repeat([0, 1, 2], n)
    return (rng.normal(size=(3 * n, 5)) * np.sqrt(variances)[y]) @ axes + y[:, None], y, axes


def test_common_axes_are_recovered(rng):
    X, y, axes = common_axes_problem(rng, 4000)
    model = CommonPrincipalComponents().fit(X, y)
    cosines = np.abs(model.components_ @ axes.T)
    assert np.array_equal(np.sort(cosines.argmax(axis=1)), np.arange(5))
    assert cosines.max(axis=1).min() > 0.999


@pytest.mark.parametrize("data", ["iris", "wine", "simulated"])
def test_common_axes_solve_flurys_equations(data, iris, wine, rng):
    X, y = {"iris": iris, "wine": wine, "simulated": common_axes_problem(rng, 500)[:2]}[data]
    model = CommonPrincipalComponents(tol=1e-9, max_iter=5000).fit(X, y)
    shares, _, covariances = class_moments(X, y)
    b = model.components_
    np.testing.assert_allclose(b @ b.T, np.eye(len(b)), atol=1e-10)
    S = b @ covariances @ b.T  # (K, p, p)
    v = np.diagonal(S, axis1=1, axis2=2)
    steps = (v[:, :, None] - v[:, None, :]) / (v[:, :, None] * v[:, None, :])
    equations = np.tensordot(shares, steps * S, axes=1)
    # what they would be with correlations of one instead of S
    sizes = np.tensordot(shares, np.abs(steps) * np.sqrt(v[:, :, None] * v[:, None, :]), axes=1)
    assert np.max(np.abs(equations) / (sizes + np.eye(len(b)))) < 1e-5


def test_several_starts_find_higher_likelihoods_of_common_axes(rng):
    priors = np.full(3, 1 / 3)
    gains = []
    for _ in range(12):
        roots = rng.normal(size=(3, 6, 6))
        covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(6)
        one, several = (
            fit_common_components(covariances, priors, n_init=number, max_iter=500, tol=1e-6)[0]
            for number in (1, 6)
        )
        values = [
            CommonAxesLikelihood(covariances, priors, axes).value(np.zeros((6, 6)))
            for axes in (one, several)
        ]
        gains.append(values[1] - values[0])
    assert min(gains) > -1e-9
    assert max(gains) > 0.01


def test_variances_on_common_axes_are_those_of_the_scores(wine):
    X, y = wine
    model = CommonPrincipalComponents(4).fit(X, y)
    scores = model.transform(X)
    variances = [scores[y == k].var(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.common_variances_, variances, rtol=1e-8)
    shares, means, _ = class_moments(scores, y)
    expected = gaussian_posteriors(scores, shares, means, [np.diag(own) for own in variances])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)
    pooled = shares @ model.common_variances_
    assert np.array_equal(pooled, np.sort(pooled)[::-1])


def test_gradient_of_the_common_axes_agrees_with_central_differences(rng):
    roots = rng.normal(size=(3, 5, 5))
    start = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(5)
    likelihood = CommonAxesLikelihood(covariances, np.array([0.2, 0.3, 0.5]), start)
    at, step = 0.3 * rng.normal(size=(2, 5, 5))
    higher, lower = (likelihood.value(at + h * step) for h in (1e-6, -1e-6))
    slope = np.sum(likelihood.value_and_gradient(at)[1] * step)
    assert (higher - lower) / 2e-6 == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(likelihood.axes(at) @ likelihood.axes(at).T, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("rows", [TINY_CLASSES, np.r_[0:50, 50:54, 100:150]])
def test_common_axes_survive_singular_class_covariances(rows, iris):
    X, y = iris
    with pytest.warns(DataWarning, match=r"covariances? of class(es)? 1.* singular"):
        model = CommonPrincipalComponents().fit(X[rows], y[rows])
    assert np.all(model.common_variances_ > 0)
    assert model.score(X, y) > 0.85


# --- mixture discriminant analysis ------------------------------------------------------------


def test_one_subclass_with_a_tied_covariance_is_lda(wine):
    X, y = wine
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = MixtureDiscriminantAnalysis(1).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_one_subclass_with_its_own_covariance_is_qda(wine):
    X, y = wine
    model = MixtureDiscriminantAnalysis(1, covariance_type="full").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), qda(X, y), atol=1e-8)


def test_a_class_of_small_variance_keeps_it(rng):
    X, y = rng.normal(size=(600, 3)), np.repeat([0, 1], 300)
    X[y == 0] *= 3e-3
    model = MixtureDiscriminantAnalysis(1, covariance_type="full").fit(X, y)
    np.testing.assert_allclose(model.covariances_, class_moments(X, y)[2], rtol=1e-6, atol=1e-12)


def own_log_likelihood(model, X, y):
    """Of rows under the mixtures of their classes."""
    gaussians = zip(model.weights_, model.means_, model.covariances_, strict=True)
    densities = np.stack([w * multivariate_normal(m, S).pdf(X) for w, m, S in gaussians], axis=1)
    own = model.classes_[model.gaussian_classes_] == y[:, None]
    return np.log((densities * own).sum(axis=1)).sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("covariance_type", ["tied", "full"])
def test_no_iteration_of_the_em_lowers_the_likelihood(covariance_type, iris):
    model = MixtureDiscriminantAnalysis(3, covariance_type=covariance_type, tol=1e-12)
    values = [own_log_likelihood(model.set_params(max_iter=n).fit(*iris), *iris) for n in range(25)]
    assert np.diff(values).min() > -1e-9 * abs(values[0])
    assert values[-1] > values[0] + 1


def test_weights_are_shares_of_all_rows_whatever_the_priors(iris):
    X, y = iris[0][:120], iris[1][:120]
    for priors in (None, "uniform"):
        model = MixtureDiscriminantAnalysis(2, priors=priors).fit(X, y)
        by_class = np.bincount(model.gaussian_classes_, weights=model.weights_)
        np.testing.assert_allclose(by_class, [50 / 120, 50 / 120, 20 / 120], atol=1e-9)


def test_subclasses_tell_apart_what_lda_cannot(rng):
    X, y = rng.normal(size=(600, 2)), np.repeat([0, 1], 300)
    X[:150, 0] -= 6
    X[150:300, 0] += 6
    assert ReducedRankLDA().fit(X, y).score(X, y) < 0.7
    assert MixtureDiscriminantAnalysis(2).fit(X, y).score(X, y) > 0.99
    assert MixtureDiscriminantAnalysis({0: 2, 1: 1}).fit(X, y).means_.shape == (3, 2)


# --- the paper's Vowel data -------------------------------------------------------------------


@pytest.fixture(scope="module")
def vowel_table(load):
    X, y, others = load("vowel")
    parts = [np.flatnonzero(others["split"] == name) for name in ("train", "test")]
    return compare(
        X,
        y,
        ["LDA", "RDA", "SAVE", "CPCDA"],
        cv=[parts],
        inner_cv=LeaveOneGroupOut(),
        groups=others["speaker"],
        verbose=0,
    ).set_index("method")


@pytest.mark.parametrize(
    ("method", "error", "tolerance"),
    [("LDA", 0.491, 0.01), ("RDA", 0.472, 0.01), ("SAVE", 0.528, 0.01), ("CPCDA", 0.565, 0.015)],
)
def test_error_on_vowel_is_the_papers(method, error, tolerance, vowel_table):
    assert vowel_table.error[method] == pytest.approx(error, abs=tolerance)


def test_numbers_of_axes_on_vowel(vowel_table):
    chosen = vowel_table.parameters[["LDA", "SAVE", "CPCDA"]]
    assert [own["n_components"] for own in chosen] == [2, 10, 9]


@EVERY_WITH_AXES
def test_a_model_cut_to_its_first_axes_is_one_fitted_with_so_many(baseline, load):
    X, y, _ = load("vowel")
    model = clone(baseline).fit(X, y)
    for n_components in (1, 4, len(model.components_)):
        cut = model._projection.first(n_components)
        fitted = clone(baseline).set_params(n_components=n_components).fit(X, y)
        posteriors = np.exp(normalize_log_joints(cut.class_log_joint(X)))
        np.testing.assert_allclose(posteriors, fitted.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(cut.scores(X), fitted.transform(X), atol=1e-9)


# --- hostile data -----------------------------------------------------------------------------


@EVERY
def test_a_constant_column_is_named_and_changes_nothing(baseline, iris):
    X, y = iris
    more = np.insert(X, 2, 7.0, axis=1)
    expected = clone(baseline).fit(X, y).predict_proba(X)
    with pytest.warns(DataWarning, match=r"constant columns: column 2"):
        model = clone(baseline).fit(more, y)
    np.testing.assert_allclose(model.predict_proba(more), expected, atol=1e-8)


@EVERY
def test_a_duplicate_column_is_named(baseline, iris):
    X, y = np.column_stack([iris[0], iris[0][:, 1]]), iris[1]
    with pytest.warns(DataWarning, match=r"collinear columns; .*column [14]\."):
        model = clone(baseline).fit(X, y)
    assert model.score(X, y) > 0.95
    assert_usable(model, X)


@EVERY_SCALE_FREE
@IGNORE_DATA
def test_a_duplicate_column_changes_nothing(baseline, iris):
    X, y = iris
    more = np.column_stack([X, X[:, 1]])
    expected = clone(baseline).fit(X, y).predict_proba(X)
    found = clone(baseline).fit(more, y).predict_proba(more)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("baseline", WITH_AXES[1:], ids=str)
def test_more_axes_than_dimensions_are_cut_and_said(baseline, iris):
    X = np.column_stack([iris[0], iris[0][:, 1]])
    with pytest.warns(DataWarning, match="4 components are used instead of 5"):
        model = clone(baseline).set_params(n_components=5).fit(X, iris[1])
    assert model.components_.shape == (4, 5)


@EVERY
@pytest.mark.parametrize(("n_rows", "n_columns"), [(30, 100), (12, 50), (30, 30)])
def test_fewer_rows_than_columns(baseline, n_rows, n_columns, rng):
    X, y = rng.normal(size=(2 * n_rows, n_columns)), np.arange(2 * n_rows) % 2
    X[:, :10] += 8 * y[:, None]
    chosen = getattr(baseline, "gamma", 0) > 0  # nothing has to be borrowed
    expected = nullcontext() if chosen else pytest.warns(DataWarning, match="no more rows than")
    with expected:
        model = clone(baseline).fit(X[:n_rows], y[:n_rows])
    assert model.score(X, y) > 0.95
    assert_usable(model, X)


def test_gamma_that_was_set_is_not_asked_for(rng, recwarn):
    X, y = wide_problem(rng)
    RegularizedDiscriminantAnalysis(0.5, 0.5).fit(X, y)
    assert not [own for own in recwarn if "set alpha or gamma" in str(own.message)]


@EVERY
@IGNORE_DATA
def test_classes_of_one_and_two_rows(baseline, iris):
    X, y = iris
    model = clone(baseline).fit(X[TINY_CLASSES], y[TINY_CLASSES])
    assert model.score(X, y) > 0.75
    assert_usable(model, X)


@EVERY
@IGNORE_DATA
def test_a_class_of_identical_rows(baseline, iris):
    X, y = iris[0].copy(), iris[1]
    X[y == 1] = X[60]
    model = clone(baseline).fit(X, y)
    assert model.score(X, y) > 0.95
    assert_usable(model, iris[0])


@EVERY
def test_one_class_is_certain(baseline, iris):
    model = clone(baseline).fit(iris[0], np.full(150, "only"))
    assert np.array_equal(model.predict_proba(iris[0]), np.ones((150, 1)))
    assert set(model.predict(iris[0])) == {"only"}


@EVERY
@IGNORE_DATA
def test_two_rows(baseline, iris):
    X = iris[0][[0, 100]]
    model = clone(baseline).fit(X, ["a", "b"])
    assert list(model.predict(X)) == ["a", "b"]
    assert_usable(model, iris[0])


def test_all_columns_constant_is_refused():
    for baseline in SCALE_FREE + UNIT_BOUND:
        with pytest.raises(ValueError, match="All columns of X are constant"):
            clone(baseline).fit(np.ones((10, 3)), [0, 1] * 5)


@EVERY_SCALE_FREE
def test_units_of_columns_do_not_matter(baseline, wine):
    X, y = wine
    scaled = X * np.logspace(-12, 12, 13)
    expected = clone(baseline).fit(X, y).predict_proba(X)
    found = clone(baseline).fit(scaled, y).predict_proba(scaled)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@EVERY
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_one_unit_for_all_columns_does_not_matter(baseline, unit, iris):
    X, y = iris
    expected = clone(baseline).fit(X, y).predict_proba(X)
    found = clone(baseline).fit(unit * X, y).predict_proba(unit * X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@EVERY
def test_origins_of_columns_do_not_matter(baseline, iris):
    X, y = iris
    moved = X + np.array([1e8, -1e8, 1e6, 0])
    expected = clone(baseline).fit(X, y).predict_proba(X)
    found = clone(baseline).fit(moved, y).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@EVERY
def test_a_weight_of_two_is_two_rows_and_of_zero_none(baseline, iris, rng):
    X, y = iris
    counts = rng.integers(0, 3, 150)
    rows = np.repeat(np.arange(150), counts)
    weighted = clone(baseline).fit(X, y, sample_weight=counts).predict_proba(X)
    repeated = clone(baseline).fit(X[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


@EVERY
def test_a_class_of_weight_zero_is_no_class(baseline, iris):
    X, y = iris
    model = clone(baseline).fit(X, y, sample_weight=y != 1)
    assert list(model.classes_) == [0, 2]
    expected = clone(baseline).fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-10)


@EVERY
def test_priors_may_be_given_by_label_or_later(baseline, iris):
    X, y = iris[0], np.array(["b", "c", "a"])[iris[1]]
    priors = {"a": 0.2, "b": 0.5, "c": 0.3}
    model = clone(baseline).set_params(priors=priors).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.2, 0.5, 0.3])
    later = clone(baseline).fit(X, y).predict_proba(X, priors=priors)
    np.testing.assert_allclose(model.predict_proba(X), later, atol=1e-8)


@EVERY
def test_uniform_priors_are_equal_and_the_default_are_shares(baseline, iris):
    X, y = iris[0][:120], iris[1][:120]
    by_share, uniform = clone(baseline).fit(X, y), clone(baseline).set_params(priors="uniform")
    np.testing.assert_allclose(by_share.priors_, [5 / 12, 5 / 12, 1 / 6])
    odds = uniform.fit(X, y).predict_log_proba(X) - by_share.predict_log_proba(X)
    np.testing.assert_allclose(uniform.priors_, 1 / 3)
    np.testing.assert_allclose(odds[:, 2] - odds[:, 0], np.log(2.5), atol=1e-6)


@EVERY
def test_labels_of_every_kind_give_the_same_fit(baseline, iris):
    X, y = iris[0][50:], iris[1][50:] == 2
    expected = clone(baseline).fit(X, y.astype(int))
    words = np.array(["no", "yes"])
    for labels in (y, words[y.astype(int)], words[y.astype(int)].astype(object), y.astype(float)):
        model = clone(baseline).fit(X, labels)
        assert model.classes_.dtype == np.unique(labels).dtype
        assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
        assert np.array_equal(model.predict(X), model.classes_[expected.predict(X)])


@EVERY
def test_single_precision_is_close(baseline, iris):
    X, y = iris[0].astype(np.float32), iris[1]
    model = clone(baseline).fit(X, y)
    expected = clone(baseline).fit(iris[0], y).predict_proba(iris[0])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-4)


@EVERY
@pytest.mark.parametrize("distance", [1e8, -1e17, 1e150])
def test_rows_far_away_have_probabilities(baseline, distance, iris):
    model = clone(baseline).fit(*iris)
    posteriors = model.predict_proba(distance * (1 + iris[0][:3]))
    assert np.all(np.isfinite(posteriors))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    assert model.typicality(np.full((1, 4), distance))[0] < 1e-10


@EVERY
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(baseline, value, iris):
    if np.isnan(value) and baseline.__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("accepts missing values")
    X = iris[0].copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(baseline).fit(X, iris[1])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(baseline).fit(*iris).predict(X)


# --- parameters -------------------------------------------------------------------------------

PRIORS = ["equal", [0.5, 0.6, -0.1], [0.5, 0.5], [0.2, 0.2, 0.2], {0: 1.0}, 3]
SHARES = [-0.1, 1.1, "some", None, True, np.nan]
ITERATIONS = [-1, 1.5, "some", None, True]
TOLERANCES = [0, -1e-3, "some", None, np.inf, np.nan]
BAD_VALUES = {
    ReducedRankLDA: {
        "n_components": [0, -1, 1.5, "two", [1], True, 3, 5],
        "sparsity": [-1, 1.0, "auto", None, True, np.nan],
        "priors": PRIORS,
    },
    RegularizedDiscriminantAnalysis: {"alpha": SHARES, "gamma": SHARES, "priors": PRIORS},
    SlicedAverageVariance: {"n_components": [0, -1, 1.5, "two", [1], True, 5], "priors": PRIORS},
    CommonPrincipalComponents: {
        "n_components": [0, -1, 1.5, "two", [1], True, 5],
        "priors": PRIORS,
        "n_init": [0, 1.5, "many"],
        "max_iter": ITERATIONS,
        "tol": TOLERANCES,
    },
    MixtureDiscriminantAnalysis: {
        "n_subclasses": [0, 1.5, "many", True, {0: 0}, {"no such label": 2}],
        "covariance_type": ["diag", None, 3],
        "priors": PRIORS,
        "max_iter": ITERATIONS,
        "tol": TOLERANCES,
    },
}


@pytest.mark.parametrize("kind", BAD_VALUES)
def test_every_parameter_has_bad_values_here(kind):
    assert set(BAD_VALUES[kind]) == set(inspect.signature(kind).parameters)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, parameters in BAD_VALUES.items()
        for name, values in parameters.items()
        for value in values
    ],
)
def test_bad_parameter_is_refused_by_name(kind, name, value, rng):
    X, y = rng.normal(size=(30, 4)), np.repeat([0, 1, 2], 10)
    estimator = kind(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        estimator.fit(X, y)
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[-1.0, np.ones(149)], "negative"),
        (np.zeros(150), "zero for all"),
        (np.full(150, np.nan), "NaN"),
        (np.ones(7), "inconsistent"),
    ],
)
@EVERY
def test_weights_that_cannot_be(baseline, weights, message, iris):
    with pytest.raises(ValueError, match=message):
        clone(baseline).fit(*iris, sample_weight=weights)


# --- manners ----------------------------------------------------------------------------------


@EVERY_WITH_AXES
def test_frames_in_and_out(baseline, wine):
    X, y = wine
    names = load_wine().feature_names
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    model = clone(baseline).set_params(n_components=2).set_output(transform="pandas")
    scores = model.fit(frame, pd.Series(y)).transform(frame)
    prefix = type(baseline).__name__.lower()
    assert list(scores.columns) == [f"{prefix}0", f"{prefix}1"]
    assert list(scores.index) == list(frame.index)
    assert list(model.feature_names_in_) == names
    np.testing.assert_allclose(scores, X @ model.components_.T, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "kind", [RegularizedDiscriminantAnalysis, MixtureDiscriminantAnalysis], ids=lambda k: k.__name__
)
def test_those_without_axes_do_not_transform(kind, iris):
    model = kind().fit(*iris)
    for name in ("transform", "fit_transform", "set_output", "get_feature_names_out"):
        assert not hasattr(model, name)


@EVERY
def test_frames_give_the_same_fit_and_name_their_columns(baseline, iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(baseline).fit(frame, pd.Series(y, dtype="category"))
    assert np.array_equal(model.predict_proba(frame), clone(baseline).fit(X, y).predict_proba(X))
    with pytest.warns(DataWarning, match="'flat'"):
        model.fit(frame.assign(flat=1.0), y)


@EVERY
def test_every_parameter_and_attribute_is_documented(baseline, iris):
    document = inspect.getdoc(type(baseline))
    model = clone(baseline).fit(*iris)
    fitted = [name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)]
    assert [name for name in fitted if not re.search(rf"\b{name}\b", document)] == []
    for name in model.get_params():
        assert f"\n{name} : " in document


@EVERY
def test_pickled_models_predict_the_same_and_clones_are_unfitted(baseline, iris):
    model = clone(baseline).fit(*iris)
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.predict_proba(iris[0]), model.predict_proba(iris[0]))
    assert np.array_equal(other.covariances_, model.covariances_)
    assert not hasattr(clone(model), "classes_")
    assert clone(model).get_params() == model.get_params()


@EVERY
def test_fits_repeat_bit_by_bit_and_leave_inputs_alone(baseline, iris, rng):
    given = *iris, rng.uniform(0.1, 3, 150)
    before = pickle.dumps(given)
    first, second = (clone(baseline).fit(*given).predict_proba(iris[0]) for _ in range(2))
    assert np.array_equal(first, second)
    assert pickle.dumps(given) == before


@EVERY
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(baseline, iris):
    X, y = iris
    models = clone(baseline).fit(X, y), clone(baseline)
    before = [pickle.dumps(model) for model in models]
    for model in models:
        for rows, labels in [
            (X[:, 1:], y[1:]),
            (X[:, 1:], None),
            (np.where(X > 5, np.inf, X), y),
            (np.ones_like(X), y),
            (X[:, 1:], np.where(y == 1, None, y)),
        ]:
            with pytest.raises(ValueError, match=r"inconsistent|y|infinity|constant"):
                model.fit(rows, labels)
    assert [pickle.dumps(model) for model in models] == before


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (CommonPrincipalComponents(max_iter=1), r"components have not converged after max_iter=1"),
        (MixtureDiscriminantAnalysis(max_iter=1), r"EM has not converged after max_iter=1"),
    ],
    ids=lambda own: str(own)[:3],
)
def test_not_converged_warns_where_the_user_called(baseline, message, iris):
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = clone(baseline).fit(*iris)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert clone(baseline).set_params(max_iter=500).fit(*iris).converged_
