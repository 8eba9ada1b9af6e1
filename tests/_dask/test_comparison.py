"""Baselines and comparisons on Dask input have the results of arrays in memory."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from opgd import OPGDClassifier, baselines, compare
from opgd.comparison import subsampled
from opgd.comparison.methods import all_estimators
from opgd.comparison.subsampled import fits_on_cluster

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

ON_CLUSTER = {"LDA", "RDA", "SAVE", "CPCDA", "MDA", "OPGD", "OPGD, all settings"}


@pytest.fixture
def samples(rng):
    codes = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 4)) * (1 + codes[:, None] / 2) + np.eye(3, 4)[codes]
    return X, np.array(["a", "b", "c"])[codes]


def to_lazy(values):
    return da.from_array(values, chunks=150 if values.ndim == 1 else (150, 3))


@pytest.mark.parametrize(
    "model",
    [
        baselines.ReducedRankLDA(sparsity=2),
        baselines.RegularizedDiscriminantAnalysis(gamma=0.1),
        baselines.SlicedAverageVariance(2),
        baselines.CommonPrincipalComponents(2),
        baselines.MixtureDiscriminantAnalysis(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_baseline_agrees_with_memory(model, samples, rng, monkeypatch):
    X, y = samples
    weights = rng.integers(0, 3, len(y)).astype(float)
    here = model.fit(X, y, weights).predict_proba(X)
    # samples in memory are validated by this function
    monkeypatch.setattr(type(model), "_check_labeled", None)
    there = model.fit(to_lazy(X), to_lazy(y), to_lazy(weights)).predict_proba(to_lazy(X))
    assert isinstance(there, da.Array)
    np.testing.assert_allclose(there.compute(), here, atol=1e-6)


@pytest.mark.parametrize("name", ["ReducedRankLDA", "RegularizedDiscriminantAnalysis"])
def test_baseline_uses_missing_values_as_in_memory(name, samples, rng):
    X, y = samples
    X[rng.random(X.shape) < 0.1] = np.nan
    model = getattr(baselines, name)()
    here = model.fit(X, y).predict_proba(X)
    there = model.fit(to_lazy(X), y).predict_proba(to_lazy(X)).compute()
    np.testing.assert_allclose(there, here, atol=1e-6)


def test_methods_that_are_fitted_on_the_cluster():
    methods = all_estimators(4, 3)
    assert {name for name, model in methods.items() if fits_on_cluster(model)} == ON_CLUSTER


def test_comparison_agrees_with_memory(samples, rng):
    X, y = samples
    weights = rng.integers(1, 3, len(y)).astype(float)
    methods = ["LDA", "RDA", "naive Bayes"]
    options = {"cv": 2, "inner_cv": 0.3, "random_state": 0, "verbose": 0, "sample_weight": weights}
    here = compare(X, y, methods, **options)
    with pytest.warns(UserWarning, match="at most 20000 training samples .*: naive Bayes"):
        there = compare(to_lazy(X), to_lazy(y), methods, **options)
    columns = ["error", "log_loss", "balanced_accuracy"]
    np.testing.assert_allclose(there[columns], here[columns], atol=1e-9)
    others = ["method", "split", "parameters", "n_train", "n_test", "status", "reason"]
    pd.testing.assert_frame_equal(there[others], here[others])


def test_other_methods_are_fitted_to_some_samples(samples, rng, monkeypatch):
    X, y = samples
    monkeypatch.setattr(subsampled, "MAX_LOADED", 50)
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    methods = [OPGDClassifier(2, max_iter=5), GaussianNB(), LinearSVC()]
    with pytest.warns(UserWarning, match="at most 50 training samples|replaced by medians"):
        table = compare(frame, y, methods, cv=2, random_state=0, verbose=0)
    assert table["status"].tolist() == ["ok"] * 6
    used = table.groupby("method")["n_train"].unique().map(list).to_dict()
    assert used == {"GaussianNB": [50], "LinearSVC": [50], "OPGDClassifier": [200]}
    assert (table["n_test"] == 200).all()
    assert table["log_loss"].isna().tolist() == [False, False, True] * 2
    assert (table["error"] < 0.6).all()
