"""Informative components with a kernel on every sample: formulas, blocks and model files."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris

from opgd.baselines import InformativeComponents
from opgd.baselines._sample_kernels import KernelLikelihood, KernelSamples, held_out_value
from opgd.baselines._span_likelihood import SpanLikelihood


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def samples_of(rng, sizes=(20, 15, 1)):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    Z = rng.normal(size=(len(codes), 4)) + codes[:, None]
    weights = np.append(rng.uniform(0.5, 3, len(codes) - 1), 1.0)
    return KernelSamples(Z, codes, weights, rng.normal(size=len(sizes)))


def orthonormal(rng):
    return np.linalg.qr(rng.normal(size=(4, 2)))[0].T


def test_value_is_that_of_the_formula(rng):
    samples, axes = samples_of(rng), orthonormal(rng)
    scores, weights, codes = samples.Z @ axes.T, samples.weights, samples.codes
    logs, total = 0.0, weights.sum()
    for i in range(35):  # the only sample of the last class has no other kernel
        others = weights.copy()
        others[i] = max(others[i] - 1, 0)
        kernels = others * np.exp(samples.log_ratios)[codes]
        kernels *= norm.pdf(scores, scores[i], np.sqrt(0.3)).prod(axis=1)
        logs += weights[i] * np.log(kernels[codes == codes[i]].sum() / kernels.sum())
    value = KernelLikelihood(samples, np.arange(36), 0.3).value(axes)
    assert value == pytest.approx(logs / total)


def test_gradient_agrees_with_differences(rng):
    samples = samples_of(rng)
    likelihood = SpanLikelihood(KernelLikelihood(samples, samples.batch(20), 0.3))
    at, step = rng.normal(size=(2, 2, 4))
    ends = [likelihood.value(at + sign * 1e-6 * step) for sign in (1, -1)]
    slope = np.sum(likelihood.value_and_gradient(at)[1] * step)
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_blocks_do_not_change_values(rng, monkeypatch):
    samples, axes = samples_of(rng), orthonormal(rng)
    training, held_out = samples.split()

    def compute():
        value, gradient = KernelLikelihood(samples, samples.batch(30), 0.3).value_and_gradient(axes)
        return np.append(gradient, [value, held_out_value(training, held_out, axes, 0.3)])

    whole = compute()
    monkeypatch.setattr("opgd.baselines._sample_kernels.BLOCK_CELLS", 50)
    assert compute() == pytest.approx(whole)


def test_probabilities_are_those_of_the_kernels(iris):
    X, y = iris
    model = InformativeComponents(2, centers="samples", variance=0.5, priors="uniform")
    model.fit(X[:120], y[:120])
    scores = model.transform(X)
    squares = np.sum((scores[:, None] - scores[:120]) ** 2, axis=2)
    kernels = np.exp(-0.5 * squares / 0.5)
    joint = np.stack([kernels[:, y[:120] == k].mean(axis=1) for k in range(3)], axis=1)
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)
    nearest = squares.min(axis=1) / 0.5
    assert model.typicality(X) == pytest.approx(np.exp(-0.5 * nearest))  # two components


def test_sample_of_weight_two_is_two_samples(iris, rng):
    X, y = iris
    weights = rng.integers(1, 3, size=len(y))
    settings = {"centers": "samples", "variance": 0.5}
    weighted = InformativeComponents(2, **settings).fit(X, y, sample_weight=weights)
    X2, y2 = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = InformativeComponents(2, **settings).fit(X2, y2)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-4)


def test_samples_find_a_component_that_means_do_not(rng):
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 4))
    # stripes of both classes in turn
    X[:, 2] = 0.25 * X[:, 2] + rng.integers(2, size=400) * 4 + 2 * y - 3
    means = InformativeComponents(1).fit(X[:200], y[:200])
    samples = InformativeComponents(1, centers="samples").fit(X[:200], y[:200])
    assert samples.score(X[200:], y[200:]) > 0.95
    assert means.score(X[200:], y[200:]) < 0.85
    assert samples.variance_ < 0.2


def test_refit_drops_kernels(iris):
    X, y = iris
    model = InformativeComponents(2, centers="samples", batch_size=40).fit(X, y)
    again = model.set_params(centers="means").fit(X, y)
    assert np.array_equal(
        again.predict_proba(X), InformativeComponents(2).fit(X, y).predict_proba(X)
    )


def test_subclasses_are_refused_with_samples(iris):
    with pytest.raises(ValueError, match="n_subclasses must be 1"):
        InformativeComponents(centers="samples", n_subclasses=2).fit(*iris)
