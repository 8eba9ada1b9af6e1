"""scikit-learn's own checks, those it runs for third parties and those it does not."""

import inspect

import numpy as np
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from opgd import (
    CostSensitiveClassifier,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    TableEncoder,
)
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)

ESTIMATORS = [
    OPGDClassifier(),
    OPGDClassifier(covariance_type="full", init="lda"),
    OPGDClassifier(n_subclasses=2, shrinkage=0.1, ridge=0.05, init="lda"),
    # ridge="auto" uses effective sample sizes, which fractions of weights and repetitions differ in
    OPGDClassifier(class_weight="balanced", ridge=0.05, init="lda"),
    OPGDClassifier(sparsity=2, ridge=0.05, init="lda"),
    OPGDClassifierCV(shrinkage=(0, 0.5), ridge=0.05, n_subclasses=1, covariance_type="diag", cv=2),
    OPGDMixture(),
    OPGDSemiSupervised(),
    CostSensitiveClassifier(ReducedRankLDA()),
    ReducedRankLDA(),
    ReducedRankLDA(sparsity=2),
    RegularizedDiscriminantAnalysis(),
    SlicedAverageVariance(),
    CommonPrincipalComponents(),
    MixtureDiscriminantAnalysis(n_subclasses=2),
    TableEncoder(),
]
LONG = [
    OPGDClassifierCV(2, cv=2),
    OPGDMixture(2, covariance_type="full", metric="identity", n_rounds=2, init="kmeans"),
]
"""Estimators that are checked with quicker parameters above, or as another variant."""
BY_HAND = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def type_name(estimator):
    return type(estimator).__name__


EXPECTED_FAILURES = {
    # it has the classes -1 and 1, and -1 marks unlabeled samples here
    OPGDSemiSupervised: {"check_classifiers_classes": "-1 stands for a missing label"},
}


@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator), {})
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(LONG)
def test_scikit_learn_check_of_long_fits(estimator, check):
    check(estimator)


EXPECTED_FAILURES_BY_HAND = {
    # it selects the columns of a new table by name, like ColumnTransformer: their order does not
    # matter, and new tables may have further columns
    ("TableEncoder", "check_dataframe_column_names_consistency"): "transform did not raise",
}


@pytest.mark.filterwarnings(
    "ignore:X (has|does not have valid) feature names"
)  # the checks' own doing
@pytest.mark.parametrize("estimator", [OPGDClassifier(init="lda"), TableEncoder()], ids=type_name)
@pytest.mark.parametrize("name", BY_HAND)
def test_scikit_learn_check_called_by_hand(name, estimator):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    failure = EXPECTED_FAILURES_BY_HAND.get((type_name(estimator), name))
    if failure is None:
        check(type_name(estimator), estimator)
    else:
        with pytest.raises(AssertionError, match=failure):
            check(type_name(estimator), estimator)


BAD_VALUES = {
    "n_components": [0, -1, 1.5, "two", True, 5],
    "n_subclasses": [0, 1.5, "many", True, {0: 0}, {"no such label": 2}],
    "covariance_type": ["tied", None, 3],
    "shrinkage": [-0.1, 1.1, "some", None, True, np.nan],
    "ridge": [-0.1, 1.1, "some", None, True, np.nan],
    "sparsity": [-0.1, 1.0, -1, "some", None, True, np.nan],
    "priors": ["equal", [0.5, 0.6, -0.1], [0.5, 0.5], [0.2, 0.2, 0.2], {0: 1.0}, 3],
    "class_weight": ["equal", [1, 1, 1], {0: -1}, {0: 0}, {"no such label": 2}, {0: "much"}, 3],
    "init": ["svd", None, 3, [[1.0, 2.0]], [[0.0] * 4, [1.0] * 4]],
    "n_init": [0, 1.5, "some", None],
    "max_iter": [-1, 1.5, "some", None],
    "tol": [0, -1e-3, "some", None, np.inf, np.nan],
    "warm_start": ["yes", 1, None],
    "random_state": ["seed", -1],
    "n_jobs": [0, 1.5, "all"],
    "verbose": [-1, "loud", None],
}


def test_every_parameter_has_bad_values_here():
    parameters = inspect.signature(OPGDClassifier).parameters
    assert set(BAD_VALUES) == set(parameters)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_bad_parameter_is_refused_by_name(name, value, rng):
    X, y = rng.normal(size=(30, 4)), np.repeat([0, 1, 2], 10)
    estimator = OPGDClassifier(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name.split("_")[-1]):
        estimator.fit(X, y)
    assert not hasattr(estimator, "n_features_in_")
