"""Predictions for Dask input are those for arrays in memory, and loaded only where needed."""

import numpy as np
import pytest

from opgd import OPGDClassifier

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def draw(rng, shares, n_samples=900):
    codes = rng.choice(3, n_samples, p=shares)
    return rng.normal(size=(n_samples, 4)) + 2 * np.eye(3, 4)[codes], codes


@pytest.fixture
def model(rng):
    return OPGDClassifier(2).fit(*draw(rng, [0.4, 0.3, 0.3]))


@pytest.fixture
def conformal(model, rng):
    return model.conformalize(*draw(rng, [0.4, 0.3, 0.3], 300))


def to_lazy(values):
    return da.from_array(values, chunks=(200, *values.shape[1:]))


def test_held_out_samples_may_be_lazy(model, rng):
    X, y = draw(rng, [0.4, 0.3, 0.3], 300)
    here = model.conformalize(X, y)._held_out
    there = model.conformalize(to_lazy(X), to_lazy(y))._held_out
    for name in ("log_joints", "distances"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-12)
    np.testing.assert_array_equal(there.codes, here.codes)


def test_prediction_sets_are_those_in_memory(conformal, rng):
    X, _ = draw(rng, [0.4, 0.3, 0.3])
    sets = conformal.predict_set(to_lazy(X), 0.8)
    assert isinstance(sets, da.Array)
    np.testing.assert_array_equal(sets.compute(), conformal.predict_set(X, 0.8))


@pytest.mark.parametrize("container", ["array", "frame"])
def test_random_ties_differ_between_blocks_and_follow_the_seed(container, rng):
    X, y = np.tile(rng.normal(size=(4, 3)), (100, 1)), np.arange(400) % 2
    model = OPGDClassifier(1).fit(X + rng.normal(size=X.shape), y)
    model.conformalize(X[:20], y[:20])
    lazy = da.from_array(X, chunks=(100, -1))
    if container == "frame":
        lazy = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    first, again, other = (
        model.predict_set(lazy, 0.5, randomized=True, random_state=seed).compute()
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(again, first)
    assert np.any(first != other)
    assert np.any(first[:100] != first[100:200])  # the same samples in another block
    in_memory = model.predict_set(X, 0.5, randomized=True, random_state=0)
    assert first.mean() == pytest.approx(in_memory.mean(), abs=0.1)


def test_class_shares_are_estimated_where_the_samples_are(conformal, rng, monkeypatch):
    X, _ = draw(rng, [0.7, 0.2, 0.1])
    here = conformal.estimate_priors(X)
    monkeypatch.setattr("opgd._base.estimator.validate_features", check_blocks())
    there = conformal.estimate_priors(to_lazy(X))
    np.testing.assert_allclose(there.priors, here.priors, rtol=1e-10)
    np.testing.assert_allclose(there.standard_errors, here.standard_errors, rtol=1e-10)
    assert there.far_share == here.far_share


def check_blocks():
    """Return a validation that accepts no more samples than a block has."""
    from opgd._utils.features import validate_features

    def validate(estimator, X, **options):
        assert len(X) <= 200
        return validate_features(estimator, X, **options)

    return validate


def test_missing_values_are_used_as_in_memory(rng):
    X, y = draw(rng, [0.4, 0.3, 0.3])
    X[rng.random(X.shape) < 0.2] = np.nan
    here, there = (OPGDClassifier(2).fit(samples, y) for samples in (X, to_lazy(X)))
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-6)
    for method in ("predict_proba", "typicality", "transform"):
        expected = getattr(there, method)(X)
        np.testing.assert_allclose(
            getattr(there, method)(to_lazy(X)).compute(), expected, rtol=1e-9
        )
    here.conformalize(X, y)
    there.conformalize(to_lazy(X), y)
    np.testing.assert_allclose(
        there.estimate_priors(to_lazy(X)).priors, here.estimate_priors(X).priors, atol=1e-4
    )
