"""Data that leave something undetermined: a finite, sensible fit, and one warning that says how."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from opgd import DataWarning, OPGDClassifier, OPGDMixture, OPGDSemiSupervised
from opgd.baselines import ReducedRankLDA, RegularizedDiscriminantAnalysis


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def fit_with_one_warning(model, X, y, match, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **kwargs)
    assert len(caught) == 1, [str(warning.message) for warning in caught]
    assert issubclass(caught[0].category, DataWarning)
    assert match in str(caught[0].message)
    assert caught[0].filename == __file__
    posteriors = model.predict_proba(X)
    assert np.all(np.isfinite(model.components_))
    assert np.all(np.isfinite(posteriors))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    return model


def test_constant_column_is_named_and_gets_no_loading(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.insert(2, "same", 0.1)
    model = fit_with_one_warning(OPGDClassifier(), frame, y, "'same'")
    assert np.all(model.components_[:, 2] == 0)
    plain = OPGDClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), atol=1e-6)


def test_collinear_columns_are_named_and_change_nothing(iris):
    X, y = iris
    more = np.column_stack([X, X[:, 1], X @ [1.0, 2, 3, 4]])
    model = fit_with_one_warning(OPGDClassifier(ridge=0.0), more, y, "collinear")
    plain = OPGDClassifier(init="lda", tol=1e-9, ridge=0.0).fit(X, y)
    other = OPGDClassifier(init="lda", tol=1e-9, ridge=0.0)
    fit_with_one_warning(other, more, y, "column")
    np.testing.assert_allclose(other.predict_proba(more), plain.predict_proba(X), atol=1e-6)
    assert model.n_components_ == 2


def test_more_axes_than_dimensions_are_cut_and_said(iris):
    X, y = iris
    more = np.column_stack([X, X[:, 1]])
    model = fit_with_one_warning(OPGDClassifier(5), more, y, "4 components are used instead of")
    assert model.components_.shape == (4, 5)


def test_class_with_one_member_is_named_and_takes_the_pooled_covariance(iris):
    X, y = iris
    labels = np.array(["setosa", "versicolor", "virginica"])[y].astype(object)
    labels[0] = "lonely"
    X = X.copy()
    X[0] += 10
    model = fit_with_one_warning(OPGDClassifier(ridge=0.0), X, labels.astype(str), "lonely")
    pooled = np.tensordot(model.priors_, model.covariances_, axes=1)
    np.testing.assert_allclose(model.covariances_[0], pooled, rtol=0.05, atol=1e-3)
    assert model.predict(X[:1])[0] == "lonely"


def test_class_of_identical_rows_and_class_of_two(iris):
    X, y = iris[0].copy(), iris[1].copy()
    X[y == 0] = X[0]
    model = OPGDClassifier(ridge=0.0)
    fit_with_one_warning(model, X, y, "is singular and was shrunk")
    two = np.r_[0, 1, 50:150]
    fit_with_one_warning(model, iris[0][two], iris[1][two], "is singular and was shrunk")


@pytest.mark.parametrize(("n_rows", "n_columns"), [(200, 2000), (100, 20_000), (12, 50)])
def test_fewer_rows_than_columns(n_rows, n_columns, rng):
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(2 * n_rows, n_columns))
    signal = rng.normal(size=(3, n_columns)) * (6 / np.sqrt(n_columns) + 0.1)
    X += signal[np.r_[y, y]]
    model = OPGDClassifier(ridge=0.0)
    fit_with_one_warning(model, X[:n_rows], y, "no more rows than columns")
    assert model.score(X[n_rows:], y) > 0.6
    assert model.components_.shape == (2, n_columns)
    assert np.all(model.typicality(X) >= 0)


@pytest.mark.parametrize("distance", [10, 1e3, 1e6])
def test_perfectly_separable_classes(distance, rng):
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 5))
    X[:, :3] += distance * np.eye(3)[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # beyond 1e4 deviations within counts as none
        model = OPGDClassifier().fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1
    assert -1e-3 < model.log_likelihood_ <= 0
    assert np.all(np.isfinite(model.components_))


def test_a_column_that_is_the_label(iris):
    X, y = iris
    leaking = np.column_stack([X, y == 1, y == 2]).astype(float)
    model = fit_with_one_warning(OPGDClassifier(ridge=0.0), leaking, y, "pooled covariance")
    assert model.score(leaking, y) == 1


@pytest.mark.parametrize(("dtype", "offset"), [(float, 1e8), (np.float32, 1e4)])
def test_offsets(dtype, offset, rng):
    y = np.arange(600) % 3
    X = rng.normal(size=(600, 5)) + 2 * np.eye(5)[y]
    X = (X * 2**10).round() / 2**10  # so that shifting rounds nothing in double precision
    plain = OPGDClassifier(init="lda", tol=1e-8).fit(X, y)
    far = (X + offset).astype(dtype)
    model = OPGDClassifier(init="lda", tol=1e-8).fit(far, y)
    tolerance = 1e-6 if dtype is float else 0.02
    np.testing.assert_allclose(model.predict_proba(far), plain.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("exponent", [-150, -12, 12, 150])
def test_scale_of_all_columns_does_not_matter(exponent):
    X, y = load_wine(return_X_y=True)
    plain = OPGDClassifier(init="lda", tol=1e-9).fit(X, y)
    model = OPGDClassifier(init="lda", tol=1e-9).fit(X * 10.0**exponent, y)
    np.testing.assert_allclose(
        model.predict_proba(X * 10.0**exponent), plain.predict_proba(X), atol=1e-6
    )


def test_scales_of_single_columns_do_not_matter():
    X, y = load_wine(return_X_y=True)
    scales = np.geomspace(1e-12, 1e12, X.shape[1])
    plain = OPGDClassifier(init="lda", tol=1e-9).fit(X, y)
    model = OPGDClassifier(init="lda", tol=1e-9).fit(X * scales, y)
    np.testing.assert_allclose(model.predict_proba(X * scales), plain.predict_proba(X), atol=1e-6)


def test_the_default_ridge_needs_no_warning(iris, rng):
    """A pooled covariance that is singular without a ridge is regular with it."""
    X, y = iris
    leaking = np.column_stack([X, y == 1, y == 2]).astype(float)
    wide, codes = rng.normal(size=(60, 200)) + 2 * np.eye(200)[np.arange(60) % 3], np.arange(60) % 3
    for rows, labels in ((leaking, y), (wide, codes)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = OPGDClassifier().fit(rows, labels)
        assert model.ridge_ > 0
        assert model.score(rows, labels) > 0.95
        assert np.all(np.isfinite(model.predict_log_proba(rows)))


def test_all_columns_constant_is_refused():
    with pytest.raises(ValueError, match="All columns of X are constant"):
        OPGDClassifier().fit(np.ones((10, 3)), np.arange(10) % 2)


def test_one_class_is_always_predicted(rng):
    X = rng.normal(size=(30, 4))
    model = OPGDClassifier(2).fit(X, np.full(30, "only"))
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((30, 1)))


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_two_classes_with_any_number_of_axes(n_components, rng):
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    X[y == 1] += 2
    assert OPGDClassifier(n_components).fit(X, y).score(X, y) > 0.85


def test_a_single_column():
    X, y = load_iris(return_X_y=True)
    assert OPGDClassifier().fit(X[:, [2]], y).score(X[:, [2]], y) > 0.9


def test_as_many_classes_as_rows(rng):
    X = rng.normal(size=(12, 3))
    model = OPGDClassifier(ridge=0.0)
    fit_with_one_warning(model, X, np.arange(12), "pooled covariance")
    assert model.score(X, np.arange(12)) == 1


# --- numbers at the limits of float64: a finite fit, or an error that says so ------------------

MODELS = [OPGDClassifier(), OPGDMixture(3, random_state=0), OPGDSemiSupervised(calibrate=False)]
MODELS += [RegularizedDiscriminantAnalysis(), ReducedRankLDA()]
UNITS = {
    "overflowing squares": 1e160,
    "nearly overflowing": 1e307,
    "underflowing squares": 1e-170,
    "subnormal": 1e-310,
    "the smallest number": 5e-324,
    "mixed": [1e-300, 1e300, 1.0, 1e-150],
    "one feature subnormal": [1.0, 5e-324, 1.0, 1.0],
    "sixteen digits apart": [1.0, 1e16, 1e-16, 1.0],
}
REFUSAL = r"too (large|small)|squares (over|under)flow|distinct samples|constant"


def assert_finite_or_refused(model, X, y, **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            posteriors = clone(model).fit(X, y, **weights).predict_proba(X)
        except ValueError as error:
            assert re.search(REFUSAL, str(error)), error  # noqa: PT017
            return
    assert np.all(np.isfinite(posteriors))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("unit", UNITS)
def test_extreme_units_are_fitted_or_refused(unit, model, iris):
    assert_finite_or_refused(model, iris[0] * np.asarray(UNITS[unit]), iris[1])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_outliers_and_nearly_constant_features_are_fitted_or_refused(model, iris):
    X, y = iris
    for value in (1e8, 1e155, -1e300):
        outlier = X.copy()
        outlier[5, 1] = value
        assert_finite_or_refused(model, outlier, y)
    for base, step in ((0.0, 1e-300), (1.0, 2.3e-16)):
        nearly = X.copy()
        nearly[:, 2] = base
        nearly[7, 2] += step
        assert_finite_or_refused(model, nearly, y)
    assert_finite_or_refused(model, 1 + np.finfo(float).eps * np.round(X), y)
    copy = X[:, 0] * (1 + 1e-15 * np.sign(X[:, 1] - 3))
    assert_finite_or_refused(model, np.column_stack([X, copy]), y)


@pytest.mark.parametrize("model", MODELS[:3], ids=lambda model: type(model).__name__)
def test_extreme_weights_are_fitted_or_refused(model, iris):
    X, y = iris
    for weights in (
        np.full(150, 5e-324),
        np.full(150, 1e150),
        np.where(y == 1, 1e-100, 1.0),
        np.geomspace(1e-150, 1e150, 150),
        np.where(np.arange(150) % 3, np.geomspace(1e-20, 1, 150), 0),
    ):
        assert_finite_or_refused(model, X, y, sample_weight=weights)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_new_samples_of_any_size_have_finite_probabilities(model, iris):
    X, y = iris
    fitted = clone(model).fit(X, y)
    for value in (1e3, 1e16, 1e154, 1e300, np.finfo(float).max):
        for step in (np.ones(4), np.eye(4)[1], np.array([1.0, -1, 1, -1])):
            for far in (value * step, -value * step):
                posteriors = fitted.predict_proba(far[None])
                assert np.all(np.isfinite(posteriors))
                assert posteriors.sum() == pytest.approx(1)
