"""Clusters made of several Gaussians, and their numbers."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from opgd import DataWarning, OPGDMixture

IGNORE_DATA = pytest.mark.filterwarnings("ignore::opgd.DataWarning")


@pytest.fixture(scope="module")
def bananas():
    return make_moons(400, noise=0.07, random_state=0)


@pytest.fixture(scope="module")
def merged(bananas):
    with pytest.warns(DataWarning, match="about as good|largest"):
        return OPGDMixture(range(6, 9), merge=2, random_state=0).fit(bananas[0])


def test_pieces_of_bananas_are_merged(bananas, merged):
    X, y = bananas
    assert merged.n_clusters_ == 2
    assert len(merged.gaussian_classes_) == len(merged.means_) >= 6
    assert adjusted_rand_score(y, merged.labels_) > 0.95
    np.testing.assert_array_equal(merged.labels_, merged.predict(X))
    by_gaussian = np.exp(merged._projection.log_joint(X))
    expected = np.stack(
        [by_gaussian[:, merged.gaussian_classes_ == k].sum(axis=1) for k in range(2)], axis=1
    )
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(merged.predict_proba(X), expected)
    np.testing.assert_allclose(1 - merged.uncertainty_, expected.max(axis=1))
    assert [len(merged.weights_), merged.weights_.sum()] == [2, pytest.approx(1)]
    assert [profile.size for profile in merged.profiles(X)] == list(np.bincount(merged.labels_))
    rows, labels = merged.sample(500)
    assert np.mean(merged.predict(rows) == labels) > 0.95


@IGNORE_DATA
def test_each_merge_decreases_the_entropy_most(bananas):
    X = bananas[0]
    plain = OPGDMixture(5, random_state=0).fit(X)
    fewer = OPGDMixture(5, merge=4, random_state=0).fit(X)
    posteriors = plain.predict_proba(X)

    def entropy(shares):
        return -xlogy(shares, shares).sum()

    def merge(j, k):
        return np.column_stack([np.delete(posteriors, [j, k], 1), posteriors[:, [j, k]].sum(1)])

    least = min(entropy(merge(j, k)) for j in range(5) for k in range(j))
    assert entropy(fewer.predict_proba(X)) == pytest.approx(least)
    assert fewer.score(X) == pytest.approx(plain.score(X))
    assert fewer.bic(X) == pytest.approx(plain.bic(X))


def test_as_many_clusters_as_gaussians_are_not_merged(rng):
    X = rng.normal(size=(300, 3)) + np.repeat([[0, 0, 0], [8, 0, 0], [0, 8, 0]], 100, axis=0)
    plain, merged = (OPGDMixture(3, merge=merge, random_state=0).fit(X) for merge in (None, 3))
    np.testing.assert_array_equal(plain.labels_, merged.labels_)
    np.testing.assert_array_equal(merged.gaussian_classes_, [0, 1, 2])


@pytest.mark.parametrize("kind", ["labels", "responsibilities"])
def test_clusters_are_numbered_like_given_groups(kind, rng):
    sizes = [40, 120, 80]
    centers = np.repeat([[0.0, 0], [9, 0], [0, 9]], sizes, axis=0)
    X, y = rng.normal(size=(240, 2)) + centers, np.repeat([0, 1, 2], sizes)
    given = np.where(rng.uniform(size=240) < 0.1, rng.integers(0, 3, 240), y)
    init = np.array(["a", "b", "c"])[given] if kind == "labels" else np.eye(3)[given]
    model = OPGDMixture(3, init=init).fit(X)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.initial_labels_, y)
    np.testing.assert_array_equal(model.predict(X), y)
    by_weight = OPGDMixture(3, random_state=0).fit(X)
    assert list(np.bincount(by_weight.labels_)) == [120, 80, 40]
