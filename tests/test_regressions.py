"""Things that once went wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from opgd import DataWarning, OPGDClassifier


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_columns", [2, 5, 30])
def test_a_column_that_is_constant_in_one_class_still_tells_it_apart(n_columns, rng):
    y = np.repeat([0, 1], 500)
    scores = []
    for deviation in (8e-4, 6e-4, 0.0):
        X = rng.normal(size=(1000, n_columns))
        X[y == 0, 0] *= deviation
        scores.append(OPGDClassifier(2, ridge=0.0).fit(X, y).score(X, y))
    assert min(scores) > 0.95, scores


@pytest.mark.parametrize("weight", [1.0, 1 / 900, 1e-6])
def test_weights_may_have_any_sum(weight, rng):
    X, y = rng.normal(size=(900, 4)), np.repeat(["m", "s"], [300, 600])
    X[300:600, 0] -= 8
    X[600:, 0] += 8
    weights = np.full(900, weight)
    for arguments in ({"n_subclasses": {"s": 2}}, {"n_subclasses": "auto"}, {"shrinkage": "auto"}):
        model = OPGDClassifier(1, **arguments).fit(X, y, sample_weight=weights)
        plain = OPGDClassifier(1, **arguments).fit(X, y)
        np.testing.assert_allclose(
            model.predict_proba(X), plain.predict_proba(X), atol=1e-4, err_msg=str(arguments)
        )


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_a_singular_subclass_borrows_what_gaussians_have_in_common(rng):
    X, y = rng.normal(size=(400, 2)), np.repeat([0, 1], 200)
    X[:190, 0] += 50
    X[190:200] = [-50, 0]
    X[200:, 0] -= 25
    model = OPGDClassifier(2, n_subclasses={0: 2}, ridge=0.0).fit(X, y)
    assert model.covariances_[:, 0, 0].max() < 3
    assert model.predict([[-30, 0]])[0] == 1


def test_init_along_which_rows_do_not_differ_is_refused(iris):
    X, y = np.column_stack([iris[0], np.ones(150)]), iris[1]
    with pytest.raises(ValueError, match="init has a component along which"):
        OPGDClassifier(2, init=[[0, 0, 0, 0, 1.0], [1, 0, 0, 0, 0]]).fit(X, y)


def test_warm_start_from_an_axis_that_became_constant(iris):
    X, y = iris[0].copy(), iris[1]
    model = OPGDClassifier(1, init=[[1.0, 0, 0, 0]], max_iter=0, warm_start=True).fit(X, y)
    X[:, 0] = 1
    with pytest.warns(DataWarning, match="constant"):
        model.set_params(init="lda", max_iter=100).fit(X, y)
    assert np.isfinite(model.log_likelihood_)


def test_collinear_init_with_full_covariances_is_refused(iris):
    init = [[1, 0, 0, 0], [2, 0, 0, 0.0]]
    with pytest.raises(ValueError, match="rows of init must be linearly independent"):
        OPGDClassifier(2, init=init, covariance_type="full").fit(*iris)


def test_priors_of_a_series_go_by_its_index(iris):
    y = pd.Series(np.repeat(["b", "a", "c"], [50, 40, 30]))
    model = OPGDClassifier(priors=y.value_counts(normalize=True)).fit(iris[0][:120], y)
    np.testing.assert_allclose(model.priors_, [40 / 120, 50 / 120, 30 / 120])


def test_probabilities_of_unreachable_rows_sum_to_one(iris):
    X, y = iris
    for model in (OPGDClassifier(2, shrinkage=1.0), OPGDClassifier(2, n_subclasses=2)):
        model.fit(X, y)
        for distance in (1e17, 1e37, 1e150):
            posteriors = model.predict_proba(np.full((1, 4), distance))
            assert posteriors.sum() == pytest.approx(1), (model, distance)


def test_tiny_priors_can_be_replaced(iris):
    model = OPGDClassifier(2, priors=[1e-310, 0.5, 0.5]).fit(*iris)
    posteriors = model.predict_proba(iris[0], priors=[0.4, 0.3, 0.3])
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)


def test_full_components_are_in_the_order_of_what_they_add(rng):
    X, y = rng.normal(size=(2000, 3)), np.repeat([0, 1], 1000)
    X[y == 1, 0] += 0.5
    X[y == 1, 1] *= 8
    model = OPGDClassifier(2, covariance_type="full").fit(X, y)
    assert model.component_shares_[0] > 0.5


def test_typicalities_are_never_smaller_than_they_should_be(rng):
    means = rng.normal(size=(10, 2)) * 1.5
    y = rng.integers(0, 10, 20_000)
    X = means[y] + rng.normal(size=(20_000, 2))
    typicality = OPGDClassifier(2).fit(X, y).typicality(X)
    for share in (0.01, 0.05, 0.2):
        assert np.mean(typicality < share) < 1.1 * share


def test_number_of_axes_comes_from_init(iris):
    X = iris[0]
    assert OPGDClassifier(init=np.eye(4)).fit(*iris).n_components_ == 4
    with pytest.warns(DataWarning, match="4 components are used instead of 5"):
        OPGDClassifier(init=np.eye(5)).fit(np.column_stack([X, X[:, 0]]), iris[1])


def test_verbose_numbers_every_search_by_itself(iris, capsys):
    model = OPGDClassifier(2, ridge=0.0, init=("lda", "pca"), n_init=2, random_state=0)
    with pytest.warns(UserWarning, match="max_iter"):
        model.set_params(verbose=1, max_iter=12, tol=1e-12).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("start lda, iteration 1:")
    assert "start pca, iteration 1:" in "\n".join(lines)
    assert "search 1, iteration 2:" in "\n".join(lines)
    assert "search 2, iteration 12:" in "\n".join(lines)


def test_verbose_names_every_start(iris, capsys):
    model = OPGDClassifier(2, verbose=1).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("lda, iteration 1:")
    started = {line.split(", iteration")[0] for line in lines}
    assert started == set(model.search_["start"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"sample_weight": np.full(150, 1e307)}, "too large"), ({"factor": 2e307}, "too large")],
)
def test_numbers_too_large_to_compute_with_are_refused(arguments, message, iris):
    X = iris[0] * arguments.pop("factor", 1.0)
    with pytest.raises(ValueError, match=message):
        OPGDClassifier().fit(X, iris[1], **arguments)


def test_strings_of_numpy_and_of_python_are_both_strings(iris):
    labels = np.array(
        [str(k) if i % 2 else np.str_(k) for i, k in enumerate(iris[1])], dtype=object
    )
    assert OPGDClassifier().fit(iris[0], labels).score(iris[0], labels) > 0.9
