"""Things that once went wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    TableEncoder,
    open_table,
)
from opgd.baselines import ReducedRankLDA


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


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
@pytest.mark.parametrize("shape", [(40, 100), (40, 39), (300, 10)])
def test_loadings_of_constant_columns_are_exactly_zero(shape, rng):
    X, y = rng.normal(size=shape), np.arange(shape[0]) % 3
    X[:, [0, -1]] = 3.7, 0.0
    for estimator in (OPGDClassifier(2, init="lda", max_iter=0), ReducedRankLDA(2)):
        support = estimator.fit(X, y).support_
        assert not support[[0, -1]].any()
        assert support[1:-1].all()


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


QUICK = {"n_subclasses": 1, "shrinkage": 0.1, "ridge": 0.1, "cv": 3}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_refit_needs_the_features_of_the_selection(iris):
    X, y = pd.DataFrame(iris[0], columns=list("abcd")), iris[1]
    model = OPGDClassifierCV(1, **QUICK, sparsity=2).fit(X, y)
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.refit(X[list("dcba")], y)
    with pytest.raises(ValueError, match="5 features"):
        model.refit(np.column_stack([X, y]), y)
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="3 features"):
        model.refit(dask_array.from_array(iris[0][:, :3]), y)
    frame = pytest.importorskip("dask.dataframe").from_pandas(X[list("dcba")], npartitions=2)
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.refit(frame, y)
    assert model.refit(X, y).score(X, y) > 0.9


def checkerboard(rng, n_samples=240):
    X = rng.uniform(0, 4, size=(n_samples, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
@pytest.mark.parametrize("weight", [1 / 240, 0.1])
def test_numbers_of_gaussians_do_not_depend_on_the_unit_of_weights(weight, rng):
    X, y = checkerboard(rng)
    arguments = {"n_components": 2, "shrinkage": 0.1, "ridge": 0.1, "cv": 3}
    plain = OPGDClassifierCV(**arguments).fit(X, y)
    weighted = OPGDClassifierCV(**arguments).fit(X, y, sample_weight=np.full(240, weight))
    assert max(plain.cv_results_["n_gaussians"]) > 8
    np.testing.assert_array_equal(
        weighted.cv_results_["n_gaussians"], plain.cv_results_["n_gaussians"]
    )


def test_class_weights_do_not_make_a_class_larger(rng):
    X, y = checkerboard(rng)
    kept = (y == 0) | (np.arange(240) % 8 == 0)
    X, y = X[kept], y[kept]
    model = OPGDClassifierCV(2, shrinkage=0.1, ridge=0.1, cv=3, class_weight="balanced").fit(X, y)
    most = np.sum(y == 1) // 4
    for params in model.cv_results_["params"]:
        numbers = params["n_subclasses"]
        assert (numbers[1] if isinstance(numbers, dict) else numbers) <= most


def test_noise_of_an_earlier_fit_is_forgotten(rng):
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(9, 1, size=(100, 2)), [[40, -40]]])
    model = OPGDMixture(2, noise=True, random_state=0).fit(X)
    assert -1 in model.predict(X)
    model.set_params(noise=False).fit(X)
    assert not hasattr(model, "noise_share_")
    assert set(model.predict(X)) == {0, 1}
    plain = OPGDMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), plain.score_samples(X))


def test_none_can_be_a_class_of_a_file(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    path = tmp_path / "patients.csv"
    path.write_text("age,pain,kind\n40,none,NA\n50,mild,x\nNaN,severe,y\n60,None,z\n")
    X, y = open_table(path, columns=["age"]).split("pain")
    assert y.tolist() == ["none", "mild", "severe", "None"]
    np.testing.assert_array_equal(np.asarray(X)[:, 0], [40, 50, np.nan, 60])
    assert open_table(path, columns=["age"]).split("kind")[1].tolist() == [None, "x", "y", "z"]


def test_drift_of_features_with_missing_values(iris):
    X, y = iris
    model = OPGDClassifier(2).fit(X, y)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    table = pd.DataFrame(model.drift(gaps).features)
    assert np.isfinite(table.select_dtypes("number").to_numpy()).all()


def test_rare_categories_are_not_missing():
    column = ["a"] * 120 + ["b"] * 75 + ["c"] * 5
    table = pd.DataFrame({"c": column, "x": np.arange(200) % 7})
    with pytest.warns(DataWarning, match="rare or unknown categories and count as 'a'"):
        encoder = TableEncoder().fit(table)
    with pytest.warns(DataWarning, match="rare or unknown categories and count as 'a'"):
        encoded = encoder.transform(pd.DataFrame({"c": ["a", "c", "unheard of"], "x": [1, 2, 3]}))
    np.testing.assert_array_equal(encoded[:, 0], 0)


def test_names_of_encoded_columns_are_distinct():
    table = pd.DataFrame({"a": ["x", "y"] * 20, "a=y": np.arange(40) % 9})
    with pytest.raises(ValueError, match="Several features are named 'a=y'"):
        TableEncoder().fit(table)


def test_one_split_has_no_standard_error(iris):
    summary = OPGDClassifierCV([1, 2], **(QUICK | {"cv": 0.3})).fit(*iris).summary_
    assert "standard error" not in summary.trade_off
    assert "on 1 split" in str(summary)
    assert "on 1 splits" not in str(summary)


def test_scored_labels_must_have_the_type_of_the_fit(iris):
    X, y = iris
    partial = np.where(np.arange(150) % 3, y, -1)
    learner = OPGDSemiSupervised(1).fit(X, partial)
    with pytest.raises(ValueError, match="convert y to that type"):
        learner.score(X, y.astype(str))


def test_an_empty_column_of_percentages_is_missing():
    table = pd.DataFrame({"rate": [f"{k % 90}.5%" for k in range(60)], "x": np.arange(60) % 7})
    encoder = TableEncoder().fit(table)
    encoded = np.asarray(encoder.transform(table[:1].assign(rate=None)), dtype=float)
    np.testing.assert_array_equal(encoded, [[np.nan, 0.0]])


def test_displays_accept_pipelines(iris):
    from opgd.plotting import DriftDisplay, PredictionSetDisplay

    X, y = iris
    model = make_pipeline(StandardScaler(), OPGDClassifierCV(1, **QUICK)).fit(X, y)
    scaled, last = model[0].transform(X), model[-1]
    drift = DriftDisplay.from_estimator(model, X, draw=False)
    alone = DriftDisplay.from_estimator(last, scaled, draw=False)
    np.testing.assert_array_equal(drift.features["shift"], alone.features["shift"])
    sets = PredictionSetDisplay.from_estimator(model, X, y, draw=False).summary
    expected = PredictionSetDisplay.from_estimator(last, scaled, y, draw=False).summary
    np.testing.assert_array_equal(sets.sizes, expected.sizes)


def test_an_unknown_label_is_named(iris):
    X, y = iris
    model = OPGDClassifier(1, init="lda").fit(X, y)
    with pytest.raises(ValueError, match="first 7 at position 149"):
        model.conformalize(X, np.append(y[:-1], 7))
