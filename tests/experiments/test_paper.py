"""Long proofs: the paper's protocol on Vowel, and invariance on Satellite under many maps."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut

from opgd import OPGDClassifier, OPGDClassifierCV

pytestmark = pytest.mark.slow


def test_speakers_choose_two_or_three_axes_for_vowel(load):
    """The paper's Table 1: 3 axes chosen, test error .448; other optima give .390 to .506.

    By speaker, the errors of two and three axes are equal up to a tenth of a standard error.
    """
    X, y, others = load("vowel")
    train = others["split"] == "train"
    settings = {"n_subclasses": 1, "covariance_type": "diag", "sparsity": 0}
    model = OPGDClassifierCV(shrinkage=0, ridge=0, **settings, cv=LeaveOneGroupOut())
    model.fit(X[train], y[train], groups=others["speaker"][train])
    table = model.cv_results_
    searched = [i for i, own in enumerate(table["params"]) if "max_iter" not in own]
    errors = {table["params"][i]["n_components"]: table["mean_test_error"][i] for i in searched}
    assert min(errors, key=errors.get) in (2, 3)
    assert abs(errors[2] - errors[3]) < 0.1 * table["se_test_error"].mean()
    chosen = OPGDClassifier(3).fit(X[train], y[train])
    assert 1 - chosen.score(X[~train], y[~train]) == pytest.approx(0.448, abs=0.06)


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
