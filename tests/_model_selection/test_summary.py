"""Summary of a selection: numbers of cv_results_, and sentences that agree with them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.validation import NotFittedError

from opgd import OPGDClassifierCV, load_model, save_model
from opgd._model_selection.names import name_model
from opgd._model_selection.summary import summarize_selection
from opgd.inspection.estimators import name_fitted_model

FAST = {"n_subclasses": 1, "covariance_type": "diag", "cv": 3}


@pytest.fixture(scope="module")
def model():
    return OPGDClassifierCV(**FAST).fit(*load_wine(return_X_y=True))


def make_summary(errors, counts, best, standard_error=0.01, **more):
    """Return the summary of models that differ in the number of components only."""
    params = [
        {"n_components": q, "n_subclasses": 1, "covariance_type": "diag"}
        | {"shrinkage": 0, "ridge": 0}
        for q in counts
    ]
    table = {
        "params": params,
        "model": [name_model(values, 99, 3) for values in params],
        "mean_test_score": 1 - np.array(errors),
        "std_test_score": np.full(len(errors), standard_error * 2),
        "mean_test_error": np.array(errors),
        "mean_test_calibrated_log_loss": np.array(errors),
        "se_test_error": np.full(len(errors), standard_error),
        "se_test_log_loss": np.full(len(errors), standard_error),
        "n_parameters": np.array(counts),
    }
    numbers = {"n_features": 99, "n_varying": 99, "n_splits": 5}
    numbers |= {"corrected_error": 0.1}
    numbers |= {"temperature": 1.0, "background": 0.0, "calibrated": True, "compares_sizes": False}
    return summarize_selection(table, best, **numbers | more)


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


def test_fewest_components_within_one_standard_error_are_named():
    summary = make_summary([0.2, 0.105, 0.103, 0.1], [1, 2, 3, 4], 3)
    assert summary.simpler.n_components == 2
    expected = (
        "2 of 4 components: held-out error 0.105 instead of 0.100, within one standard error."
    )
    assert summary.trade_off == expected


def test_cost_of_fewer_components_is_named_where_it_is_large():
    summary = make_summary([0.2, 0.15, 0.1], [1, 2, 3], 2)
    assert summary.simpler is None
    assert summary.trade_off.startswith(
        "2 of 3 components: held-out error 0.150 instead of 0.100, more"
    )


def test_each_error_has_its_scale():
    text = str(make_summary([0.105, 0.2, 0.1], [1, 2, 3], 2, corrected_error=0.123))
    assert "0.100 ± 0.010 on held-out samples, 0.123 corrected for the selection" in text
    assert 'rule="one_se"     would select OPGD, 1 component' in text
    assert "held-out error 0.105" in text
    assert "selects the same model" in str(make_summary([0.105, 0.2, 0.1], [1, 2, 3], 0))


def test_one_component_has_nothing_simpler():
    assert make_summary([0.1, 0.1], [1, 2], 0).trade_off == "The selected model has one component."
    only = make_summary([0.1], [2], 0)
    assert only.trade_off == "No model with fewer than 2 components was compared."


def test_single_split_has_no_standard_errors():
    X, y = load_wine(return_X_y=True)
    summary = OPGDClassifierCV(**FAST | {"cv": 0.3}, random_state=0).fit(X, y).summary_
    assert np.isnan(summary.selected.standard_error)
    assert summary.one_se is None
    assert "±" not in str(summary)


def test_models_that_a_scorer_could_not_score_are_left_out():
    summary = make_summary([np.nan, 0.1], [1, 2], 1)
    assert [row.n_components for row in summary.by_components] == [2]


def test_many_numbers_of_components_are_thinned_and_the_selected_one_stays():
    summary = make_summary(np.linspace(0.5, 0.1, 40), range(1, 41), 17)
    lines = str(summary).splitlines()
    assert sum("(selected)" in line for line in lines) == 1
    assert len(lines) < 25


def test_text_and_html_name_the_model_and_escape_it(model):
    summary = model.summary_
    assert summary.model in str(summary)
    assert summary.model in repr(summary)
    assert summary.trade_off in summary._repr_html_()
    assert 'rule="one_se"' not in summary._repr_html_()  # quotes are escaped
    assert "rule=&quot;one_se&quot;" in summary._repr_html_()


def test_summary_round_trips_through_a_model_file(model, tmp_path):
    save_model(model, tmp_path / "wine.opgd")
    loaded = load_model(tmp_path / "wine.opgd")
    assert str(loaded.summary_) == str(model.summary_)
    assert name_fitted_model(loaded) == model.summary_.model


def test_log_loss_is_the_uncalibrated_one_without_calibration():
    model = OPGDClassifierCV(**FAST, calibrate=False).fit(*load_iris(return_X_y=True))
    expected = model.cv_results_["mean_test_log_loss"][model.best_index_]
    assert model.summary_.selected.log_loss == expected


def test_summary_needs_a_fit():
    with pytest.raises(NotFittedError):
        OPGDClassifierCV().summary_  # noqa: B018
