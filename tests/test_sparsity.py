"""Selection of features by `sparsity`."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine, make_moons
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture
from opgd.core.feature_order import (
    INFORMATION_WEIGHT,
    MAX_TEMPERATURE,
    MIN_LOSS,
    RIDGE,
    SHRINKAGE,
    TEMPERATURE_RATE,
)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="session")
def simulated():
    """Two classes that differ in the means of features 3 and 7, and the variance of 5."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.standard_normal((240, 20))
    X[:, [3, 7]] += 1.2 * y[:, None]
    X[:, 5] *= 1 + 2 * y
    return X, y


@pytest.fixture(scope="session")  # workers may come back to this module
def selected(simulated):
    return OPGDClassifierCV(sparsity="auto", n_subclasses=1, cv=3).fit(*simulated)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("n_samples", [178, 12])
def test_sparse_fit_equals_fit_to_the_selected_features(wine, covariance_type, n_samples):
    rows = np.linspace(0, 177, n_samples).astype(int)  # 12: fewer samples than features
    X, y = wine[0][rows], wine[1][rows]
    settings = {"n_components": 2, "covariance_type": covariance_type, "init": "lda"}
    settings |= {"shrinkage": 0.2, "ridge": 0.1}
    sparse = OPGDClassifier(sparsity=5, **settings).fit(X, y)
    columns = sparse.get_support(indices=True)
    assert len(columns) == 5
    alone = OPGDClassifier(**settings).fit(X[:, columns], y)
    np.testing.assert_allclose(sparse.components_[:, columns], alone.components_, rtol=1e-5)
    np.testing.assert_allclose(
        sparse.predict_proba(X), alone.predict_proba(X[:, columns]), atol=1e-8
    )


def test_features_left_out_may_have_any_value(wine):
    X, y = wine
    model = OPGDClassifier(sparsity=0.6).fit(X, y)
    changed = np.where(model.support_, X, np.nan)
    np.testing.assert_allclose(model.predict_proba(changed), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("sparsity", [0, 0.0, 13, 50])
def test_without_sparsity_the_fit_is_dense_to_the_bit(wine, sparsity):
    dense, other = OPGDClassifier(), OPGDClassifier(sparsity=sparsity)
    assert np.array_equal(dense.fit(*wine).components_, other.fit(*wine).components_)


def test_order_does_not_depend_on_units_origins_or_order_of_features(wine):
    X, y = wine
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(13)
    changed = (X * 10.0 ** rng.integers(-8, 8, 13) + rng.integers(-5, 5, 13))[:, shuffled]
    first = OPGDClassifier(sparsity=3).fit(X, y).feature_order_
    second = OPGDClassifier(sparsity=3).fit(changed, y).feature_order_
    assert shuffled[second].tolist() == first.tolist()


@pytest.mark.parametrize(
    ("step", "n_features", "shift"),
    [
        (1, 13, 0.0),
        (2, 13, 0.0),
        (5, 13, 0.0),  # the same correlations in all classes
        (1, 5, 0.0),  # temperature one
        (1, 13, 5.0),  # separated classes
    ],
)
def test_order_agrees_with_densities_of_each_set(step, n_features, shift, wine):
    X, y = (values[::step] for values in wine)
    X = X[:, :n_features] + shift * y[:, None] * X[:, :n_features].std(axis=0)
    order = OPGDClassifier(sparsity=3, init="lda").fit(X, y).feature_order_
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    shares, ratio = np.bincount(y) / len(y), 3 * n_features / len(y)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    pooled = np.cov((X - means[y]).T, bias=True)
    noise = RIDGE * np.diag(np.diag(pooled))
    shared = min(1.0, max(SHRINKAGE, ratio))
    covariances = []
    for k in range(3):
        own = np.cov(X[y == k].T, bias=True)
        blended = (1 - shared) * own + shared * pooled + noise
        variances = np.diag((1 - SHRINKAGE) * own + SHRINKAGE * pooled + noise)
        scales = np.sqrt(variances / np.diag(blended))
        covariances.append(blended * np.outer(scales, scales))

    def log_posterior(features, temperature):
        densities = [
            multivariate_normal(m[features], c[np.ix_(features, features)]).logpdf(X[:, features])
            for m, c in zip(means, covariances, strict=True)
        ]
        log_joint = (np.log(shares) + np.transpose(densities)) / temperature
        return log_softmax(log_joint, axis=1)[np.arange(len(y)), y].mean()

    def information(features):
        of_classes = [np.linalg.slogdet(c[np.ix_(features, features)])[1] for c in covariances]
        total = (np.cov(X.T, bias=True) + noise)[np.ix_(features, features)]
        return np.linalg.slogdet(total)[1] - shares @ of_classes

    left, removed, n_doublings = list(range(n_features)), [], 0
    while len(left) > 1:
        temperature = min(MAX_TEMPERATURE, max(1.0, TEMPERATURE_RATE * ratio))
        while -log_posterior(left, temperature) < MIN_LOSS:
            temperature, n_doublings = temperature * 2, n_doublings + 1
        without = {j: [i for i in left if i != j] for j in left}
        values = {
            j: log_posterior(rest, temperature) + INFORMATION_WEIGHT / 2 * information(rest)
            for j, rest in without.items()
        }
        removed.append(max(values, key=values.get))
        left = without[removed[-1]]
    assert order.tolist() == [*left, *removed[::-1]]
    assert (n_doublings > 0) == (shift > 0)


def test_features_that_are_useful_only_together_are_found():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(400, 2))
    X = np.column_stack([rng.standard_normal((400, 5)), signs])
    X += 0.3 * rng.standard_normal(X.shape)
    model = OPGDClassifier(sparsity=2).fit(X, signs.prod(axis=1))
    assert model.get_support(indices=True).tolist() == [5, 6]


@pytest.mark.parametrize("n_copies", [2, 5, 12])
def test_features_removed_together_cannot_replace_each_other(n_copies):
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    informative = np.repeat(rng.standard_normal((500, 3)) + y[:, None], n_copies, axis=1)
    near = informative + 0.01 * rng.standard_normal(informative.shape)
    X = np.column_stack([near, rng.standard_normal((500, 150))])
    order = OPGDClassifier(1, sparsity=3, init="lda").fit(X, y).feature_order_
    assert sorted(order[:3] // n_copies) == [0, 1, 2]


def test_many_features_that_are_constant_in_classes_are_ordered():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 20)
    X = np.column_stack([rng.standard_normal((20, 40))[y], rng.standard_normal((400, 10))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        order = OPGDClassifier(2, sparsity=5, init="lda").fit(X, y).feature_order_
        swapped = OPGDClassifier(2, sparsity=5, init="lda").fit(X[:, ::-1], y).feature_order_
    assert set(order[:40]) == set(range(40))
    assert order.tolist() == (49 - swapped).tolist()


def test_copies_of_a_selected_feature_come_late(wine):
    X, y = wine
    rng = np.random.default_rng(0)
    near = X[:, 6] + 0.01 * X[:, 6].std() * rng.standard_normal(len(X))
    twins = np.column_stack([X[:, 6], X, X[:, 6], near])
    order = OPGDClassifier(1, sparsity=3, init="lda").fit(twins, y).feature_order_.tolist()
    assert order[0] in (0, 15)  # of exact copies, the first
    assert min(order.index(j) for j in {0, 7, 14, 15} - {order[0]}) >= 9  # of 16


def test_a_feature_that_is_constant_in_classes_is_the_first(wine):
    X, y = wine
    order = OPGDClassifier(1, sparsity=3, init="lda").fit(np.column_stack([X, y]), y).feature_order_
    assert order[0] == 13


def test_constant_features_are_never_selected(wine):
    X, y = wine[0].copy(), wine[1]
    X[:, 4] = 7.0
    with pytest.warns(UserWarning, match="constant"):
        model = OPGDClassifier(sparsity=12).fit(X, y)
    assert 4 not in model.feature_order_
    assert not model.support_[4]


def test_auto_selects_the_features_in_which_classes_differ(selected):
    support = selected.get_support(indices=True)
    assert set(selected.feature_order_[:3]) == {3, 5, 7}
    assert {3, 5, 7} <= set(support)
    assert len(support) <= 5
    path = selected.sparsity_path_
    assert path["n_features"][path["selected"]].tolist() == [len(support)]
    assert selected.best_params_["sparsity"] == len(support)
    assert f"{len(support)} features" in selected.summary_.model


def test_given_numbers_of_features_are_compared(simulated):
    model = OPGDClassifierCV(1, sparsity=(2, 0.5), n_subclasses=1, ridge=0.1).fit(*simulated)
    assert model.sparsity_path_["n_features"].tolist() == [2, 10]


def test_classifier_selects_features_in_a_pipeline(simulated):
    X, y = simulated
    selector = SelectFromModel(
        OPGDClassifier(sparsity=3), importance_getter="support_", threshold=0.5
    )
    pipeline = make_pipeline(selector, KNeighborsClassifier()).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3, 5, 7]
    assert pipeline.score(X, y) > 0.7


def test_missing_values_are_estimated_from_the_selected_features(simulated):
    X, y = simulated
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = OPGDClassifier(sparsity=3).fit(X, y)
    assert model.get_support(indices=True).tolist() == [3, 5, 7]
    assert model.score(X, y) > 0.7


def test_more_features_than_samples():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 600))
    X[:, 300] += 3.0 * y
    model = OPGDClassifier(sparsity=5).fit(X, y)
    assert model.feature_order_[0] == 300
    assert sorted(model.feature_order_.tolist()) == list(range(600))
    assert model.score(X, y) > 0.9


def test_clusters_are_fitted_to_the_features_that_separate_them():
    rng = np.random.default_rng(2)
    groups = np.arange(300) % 3
    X = rng.standard_normal((300, 12))
    X[:, 2] += 5.0 * (groups == 1)
    X[:, 9] += 5.0 * (groups == 2)
    model = OPGDMixture(3, sparsity=2, random_state=0).fit(X)
    assert model.get_support(indices=True).tolist() == [2, 9]
    assert adjusted_rand_score(groups, model.labels_) > 0.9
    alone = OPGDMixture(3, random_state=0).fit(X[:, [2, 9]])
    assert np.array_equal(alone.labels_, model.labels_)
    np.testing.assert_allclose(model.score_samples(X), alone.score_samples(X[:, [2, 9]]), rtol=1e-6)


def test_one_cluster_has_no_features_to_select():
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.warns(UserWarning, match="One cluster was found"):
        assert OPGDMixture(1, sparsity=2).fit(X).support_.all()


@pytest.mark.parametrize("sparsity", [1.0, -0.1, -1, True, "much", None])
def test_invalid_sparsity_is_refused(wine, sparsity):
    with pytest.raises((TypeError, ValueError), match="sparsity"):
        OPGDClassifier(sparsity=sparsity).fit(*wine)


def test_a_dense_fit_forgets_the_order_of_a_sparse_one(wine):
    model = OPGDClassifier(2, sparsity=3, init="lda").fit(*wine)
    assert not hasattr(model.set_params(sparsity=0).fit(*wine), "feature_order_")
    search = OPGDClassifierCV(1, sparsity=(2, 3), ridge=0.1, shrinkage=0, n_subclasses=1, cv=2)
    search.fit(*wine).set_params(sparsity=None).fit(*wine)
    assert not hasattr(search, "sparsity_path_")
    with pytest.raises(AttributeError, match="OPGDClassifierCV has no attribute 'feature_order_'"):
        search.feature_order_  # noqa: B018


@pytest.mark.parametrize("sparsity", [0, 0.0])
def test_a_sparsity_of_zero_is_a_candidate_with_all_features(wine, sparsity):
    settings = {"ridge": 0.1, "shrinkage": 0, "n_subclasses": 1, "cv": 2}
    model = OPGDClassifierCV(1, sparsity=(2, sparsity), **settings).fit(*wine)
    assert model.sparsity_path_["n_features"].tolist() == [2, 13]


def test_more_components_than_selected_features_are_reduced(wine):
    with pytest.warns(UserWarning, match="The selected features vary in 1 dimension only"):
        assert OPGDClassifier(2, sparsity=1).fit(*wine).n_components_ == 1


def test_numbers_of_features_are_compared_by_a_model_like_the_best():
    rng = np.random.default_rng(0)
    X, y = make_moons(240, noise=0.1, random_state=0)
    X = np.column_stack([X, rng.standard_normal((240, 3))])
    dense = OPGDClassifierCV(shrinkage=0.1, ridge=0.05, cv=3).fit(X, y)
    assert dense.best_params_["n_subclasses"] != 1
    model = OPGDClassifierCV(sparsity="auto", shrinkage=0.1, ridge=0.05, cv=3).fit(X, y)
    tried = model.cv_results_["params"]
    for size in model.sparsity_path_["n_features"]:
        numbers = [params["n_subclasses"] for params in tried if params["sparsity"] == size]
        assert dense.best_params_["n_subclasses"] in numbers
    assert model.get_support(indices=True).tolist() == [0, 1]


def test_the_summary_counts_models_with_all_numbers_of_features(selected):
    summary = selected.summary_
    assert summary.n_models == len(selected.cv_results_["params"])
    assert summary.one_se is None  # it may keep another number of features


def test_constant_features_are_not_counted(wine):
    X, y = wine[0].copy(), wine[1]
    X[:, 4] = 7.0
    settings = {"n_subclasses": 1, "ridge": 0.1, "shrinkage": 0.1, "covariance_type": "diag"}
    with pytest.warns(UserWarning, match="constant"):
        model = OPGDClassifierCV(1, sparsity=(3, 13), cv=3, **settings).fit(X, y)
    assert model.sparsity_path_["n_features"].tolist() == [3, 12]
