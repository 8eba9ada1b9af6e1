"""Numbers at the limits of float64: units of features, outliers, weights and new samples."""

import re

import numpy as np
from sklearn.base import clone

from tests.hostile.outcomes import TOLERANCE, fit, fits, table, usable
from tests.hostile.registry import classifies, hostile, takes_weights

SECTION = "Extreme numbers"
FINITE = "a finite fit, or a `ValueError` stating that values are too large or too small"
REFUSAL = re.compile(r"too (large|small)|squares (over|under)flow|distinct samples|constant")
"""Words of the errors; the last but one is that of clusters, of samples that are nearly equal."""
N_DRAWS = 8


def finite_or_refused(model, X, y, **options):
    """A fit with finite results, or an error that names the reason."""
    try:
        fits(model, X, y, **options)
    except ValueError as error:
        assert type(error) is ValueError, repr(error)  # noqa: PT017
        assert REFUSAL.search(str(error)), error  # noqa: PT017


def drawn(seed):
    return np.random.default_rng([20261117, seed])


UNITS = {
    "1e153": 1e153,
    "1e-155": 1e-155,
    "1e-300": 1e-300,
    "1e307": 1e307,
    "1e-310, whose values are subnormal numbers": 1e-310,
    "5e-324, the smallest number": 5e-324,
    "1e8 and 1e-8": [1e8, 1e-8, 1.0, 1.0],
    "1e16 and 1": [1.0, 1e16, 1.0, 1e16],
    "1e100 and 1e-100": [1e-100, 1.0, 1.0, 1e100],
    "1e-300, 1e300, 1 and 1e-150": [1e-300, 1e300, 1.0, 1e-150],
    "5e-324 in one feature": [1.0, 5e-324, 1.0, 1.0],
    "1e-300 in one feature, 1e300 in another": [1.0, 1e-300, 1.0, 1e300],
}


def register_unit(words, unit):
    def check(model):
        X, y = table()
        finite_or_refused(model, X * np.asarray(unit), y)

    check.__name__ = "unit_" + re.sub(r"\W+", "_", words)
    check.__module__ = __name__
    hostile(f"features multiplied by {words}", FINITE)(check)


for words, unit in UNITS.items():
    register_unit(words, unit)


@hostile("features multiplied by factors drawn from 1e-323 to 1e307", FINITE)
def drawn_units(model):
    X, y = table()
    for seed in range(N_DRAWS):
        exponents = drawn(seed).uniform(-323, 307, X.shape[1])
        finite_or_refused(clone(model), X * 10.0**exponents, y)


@hostile("features multiplied by factors drawn from 1e-60 to 1e60, and shifted", FINITE)
def drawn_units_and_origins(model):
    X, y = table()
    for seed in range(N_DRAWS):
        rng = drawn(seed)
        scale, shift = 10.0 ** rng.uniform(-60, 60, 4), rng.choice([0.0, 1.0, -1e3, 1e6], 4)
        finite_or_refused(clone(model), (X + shift) * scale, y)


@hostile("a sample, or a single entry, of 1e155 or -1e300", FINITE)
def huge_samples(model):
    for value in (1e155, -1e300):
        for place in (5, (5, 1)):
            X, y = table()
            X[place] = value
            finite_or_refused(clone(model), X, y)


@hostile(
    "a feature that is constant except for one entry, which differs by 1e-300 or 1e-16", FINITE
)
def nearly_constant_feature(model):
    for base, step in ((0.0, 1e-300), (1.0, 2.3e-16)):
        X, y = table()
        X[:, 2] = base
        X[7, 2] += step
        finite_or_refused(clone(model), X, y)


@hostile("samples that are equal except for rounding errors", FINITE)
def equal_up_to_rounding(model):
    X, y = table()
    finite_or_refused(model, np.ones_like(X) + np.finfo(float).eps * np.round(X), y)


@hostile("two features whose correlation is 1 except for rounding errors", FINITE)
def correlated_up_to_rounding(model):
    X, y = table()
    X[:, 3] = X[:, 0] * (1 + 1e-15 * np.sign(X[:, 1]))
    finite_or_refused(model, X, y)


@hostile("negative zeros, and the same values as positive ones", "same predictions")
def negative_zeros(model):
    X, y = table()
    X[::3, 1] = 0.0
    other = clone(model)
    fit(other, X, y)
    Z = X.copy()
    Z[::6, 1] = -0.0
    fits(model, Z, y)
    np.testing.assert_allclose(model.predict_proba(Z), other.predict_proba(X), atol=TOLERANCE)


WEIGHTS = {
    "1e-200 for all samples": lambda y: np.full(len(y), 1e-200),
    "5e-324 for all samples": lambda y: np.full(len(y), 5e-324),
    "5e-324 for one sample": lambda y: np.where(np.arange(len(y)) == 0, 5e-324, 1.0),
    "1e-200 for one class": lambda y: np.where(y == 1, 1e-200, 1.0),
    "1e-100 for one class": lambda y: np.where(y == 1, 1e-100, 1.0),
    "1e-150 for all samples": lambda y: np.full(len(y), 1e-150),
    "1e150 for all samples": lambda y: np.full(len(y), 1e150),
    "1e150 for one sample": lambda y: np.where(np.arange(len(y)) == 0, 1e150, 1.0),
    "from 1e-150 to 1e150": lambda y: np.geomspace(1e-150, 1e150, len(y)),
    "from 1e-20 to 1, and zero for every third sample": lambda y: np.where(
        np.arange(len(y)) % 3, np.geomspace(1e-20, 1.0, len(y)), 0.0
    ),
}


def register_weights(words, make):
    def check(model):
        X, y = table()
        finite_or_refused(model, X, y, sample_weight=make(y))

    check.__name__ = "weights_" + re.sub(r"\W+", "_", words)
    check.__module__ = __name__
    hostile(f"weights of {words}", FINITE, to=takes_weights)(check)


for words, make in WEIGHTS.items():
    register_weights(words, make)


@hostile("weights drawn from 1e-150 to 1e150", FINITE, to=takes_weights)
def drawn_weights(model):
    X, y = table()
    for seed in range(N_DRAWS // 2):
        weights = 10.0 ** drawn(seed).uniform(-150, 150, len(y))
        finite_or_refused(clone(model), X, y, sample_weight=weights)


@hostile(
    "a class weight of 5e-324 or 1e200, also times weights of 1e-140 or 1e140",
    FINITE,
    to=lambda model: "class_weight" in model.get_params(),
)
def extreme_class_weights(model):
    X, y = table()
    for factor in (5e-324, 1e200, 1e-20, 1e20):
        for weight in (1e-140, 1.0, 1e140):
            weights = np.full(len(y), weight)
            own = clone(model).set_params(class_weight={1: factor})
            finite_or_refused(own, X, y, sample_weight=weights)


NEW_SAMPLES = {
    "0, -0.0 or subnormal numbers": [0.0, -0.0, 5e-324, -1e-310],
    "1e154, whose squares overflow": [1e154, -1e154],
    "the largest and the smallest float64": [np.finfo(float).max, np.finfo(float).min],
    "1e16 times the values of the fit": [1e16, -1e16],
}


def register_samples(words, values):
    def check(model):
        X, y = table()
        fit(model, X, y)
        rows = np.repeat(X[:3], len(values), axis=0)
        rows[:, 1] = np.tile(values, 3)
        usable(model, rows)
        usable(model, np.repeat(np.array(values)[:, None], X.shape[1], axis=1))

    check.__name__ = "samples_" + re.sub(r"\W+", "_", words)
    check.__module__ = __name__
    hostile(
        f"new samples with {words}", "finite probabilities that sum to one, no NaN in any output"
    )(check)


for words, values in NEW_SAMPLES.items():
    register_samples(words, values)


@hostile("a fit with units of 1e-100, and new samples of ordinary size", "as for other new samples")
def samples_in_other_units(model):
    X, y = table()
    for unit in (1e-100, 1e100):
        own = clone(model)
        try:
            fit(own, X * unit, y)
        except ValueError as error:
            assert REFUSAL.search(str(error)), error  # noqa: PT017
            continue
        usable(own, X)


@hostile("priors of 1e-300, 1e-310 or 5e-324 in a prediction method", FINITE, to=classifies)
def extreme_later_priors(model):
    X, y = table()
    fit(model, X, y)
    for small in (1e-300, 1e-310, 5e-324):
        try:
            posteriors = model.predict_proba(X, priors=[small, 0.5, 0.5])
        except TypeError:
            return  # without priors
        except ValueError as error:
            assert "priors" in str(error), error  # noqa: PT017
            continue
        assert np.all(np.isfinite(posteriors))
