"""Summary of a selection: numbers of cv_results_, and sentences that agree with them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from opgd import OPGDClassifierCV

FAST = {"n_subclasses": 1, "covariance_type": "diag", "cv": 3}


@pytest.fixture(scope="module")
def model():
    return OPGDClassifierCV(**FAST).fit(*load_wine(return_X_y=True))


def test_summary_has_the_numbers_of_the_table(model):
    table, best, summary = model.cv_results_, model.best_index_, model.summary_
    assert summary.selected.error == table["mean_test_error"][best]
    assert summary.selected.log_loss == table["mean_test_calibrated_log_loss"][best]
    splits = [1 - table[f"split{i}_test_score"][best] for i in range(3)]
    assert summary.selected.standard_error == pytest.approx(np.std(splits, ddof=1) / np.sqrt(3))
    assert summary.corrected_error == model.corrected_error_
    assert summary.n_models == len(table["params"])


def test_weighted_errors_are_labeled():
    X, y = load_iris(return_X_y=True)
    weighted = OPGDClassifierCV(1, class_weight={0: 2}, **FAST).fit(X, y)
    assert "corrected for the selection, weighted by class" in str(weighted.summary_)
    assert "weighted" not in str(weighted.set_params(class_weight=None).summary_)


def test_every_number_of_components_has_its_lowest_error(model):
    table = model.cv_results_
    sizes = np.array([params.get("sparsity") for params in table["params"]])
    for row in model.summary_.by_components:
        same = (table["param_n_components"] == row.n_components) & (sizes == None)  # noqa: E711
        assert row.error == table["mean_test_error"][same].min()


def test_one_se_is_the_model_that_the_rule_selects(model):
    X, y = load_wine(return_X_y=True)
    selected = OPGDClassifierCV(**FAST, rule="one_se").fit(X, y).summary_
    assert selected.model == model.summary_.one_se.model
    assert selected.one_se.model == selected.model


def test_single_split_has_no_standard_errors():
    X, y = load_wine(return_X_y=True)
    summary = OPGDClassifierCV(**FAST | {"cv": 0.3}, random_state=0).fit(X, y).summary_
    assert np.isnan(summary.selected.standard_error)
    assert summary.one_se is None
    assert "±" not in str(summary)
