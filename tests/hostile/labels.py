"""What y may be, and classes that are odd."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from opgd import DataWarning, OPGDClassifierCV
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
from tests.hostile.registry import (
    all_labeled,
    classifies,
    clusters,
    hostile,
    listed,
    name_of,
    partly_labeled,
    without_ridge,
    wraps,
)

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

SECTION = "Labels and classes"
REFUSED = "`ValueError`"
BORROW = {
    "CommonPrincipalComponents",
    "OPGDClassifier",
    "OPGDSemiSupervised",
    "SlicedAverageVariance",
}
WORDS = np.array(["", "b, \n'\"", "\u00e9\u4e2d"])
"""In the order of the codes that they stand for."""


@hostile("NaN in y", REFUSED, to=all_labeled)
def not_a_number(model):
    X, y = table()
    fit_refused(model, X, np.where(np.arange(len(y)) == 3, np.nan, y), "y contains NaN")


@hostile("`None` in y", REFUSED, to=all_labeled)
def none(model):
    X, y = table()
    labels = WORDS[y].astype(object)
    labels[3] = None
    fit_refused(model, X, labels, "missing labels")


@hostile("NaN or `None` in y of `OPGDSemiSupervised`", "treated as unlabeled", to=partly_labeled)
def missing_labels(model):
    X, y = table()
    missing = some_labels(model, y) == -1
    named = np.where(missing, None, WORDS[y].astype(object))
    fits_the_same(model, X, named)
    fits_the_same(model, X, np.where(missing, np.nan, y))


@hostile("infinity in y", REFUSED, to=classifies)
def infinite(model):
    X, y = table()
    fit_refused(model, X, np.where(np.arange(len(y)) == 3, np.inf, y), "infinity")


@hostile("labels of two types", f"{REFUSED} that names the types", to=classifies)
def mixed_types(model):
    X, y = table()
    labels = WORDS[y].astype(object)
    labels[::2] = 7
    fit_refused(model, X, labels, r"types \(int, str\)")


@hostile("continuous values as labels", REFUSED, to=classifies)
def continuous(model):
    X, _ = table()
    fit_refused(model, X, X[:, 0] + 0.123, "Unknown label type")


@hostile("y missing, too short, or with two columns", REFUSED, to=classifies)
def wrong_shapes(model):
    X, y = table()
    fit_refused(model, X, None, "y")
    fit_refused(model, X, y[:-1], "inconsistent numbers of samples")
    fit_refused(model, X, np.column_stack([y, y]), "1d array|multi")


@hostile(
    "y of shape (n_samples, 1)",
    "scikit-learn's `DataConversionWarning`, same predictions",
    to=classifies,
)
def label_column(model):
    X, y = table()
    own = (DataWarning, ConvergenceWarning, DataConversionWarning)
    said = fit(model, X, some_labels(model, y)[:, None], allowed=own)
    assert any("column-vector y" in own for own in said)
    same(model, X)


@hostile("strings in any script, integers of any size", "kept in `classes_`", to=classifies)
def kinds_of_labels(model):
    X, y = table()
    codes = some_labels(model, y)
    for names in (WORDS, WORDS.astype(object), np.array([-(2**62), 3, 2**62])):
        labels = np.where(codes == -1, None, names[y].astype(object))
        fits_the_same(model, X, labels if np.any(codes == -1) else names[y])
        assert model.classes_.tolist() == names.tolist()
        assert set(model.predict(X)) <= set(names)


@hostile("pandas Series (categorical or string), polars Series", "same predictions", to=classifies)
def series(model):
    X, y = table()
    codes = some_labels(model, y)
    words = [None if code < 0 else "xyz"[code] for code in codes]
    categories = pd.Series(words, index=np.arange(len(y))[::-1], dtype="category")
    for own in (categories, pd.Series(words, dtype="string"), pl.Series(words)):
        fits_the_same(model, X, own)


@hostile("booleans as labels", "kept as booleans in `classes_`", to=classifies)
def boolean_labels(model):
    X, y = table()
    fits(model, X, y == 1)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    other = clone(model)
    fit(other, X, np.where(y == 1, "yes", "no"))
    same(model, X, other)


@hostile(
    "a single class",
    f"always predicted; {REFUSED} from `OPGDClassifierCV`, which needs at least two",
    to=classifies,
)
def one_class(model):
    X, _ = table()
    labels = np.full(len(X), "only")
    if name_of(model) == "OPGDClassifierCV":
        fit_refused(model, X, labels, "only one class")
        return
    fits(model, X, labels)
    assert set(model.predict(X)) == {"only"}


@hostile("as many classes as samples", "a finite fit or a `ValueError`", to=classifies)
def class_of_each_row(model):
    X, _ = table()
    names = np.array([f"row {i}" for i in range(12)])
    try:
        fits(model, X[:12], names)
    except ValueError as error:
        assert "class" in str(error), error  # noqa: PT017


@hostile(
    "a class with a single sample",
    f"a finite fit; a warning that names the class from {listed(BORROW)}, which shrink its "
    "covariance toward the pooled one; scikit-learn's warning about the number of splits from "
    "`OPGDClassifierCV`",
    to=classifies,
)
def class_of_one(model):
    X, y = table()
    labels = np.array(["zero", "one", "two", "lonely"])[np.where(np.arange(len(y)) == 0, 3, y)]
    # scikit-learn has its own words for folds that cannot all have the class
    allowed = (UserWarning,) if isinstance(model, OPGDClassifierCV) else (DataWarning,)
    fits(clone(model), X, labels, allowed=(*allowed, ConvergenceWarning))
    said = fits(without_ridge(model), X, labels, allowed=(*allowed, ConvergenceWarning))
    assert name_of(model) not in BORROW or any("lonely" in own for own in said), said


@hostile("a class with two samples", "a finite fit", to=classifies)
def class_of_two(model):
    X, y = table()
    fits(model, X, np.where(np.arange(len(y)) < 2, 3, y))


@hostile(
    "a class of identical samples", "a finite fit that predicts the class for them", to=classifies
)
def class_of_equal_rows(model):
    X, y = table()
    X[y == 1] = X[y == 1][0]
    fits(model, X, y)
    assert np.all(model.predict(X)[y == 1] == 1)


@hostile(
    "classes 100 or 1e6 standard deviations apart",
    "a finite fit; classifiers predict all labels correctly",
)
def far_apart(model):
    for distance in (100, 1e6):
        X, y = table()
        X[:, :3] += distance * np.eye(3)[y]
        fits(model, X, y)
        if classifies(model):
            assert np.mean(model.predict(X) == y) == 1


@hostile(
    "a feature equal to the label", "a finite fit that predicts all labels correctly", to=classifies
)
def label_among_columns(model):
    X, y = table()
    leaking = np.column_stack([X, y])
    fits(model, leaking, y)
    assert np.mean(model.predict(leaking) == y) == 1


@hostile("more clusters than samples", f"{REFUSED} with both numbers", to=clusters)
def more_clusters_than_rows(model):
    X, _ = table()
    model.set_params(n_clusters=9)
    fit_refused(model, X[:8], match="n_clusters=9 is more than the 8 samples of X")


@hostile("as many clusters as samples", "a finite fit", to=clusters)
def cluster_of_each_row(model):
    X, _ = table()
    fits(model.set_params(n_clusters=8), X[:8])


@hostile("y given to `OPGDMixture`", "ignored", to=clusters)
def labels_for_clusters(model):
    X, y = table()
    fits(model, X)
    same(model, X)
    fits_the_same(model, X, y)


@hostile(
    "labels in `score` that are not in `classes_`, but of the same type",
    "counted as misclassified; their costs are unknown to `CostSensitiveClassifier`",
    to=lambda model: classifies(model) and not wraps(model),
)
def unseen_class(model):
    X, y = table()
    fit(model, X, y)
    right = model.predict(X) == y
    assert model.score(X, np.where(y == 2, 7, y)) == np.mean(right & (y != 2))
    refused(lambda: model.score(X, y[:-1]), "inconsistent")
