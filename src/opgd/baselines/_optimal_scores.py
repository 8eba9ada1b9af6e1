"""Optimal scoring: class scores that a regression explains best."""

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from opgd.baselines._posterior import LabeledSamples
from opgd.core.starts import leading_vectors
from opgd.core.types import FloatArray


def compute_optimal_scores(
    functions: FloatArray, samples: LabeledSamples, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return explained shares (K - 1,), class scores (K, K - 1) and coefficients (K - 1, F).

    The regression of any scores theta follows from that of the class indicators Y. It explains the
    share theta' (Y' Y_hat / n) theta. Constant scores, of which nothing is explained, are dropped.
    """
    shares, weights = samples.shares, samples.weights / samples.weights.sum()
    indicators = np.eye(samples.n_classes)[samples.codes] - shares  # (n, K)
    # weights sum to one, so the penalty is per sample
    model = (
        Ridge(ridge, fit_intercept=False, solver="svd")
        if ridge
        else LinearRegression(fit_intercept=False)
    )
    model.fit(functions, indicators, sample_weight=weights)
    fitted = functions @ model.coef_.T
    roots = np.sqrt(shares)
    explained = (indicators * weights[:, None]).T @ fitted / np.outer(roots, roots)
    values, vectors = leading_vectors(0.5 * (explained + explained.T))
    scores = vectors[:-1].T / roots[:, None]  # (K, K - 1)
    largest = scores[np.argmax(np.abs(scores), axis=0), np.arange(scores.shape[1])]
    scores = scores * np.sign(largest)
    return values[:-1], scores, scores.T @ model.coef_
