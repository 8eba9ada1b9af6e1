"""compare(), which evaluates Gaussian discriminants on the same splits of the data."""

import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import check_consistent_length
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from opgd._model_selection.n_components import ComponentSearch
from opgd._utils.features import convert_list, read_frame, to_feature_array
from opgd._utils.labels import (
    check_no_missing,
    encode_labels,
    make_split_labels,
    to_label_array,
)
from opgd._utils.validation import check_n_jobs, check_seed
from opgd.baselines import (
    AlternatingComponents,
    CommonPrincipalComponents,
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    InformativeComponents,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray

MAX_SUBCLASSES = 5
MAX_PURSUIT_COMPONENTS = 3
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
SEARCHES = (GridSearchCV, RandomizedSearchCV)


class OPGDAlone(OPGDClassifierCV):
    """OPGD with the number of components selected as in the paper, without LDA and RDA."""

    _tries_ends = False


def default_estimators(n_features: int, inner_cv: Any) -> dict[str, BaseEstimator]:
    """Return the methods of the paper's Section 4 and MDA, with hyperparameters by `inner_cv`."""
    alphas = np.linspace(0, 1, n_features) if n_features > 1 else np.array([0.0, 1.0])
    subclasses = list(range(1, MAX_SUBCLASSES + 1))
    return {
        "LDA": ComponentSearch(ReducedRankLDA(), inner_cv),
        "RDA": GridSearchCV(RegularizedDiscriminantAnalysis(), {"alpha": alphas}, cv=inner_cv),
        "SAVE": ComponentSearch(SlicedAverageVariance(), inner_cv),
        "CPCDA": ComponentSearch(CommonPrincipalComponents(), inner_cv),
        "MDA": GridSearchCV(
            MixtureDiscriminantAnalysis(), {"n_subclasses": subclasses}, cv=inner_cv
        ),
        "OPGD": OPGDAlone(
            shrinkage=0, ridge=0, n_subclasses=1, covariance_type="diag", cv=inner_cv
        ),
        "OPGD, all settings": OPGDClassifierCV(cv=inner_cv),
    }


def further_estimators(n_features: int, inner_cv: Any) -> dict[str, BaseEstimator]:
    """Return methods that the paper mentions but does not compare, tuned by `inner_cv`."""
    small_counts = list(range(1, min(MAX_PURSUIT_COMPONENTS, n_features) + 1))
    counts = [number for number in (1, 2, 3, 5, 8, 13, 21, 34) if number <= n_features]

    def search(estimator: Any, **grid: Any) -> GridSearchCV:
        return GridSearchCV(estimator, grid, cv=inner_cv)

    return {
        "FDA": search(FlexibleDiscriminantAnalysis(), ridge=RIDGES),
        "KDA": KernelDiscriminantAnalysis(),
        "kernel NB": KernelNaiveBayes(),
        "LR pursuit": search(LikelihoodRatioPursuit(), n_components=small_counts),
        "GM pursuit": search(GaussianMixturePursuit(), n_components=small_counts),
        "informative": search(InformativeComponents(), n_components=counts),
        "alternating": search(AlternatingComponents(), n_components=counts),
    }


def compare(
    X: Any,
    y: Any,
    estimators: Any = None,
    *,
    cv: Any = 5,
    inner_cv: Any = 5,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 1,
) -> Any:
    r"""Compare classifiers on the same splits of the data.

    For each split, each classifier is fitted to the training samples, and its error rate and
    log-loss are computed on the held-out samples:

    .. math::

        \text{error} = \frac{1}{n} \sum_i I(\hat y_i \ne y_i), \qquad
        \text{log-loss} = -\frac{1}{n} \sum_i \log \max(\hat p_{i y_i}, 10^{-15}).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Class labels, of at least two classes.
    estimators : dict of estimators by name, list of names, "all", or None, default=None
        Classifiers to compare.

        - None: "LDA" (reduced-rank), "RDA", "SAVE", "CPCDA", "MDA", "OPGD" (all with
          hyperparameters selected as in the paper's Section 4) and "OPGD, all settings"
          (`OPGDClassifierCV` with its defaults);
        - "all": in addition "FDA", "KDA", "kernel NB", "LR pursuit", "GM pursuit", "informative"
          and "alternating";
        - list of str: some of these names;
        - dict: classifiers by name, which are fitted with the parameters they have.
    cv : int, splitter or iterable of splits, default=5
        Splits into training and held-out samples. An int is the number of stratified, shuffled
        folds.
    inner_cv : int, float or splitter, default=5
        Splits of the training samples for selecting hyperparameters. An int is the number of
        stratified, shuffled folds, a float the share of samples in a single validation set.
    groups : array-like of shape (n_samples,), default=None
        Group of each sample, for splitters such as `GroupKFold` in `cv` and `inner_cv`.
    n_jobs : int, default=None
        Number of parallel processes over methods and splits. None means 1, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed for shuffling folds, and for drawing the validation set if `inner_cv` is a float.
    verbose : int, default=1
        If 0, no progress bar is shown. The progress bar requires the package rich.

    Returns
    -------
    table : pandas.DataFrame
        One row per method and split, with columns `method`, `split`, `error`, `log_loss`, `seconds`
        (time of the fit, including the selection of hyperparameters) and `parameters` (the selected
        hyperparameters). If a fit fails, a warning is issued and its results are NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> table = compare(X, y, ["LDA", "RDA"], cv=3, random_state=0, verbose=0)
    >>> sorted(table.columns)
    ['error', 'log_loss', 'method', 'parameters', 'seconds', 'split']
    >>> len(table)
    6
    """
    pandas = _import_pandas()
    check_n_jobs(n_jobs)
    rng = check_seed(random_state)
    y = to_label_array(y)
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise ValueError("y has only one class; a comparison needs at least two.")
    if not isinstance(
        estimators, Mapping
    ):  # other estimators may accept data frames or missing values
        X = to_feature_array(X)
    elif isinstance(X, list | tuple):
        X = convert_list(X)
    elif read_frame(X) is None and not isinstance(X, np.ndarray):
        X = np.asarray(X)
    check_consistent_length(X, y, groups)
    if groups is not None:
        groups = to_label_array(groups, "groups")
        check_no_missing(groups, name="groups")
    split_labels = make_split_labels(classes, codes)
    inner = _inner_splitter(inner_cv, split_labels, rng)
    candidates = _select_estimators(estimators, X.shape[1], inner)
    splits = _outer_splits(cv, X, split_labels, groups, rng)
    tasks = [(name, number) for number in range(len(splits)) for name in candidates]
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_evaluate)(candidates[name], X, y, groups, splits[number]) for name, number in tasks
    )
    rows = []
    with _progress(len(tasks), verbose) as advance:
        for (name, number), outcome in zip(tasks, results, strict=True):
            failure = outcome.pop("failure")
            if failure:
                warnings.warn(f"{name} failed on split {number}: {failure}", stacklevel=2)
            rows.append({"method": name, "split": number, **outcome})
            advance(name)
    return pandas.DataFrame(rows)


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError('compare() needs the package pandas: pip install "opgd[data]".') from None
    return pandas


def _inner_splitter(inner_cv: Any, y: AnyArray, rng: np.random.RandomState) -> Any:
    if isinstance(inner_cv, bool):
        raise TypeError(f"inner_cv must be an int, a float or a splitter, got {inner_cv!r}.")
    if isinstance(inner_cv, Real) and not isinstance(inner_cv, Integral):
        if not 0 < float(inner_cv) < 1:
            raise ValueError(
                f"A float inner_cv must be between 0 and 1 (exclusive), got {inner_cv!r}."
            )
        seed = rng.randint(2**31 - 1)
        return StratifiedShuffleSplit(1, test_size=float(inner_cv), random_state=seed)
    if isinstance(inner_cv, Integral) and int(inner_cv) > 1:
        seed = rng.randint(2**31 - 1)
        return StratifiedKFold(int(inner_cv), shuffle=True, random_state=seed)
    try:
        check_cv(inner_cv, y, classifier=True)
    except ValueError as error:
        raise ValueError(f"inner_cv={inner_cv!r} is not valid: {error}") from None
    return inner_cv


def _outer_splits(
    cv: Any, X: AnyArray, y: AnyArray, groups: Any, rng: np.random.RandomState
) -> list[tuple[AnyArray, AnyArray]]:
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        seed = rng.randint(2**31 - 1)
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    splits = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    if not splits:
        raise ValueError(
            "cv yielded no splits. If it is a generator, it may already be exhausted; "
            "pass a list of splits instead."
        )
    return splits


def _select_estimators(estimators: Any, n_features: int, inner_cv: Any) -> dict[str, Any]:
    if isinstance(estimators, Mapping):
        others = [name for name, model in estimators.items() if not is_classifier(model)]
        if others:
            raise TypeError(f"All estimators must be classifiers, but these are not: {others}.")
        return _check_not_empty(dict(estimators))
    defaults: dict[str, Any] = default_estimators(n_features, inner_cv)
    if estimators is None:
        return defaults
    available = defaults | further_estimators(n_features, inner_cv)
    if isinstance(estimators, str) and estimators == "all":
        return available
    if isinstance(estimators, str) or not isinstance(estimators, Iterable):
        raise TypeError(
            f"estimators must be None, 'all', a list of names or a dict, got {estimators!r}."
        )
    names = list(estimators)
    unknown = [name for name in names if name not in available]
    if unknown:
        raise ValueError(
            f"estimators has unknown names {unknown}; known names are {list(available)}."
        )
    return _check_not_empty({name: available[name] for name in names})


def _check_not_empty(estimators: dict[str, Any]) -> dict[str, Any]:
    if not estimators:
        raise ValueError("estimators is empty; pass at least one estimator.")
    return estimators


def _select_samples(X: Any, indices: AnyArray) -> Any:
    """Return some samples of an array or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return X.take(indices) if hasattr(X, "column_names") else X[indices]  # a table of pyarrow


def _evaluate(
    estimator: Any,
    X: Any,
    y: AnyArray,
    groups: AnyArray | None,
    split: tuple[AnyArray, AnyArray],
) -> dict[str, Any]:
    """Fit an estimator to the training samples of a split, and evaluate it on the others."""
    train, test = split
    # fit() of scikit-learn's searches has no parameter `groups`, but passes it to their splitter
    takes_groups = has_fit_parameter(estimator, "groups") or isinstance(estimator, SEARCHES)
    fit_params = {} if groups is None or not takes_groups else {"groups": groups[train]}
    outcome: dict[str, Any] = {"error": np.nan, "log_loss": np.nan, "failure": ""}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = clone(estimator).fit(_select_samples(X, train), y[train], **fit_params)
            outcome["seconds"] = time.perf_counter() - start
            held_out = _select_samples(X, test)
            outcome["error"] = float(np.mean(model.predict(held_out) != y[test]))
            if hasattr(model, "predict_proba"):
                outcome["log_loss"] = _log_loss(model, held_out, y[test])
            outcome["parameters"] = dict(getattr(model, "best_params_", {}))
        except Exception as error:  # the other methods are still compared
            outcome["failure"] = f"{type(error).__name__}: {error}"
            outcome |= {"seconds": time.perf_counter() - start, "parameters": {}}
    return outcome


def _log_loss(model: Any, X: Any, y: AnyArray) -> float:
    posteriors: FloatArray = model.predict_proba(X)
    true_class = posteriors[y[:, None] == model.classes_]
    unseen = len(y) - len(true_class)  # samples of classes that are not in the training samples
    losses = -np.log(np.maximum(true_class, 1e-15))
    return float((losses.sum() - unseen * np.log(1e-15)) / len(y))


@contextmanager
def _progress(total: int, verbose: int) -> Any:
    """Show a progress bar, and yield a function to call after each task."""
    try:
        from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
    except ImportError:
        verbose = 0
    if not verbose:
        yield lambda name: None  # noqa: ARG005
        return
    columns = [*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task("comparing", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)
