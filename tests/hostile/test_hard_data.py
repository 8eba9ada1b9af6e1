"""Data that leave something undetermined: a finite, sensible fit, and one warning that says how."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
)
from opgd._fit.refinement import next_clusters
from opgd.core import coordinates
from opgd.core.moments import Moments


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


def test_row_space_is_exact(rng):
    """With as many independent columns as rows allow, padding by combinations changes nothing."""
    X, y = rng.normal(size=(60, 8)), np.repeat([0, 1, 2], 20)
    wide = X @ np.linalg.qr(rng.normal(size=(80, 8)))[0].T
    model = OPGDClassifier(2, init="lda", tol=1e-9, ridge=0.0)
    direct = clone(model).fit(X, y)
    other = clone(model).fit(wide, y)
    np.testing.assert_allclose(other.predict_proba(wide), direct.predict_proba(X), atol=1e-6)


def test_huge_covariances_are_not_made_by_accident(rng):
    X, y = rng.normal(size=(20, 9000)), np.arange(20) % 2
    with pytest.warns(DataWarning, match="no more rows"):
        model = OPGDClassifier(ridge=0.0).fit(X, y)
    with pytest.raises(AttributeError, match="too large"):
        _ = model.covariances_
    assert "OPGDClassifier" in model._repr_html_()


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


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_rows_sphered_once_or_block_by_block(iris, monkeypatch):
    """Large data take another way through the same mathematics."""
    digits = load_digits(return_X_y=True)
    for X, y in (iris, (iris[0] + 1e6, iris[1]), digits):
        once = OPGDClassifier(2, init="lda", ridge=0.01).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(coordinates, "MAX_COPY_CELLS", 0)
            blocks = OPGDClassifier(2, init="lda", ridge=0.01).fit(X, y)
        assert blocks.log_likelihood_ == pytest.approx(once.log_likelihood_, rel=1e-5)
        assert np.mean(blocks.predict(X) == once.predict(X)) > 0.995


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


def test_singular_classes_are_mentioned_unless_there_is_a_ridge(iris):
    X, y = iris
    X = np.where(y[:, None] == 0, X[0], X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = OPGDClassifier().fit(X, y)
    assert len(caught) == (model.ridge_ == 0)
    assert all("is singular and was shrunk" in str(warning.message) for warning in caught)
    assert model.score(X, y) > 0.95


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


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, *"abc" * 3], "missing labels"),
        (["a", 1, *"abc" * 2, "b", "c"], r"types \(int, str\)"),
        ([0.5 * k for k in range(10)], "Unknown label type"),
        ([np.nan, *[0, 1, 2] * 3], "NaN"),
    ],
)
def test_labels_that_cannot_be(labels, message, rng):
    with pytest.raises(ValueError, match=message):
        OPGDClassifier().fit(
            rng.normal(size=(10, 2)), np.array(labels, dtype=object if "a" in labels else None)
        )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1.0, "negative"),
        (np.r_[-1.0, np.ones(149)], "negative"),
        (np.zeros(150), "zero for all"),
        (np.full(150, np.nan), "NaN"),
        (np.ones(7), "inconsistent"),
        (np.ones((150, 2)), "one dimension"),
    ],
)
def test_weights_that_cannot_be(weights, message, iris):
    with pytest.raises(ValueError, match=message):
        OPGDClassifier().fit(*iris, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("dermatology", 0.08),
        pytest.param("image_seg", 0.06, marks=pytest.mark.slow),
        pytest.param("libras", 0.5, marks=pytest.mark.slow),
    ],
)
def test_singular_classes_of_real_data_generalize(name, bound, load):
    """Nine of the paper's sets have singular class covariances; borrowing must not hurt."""
    X, y, _ = load(name)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    error = 1 - cross_val_score(OPGDClassifier(), X, y, cv=folds).mean()
    assert error < bound


@pytest.mark.parametrize("estimator", [OPGDClassifier(), OPGDMixture(2), OPGDSemiSupervised()])
def test_columns_that_are_no_numbers_are_named(estimator):
    X, y = load_wine(return_X_y=True, as_frame=True)
    for odd in (pd.Timestamp("2020-01-01"), "word", 1j):
        table = X.assign(date=odd, **{"no number": "a"})
        with pytest.raises(ValueError, match="Columns 'date', 'no number' are not numeric"):
            estimator.fit(table, y)
    estimator.fit(X, y)
    with pytest.raises(ValueError, match="Column 'alcohol' is not numeric"):
        estimator.predict(X.assign(alcohol="strong"))


@pytest.mark.parametrize(
    "estimator", [OPGDClassifier, OPGDMixture, OPGDSemiSupervised, OPGDClassifierCV]
)
def test_a_wrong_word_is_answered_with_the_right_one(estimator, iris):
    with pytest.raises(ValueError, match="shrinkage must be 'auto' or a number from 0 to 1"):
        estimator(shrinkage="aut").fit(*iris)


@pytest.mark.parametrize("options", [{}, {"regularization": 0}, {"covariance_type": "full"}])
def test_a_cluster_that_dies_ends_the_rounds(options, iris, monkeypatch):
    """Posteriors of a cluster can underflow for all samples, which then has no moments."""

    def without_last(refined):
        clusters = next_clusters(refined)
        present = np.arange(clusters.n_groups) < clusters.n_groups - 1
        empty = np.where(present, clusters.weights, 0.0), present * clusters.square_weights
        means = np.where(present[:, None], clusters.means, 0.0)
        return Moments(*empty, means, np.where(present[:, None, None], clusters.covariances, 0.0))

    first = OPGDMixture(3, n_rounds=1, random_state=0, **options).fit(iris[0])
    monkeypatch.setattr("opgd._fit.mixture_fit.next_clusters", without_last)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = OPGDMixture(3, n_rounds=4, random_state=0, **options).fit(iris[0])
    np.testing.assert_array_equal(model.predict_proba(iris[0]), first.predict_proba(iris[0]))
    assert model.n_rounds_ == 1
