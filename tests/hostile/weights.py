"""What sample_weight and priors may be."""

import inspect

import numpy as np
import pandas as pd
from sklearn.base import clone

from opgd import OPGDClassifierCV
from tests.hostile.outcomes import (
    fit,
    fit_refused,
    fits,
    fits_the_same,
    refused,
    same,
    some_labels,
    table,
)
from tests.hostile.registry import classifies, hostile, takes_priors, takes_weights

SECTION = "Weights and priors"
REFUSED = "`ValueError`"


@hostile("weights that are negative, NaN or infinite", REFUSED, to=takes_weights)
def weights_that_cannot_be(model):
    X, y = table()
    for value, match in ((-1.0, "negative"), (np.nan, "NaN"), (np.inf, "infinity")):
        weights = np.ones(len(X))
        weights[4] = value
        fit_refused(model, X, y, match, sample_weight=weights)


@hostile("weights that are all zero", REFUSED, to=takes_weights)
def no_weight_at_all(model):
    X, y = table()
    fit_refused(model, X, y, "zero for all samples", sample_weight=np.zeros(len(X)))


@hostile("weights of the wrong length or with two columns", REFUSED, to=takes_weights)
def weights_of_other_shapes(model):
    X, y = table()
    fit_refused(model, X, y, "inconsistent", sample_weight=np.ones(7))
    fit_refused(model, X, y, "one dimension", sample_weight=np.ones((len(X), 2)))


@hostile("weights of 1e300", f"{REFUSED} stating that they are too large", to=takes_weights)
def huge_weights(model):
    X, y = table()
    fit_refused(model, X, y, "too large", sample_weight=np.full(len(X), 1e300))


@hostile("weights that are strings", REFUSED, to=takes_weights)
def words_as_weights(model):
    X, y = table()
    weights = np.full(len(X), "heavy", dtype=object)
    fit_refused(model, X, y, "could not convert", sample_weight=weights)


@hostile("equal weights of any numeric type", "same predictions", to=takes_weights)
def equal_weights(model):
    X, _ = table()
    ones = np.ones(len(X))
    for own in (1, ones.astype(bool), pd.Series(ones, dtype=np.int8)):
        fits_the_same(model, X, sample_weight=own)


@hostile("a weight of zero", "same predictions as without the sample", to=takes_weights)
def zero_weights(model):
    X, y = table()
    labels = some_labels(model, y).astype(float)  # floats are taken as they are from here on
    present = np.arange(len(X)) % 7 != 0
    other = clone(model)
    fit(other, X[present], labels[present])
    fits(model, X, labels, sample_weight=present.astype(float))
    same(model, X, other, X)


@hostile(
    "a class whose samples all have weight zero",
    "not in `classes_`",
    to=lambda model: takes_weights(model) and classifies(model),
)
def class_without_weight(model):
    X, y = table()
    fits(model, X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]


@hostile("weights from 1e-12 to 1e12", "a finite fit", to=takes_weights)
def weights_of_many_sizes(model):
    X, y = table()
    fits(model, X, y, sample_weight=np.geomspace(1e-12, 1e12, len(X)))


BAD_PRIORS = [
    ({0: 0.5, 1: 0.3, 2: 0.1, "ghost": 0.1}, "unknown: .*ghost"),
    ({0: 0.5, 1: 0.5}, r"missing: \[2\]"),
    ([0.5, 0.5], "one entry for each of the 3 classes"),
    ([0.5, 0.4, 0.2], "sum to 1"),
    ([1.5, -0.3, -0.2], "above 0"),
    ([0.5, 0.5, np.nan], "finite"),
    ("equal", "'uniform'"),
]


@hostile(
    "priors with unknown or missing labels, a wrong length or sum, negative values or NaN",
    f"{REFUSED} that names the problem",
    to=takes_priors,
)
def priors_that_cannot_be(model):
    X, y = table()
    for priors, match in BAD_PRIORS:
        fit_refused(clone(model).set_params(priors=priors), X, y, match)


@hostile(
    "such priors passed to a prediction method",
    f"{REFUSED} that names the problem",
    to=lambda model: classifies(model) and "priors" in inspect.signature(model.predict).parameters,
)
def later_priors_that_cannot_be(model):
    X, y = table()
    fit(model, X, y)
    for priors, match in BAD_PRIORS:
        for method in (model.predict, model.predict_proba):
            refused(lambda method=method, priors=priors: method(X, priors=priors), match)


@hostile("a prior of 1e-300", "a finite fit", to=takes_priors)
def tiny_prior(model):
    X, y = table()
    fits(model.set_params(priors=[1e-300, 0.5, 0.5]), X, y)


assert not takes_priors(OPGDClassifierCV()), "then its priors belong into this table too"
