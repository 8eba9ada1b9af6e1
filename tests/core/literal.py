"""The paper's formulas with three plain loops: slow, literal, and shared with nothing in src."""

import math

import numpy as np


def log_joint(x, V, prior, mean, covariance, full=False):
    """log(pi phi(V'x)) without the constant of the normal density; V is (p, q)."""
    z = V.T @ (np.asarray(x) - mean)
    S = V.T @ covariance @ V
    if not full:
        S = np.diag(np.diag(S))
    sign, log_det = np.linalg.slogdet(S)
    assert sign > 0
    return math.log(prior) - 0.5 * log_det - 0.5 * float(z @ np.linalg.inv(S) @ z)


def value(X, numerators, V, priors, means, covariances, weights=None, full=False):
    """Sum over rows of log(targeted / total); numerators[i] lists Gaussians, or is None for max."""
    total = 0.0
    for i, x in enumerate(X):
        joint = [
            log_joint(x, V, *gaussian, full=full)
            for gaussian in zip(priors, means, covariances, strict=True)
        ]
        if numerators[i] is None:
            numerator = max(joint)
        else:
            numerator = logsumexp([joint[c] for c in numerators[i]])
        total += (1.0 if weights is None else weights[i]) * (numerator - logsumexp(joint))
    return total


def logsumexp(values):
    peak = max(values)
    return peak + math.log(sum(math.exp(value - peak) for value in values))
