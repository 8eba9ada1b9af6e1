"""The function `loadings_table`."""

from typing import Any

import numpy as np

from opgd._utils.labels import to_label_array
from opgd._utils.text import list_names
from opgd._utils.validation import check_integer, check_seed
from opgd.inspection.bootstrap import resample_loadings
from opgd.inspection.estimators import check_rows, get_column_names, has_classes
from opgd.inspection.labels import encode_classes
from opgd.inspection.loadings import compute_loadings
from opgd.inspection.pipelines import unwrap_with_axes

PERCENTILES = (2.5, 97.5)


def loadings_table(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_bootstrap: int = 0,
    random_state: Any = None,
) -> Any:
    """Return coefficients and correlations of all features and components as a table.

    Parameters
    ----------
    estimator : fitted opgd estimator with components, or Pipeline that ends in one
    X : array-like of shape (n_samples, n_features), default=None
        Samples for the correlations, required for bootstrap intervals.
    y : array-like of shape (n_samples,), default=None
        Labels, required for bootstrap intervals of a classifier.
    n_bootstrap : int, default=0
        Number of bootstrap fits for the intervals; a few hundred are usual. Samples are drawn
        with replacement within classes (clusters). Each fit has the same settings, including
        those selected by cross-validation, and is initialized at the fitted components (and
        clusters), so the intervals do not reflect other local optima. Components of a bootstrap
        fit are matched to those of `estimator` by the absolute correlation of their scores on
        `X`, and their signs are aligned.
    random_state : int, RandomState instance or None, default=None
        Controls the bootstrap samples.

    Returns
    -------
    table : pandas.DataFrame
        One row per component and feature: `axis` (index into `components_`), `column` (name of
        the feature), `coefficient`, `standardised` (the coefficient times the standard deviation
        of the feature) and, if `X` is given, `correlation` (of the feature with the score). With
        bootstrap, the percentiles 2.5 and 97.5 of each are in `..._low` and `..._high`.

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
        raise ImportError(
            "loadings_table needs pandas: the extra 'tables' is missing; see Installation."
        ) from None
    unwrapped = unwrap_with_axes(estimator)
    estimator, X = unwrapped.estimator, unwrapped.encode(X)
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
            raise ValueError("Bootstrap intervals need X and, for a classifier, the labels y.")
        if has_classes(estimator):
            groups = encode_classes(estimator, y)
        else:
            y, groups = None, estimator.predict(X)
        if not hasattr(estimator, "unlabeled") and np.any(groups < 0):
            unseen = dict.fromkeys(repr(label) for label in to_label_array(y)[groups < 0].tolist())
            raise ValueError(f"y contains labels not seen during fit: [{list_names([*unseen])}].")
        rng = check_seed(random_state)
        fits = resample_loadings(estimator, rows, y, groups, n_bootstrap, rng)
        for name in loadings:
            ends = np.nanpercentile([fit[name] for fit in fits], PERCENTILES, axis=0)
            columns |= {f"{name}_low": ends[0].ravel(), f"{name}_high": ends[1].ravel()}
    return pandas.DataFrame(columns)
