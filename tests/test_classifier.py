"""What OPGDClassifier promises: optima, invariances, agreement with neighbors, manners."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def invertible(rng, size, condition):
    """A random matrix with the given condition number."""
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2))
    return left * np.geomspace(1, 1 / condition, size) @ right


# --- the optimum ------------------------------------------------------------------------------


def test_satellite_reaches_the_value_of_longer_searches(load):
    X, y, _ = load("satellite")
    model = OPGDClassifier(n_components=5, ridge=0.0, init=("lda", "pca")).fit(X, y)
    assert model.log_likelihood_ >= -1848
    assert model.n_evaluations_ <= 300
    assert model.converged_


def test_vowel_reaches_the_value_of_longer_searches(load):
    X, y, others = load("vowel")
    train = others["split"] == "train"
    settings = {"n_components": 3, "ridge": 0.0, "init": ("lda", "pca")}
    model = OPGDClassifier(**settings).fit(X[train], y[train])
    assert model.log_likelihood_ >= -282
    restarted = OPGDClassifier(**settings, n_init=20, random_state=0)
    restarted.fit(X[train], y[train])
    assert restarted.log_likelihood_ >= -277
    assert restarted.n_evaluations_ > model.n_evaluations_


def test_log_likelihood_is_that_of_predict_proba(wine):
    X, y = wine
    for model in (
        OPGDClassifier(),
        OPGDClassifier(2, n_subclasses=2),
        OPGDClassifier(3, ridge=0.1),
    ):
        log_posteriors = model.fit(X, y).predict_log_proba(X)
        own = log_posteriors[np.arange(len(y)), y].sum()
        assert model.log_likelihood_ == pytest.approx(own, rel=1e-8)
        assert model.component_log_likelihoods_[-1] == model.log_likelihood_
        assert -np.mean(own) / len(y) == pytest.approx(model.loss_curve_[-1], rel=1e-6)


def test_components_are_in_normal_form(load):
    X, y, _ = load("satellite")
    for covariance_type in ("diag", "full"):
        settings = {"covariance_type": covariance_type, "ridge": 0.0, "init": ("lda", "pca")}
        model = OPGDClassifier(5, **settings).fit(X, y)
        scores = model.transform(X)
        within = sum(np.cov(scores[y == k].T, bias=True) * np.mean(y == k) for k in model.classes_)
        np.testing.assert_allclose(np.diag(within), 1, rtol=1e-9)
        loadings = model.components_ * X.std(axis=0)
        assert np.all(loadings.max(axis=1) >= -loadings.min(axis=1))
        assert model.component_shares_.sum() == pytest.approx(1)
        gains = np.diff(model.component_log_likelihoods_)
        first = model.component_log_likelihoods_[0]
        for j in range(1, 5):  # no other axis alone does better than the first
            alone = model.components_[[j]]
            other = OPGDClassifier(1, **settings | {"init": alone, "max_iter": 0})
            assert other.fit(X, y).log_likelihood_ <= first
        assert gains[0] > 0


def test_full_covariance_in_more_axes_than_classes(iris):
    X, y = iris
    model = OPGDClassifier(4, covariance_type="full", ridge=0.0, max_iter=0).fit(X, y)
    qda = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    covariances = [np.cov(X[y == k].T, bias=True) for k in range(3)]
    np.testing.assert_allclose(model.covariances_, covariances, rtol=1e-9, atol=1e-12)
    literal = np.column_stack(
        [
            stats.multivariate_normal(X[y == k].mean(axis=0), covariances[k]).logpdf(X)
            for k in range(3)
        ]
    )
    np.testing.assert_allclose(
        model.predict_proba(X),
        np.exp(literal) / np.exp(literal).sum(axis=1, keepdims=True),
        rtol=1e-7,
    )
    assert np.array_equal(model.predict(X), qda.predict(X))


def test_lda_is_a_member_of_the_family(iris):
    X, y = iris
    model = OPGDClassifier(2, init="lda", shrinkage=1, ridge=0.0, max_iter=0).fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), lda.predict_proba(X), atol=0.02)
    # exactly LDA with divisor n, which not every scikit-learn uses
    within = sum(np.cov(X[y == k].T, bias=True) for k in range(3)) / 3
    literal = np.column_stack(
        [stats.multivariate_normal(X[y == k].mean(axis=0), within).logpdf(X) for k in range(3)]
    )
    expected = np.exp(literal - literal.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_one_axis_for_each_column_is_naive_bayes(load):
    for name in ("wine", "iris", "seeds"):
        X, y, _ = load(name)
        model = OPGDClassifier(init=np.eye(X.shape[1]), ridge=0.0, max_iter=0).fit(X, y)
        naive = GaussianNB(var_smoothing=0).fit(X, y)
        ours, theirs = (own.predict_log_proba(X) for own in (model, naive))
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


def test_more_axes_than_lda_has_for_two_classes(rng):
    X, y = rng.normal(size=(600, 6)), np.repeat([0, 1], 300)
    X[y == 1, 2] *= 6
    X[y == 1, 4] += 2
    model = OPGDClassifier().fit(X, y)
    assert model.components_.shape == (2, 6)
    assert set(np.argmax(np.abs(model.components_), axis=1)) == {2, 4}


@pytest.mark.parametrize("init", ["lda", "paper", "save", "pca", "random", "auto"])
@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_every_start_ends_no_lower_than_it_began(init, covariance_type, iris):
    X, y = iris
    begun, ended = (
        OPGDClassifier(
            3, init=init, covariance_type=covariance_type, max_iter=max_iter, random_state=0
        ).fit(X, y)
        for max_iter in (0, 500)
    )
    assert ended.log_likelihood_ >= begun.log_likelihood_


def test_init_array_is_where_the_search_begins(iris):
    X, y = iris
    guess = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])
    model = OPGDClassifier(2, init=guess, max_iter=0).fit(X, y)
    shapes = np.abs(model.components_) > 1e-12
    assert {tuple(row) for row in shapes} == {tuple(row) for row in guess > 0}


def test_warm_start_goes_on_from_the_last_fit(load):
    X, y, _ = load("satellite")
    model = OPGDClassifier(5, warm_start=True, max_iter=20, ridge=0.0, init="lda")
    with pytest.warns(ConvergenceWarning, match="max_iter=20"):
        first = model.fit(X, y).log_likelihood_
    assert not model.converged_
    model.set_params(max_iter=500).fit(X, y)
    assert model.log_likelihood_ > first
    best = model.log_likelihood_
    assert model.fit(X, y).log_likelihood_ >= best - 1e-9 * abs(best)
    assert model.n_iter_ < 20


# --- invariances ------------------------------------------------------------------------------

CASES = [
    ("wine", 1), ("wine", 2), ("wine", 4), ("iris", 1), ("iris", 2), ("iris", 3),
    ("vowel", 3), ("vowel", 10), ("seeds", 2), ("seeds", 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "n_components"), CASES)
def test_probabilities_do_not_depend_on_origin_order_or_basis(name, n_components, load, rng):
    X, y, _ = load(name)
    model = OPGDClassifier(n_components, init="lda", ridge=0.0, tol=1e-9, max_iter=5000)
    expected = clone(model).fit(X, y).predict_proba(X)
    order = rng.permutation(len(X))
    changed = {
        "shifted": (X + 1e3 * X.std(axis=0), y, slice(None)),
        "shuffled": (X[order], y[order], np.argsort(order)),
        "rescaled": (X * np.geomspace(1e-6, 1e6, X.shape[1]), y, slice(None)),
        "mapped": (X @ invertible(rng, X.shape[1], 1e3), y, slice(None)),
    }
    for what, (rows, labels, back) in changed.items():
        posteriors = clone(model).fit(rows, labels).predict_proba(rows)[back]
        np.testing.assert_allclose(posteriors, expected, atol=1e-6, err_msg=what)


def test_satellite_does_not_depend_on_origin_order_or_basis(load, rng):
    X, y = (rows[::3] for rows in load("satellite")[:2])
    model = OPGDClassifier(5, init="lda", ridge=0.0, tol=1e-9, max_iter=5000)
    expected = clone(model).fit(X, y)
    order = rng.permutation(len(X))
    for rows, labels, back in [
        (X + 1e3, y, slice(None)),
        (X[order], y[order], np.argsort(order)),
        (X @ invertible(rng, 36, 1e3), y, slice(None)),
    ]:
        other = clone(model).fit(rows, labels)
        assert other.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-6)
        assert np.array_equal(other.predict(rows)[back], expected.predict(X))


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_default_fit_does_not_depend_on_origin_units_or_order(name, request, rng):
    X, y = request.getfixturevalue(name)
    expected = OPGDClassifier().fit(X, y)
    posteriors = expected.predict_proba(X)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    for what, table, labels, back in [
        ("shifted", X + 1e3 * X.std(axis=0), y, slice(None)),
        ("rescaled", X * np.geomspace(1e-6, 1e6, X.shape[1]), y, slice(None)),
        ("features reversed", X[:, ::-1], y, slice(None)),
        ("features shuffled", X[:, columns], y, slice(None)),
        ("negative units", -X, y, slice(None)),
        ("samples reversed", X[::-1], y[::-1], slice(None, None, -1)),
        ("samples shuffled", X[rows], y[rows], np.argsort(rows)),
    ]:
        model = OPGDClassifier().fit(table, labels)
        assert model.ridge_ == expected.ridge_, what
        other = model.predict_proba(table)[back]
        np.testing.assert_allclose(other, posteriors, atol=1e-6, err_msg=what)


def test_weight_two_is_the_row_twice_and_weight_zero_no_row(iris, rng):
    X, y = iris
    weights = rng.integers(0, 4, len(X))
    weighted = OPGDClassifier(tol=1e-9).fit(X, y, sample_weight=weights)
    repeated = OPGDClassifier(tol=1e-9).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_)


def test_a_class_without_weight_is_no_class(iris):
    X, y = iris
    model = OPGDClassifier().fit(X, y, sample_weight=(y != 1).astype(float))
    assert list(model.classes_) == [0, 2]


def test_threads_agree(load):
    X, y, _ = load("satellite")
    one, two = (OPGDClassifier(3, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    assert two.log_likelihood_ == pytest.approx(one.log_likelihood_, rel=1e-9)
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-6)


def test_default_fit_is_deterministic(load):
    X, y, _ = load("vowel")
    first, second = (OPGDClassifier(4, n_subclasses=2).fit(X, y) for _ in range(2))
    assert np.array_equal(first.components_, second.components_)


def test_single_precision_stays_close_and_is_kept(wine):
    X, y = wine
    single = OPGDClassifier().fit(X.astype(np.float32), y)
    double = OPGDClassifier().fit(X, y)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-4)


def test_labels_of_any_type_come_back(iris):
    X, y = iris
    expected = OPGDClassifier().fit(X, y).predict(X)
    for names in (np.array(["c", "a", "b"]), np.array([-5, 7, 1000]), np.array([2.0, 0.0, 1.0])):
        model = OPGDClassifier().fit(X, names[y])
        assert model.classes_.dtype == names.dtype
        assert np.array_equal(model.predict(X), names[expected])
    two = y < 2
    flags = OPGDClassifier().fit(X[two], y[two] == 1).predict(X[two])
    assert flags.dtype == bool


# --- probabilities ----------------------------------------------------------------------------


def test_priors_by_name_array_and_dict(iris):
    X, y = iris
    labels = np.array(["a", "b", "c"])[y]
    by_array = OPGDClassifier(priors=[0.6, 0.3, 0.1]).fit(X, labels)
    by_dict = OPGDClassifier(priors={"c": 0.1, "a": 0.6, "b": 0.3}).fit(X, labels)
    np.testing.assert_array_equal(by_array.predict_proba(X), by_dict.predict_proba(X))
    np.testing.assert_allclose(by_array.priors_, [0.6, 0.3, 0.1])
    uniform = OPGDClassifier(priors="uniform").fit(X[:120], y[:120])
    np.testing.assert_allclose(uniform.priors_, 1 / 3)


def test_priors_can_be_replaced_at_prediction_time(iris):
    X, y = iris
    model = OPGDClassifier().fit(X, y)
    posteriors = model.predict_proba(X) * [0.1, 0.2, 0.7]
    expected = posteriors / posteriors.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, priors=[0.1, 0.2, 0.7]), expected)
    np.testing.assert_allclose(model.predict_proba(X, priors={0: 0.1, 1: 0.2, 2: 0.7}), expected)
    assert np.array_equal(model.predict(X, priors=[0.1, 0.2, 0.7]), expected.argmax(axis=1))
    with pytest.raises(ValueError, match=r"priors.*unknown: \['x'\]"):
        model.predict(X, priors={"x": 1.0})
    with pytest.raises(ValueError, match=r"each class; missing: \[2\]\."):
        model.predict(X, priors={0: 0.5, 1: 0.5})


def test_far_rows_have_finite_probabilities_and_no_typicality(wine):
    X, y = wine
    for model in (OPGDClassifier(), OPGDClassifier(covariance_type="full", n_subclasses=2)):
        model.fit(X, y)
        far = X.mean(axis=0) + np.array([[1e3], [-1e8], [1e8], [1e15]]) * X.std(axis=0)
        posteriors = model.predict_proba(far)
        assert np.all(np.isfinite(model.predict_log_proba(far)))
        np.testing.assert_allclose(posteriors.sum(axis=1), 1)
        assert np.all(model.typicality(far) < 1e-12)


def test_typicality_is_uniform_on_rows_of_the_model(rng):
    X = np.vstack([rng.normal(size=(3000, 3)), 20 + rng.normal(size=(3000, 3))])
    model = OPGDClassifier(2).fit(X, np.repeat([0, 1], 3000))
    typicality = model.typicality(X)
    assert stats.kstest(typicality, "uniform").pvalue > 1e-3


def test_decision_function_agrees_with_probabilities(iris):
    X, y = iris
    two = y > 0
    model = OPGDClassifier().fit(X[two], y[two])
    log_odds = np.subtract(*model.predict_log_proba(X[two]).T[::-1])
    np.testing.assert_allclose(model.decision_function(X[two]), log_odds, atol=1e-9)
    three = OPGDClassifier().fit(X, y)
    assert np.array_equal(three.decision_function(X).argmax(axis=1), three.predict(X))


# --- subclasses -------------------------------------------------------------------------------


def test_subclasses_describe_a_class_in_two_places(rng):
    X = rng.normal(size=(900, 4))
    y = np.repeat(["middle", "sides"], [300, 600])
    X[300:600, 0] -= 8
    X[600:, 0] += 8
    whole = OPGDClassifier(1, ridge=0.0).fit(X, y)
    split = OPGDClassifier(1, n_subclasses={"sides": 2}, ridge=0.0).fit(X, y)
    assert list(split.gaussian_classes_) == [0, 1, 1]
    assert split.predict_proba(X).shape == (900, 2)
    assert split.log_likelihood_ > whole.log_likelihood_
    apart = np.ptp(split.projected_means_[1:, 0]) / np.sqrt(split.projected_variances_[1, 0])
    assert apart == pytest.approx(16, rel=0.1)
    assert split.score(X, y) > 0.99


def test_more_subclasses_than_rows_are_no_trouble(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], [3, 37])
    model = OPGDClassifier(n_subclasses=5, ridge=0.0).fit(X, y)
    assert np.sum(model.gaussian_classes_ == 0) <= 3
    assert np.all(np.isfinite(model.predict_proba(X)))


# --- frames, pipelines, routing ---------------------------------------------------------------


def test_frames_in_and_out(wine):
    polars = pytest.importorskip("polars")
    X, y = wine
    names = load_wine().feature_names
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1])
    model = OPGDClassifier().set_output(transform="pandas").fit(frame, y)
    scores = model.transform(frame)
    assert list(scores.columns) == ["opgdclassifier0", "opgdclassifier1"]
    assert list(scores.index) == list(frame.index)
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])
    table = polars.DataFrame(X, schema=names)
    model = OPGDClassifier().set_output(transform="polars").fit(table, y)
    np.testing.assert_allclose(model.transform(table).to_numpy(), scores.to_numpy())


def test_works_in_searches(iris):
    pipeline = make_pipeline(StandardScaler(), OPGDClassifier())
    search = GridSearchCV(pipeline, {"opgdclassifier__n_components": [1, 2]}, cv=3).fit(*iris)
    assert search.best_score_ > 0.9


def test_weights_are_routed_through_pipelines(iris):
    X, y = iris
    weights = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = OPGDClassifier().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, y, sample_weight=weights)
    direct = OPGDClassifier().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(pipeline.predict_proba(X), direct.predict_proba(X), atol=1e-5)


def test_html_description_is_made_for_fitted_and_unfitted(iris):
    model = OPGDClassifier()
    assert "OPGDClassifier" in model._repr_html_()
    assert "OPGDClassifier" in model.fit(*iris)._repr_html_()


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_digits_generalize():
    X, y = load_digits(return_X_y=True)
    scores = cross_val_score(OPGDClassifier(ridge=0.05), X, y, cv=3)
    assert scores.mean() > 0.9


def test_verbose_prints_the_likelihood(iris, capsys):
    OPGDClassifier(verbose=5).fit(*iris)
    assert "log-likelihood" in capsys.readouterr().out
