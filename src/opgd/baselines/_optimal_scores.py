"""Optimal scoring: numbers for the classes that a regression explains best."""

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from opgd.baselines._posterior import LabeledSamples
from opgd.core.starts import leading_vectors
from opgd.core.types import FloatArray


def optimal_scores(
    functions: FloatArray, rows: LabeledSamples, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Explained shares (K - 1,), scores of classes (K, K - 1), coefficients (K - 1, F).

    One regression of all indicators Y gives those of any scores. What it explains of scores theta
    is theta' (Y' Y_hat / n) theta; constant scores are explained not at all and left out.
    """
    shares, weights = rows.shares, rows.weights / rows.weights.sum()
    indicators = np.eye(rows.n_classes)[rows.codes] - shares  # (n, K)
    # with weights that sum to one, the penalty is per row
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
