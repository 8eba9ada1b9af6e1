"""What OPGDMixture promises: the paper's numbers, invariances, a density, starts, manners."""

import functools
import inspect
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import DataWarning, OPGDClassifier, OPGDMixture
from opgd._fit.refinement import pose_mixture
from opgd.core.coordinates import make_frame
from opgd.core.engines import RowEngine
from opgd.core.moments import Moments
from tests.test_classifier import invertible

SLOW = pytest.mark.slow
BOTH_FORMS = pytest.mark.parametrize("covariance_type", ["diag", "full"])
IGNORE_DATA = pytest.mark.filterwarnings("ignore::opgd.DataWarning")
IGNORE_CONVERGENCE = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@functools.cache
def fit_wine(covariance_type="diag"):
    """A model of three clusters that tests only read."""
    model = OPGDMixture(3, covariance_type=covariance_type, random_state=0)
    return model.fit(load_wine().data)


def clouds(rng, n_clusters, n_features=5, distance=10.0, sizes=60):
    """Clusters of unequal shapes whose centers are at least `distance` apart."""
    steps = rng.normal(size=(n_clusters, n_features))
    centers = np.cumsum(steps / np.linalg.norm(steps, axis=1)[:, None], axis=0)
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)[~np.eye(n_clusters, dtype=bool)]
    y = np.repeat(np.arange(n_clusters), sizes)
    widths = rng.uniform(0.5, 1.0, size=(n_clusters, n_features))
    X = rng.normal(size=(len(y), n_features)) * widths[y]
    return X + distance * (centers / apart.min())[y], y


def same_partition(first, second):
    return adjusted_rand_score(first, second) == 1


# --- the paper's numbers ----------------------------------------------------------------------


def reference_case(reference, name):
    """Standardized samples, classes, reference values, and the initial mixture."""
    case = json.loads((reference / "clustering_starts.json").read_text())[name]
    X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    if name == "iris":  # UCI's edition, which the paper used
        X[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    X = StandardScaler().fit_transform(X)
    mixture = GaussianMixture(len(case["PI"]))
    mixture.weights_, mixture.means_ = np.array(case["PI"]), np.array(case["MU"])
    mixture.covariances_ = np.array(case["S"])
    return X, y, case, mixture


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_value_and_gradient_agree_with_reference(name, reference):
    X, _, case, mixture = reference_case(reference, name)
    frame = make_frame(RowEngine(X, np.zeros(len(X), np.intp)))
    weights = len(X) * mixture.weights_
    raw = Moments(weights, weights, mixture.means_ - frame.center, mixture.covariances_)
    problem = pose_mixture(
        frame,
        raw.mapped(frame.sphering),
        metric="identity",
        covariance_type="diag",
        shrinkage=0.0,
        orthogonality=1.0,
    )
    V = np.array(case["V0"])
    directions = problem.coordinates.directions(V.T)
    value, gradient = problem.objective.value_and_gradient(directions)
    by_components = gradient @ problem.coordinates.directions(np.eye(len(V))).T
    assert len(X) * value == pytest.approx(case["f"], abs=1e-8)
    expected = np.array(case["gradient"]).T
    np.testing.assert_allclose(
        len(X) * by_components, expected, rtol=0, atol=1e-8 * np.abs(expected).max()
    )


@IGNORE_DATA
@pytest.mark.parametrize(
    ("name", "before", "after"), [("wine", 0.949, 0.983), ("iris", 0.904, 0.922)]
)
def test_papers_refinement_from_the_reference_start(name, before, after, reference):
    X, y, case, mixture = reference_case(reference, name)
    model = OPGDMixture(
        3,
        init=mixture,
        components_init=np.array(case["V0"]).T,
        metric="identity",
        shrinkage=0,
        regularization=0,
        max_iter=0,
    )
    assert model.fit(X).objective_ == pytest.approx(case["f"], abs=1e-8)
    model.set_params(max_iter=1000, tol=1e-6).fit(X)
    assert model.converged_
    assert model.objective_ >= case["reached"] - 1e-4
    assert same_partition(model.initial_labels_, case["labels"])
    assert adjusted_rand_score(y, model.initial_labels_) == pytest.approx(before, abs=0.01)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(after, abs=0.01)


def test_penalized_gradient_in_every_metric_agrees_with_central_differences(wine, rng):
    X, y = wine
    frame = make_frame(RowEngine(X, y, rng.uniform(0.1, 3, len(X))))
    for metric in ("identity", "covariance"):
        for covariance_type in ("diag", "full"):
            objective = pose_mixture(
                frame,
                frame.moments(3),
                metric=metric,
                covariance_type=covariance_type,
                shrinkage=0.1,
                orthogonality=0.7,
            ).objective
            at, step = rng.normal(size=(2, 2, 13))
            slope = (objective.value(at + 1e-6 * step) - objective.value(at - 1e-6 * step)) / 2e-6
            _, gradient = objective.value_and_gradient(at)
            assert slope == pytest.approx(np.sum(gradient * step), rel=1e-5)


def test_one_direction_taken_for_two_is_said_with_metric_identity_only(load):
    X, y, _ = load("seeds")
    X = StandardScaler().fit_transform(X)
    with pytest.warns(DataWarning, match=r"components 1 and 2 have a correlation of 0\.9"):
        paper = OPGDMixture(3, metric="identity", regularization=0, random_state=0).fit(X)
    assert abs(np.corrcoef(paper.transform(X).T)[0, 1]) > 0.9
    model = OPGDMixture(3, random_state=0).fit(X)
    assert abs(np.corrcoef(model.transform(X).T)[0, 1]) < 0.5
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, paper.labels_)


# --- what is found ----------------------------------------------------------------------------


@BOTH_FORMS
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_clusters_far_apart_are_found(covariance_type, n_clusters, rng):
    X, y = clouds(rng, n_clusters)
    model = OPGDMixture(n_clusters, covariance_type=covariance_type, random_state=0).fit(X)
    assert same_partition(model.labels_, y)
    assert np.array_equal(model.initial_labels_, model.labels_)
    assert model.n_components_ == max(2, n_clusters - 1)
    assert model.uncertainty_.max() < 1e-3


def test_axes_that_tell_clusters_apart_are_found_among_noise(rng):
    X, y = rng.normal(size=(400, 6)), np.repeat([0, 1], 200)
    X[:, 4] += 8 * y
    X[:, [0, 1]] *= 100
    model = OPGDMixture(2, n_components=1, random_state=0).fit(X)
    assert same_partition(model.labels_, y)
    assert np.argmax(np.abs(model.components_[0])) == 4


@BOTH_FORMS
@pytest.mark.parametrize("metric", ["identity", "covariance"])
def test_axes_are_orthonormal_in_the_metric(covariance_type, metric, wine):
    X, _ = wine
    X = StandardScaler().fit_transform(X)
    model = OPGDMixture(
        3,
        n_components=3,
        covariance_type=covariance_type,
        metric=metric,
        orthogonality=100,
        regularization=0,
        random_state=0,
    ).fit(X)
    matrix = np.eye(13) if metric == "identity" else np.cov(X.T, bias=True)
    products = model.components_ @ matrix @ model.components_.T
    np.testing.assert_allclose(np.diag(products), 1, rtol=1e-9)
    np.testing.assert_allclose(products, np.eye(3), atol=0.01)


def test_objective_is_without_penalty_what_its_parts_add_up_to(wine):
    X, _ = wine
    free = OPGDMixture(3, orthogonality=0, random_state=0).fit(X)
    assert free.objective_ == pytest.approx(free.component_log_likelihoods_[-1], rel=1e-8)
    model = fit_wine()
    assert model.objective_ == pytest.approx(-len(X) * model.loss_curve_[-1], rel=1e-8)
    assert model.objective_ <= model.component_log_likelihoods_[-1]
    assert model.component_shares_.sum() == pytest.approx(1)
    assert model.component_log_likelihoods_[1] > model.component_log_likelihoods_[0]


def test_eigenvalues_are_those_of_the_correlation_matrix(wine):
    X, _ = wine
    expected = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    np.testing.assert_allclose(OPGDMixture(2).fit(X).eigenvalues_, expected, rtol=1e-8)


@BOTH_FORMS
@pytest.mark.parametrize("name", ["wine", "seeds", pytest.param("vowel", marks=SLOW)])
def test_more_rounds_never_end_lower(covariance_type, name, load):
    X, y, _ = load(name)
    model = OPGDMixture(
        len(np.unique(y)), covariance_type=covariance_type, init="ward", random_state=0
    )
    one, more = (clone(model).set_params(n_rounds=n).fit(X) for n in (1, 4))
    assert more.log_likelihood_ >= one.log_likelihood_
    assert one.n_rounds_ == 1 < more.n_rounds_ <= 4


def test_rounds_end_when_no_row_changes_its_cluster(rng):
    X, _ = clouds(rng, 3)
    assert OPGDMixture(3, n_rounds=50, random_state=0).fit(X).n_rounds_ == 2


# --- invariances ------------------------------------------------------------------------------


@IGNORE_DATA
@pytest.mark.parametrize("name", ["wine", "seeds", "forest", pytest.param("vowel", marks=SLOW)])
def test_labels_do_not_depend_on_units_origin_or_basis(name, load, rng):
    X, y, _ = load(name)
    n_features = X.shape[1]
    # forest has repeated values, which are not seen any more after a linear map
    regularization = 0.0 if name == "forest" else 1.0
    model = OPGDMixture(len(np.unique(y)), init=y, regularization=regularization)
    expected = clone(model).fit(X)
    units = np.geomspace(1e-6, 1e6, n_features)
    changed = {
        "rescaled": X * units,
        "rescaled the other way": X * units[::-1],
        "shifted": X + 1e6,
        "mapped": X @ invertible(rng, n_features, 1e3),
    }
    for what, rows in changed.items():
        other = clone(model).fit(rows)
        assert np.array_equal(other.labels_, expected.labels_), what


@pytest.mark.parametrize("name", ["wine", "seeds", pytest.param("iris", marks=SLOW)])
@pytest.mark.parametrize("init", ["auto", "kmeans", "ward"])
def test_row_order_and_units_do_not_change_a_start(name, init, load, rng):
    X, _, _ = load(name)
    X = np.unique(X, axis=0)
    model = OPGDMixture(3, init=init, random_state=0)
    expected = clone(model).fit(X)
    order = rng.permutation(len(X))
    shuffled = clone(model).fit(X[order])
    assert same_partition(shuffled.initial_labels_, expected.initial_labels_[order])
    assert same_partition(shuffled.labels_, expected.labels_[order])
    rescaled = clone(model).fit(X * np.geomspace(1e-3, 1e3, X.shape[1]) + 7)
    assert same_partition(rescaled.labels_, expected.labels_)


@pytest.mark.parametrize("init", ["auto", "kmeans", "ward"])
def test_weight_two_is_the_row_twice(init, wine, rng):
    X, _ = wine
    counts = rng.integers(1, 4, len(X))
    model = OPGDMixture(3, init=init, random_state=0)
    weighted = clone(model).fit(X, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0))
    assert np.array_equal(np.repeat(weighted.labels_, counts), repeated.labels_)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    for criterion in ("bic", "icl", "aic", "log_likelihood"):
        np.testing.assert_allclose(
            weighted.selection_[criterion], repeated.selection_[criterion], rtol=1e-6
        )


def test_rows_without_weight_get_labels_and_do_not_count(wine, rng):
    X, y = wine
    weights = (rng.uniform(size=len(X)) < 0.8).astype(float)
    present = weights > 0
    shares = np.eye(3)[y]
    for init in ("auto", y, shares, [f"class {k}" for k in y]):
        model = OPGDMixture(3, init=init, random_state=0).fit(X, sample_weight=weights)
        own = init if isinstance(init, str) else np.asarray(init)[present]
        without = OPGDMixture(3, init=own, random_state=0).fit(X[present])
        assert np.array_equal(model.labels_, without.predict(X))
        np.testing.assert_allclose(model.score_samples(X), without.score_samples(X), rtol=1e-9)
        assert model.initial_labels_.shape == model.uncertainty_.shape == (len(X),)


@pytest.mark.parametrize("size", [1e-6, 1 / 178, 0.5])
def test_weights_may_have_any_sum(size, wine):
    X, _ = wine
    plain = fit_wine()
    model = OPGDMixture(3, random_state=0).fit(X, sample_weight=np.full(len(X), size))
    assert np.array_equal(model.labels_, plain.labels_)
    assert model.log_likelihood_ == pytest.approx(size * plain.log_likelihood_, rel=1e-6)
    assert model.selection_["bic"] == pytest.approx(plain.selection_["bic"], rel=1e-6)


def test_same_random_state_gives_the_same_bits(load):
    X, _, _ = load("seeds")
    first, second = (OPGDMixture(4, random_state=3, n_init=3).fit(X) for _ in range(2))
    assert np.array_equal(first.components_, second.components_)
    assert np.array_equal(first.sample(5)[0], second.sample(5)[0])


def test_single_precision_stays_close_and_is_kept(wine):
    X, _ = wine
    single = OPGDMixture(3, random_state=0).fit(X.astype(np.float32))
    double = fit_wine()
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert np.array_equal(single.labels_, double.labels_)
    np.testing.assert_allclose(single.score_samples(X), double.score_samples(X), atol=0.05)


# --- the density ------------------------------------------------------------------------------


def mixture_logpdf(model, X):
    parts = [
        np.log(weight) + stats.multivariate_normal(mean, covariance).logpdf(X)
        for weight, mean, covariance in zip(
            model.weights_, model.means_, model.covariances_, strict=True
        )
    ]
    return logsumexp(parts, axis=0)


@IGNORE_DATA
@BOTH_FORMS
@pytest.mark.parametrize("metric", ["identity", "covariance"])
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_log_density_is_that_of_the_fitted_mixture(
    covariance_type, metric, n_components, iris, rng
):
    X, _ = iris
    weights = rng.uniform(0.1, 3, len(X))
    model = OPGDMixture(
        3,
        n_components=n_components,
        covariance_type=covariance_type,
        metric=metric,
        init="ward",
    )
    model.fit(X, sample_weight=weights)
    rows = X + rng.normal(size=X.shape)
    np.testing.assert_allclose(model.score_samples(rows), mixture_logpdf(model, rows), rtol=1e-8)
    assert model.score(rows) == pytest.approx(np.mean(mixture_logpdf(model, rows)))
    own = model.score_samples(X)
    assert model.log_likelihood_ == pytest.approx(weights @ own, rel=1e-9)
    assert model.score(X, sample_weight=weights) == pytest.approx(np.average(own, weights=weights))


@BOTH_FORMS
def test_projected_moments_are_those_of_the_clusters_on_the_axes(covariance_type, wine):
    X, _ = wine
    model = fit_wine(covariance_type)
    V = model.components_.T
    np.testing.assert_allclose(model.projected_means_, model.means_ @ V, rtol=1e-8)
    expected = model.projected_variances_
    if covariance_type == "diag":
        expected = expected[:, :, None] * np.eye(2)
    np.testing.assert_allclose(V.T @ model.covariances_ @ V, expected, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), X @ V, rtol=1e-9)


@BOTH_FORMS
def test_probabilities_are_those_of_the_scores(covariance_type, wine):
    X, _ = wine
    model = OPGDMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    variances = model.projected_variances_
    if covariance_type == "diag":
        variances = variances[:, :, None] * np.eye(variances.shape[1])
    scores = model.transform(X)
    joint = np.column_stack(
        [
            weight * stats.multivariate_normal(mean, own).pdf(scores)
            for weight, mean, own in zip(
                model.weights_, model.projected_means_, variances, strict=True
            )
        ]
    )
    posteriors = model.predict_proba(X)
    np.testing.assert_allclose(posteriors, joint / joint.sum(axis=1, keepdims=True), atol=1e-8)
    assert np.array_equal(model.labels_, model.predict(X))
    assert np.array_equal(model.labels_, posteriors.argmax(axis=1))
    np.testing.assert_allclose(model.uncertainty_, 1 - posteriors.max(axis=1), atol=1e-12)


@pytest.mark.parametrize("order", [1, -1])
def test_units_change_log_densities_by_their_volume(order, wine):
    X, y = wine
    units = np.geomspace(1e-6, 1e6, 13)[::order]
    expected = OPGDMixture(3, init=y).fit(X).score_samples(X) - np.log(units).sum()
    other = OPGDMixture(3, init=y).fit(X * units)
    np.testing.assert_allclose(other.score_samples(X * units), expected, atol=1e-6)


@BOTH_FORMS
def test_samples_have_the_moments_of_the_clusters(covariance_type, iris):
    X, _ = iris
    model = OPGDMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    rows, labels = model.sample(60_000)
    np.testing.assert_allclose(np.bincount(labels) / len(labels), model.weights_, atol=0.01)
    for k in range(3):
        own, size = rows[labels == k], np.trace(model.covariances_[k])
        np.testing.assert_allclose(own.mean(axis=0), model.means_[k], atol=0.03 * np.sqrt(size))
        np.testing.assert_allclose(np.cov(own.T), model.covariances_[k], atol=0.03 * size)


@BOTH_FORMS
def test_one_cluster_is_one_gaussian(covariance_type, wine):
    X, _ = wine
    model = OPGDMixture(1, covariance_type=covariance_type).fit(X)
    total = np.cov(X.T, bias=True)
    gaussian = stats.multivariate_normal(X.mean(axis=0), total)
    np.testing.assert_allclose(model.score_samples(X), gaussian.logpdf(X), rtol=1e-8)
    np.testing.assert_allclose(model.covariances_[0], total, rtol=1e-7, atol=1e-9)
    assert not np.any(model.labels_)
    assert np.all(model.predict_proba(X) == 1)
    assert list(model.selection_["n_parameters"]) == [13 + 13 * 14 // 2]


# --- how many clusters ------------------------------------------------------------------------


def test_bic_finds_three_cultivars_of_wine(wine):
    X, y = wine
    model = OPGDMixture(range(1, 7), random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert list(model.selection_["n_clusters"]) == [1, 2, 3, 4, 5, 6]


@IGNORE_DATA
@pytest.mark.parametrize(
    "n_clusters", [2, 6, *[pytest.param(number, marks=SLOW) for number in (3, 4, 5)]]
)
def test_bic_finds_the_number_of_clusters_far_apart(n_clusters, rng):
    X, y = clouds(rng, n_clusters)
    model = OPGDMixture(range(1, 8), random_state=0).fit(X)
    assert model.n_clusters_ == n_clusters
    assert same_partition(model.labels_, y)


@IGNORE_DATA
@pytest.mark.parametrize(
    ("criterion", "n_rounds"),
    [
        ("bic", 1),
        ("icl", 3),
        ("aic", 1),
        *[
            pytest.param(criterion, n_rounds, marks=pytest.mark.slow)
            for criterion, n_rounds in [("bic", 3), ("icl", 1), ("aic", 3)]
        ],
    ],
)
def test_selection_agrees_with_the_criteria_on_training_rows(criterion, n_rounds, load):
    X = load("vowel")[0][::6]
    model = OPGDMixture(
        (4, 9, 2), criterion=criterion, n_rounds=n_rounds, init="ward", random_state=0
    ).fit(X)
    selection = model.selection_
    best = np.argmin(np.where(selection["smallest"] < 0.02, np.inf, selection["selected_by"]))
    of_both = 0.5 * (selection[criterion] + selection[f"first_{criterion}"])
    np.testing.assert_allclose(selection["selected_by"], of_both)
    assert model.n_clusters_ == selection["n_clusters"][best]
    assert model.n_components_ == selection["n_components"][best]
    assert model.log_likelihood_ == pytest.approx(selection["log_likelihood"][best])
    for name in ("bic", "icl", "aic"):
        assert getattr(model, name)(X) == pytest.approx(selection[name][best], rel=1e-8), name


def test_criteria_are_what_they_are_called(wine):
    X, _ = wine
    model = fit_wine()
    n_parameters = model.selection_["n_parameters"][0]
    deviance = -2 * model.score_samples(X).sum()
    assert model.aic(X) == pytest.approx(deviance + 2 * n_parameters)
    assert model.bic(X) == pytest.approx(deviance + np.log(len(X)) * n_parameters)
    between = -2 * np.log(model.predict_proba(X).max(axis=1)).sum()
    assert model.icl(X) == pytest.approx(model.bic(X) + between)


@IGNORE_DATA
@pytest.mark.parametrize("n_clusters", [1, 3, pytest.param(5, marks=pytest.mark.slow)])
def test_auto_finds_the_number_and_stops(n_clusters, rng):
    X, y = clouds(rng, 5)
    X, y = X[y < n_clusters], y[y < n_clusters]
    model = OPGDMixture("auto", random_state=0).fit(X)
    assert same_partition(model.labels_, y)
    assert list(model.selection_["n_clusters"]) == list(range(1, n_clusters + 4))


@IGNORE_DATA
def test_auto_and_a_range_select_the_same_model(iris):
    X = iris[0][::2]
    auto, given = (OPGDMixture(n, random_state=0).fit(X) for n in ("auto", range(1, 7)))
    assert auto.n_clusters_ == given.n_clusters_
    assert np.array_equal(auto.components_, given.components_)


def test_the_largest_number_is_doubted(rng):
    X, _ = clouds(rng, 5)
    with pytest.warns(DataWarning, match="number of clusters, 3, is the largest"):
        OPGDMixture((2, 3), random_state=0).fit(X)


@pytest.mark.parametrize("kind", ["one point", "one value"])
@pytest.mark.parametrize("merge", [None, 4])
def test_a_tiny_cluster_is_doubted(kind, merge, rng):
    """Both numbers need a cluster for the three samples far away."""
    X, _ = clouds(rng, 2, sizes=150, n_features=3)
    X[:3, 2 if kind == "one value" else slice(None)] = 100.0
    with pytest.warns(DataWarning, match=r"less than 2% of the samples .* 2 \(3\)"):
        model = OPGDMixture((3, 4), merge=merge, random_state=0).fit(X)
    assert np.sum(model.labels_ == 2) == 3


def add_outliers(X, share, rng):
    """Replace a share of the samples by uniform ones; return samples, and which are replaced."""
    outlying = rng.uniform(size=len(X)) < share
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.25 * (high - low)
    return np.where(
        outlying[:, None], rng.uniform(low - margin, high + margin, X.shape), X
    ), outlying


# --- what must not become a cluster -------------------------------------------------------------


@BOTH_FORMS
def test_uniform_outliers_are_noise(covariance_type, rng):
    X, y = clouds(rng, 3, sizes=150)
    X, outlying = add_outliers(X, 0.05, rng)
    model = OPGDMixture((2, 3, 4), covariance_type=covariance_type, noise=True, random_state=0).fit(
        X
    )
    found = model.labels_ == -1
    assert np.mean(found[outlying]) > 0.9
    assert np.mean(found[~outlying]) < 0.02
    assert model.n_clusters_ == 3
    assert model.noise_share_ == pytest.approx(0.05, abs=0.02)
    assert same_partition(model.labels_[~found & ~outlying], y[~found & ~outlying])
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum())


def test_density_with_noise_integrates_to_one(rng):
    X, _ = clouds(rng, 2, n_features=2, sizes=150)
    X, _ = add_outliers(X, 0.1, rng)
    model = OPGDMixture(2, noise=True, random_state=0).fit(X)
    low, high = X.min(axis=0), X.max(axis=0)
    points = rng.uniform(low, high, (200_000, 2))
    volume = np.prod(high - low)  # smaller than that of a box along the principal components
    assert model.noise_log_density_ == pytest.approx(-np.log(volume))
    assert np.mean(np.exp(model.score_samples(points))) * volume == pytest.approx(1, abs=0.03)


@IGNORE_DATA  # another number is nearly as good
def test_far_outliers_do_not_change_the_number_of_clusters(iris):
    X, rng = iris[0], np.random.default_rng(2)
    signs, distances = rng.choice([-1, 1], (8, 4)), rng.uniform(8, 15, (8, 4))
    mixed = np.vstack([X, X.mean(axis=0) + X.std(axis=0) * signs * distances])
    model = OPGDMixture((3, 4), noise=True, random_state=0).fit(mixed)
    assert model.n_clusters_ == 3
    assert np.array_equal(np.flatnonzero(model.labels_ == -1), np.arange(150, 158))


def test_heavy_tails_are_not_noise(rng):
    X = rng.standard_t(3, size=(600, 4)) + 12 * (np.arange(600) % 2)[:, None]
    X, outlying = add_outliers(X, 0.05, rng)
    model = OPGDMixture(2, noise=True, random_state=0).fit(X)
    found = model.labels_ == -1
    assert np.mean(found[outlying]) > 0.9
    assert np.mean(found[~outlying]) < 0.02
    assert np.all(model.noise_degrees_ < 20)
    normal = add_outliers(rng.normal(size=(600, 4)), 0.05, rng)[0]
    assert OPGDMixture(1, noise=True).fit(normal).noise_degrees_[0] > 20


def test_binary_features_do_not_make_samples_noise(rng):
    clusters = rng.integers(3, size=300)
    coins = rng.integers(2, size=(300, 4))
    X = np.column_stack([coins, rng.normal(size=(300, 3)) + 3 * clusters[:, None]])
    with pytest.warns(DataWarning, match="distinct values"):
        model = OPGDMixture(3, noise=True, random_state=0).fit(X)
    assert np.mean(model.labels_ == -1) < 0.02


def test_fits_without_samples_that_are_not_noise_are_refused(rng):
    with pytest.raises(ValueError, match="50 of 50 samples are more probably noise"):
        OPGDMixture(2, noise=1.0).fit(rng.normal(size=(50, 2)))


def test_a_given_share_of_noise_is_used(rng):
    X, _ = clouds(rng, 2)
    model = OPGDMixture(2, noise=0.1, random_state=0).fit(X)
    assert model.noise_share_ == 0.1
    plain = OPGDMixture(2, noise=0.0, random_state=0).fit(X)
    assert not np.any(plain.labels_ == -1)
    np.testing.assert_allclose(plain.score_samples(X), plain._density().log_density(X))


def test_a_cluster_of_repeated_samples_is_not_worth_its_parameters(rng):
    X = rng.normal(size=(200, 4))
    X[:10] = X[0]
    y = (np.arange(200) < 10).astype(int)

    def gain(regularization):
        models = [
            OPGDMixture(k, init=init, regularization=regularization).fit(X)
            for k, init in ((1, "auto"), (2, y))
        ]
        return models[0].bic(X) - models[1].bic(X)

    assert gain(0) > 0 > gain(1)


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (None, "distinct values: column 3"),  # counts
        pytest.param(0.4, "distinct values: column 3", marks=pytest.mark.slow),
        (0.1, "have the same value are not used for clustering: column 3"),
    ],
)
def test_values_of_discrete_features_do_not_become_clusters(share, message, rng):
    X, y = clouds(rng, 2, n_features=3)
    values = rng.poisson(1.5, len(X)) if share is None else rng.uniform(size=len(X)) < share
    X = np.column_stack([X, values])
    with pytest.warns(DataWarning, match=message):
        model = OPGDMixture("auto", random_state=0).fit(X)
    assert same_partition(model.labels_, y)


@BOTH_FORMS
def test_regularization_vanishes_with_many_samples(covariance_type, rng):
    X, _ = clouds(rng, 2, sizes=20_000)
    model = OPGDMixture(2, covariance_type=covariance_type, init="ward")
    one, none = (clone(model).set_params(regularization=r).fit(X) for r in (1, 0))
    np.testing.assert_allclose(one.means_, none.means_, atol=0.01)
    np.testing.assert_allclose(one.covariances_, none.covariances_, atol=0.02)


def test_strong_regularization_makes_clusters_wide(rng):
    X, _ = clouds(rng, 3)
    widths = [
        OPGDMixture(3, init="ward", regularization=r).fit(X).projected_variances_.min()
        for r in (0.1, 1, 10, 100)
    ]
    assert np.all(np.diff(widths) > 0)


# --- profiles -----------------------------------------------------------------------------------


def test_profiles_are_means_and_differences_by_cluster(wine):
    X, _ = wine
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    model = OPGDMixture(3, random_state=0).fit(frame)
    profiles = model.profiles(frame)
    assert [profile.size for profile in profiles] == np.bincount(model.labels_).tolist()
    for k, profile in enumerate(profiles):
        own, others = X[model.labels_ == k], X[model.labels_ != k]
        np.testing.assert_allclose(profile.means, own.mean(axis=0))
        pooled = len(own) * own.var(axis=0) + len(others) * others.var(axis=0)
        expected = (own.mean(axis=0) - others.mean(axis=0)) / np.sqrt(pooled / len(X))
        np.testing.assert_allclose(profile.differences, expected)
        strongest = frame.columns[np.argmax(np.abs(expected))]
        assert profile.distinguishing[0] == strongest
        assert f"cluster {k}: {len(own)} samples" in str(profile)
        assert strongest in str(profile)


def test_representatives_are_typical_samples_of_their_cluster(wine):
    X, _ = wine
    model = fit_wine()
    typicality = model.typicality(X)
    for k, profile in enumerate(model.profiles(X)):
        assert np.all(model.labels_[profile.representatives] == k)
        assert np.all(typicality[profile.representatives] > 0.5)


# --- starts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_a_fitted_mixture_is_taken_as_it_is(covariance_type, wine):
    X, _ = wine
    X = StandardScaler().fit_transform(X)
    mixture = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    before = pickle.dumps(mixture)
    model = OPGDMixture(3, init=mixture).fit(X)
    assert same_partition(model.initial_labels_, mixture.predict(X))
    assert adjusted_rand_score(model.labels_, model.initial_labels_) > 0.8
    assert pickle.dumps(mixture) == before


@BOTH_FORMS
def test_a_mixture_of_our_own_is_a_start(covariance_type, wine):
    X, _ = wine
    first = fit_wine(covariance_type)
    model = OPGDMixture(3, init=first).fit(X)
    assert same_partition(model.initial_labels_, first.labels_)


def test_estimators_that_are_no_mixtures_are_refused_by_name(wine):
    X, y = wine
    for init in (OPGDClassifier().fit(X, y), KMeans(3).fit(X)):
        with pytest.raises((TypeError, ValueError), match="init"):
            OPGDMixture(3, init=init).fit(X)


def test_labels_of_any_type_and_responsibilities_are_the_same_start(iris):
    X, y = iris
    expected = OPGDMixture(3, init=y).fit(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for init in (names, list(names), pd.Series(names), np.eye(3)[y], y - 5, 0.5 * y):
        model = OPGDMixture(3, init=init).fit(X)
        assert np.array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)


def test_responsibilities_may_be_shares(iris, rng):
    X, y = iris
    shares = 0.8 * np.eye(3)[y] + 0.2 * rng.dirichlet(np.ones(3), size=len(y))
    before = shares.copy()
    model = OPGDMixture(3, init=shares).fit(X)
    assert same_partition(model.labels_, OPGDMixture(3, init=y).fit(X).labels_)
    assert np.array_equal(shares, before)


@pytest.mark.parametrize("init", ["auto", "kmeans", "ward"])
@pytest.mark.parametrize("n_init", [1, 4])
def test_starts_by_name_find_wines(init, n_init, wine):
    X, y = wine
    model = OPGDMixture(3, init=init, n_init=n_init, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85


def test_components_init_is_where_the_search_begins(wine, rng):
    X, _ = wine
    guess = rng.normal(size=(3, 13)) / X.std(axis=0)
    model = OPGDMixture(3, components_init=guess, max_iter=0, random_state=0).fit(X)
    assert model.n_components_ == 3
    for axis in model.components_:
        cosines = guess @ axis / np.linalg.norm(guess, axis=1) / np.linalg.norm(axis)
        assert np.abs(cosines).max() == pytest.approx(1)


def given_starts(X, y):
    """Starts that cannot be, and what is said of them."""
    few, narrow = GaussianMixture(2).fit(X), GaussianMixture(3).fit(X[:, :2])
    shares = np.eye(3)[y]
    return {
        r"means of shape \(2, 4\).*\(3, 4\)": few,
        r"means of shape \(3, 2\).*\(3, 4\)": narrow,
        "not fitted": GaussianMixture(3),
        r"150 samples.*shape \(149,\)": y[1:],
        r"150 samples.*shape \(3, 150\)": shares.T,
        r"init has 2 distinct labels.*n_clusters=3": np.minimum(y, 1),
        r"init has responsibilities for 2 clusters.*n_clusters=3": shares[:, :2],
        "init has responsibilities that are negative": 2 * shares,
        "init has responsibilities .* do not sum to 1": shares - 0.1,
        "responsibilities are all 0": np.eye(3)[np.minimum(y, 1)],
        "init contains NaN": np.where(shares == 1, np.nan, 0),
    }


@pytest.mark.parametrize("number", range(11))
def test_starts_that_cannot_be_are_refused(number, iris):
    X, y = iris
    message, init = list(given_starts(X, y).items())[number]
    with pytest.raises(ValueError, match=message):
        OPGDMixture(3, init=init).fit(X)


# --- parameters -------------------------------------------------------------------------------

BAD_VALUES = {
    "n_clusters": [0, -1, 1.5, "two", True, None, [], [2, 0], [2, 1.5], 31],
    "n_components": [0, -1, 1.5, "two", True, 5],
    "covariance_type": ["tied", None, 3],
    "metric": ["euclidean", None, 3],
    "orthogonality": [-0.1, "some", None, True, np.inf, np.nan],
    "init": ["svd", None, 3, True, [[1.0], [1.0, 2.0]], [None] * 30, [[1.0, 2.0]]],
    "components_init": [
        3,
        "lda",
        [1.0, 2.0],
        [[1.0, 2.0]],
        [[0.0] * 4, [1.0] * 4],
        [[np.nan] * 4],
        [["a"] * 4],
    ],
    "n_init": [0, 1.5, "some", None],
    "n_rounds": [0, 1.5, "some", None],
    "shrinkage": [-0.1, 1.1, "some", None, True, np.nan],
    "regularization": [-0.1, "some", None, True, np.inf, np.nan],
    "criterion": ["aicc", None, 3],
    "merge": [0, -1, 1.5, "some", True],
    "noise": [-0.1, 1.1, "some", None, np.nan],
    "sparsity": [-0.1, 1.0, -1, "some", None, True, np.nan],
    "max_iter": [-1, 1.5, "some", None],
    "tol": [0, -1e-3, "some", None, np.inf, np.nan],
    "random_state": ["seed", -1],
    "n_jobs": [0, 1.5, "all"],
    "verbose": [-1, "loud", None],
}


def test_every_parameter_has_bad_values_here():
    assert set(BAD_VALUES) == set(inspect.signature(OPGDMixture).parameters)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_bad_parameter_is_refused_by_name(name, value, rng):
    X = rng.normal(size=(30, 4))
    estimator = OPGDMixture(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        estimator.fit(X)
    assert not hasattr(estimator, "n_features_in_")


# --- awkward data -----------------------------------------------------------------------------


def test_clusters_are_numbered_by_weight(rng):
    X, y = clouds(rng, 4, sizes=[20, 90, 40, 60])
    model = OPGDMixture(4, random_state=0).fit(X)
    assert np.all(np.diff(model.weights_) < 0)
    assert np.array_equal(model.labels_, np.array([3, 0, 2, 1])[y])
    weights = np.array([9.0, 1.0, 1.0, 1.0])[y]
    weighted = OPGDMixture(4, random_state=0).fit(X, sample_weight=weights)
    assert np.array_equal(weighted.labels_, np.array([0, 1, 3, 2])[y])
    assert np.array_equal(weighted.initial_labels_, weighted.labels_)


@pytest.mark.parametrize("init", ["auto", "kmeans", "ward"])
def test_more_clusters_than_rows_are_refused(init, rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match=r"n_clusters=7 is more than the 6 samples of X"):
        OPGDMixture((2, 7), init=init).fit(X)
    with pytest.raises(ValueError, match=r"n_clusters=4 is more than the 3 samples of X"):
        OPGDMixture(4, init=init).fit(X, sample_weight=[1, 0, 1, 0, 1, 0])


@IGNORE_DATA
@pytest.mark.parametrize("init", ["auto", "kmeans", "ward"])
def test_more_clusters_than_different_rows_are_refused(init, rng):
    X = np.repeat(rng.normal(size=(3, 2)), 10, axis=0)
    assert same_partition(OPGDMixture(3, init=init).fit(X).labels_, np.repeat([0, 1, 2], 10))
    with pytest.raises(ValueError, match=r"n_clusters=4 is more than the 3 distinct samples"):
        OPGDMixture(4, init=init).fit(X)


def assert_usable(model, X):
    posteriors = model.predict_proba(X)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    for values in (
        model.score_samples(X),
        model.components_,
        model.means_,
        model.covariances_,
        model.uncertainty_,
        model.sample(10)[0],
        np.array([model.log_likelihood_, model.objective_, model.bic(X), model.icl(X)]),
    ):
        assert np.all(np.isfinite(values))


@IGNORE_DATA
@IGNORE_CONVERGENCE
@BOTH_FORMS
@pytest.mark.parametrize("metric", ["identity", "covariance"])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(40, 200), (12, 50), (30, 30)])
def test_fewer_rows_than_columns(covariance_type, metric, n_rows, n_columns, rng):
    X, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    X[:, :10] += 10 * y[:, None]
    model = OPGDMixture(covariance_type=covariance_type, metric=metric, random_state=0).fit(X)
    assert same_partition(model.labels_, y)
    assert_usable(model, X)


@IGNORE_DATA
@BOTH_FORMS
@pytest.mark.parametrize("n_rounds", [1, 3])
def test_a_cluster_of_identical_rows(covariance_type, n_rounds, rng):
    X, y = clouds(rng, 3)
    X[y == 1] = X[y == 1][0]
    model = OPGDMixture(3, covariance_type=covariance_type, n_rounds=n_rounds, random_state=0)
    assert same_partition(model.fit(X).labels_, y)
    assert_usable(model, X)


@IGNORE_DATA
@IGNORE_CONVERGENCE
@pytest.mark.parametrize(
    ("name", "n_clusters"),
    [
        ("dermatology", 6),
        pytest.param("libras", 15, marks=SLOW),
        pytest.param("yeast", 5, marks=SLOW),
    ],
)
@pytest.mark.parametrize("metric", ["identity", "covariance"])
def test_singular_clusters_of_real_data(name, n_clusters, metric, load):
    X, y, _ = load(name)
    model = OPGDMixture(n_clusters, metric=metric, init="kmeans", max_iter=30, random_state=0)
    assert adjusted_rand_score(y, model.fit(X).labels_) > 0.2
    assert_usable(model, X)


def test_constant_and_collinear_columns_are_named_and_change_nothing(iris):
    X, y = iris
    plain = OPGDMixture(3, init=y).fit(X)
    more = np.column_stack([X, np.full(len(X), 3.0), X @ [1.0, -1.0, 2.0, 0.0]])
    with pytest.warns(DataWarning, match=r"constant columns: column 4.*collinear columns"):
        model = OPGDMixture(3, init=y).fit(more)
    assert np.array_equal(model.labels_, plain.labels_)
    assert not np.any(model.components_[:, 4])
    assert np.ptp(model.score_samples(more) - plain.score_samples(X)) < 1e-5
    assert np.array_equal(model.selection_["n_parameters"], plain.selection_["n_parameters"])


def test_a_single_column(rng):
    X = np.concatenate([rng.normal(size=80), 9 + rng.normal(size=40)])[:, None]
    model = OPGDMixture(random_state=0).fit(X)
    assert list(np.bincount(model.labels_)) == [80, 40]
    np.testing.assert_allclose(model.score_samples(X), mixture_logpdf(model, X), rtol=1e-8)


@BOTH_FORMS
def test_far_rows_have_finite_probabilities_and_no_typicality(covariance_type, wine):
    X, _ = wine
    model = fit_wine(covariance_type)
    far = X.mean(axis=0) + np.array([[1e3], [-1e8], [1e8], [1e15]]) * X.std(axis=0)
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1)
    assert np.all(np.isfinite(model.score_samples(far)))
    assert np.all(model.typicality(far) < 1e-12)
    assert np.all(model.typicality(X) > 0)


def test_typicality_is_uniform_on_rows_of_the_model(rng):
    X, _ = clouds(rng, 3, distance=30.0)
    model = OPGDMixture(3, random_state=0).fit(X)
    typicality = model.typicality(model.sample(3000)[0])
    assert typicality.shape == (3000,)
    assert stats.kstest(typicality, "uniform").pvalue > 1e-3


# --- manners ----------------------------------------------------------------------------------


def test_works_in_pipelines_and_searches(rng):
    X, y = clouds(rng, 3)
    pipeline = make_pipeline(StandardScaler(), OPGDMixture(3, random_state=0))
    assert same_partition(pipeline.fit_predict(X), y)
    order = rng.permutation(len(X))
    search = GridSearchCV(OPGDMixture(random_state=0), {"n_clusters": [1, 2, 3]}, cv=3)
    assert search.fit(X[order]).best_params_ == {"n_clusters": 3}


def test_fit_predict_and_fit_transform_are_fit_and_then(wine, rng):
    X, _ = wine
    model, weights = OPGDMixture(3, random_state=0), rng.uniform(0.1, 3, len(X))
    expected = clone(model).fit(X, sample_weight=weights)
    assert np.array_equal(model.fit_predict(X, sample_weight=weights), expected.labels_)
    scores = model.fit_transform(X, sample_weight=weights)
    np.testing.assert_allclose(scores, expected.transform(X))


def test_one_cluster_with_given_labels_is_one_gaussian(wine):
    X, _ = wine
    given = OPGDMixture(1, init=np.zeros(len(X))).fit(X)
    np.testing.assert_allclose(given.score_samples(X), OPGDMixture(1).fit(X).score_samples(X))


def test_empty_clusters_are_said(rng):
    X, y = clouds(rng, 2, sizes=100)
    mixture = GaussianMixture(3, random_state=0).fit(X)
    mixture.means_ = np.vstack([[X[y == k].mean(axis=0) for k in (0, 1)], X.mean(axis=0) + 1e3])
    mixture.covariances_ = np.stack([np.cov(X[y == 0].T)] * 3)
    with pytest.warns(
        DataWarning, match="Of 3 clusters, these have no samples: 2; check that init was fitted"
    ):
        model = OPGDMixture(3, init=mixture).fit(X)
    assert same_partition(model.labels_, y)
    assert_usable(model, X)


class Recorder:
    """Counts iterations; may ask to stop after some."""

    def __init__(self, stop_after=None):
        self.iterations, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "iteration":
            return False
        self.iterations.append(fitted_estimator)
        return self.stop_after == len(self.iterations)

    def teardown(self, estimator, context):
        pass


def test_callbacks_see_every_iteration_and_can_stop(wine):
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")
    X, _ = wine
    recorder = Recorder()
    model = OPGDMixture(3, random_state=0, regularization=0)
    watched = clone(model).set_callbacks(recorder).fit(X)
    assert len(recorder.iterations) == watched.n_iter_
    assert all(own.predict_proba(X).shape == (len(X), 3) for own in recorder.iterations)
    assert np.array_equal(watched.labels_, model.fit(X).labels_)
    stopping = Recorder(stop_after=3)
    stopped = OPGDMixture(3, random_state=0, n_rounds=4).set_callbacks(stopping).fit(X)
    assert len(stopping.iterations) == 3
    assert_usable(stopped, X)
