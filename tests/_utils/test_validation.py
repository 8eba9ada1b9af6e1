"""Tests of opgd._utils.validation."""

from fractions import Fraction

import numpy as np
import pytest

from opgd import OPGDClassifier, OPGDMixture
from opgd._utils.validation import check_integer, check_positive, check_share, check_sparsity
from opgd.decisions import mean_cost

HUGE = 10**400
"""An integer that is no float."""
X, LABELS = np.random.default_rng(0).normal(size=(12, 2)), ["a", "b"] * 6


@pytest.mark.parametrize(
    "value",
    [HUGE, -HUGE, Fraction(1, 3), np.timedelta64(1), 1j, np.array(1)],
    ids=["huge", "minus huge", "fraction", "duration", "complex", "array"],
)
@pytest.mark.parametrize("check", [check_share, check_positive])
def test_numbers_with_which_arrays_cannot_be_multiplied_are_refused(check, value):
    with pytest.raises((TypeError, ValueError), match="tol must be"):
        check("tol", value)


@pytest.mark.parametrize("value", [Fraction(1, 1), np.timedelta64(1), np.True_, 1.0])
def test_integers_are_those_of_python_and_numpy(value):
    with pytest.raises(TypeError, match="n must be an integer"):
        check_integer("n", value)
    assert check_integer("n", np.uint8(3)) == 3
    assert check_sparsity(np.int64(3)) == 3


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: OPGDClassifier(priors=[HUGE, 1]).fit(X, LABELS), "priors"),
        (lambda: OPGDClassifier().fit(X, LABELS, sample_weight=HUGE), "sample_weight"),
        (lambda: OPGDMixture(components_init=[[HUGE, 1]]).fit(X), "components_init"),
        (lambda: mean_cost(LABELS, LABELS, costs={("a", "b"): HUGE}), r"cost of \('a', 'b'\)"),
        (lambda: mean_cost(LABELS, LABELS, costs=[[0, HUGE], [1, 0]]), "costs"),
    ],
)
def test_integers_that_are_no_floats_are_refused_by_name(call, name):
    with pytest.raises((TypeError, ValueError), match=name):
        call()
