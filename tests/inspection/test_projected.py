"""Ellipses stand for Gaussians, or for classes that have many."""

import numpy as np

from opgd.core.gaussians import ProjectedGaussians
from opgd.inspection.projected import make_outlines


def test_few_gaussians_are_drawn_as_they_are(rng):
    gaussians = ProjectedGaussians(np.zeros(4), rng.normal(size=(4, 2)), np.stack([np.eye(2)] * 4))
    outlines = make_outlines(gaussians, np.array([0, 0, 1, 1]))
    assert not outlines.merged
    np.testing.assert_array_equal(outlines.means, gaussians.means)


def test_many_gaussians_are_merged_to_the_moments_of_their_class(rng):
    codes = np.repeat([0, 1], [5, 3])
    shares = rng.dirichlet(np.ones(8))
    means = 3 * rng.normal(size=(8, 2))
    factors = rng.normal(size=(8, 2, 2))
    covariances = factors @ factors.transpose(0, 2, 1)
    outlines = make_outlines(ProjectedGaussians(np.log(shares), means, covariances), codes)
    assert outlines.merged
    assert outlines.codes.tolist() == [0, 1]
    drawn = rng.choice(8, 200_000, p=shares)
    noise = np.einsum("nij,nj->ni", factors[drawn], rng.normal(size=(200_000, 2)))
    samples = means[drawn] + noise
    for k in range(2):
        members = samples[codes[drawn] == k]
        np.testing.assert_allclose(outlines.means[k], members.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(outlines.covariances[k], np.cov(members.T), rtol=0.1, atol=0.2)
