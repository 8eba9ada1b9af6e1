"""loadings_table: coefficients and correlations as a table, with bootstrap intervals."""

from typing import Any

import numpy as np

from opgd._utils.validation import check_integer, check_seed
from opgd.inspection.bootstrap import resample_loadings
from opgd.inspection.estimators import check_has_axes, check_rows, get_column_names, has_classes
from opgd.inspection.labels import encode_classes
from opgd.inspection.loadings import compute_loadings

PERCENTILES = (2.5, 97.5)


def loadings_table(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_bootstrap: int = 0,
    random_state: Any = None,
) -> Any:
    """What columns contribute to the axes, as a table.

    Parameters
    ----------
    estimator : fitted estimator of opgd that has axes
    X : array-like of shape (n_samples, n_features), default=None
        Rows for the correlations, and for the intervals.
    y : array-like of shape (n_samples,), default=None
        Labels, for the intervals of a classifier.
    n_bootstrap : int, default=0
        Number of fits to resampled rows, from which intervals come; a few hundred are usual. Rows
        are drawn with replacement within classes (clusters); the settings stay, also those that
        cross-validation has chosen; a search starts from the fitted axes, so that intervals do
        not tell of other optima. Axes of a fit are matched with those of `estimator` by their
        scores on X, the pairs of greatest absolute correlation first, and get their signs. A
        cluster's mixture starts from the clusters of the fit.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    table : pandas.DataFrame
        A row for every axis and column: `axis` (index into `components_`), `column`,
        `coefficient`, `standardised` (the coefficient times the standard deviation of the column),
        with X `correlation` (of column and score), and with bootstrap, for each of the three, the
        percentiles 2.5 and 97.5 as `..._low` and `..._high`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier
    >>> from opgd.plotting import loadings_table
    >>> iris = load_iris(as_frame=True)
    >>> model = OPGDClassifier(n_components=2).fit(iris.data, iris.target)
    >>> table = loadings_table(model, iris.data)
    >>> list(table.columns)
    ['axis', 'column', 'coefficient', 'standardised', 'correlation']
    >>> len(table)
    8
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("loadings_table needs pandas: install it, or opgd[data].") from None
    check_has_axes(estimator)
    check_integer("n_bootstrap", n_bootstrap)
    n_axes, n_features = estimator.components_.shape
    columns: dict[str, Any] = {
        "axis": np.repeat(np.arange(n_axes), n_features),
        "column": get_column_names(estimator) * n_axes,
    }
    rows = None if X is None else check_rows(estimator, X, y)
    loadings = compute_loadings(estimator, rows)
    columns |= {name: values.ravel() for name, values in loadings.items()}
    if n_bootstrap:
        if rows is None or (y is None and has_classes(estimator)):
            raise ValueError("Intervals need the rows X, and of a classifier the labels y.")
        if has_classes(estimator):
            groups = encode_classes(estimator, y)
        else:
            y, groups = None, estimator.predict(X)
        if not hasattr(estimator, "unlabeled") and np.any(groups < 0):
            raise ValueError("y has labels that are no classes of the estimator.")
        rng = check_seed(random_state)
        fits = resample_loadings(estimator, rows, y, groups, n_bootstrap, rng)
        for name in loadings:
            ends = np.nanpercentile([fit[name] for fit in fits], PERCENTILES, axis=0)
            columns |= {f"{name}_low": ends[0].ravel(), f"{name}_high": ends[1].ravel()}
    return pandas.DataFrame(columns)
