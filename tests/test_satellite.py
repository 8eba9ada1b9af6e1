"""Long proofs on Satellite: restarts, and invariance under many maps."""

import numpy as np
import pytest

from opgd import OPGDClassifier

pytestmark = pytest.mark.slow


def test_twenty_restarts_find_no_much_better_optimum_for_satellite(load):
    X, y, _ = load("satellite")
    default = OPGDClassifier(5).fit(X, y)
    restarted = OPGDClassifier(5, n_init=20, random_state=0).fit(X, y)
    assert restarted.log_likelihood_ >= default.log_likelihood_
    assert restarted.log_likelihood_ - default.log_likelihood_ < 0.02 * abs(default.log_likelihood_)


@pytest.mark.parametrize("seed", range(6))
def test_satellite_under_maps_of_condition_1e3(load, seed):
    X, y, _ = load("satellite")
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(36, 36)))[0] for _ in range(2))
    mapped = X @ (left * np.geomspace(1, 1e-3, 36) @ right)
    plain, other = (
        OPGDClassifier(5, ridge=0, init="lda", tol=1e-9, max_iter=5000).fit(rows, y)
        for rows in (X, mapped)
    )
    assert other.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-6)
    assert np.array_equal(other.predict(mapped), plain.predict(X))
