"""First mixtures: their densities, and what structures and regularization do to them."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from opgd._fit.first_mixtures import StructureFit, fit_structures
from opgd._fit.mixture_init import Starts
from opgd._fit.problem import frame_samples
from opgd._fit.regularizer import Regularizer
from opgd._fit.resolution import measure_resolution
from opgd.core.engines import RowBlock, RowEngine
from opgd.core.moments import group_moments
from opgd.core.structures import STRUCTURES


def three_groups(rng, n_features=4):
    """A frame, sphered rows in the order of the samples, and moments of three groups of them."""
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, n_features)) @ rng.normal(size=(n_features, n_features))
    X += 4 * rng.normal(size=(3, n_features))[y]
    frame = frame_samples(RowEngine(X, np.zeros(180, np.intp)))
    rows = (X - frame.center) @ frame.sphering
    return frame, rows, group_moments(RowEngine(rows, y), 3, RowBlock.centered)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("n_leading", [100, 3])
def test_log_likelihood_is_that_of_the_moments(name, n_leading, rng, monkeypatch):
    monkeypatch.setattr("opgd._fit.first_mixtures.MAX_DIMENSIONS", n_leading)
    frame, rows, groups = three_groups(rng)
    fit = StructureFit.start(frame, rows[:, :n_leading], [groups], name, Regularizer(1.0))
    mixture = fit.describe(frame)
    moments = mixture.moments
    parts = [
        np.log(share) + stats.multivariate_normal(mean, covariance).logpdf(rows)
        for share, mean, covariance in zip(
            moments.priors, moments.means, moments.covariances, strict=True
        )
    ]
    assert mixture.log_likelihood == pytest.approx(np.mean(logsumexp(parts, axis=0)), rel=1e-6)
    posteriors = np.exp(np.array(parts) - logsumexp(parts, axis=0))
    certainty = fit.average_certainty(rows[:, :n_leading])
    assert certainty == pytest.approx(np.mean(np.log(posteriors.max(axis=0))), abs=1e-6)


def test_the_structure_of_the_samples_is_selected(rng):
    y = np.repeat([0, 1, 2], 400)
    centers = 6 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])[y]
    noise = rng.normal(size=(1200, 3))
    samples = {
        "diag": noise * rng.uniform(0.3, 2, (3, 3))[y],
        "tied": noise @ rng.normal(size=(3, 3)),
        "full": np.einsum("nij,nj->ni", rng.normal(size=(3, 3, 3))[y], noise),
    }
    for name, residuals in samples.items():
        X = centers + residuals
        frame = frame_samples(RowEngine(X, np.zeros(len(X), np.intp)))
        rows = (X - frame.center) @ frame.sphering
        groups = group_moments(RowEngine(rows, y), 3, RowBlock.centered)
        mixtures = fit_structures(frame, rows, [groups], list(STRUCTURES), Regularizer(1.0))
        assert mixtures[0].structure == name
        assert mixtures[-1].structure == "full"


def test_covariances_are_at_least_the_floor(rng):
    X = np.column_stack([rng.normal(size=300), rng.poisson(1.0, 300)])
    engine = RowEngine(X, np.zeros(300, np.intp))
    frame, resolution = frame_samples(engine), measure_resolution(engine)
    floor = resolution.floor(frame)
    mixtures = Starts(frame, Regularizer(1.0, floor), "ward", 1, 0).make_mixtures(4)
    for mixture in mixtures:
        excess = np.linalg.eigvalsh(mixture.moments.covariances - floor)
        assert excess.min() > -1e-9
    widths = np.sqrt((frame.scale[1] ** 2) * _feature_variances(frame, mixtures[-1], 1))
    assert widths.min() >= 0.5 - 1e-6


def _feature_variances(frame, mixture, feature):
    """Variances of a standardized feature in each cluster."""
    back = frame.basis[feature] / frame.spread
    return np.einsum("r,krs,s->k", back, mixture.moments.covariances, back)
