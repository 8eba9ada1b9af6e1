"""What is read from fitted estimators, and where."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from opgd import OPGDClassifier
from opgd.inspection.estimators import compute_first_components_errors, get_center, standardize_rows


def test_rows_are_standardized_by_the_training_rows():
    X, y = load_wine(return_X_y=True)
    model = OPGDClassifier(n_components=2).fit(X, y)
    np.testing.assert_allclose(get_center(model), X.mean(axis=0))
    np.testing.assert_allclose(standardize_rows(model, X).std(axis=0), 1)


def test_errors_of_the_first_axes_need_known_labels():
    X, y = load_wine(return_X_y=True)
    model = OPGDClassifier(n_components=3).fit(X, y)
    one = compute_first_components_errors(model, X, y)
    some = compute_first_components_errors(model, X, np.where(np.arange(178) % 2, y, 99))
    assert one.shape == some.shape == (3,)
    assert one[0] > one[-1]
    with pytest.raises(ValueError, match="None of the labels in y is a class of the estimator"):
        compute_first_components_errors(model, X, np.full(178, 99))
