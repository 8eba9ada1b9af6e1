"""loadings_table and its bootstrap intervals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised
from opgd.baselines import (
    SlicedAverageVariance,
)
from opgd.plotting import (
    loadings_table,
)


def test_bootstrap_intervals_hold_the_truth_and_narrow_with_rows(rng):
    def table(n_rows):
        labels = np.repeat([0, 1], n_rows // 2)
        rows = rng.normal(size=(n_rows, 3))
        rows[:, 0] += 2 * labels
        model = OPGDClassifier(n_components=1, shrinkage=1.0).fit(rows, labels)
        return loadings_table(model, rows, labels, n_bootstrap=40, random_state=0)

    small, large = table(100), table(1600)
    truth = np.array([1.0, 0.0, 0.0])  # unit variances within classes, which differ in one column
    for own in (small, large):
        assert np.all(own["coefficient_low"] <= own["coefficient_high"])
        slack = 0.05
        assert np.all(own["coefficient_low"] - slack < truth)
        assert np.all(truth < own["coefficient_high"] + slack)
    widths = [(own["correlation_high"] - own["correlation_low"]).mean() for own in (small, large)]
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.parametrize("kind", ["classifier", "cv", "semi", "mixture", "baseline"])
def test_bootstrap_of_every_kind_of_estimator(kind):
    rows, labels = load_iris(return_X_y=True)
    partly = np.where(np.arange(150) % 3 == 0, labels, -1)
    estimator = {
        "classifier": OPGDClassifier(),
        "cv": OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, cv=2),
        "semi": OPGDSemiSupervised(calibrate=False),
        "mixture": OPGDMixture(3, random_state=0),
        "baseline": SlicedAverageVariance(n_components=2),
    }[kind].fit(rows, partly if kind == "semi" else labels)
    own = partly if kind == "semi" else labels
    one, two = (loadings_table(estimator, rows, own, n_bootstrap=5, random_state=1) for _ in "ab")
    pd.testing.assert_frame_equal(one, two)
    assert one.notna().all(axis=None)
    assert len(one) == estimator.components_.size
    inside = one["correlation"].between(one["correlation_low"] - 0.2, one["correlation_high"] + 0.2)
    assert inside.mean() > 0.7
