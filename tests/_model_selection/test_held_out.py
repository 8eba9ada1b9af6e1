"""Held-out samples of a cross-validation."""

import numpy as np

from opgd import OPGDClassifierCV
from opgd._model_selection.folds import Predictions
from opgd._model_selection.held_out import scale_to_all_samples

QUICK = {"shrinkage": 0.1, "ridge": 0.0, "n_subclasses": 1, "covariance_type": "diag"}


def predicted(held_out, train):
    n = len(held_out)
    ones = np.ones(n)
    return Predictions(
        log_joint=np.zeros((n, 2)),
        distances=np.array(held_out),
        codes=np.zeros(n, dtype=np.intp),
        weights=ones,
        unfactored_weights=ones,
        true_priors=ones,
        n_held_out=n,
        train_distances=np.array(train),
        n_train=len(train),
    )


def test_excess_of_held_out_distances_is_scaled_to_all_samples():
    # a fifth is held out: the excess of 5 is 4 with all samples
    assert scale_to_all_samples([predicted([10.0], [5.0] * 4)]) == 0.9
    assert scale_to_all_samples([predicted([5.0], [5.0] * 4)]) == 1.0
    assert scale_to_all_samples([predicted([4.0], [5.0] * 4)]) == 1.0
    assert scale_to_all_samples([predicted([0.0], [0.0] * 4)]) == 1.0


def test_typicality_holds_where_components_overfit(rng):
    """With 25 features and 120 samples the chi-squared formula calls too many samples far."""
    shares, plain = [], []
    for _ in range(8):
        X, y = rng.normal(size=(520, 25)), np.arange(520) % 2
        X[:, 0] += 3 * y
        model = OPGDClassifierCV(2, sparsity=0, **QUICK).fit(X[:120], y[:120])
        shares.append(np.mean(model.typicality(X[120:]) < 0.05))
        model.best_estimator_.__dict__.pop("_held_out")
        plain.append(np.mean(model.typicality(X[120:]) < 0.05))
    assert 0.01 < np.mean(shares) < 0.065
    assert np.mean(plain) > 0.08
