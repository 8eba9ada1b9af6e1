"""ComponentsDisplay: scores against sizes."""

import numpy as np
import pytest

from opgd import OPGDClassifierCV
from opgd._fit.cluster_numbers import TINY
from opgd.plotting import ComponentsDisplay, CostDisplay, SelectionDisplay
from tests.plotting.helpers import X, Y


def test_sizes_and_scores(model, mixture):
    panels = ComponentsDisplay.from_estimator(model, X, Y, draw=False).panels
    likelihoods, shares, errors = (panel.curves[0] for panel in panels)
    np.testing.assert_allclose(likelihoods.values, model.component_log_likelihoods_)
    assert shares.values.sum() == pytest.approx(1)
    assert errors.values[-1] == pytest.approx(1 - model.score(X, Y))
    panel = ComponentsDisplay.from_mixture(mixture, draw=False).panels[0]
    assert [curve.name for curve in panel.curves] == ["BIC", "ICL"]
    chosen = mixture.selection_["n_clusters"] == mixture.n_clusters_
    assert panel.chosen == (mixture.n_clusters_, mixture.selection_["bic"][chosen][0])
    values = ComponentsDisplay.from_eigenvalues(mixture, draw=False).panels[0].curves[0].values
    np.testing.assert_allclose(values, mixture.eigenvalues_)


def test_selection_marks_the_smallest_mean(mixture):
    criteria, sizes = SelectionDisplay.from_estimator(mixture, draw=False).panels
    projected, first, mean = (curve.values for curve in criteria.curves)
    np.testing.assert_allclose(mean, 0.5 * (projected + first))
    smallest, least = (curve.values for curve in sizes.curves)
    np.testing.assert_array_equal(least, TINY)
    best = np.where(smallest >= least, mean, np.inf).argmin()
    assert criteria.chosen == (mixture.n_clusters_, mean[best])
    assert sizes.chosen == (mixture.n_clusters_, smallest[best])


@pytest.mark.parametrize(
    "from_estimator",
    [SelectionDisplay.from_estimator, ComponentsDisplay.from_mixture, ComponentsDisplay.from_cv],
)
def test_fitted_estimators_of_another_kind_are_refused_by_name(from_estimator, model):
    with pytest.raises(TypeError, match=r"Expected a fitted OPGD.*, got OPGDClassifier"):
        from_estimator(model)


def test_costs_need_a_classifier(mixture):
    with pytest.raises(TypeError, match=r"classifier.*got OPGDMixture"):
        CostDisplay.from_estimator(mixture, X, Y)


def test_scores_of_cross_validation():
    search = OPGDClassifierCV((1, 2, 3), ridge=(0, 0.1), shrinkage=0, cv=3).fit(X, Y)
    panel = ComponentsDisplay.from_cv(search, draw=False).panels[0]
    curve, table = panel.curves[0], search.cv_results_
    for size, value in zip(curve.sizes, curve.values, strict=True):
        best = table["mean_test_score"][table["param_n_components"] == size].max()
        assert value == (search.best_score_ if size == search.n_components_ else best)
    assert panel.chosen == (search.n_components_, search.best_score_)
    splits = [table[f"split{i}_test_score"][search.best_index_] for i in range(3)]
    chosen = curve.standard_errors[curve.sizes == search.n_components_][0]
    assert chosen == pytest.approx(np.std(splits, ddof=1) / np.sqrt(3))
