"""compare(): Gaussian discriminants on the same splits, each with its settings chosen."""

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
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from opgd._model_selection.n_components import AxesSearch
from opgd._utils.validation import FLOAT_DTYPES, check_n_jobs, check_seed, encode_labels
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

MOST_SUBCLASSES = 5
MOST_PURSUED = 3
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
SEARCHES = (GridSearchCV, RandomizedSearchCV)


class OPGDAlone(OPGDClassifierCV):
    """The choice of the paper: numbers of axes, without LDA and RDA among the candidates."""

    def _settings(self, *, all_axes: bool) -> list[Any]:
        return super()._settings(all_axes=all_axes)[:-1]


def default_estimators(n_features: int, inner_cv: Any) -> dict[str, BaseEstimator]:
    """The paper's methods (Section 4), MDA, and OPGD; settings chosen on the training rows."""
    alphas = np.linspace(0, 1, n_features) if n_features > 1 else np.array([0.0, 1.0])
    subclasses = list(range(1, MOST_SUBCLASSES + 1))
    return {
        "LDA": AxesSearch(ReducedRankLDA(), inner_cv),
        "RDA": GridSearchCV(RegularizedDiscriminantAnalysis(), {"alpha": alphas}, cv=inner_cv),
        "SAVE": AxesSearch(SlicedAverageVariance(), inner_cv),
        "CPCDA": AxesSearch(CommonPrincipalComponents(), inner_cv),
        "MDA": GridSearchCV(
            MixtureDiscriminantAnalysis(), {"n_subclasses": subclasses}, cv=inner_cv
        ),
        "OPGD": OPGDAlone(shrinkage=0, ridge=0, cv=inner_cv),
        "OPGD, all settings": OPGDClassifierCV(cv=inner_cv),
    }


def further_estimators(n_features: int, inner_cv: Any) -> dict[str, BaseEstimator]:
    """The rest of the family: methods that the paper names and does not compare with."""
    few = list(range(1, min(MOST_PURSUED, n_features) + 1))
    axes = [number for number in (1, 2, 3, 5, 8, 13, 21, 34) if number <= n_features]

    def search(estimator: Any, **grid: Any) -> GridSearchCV:
        return GridSearchCV(estimator, grid, cv=inner_cv)

    return {
        "FDA": search(FlexibleDiscriminantAnalysis(), ridge=RIDGES),
        "KDA": KernelDiscriminantAnalysis(),
        "kernel NB": KernelNaiveBayes(),
        "LR pursuit": search(LikelihoodRatioPursuit(), n_components=few),
        "GM pursuit": search(GaussianMixturePursuit(), n_components=few),
        "informative": search(InformativeComponents(), n_components=axes),
        "alternating": search(AlternatingComponents(), n_components=axes),
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
    """Fit several classifiers on the same splits and tell how they did on the rows left out.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    estimators : dict of estimators by name, list of names, "all", or None
        None stands for reduced-rank LDA, RDA, SAVE, CPCDA, MDA and OPGD, each with its settings
        chosen on the training rows as in the paper's Section 4, and OPGD with all settings that
        `OPGDClassifierCV` tries. "all" adds the rest of the family: "FDA", "KDA", "kernel NB",
        "LR pursuit", "GM pursuit", "informative" and "alternating". A list picks by name among all
        of these. Estimators that are given are fitted as they are.
    cv : int, splitter or iterable of splits, default=5
        Rows left out for testing; a number means so many stratified, shuffled folds.
    inner_cv : int, float or splitter, default=5
        Rows left out of the training rows to choose settings: a number means so many stratified,
        shuffled folds, a float the share left out once.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows, for splitters (both) that keep them together.
    n_jobs : int, default=None
        Processes that share methods and splits.
    random_state : int, RandomState instance or None, default=None
        Shuffles folds, and draws the rows left out where `inner_cv` is a share.
    verbose : int, default=1
        0 shows no progress bar. The bar needs the package rich.

    Returns
    -------
    table : pandas.DataFrame
        One row for every method and split: `method`, `split`, `error`, `log_loss` (natural
        logarithm, probabilities of at least 1e-15), `seconds` of fitting with the choice of
        settings, and `parameters` that were chosen. A fit that failed has nan, and a warning.

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
    pandas = _pandas()
    check_n_jobs(n_jobs)
    rng = check_seed(random_state)
    y = column_or_1d(y, warn=True)
    classes, _ = encode_labels(y)
    if len(classes) < 2:
        raise ValueError("y has one class only: there is nothing to tell apart.")
    if not isinstance(estimators, Mapping):  # others may want data as they are
        X = check_array(X, dtype=FLOAT_DTYPES, input_name="X")
    elif not hasattr(X, "iloc"):
        X = np.asarray(X)
    check_consistent_length(X, y, groups)
    groups = None if groups is None else np.asarray(groups)
    inner = _inner_splitter(inner_cv, y, rng)
    chosen = _chosen(estimators, X.shape[1], inner)
    splits = _outer_splits(cv, X, y, groups, rng)
    tasks = [(name, number) for number in range(len(splits)) for name in chosen]
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_one)(chosen[name], X, y, groups, splits[number]) for name, number in tasks
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


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "compare() returns a table of pandas: install it, or opgd[data]."
        ) from None
    return pandas


def _inner_splitter(inner_cv: Any, y: AnyArray, rng: np.random.RandomState) -> Any:
    if isinstance(inner_cv, bool):
        raise TypeError(f"inner_cv must be a number, a share or a splitter, got {inner_cv!r}.")
    if isinstance(inner_cv, Real) and not isinstance(inner_cv, Integral):
        if not 0 < float(inner_cv) < 1:
            raise ValueError(
                f"inner_cv as a share of rows must lie between 0 and 1, got {inner_cv!r}."
            )
        seed = rng.randint(2**31 - 1)
        return StratifiedShuffleSplit(1, test_size=float(inner_cv), random_state=seed)
    if isinstance(inner_cv, Integral) and int(inner_cv) > 1:
        seed = rng.randint(2**31 - 1)
        return StratifiedKFold(int(inner_cv), shuffle=True, random_state=seed)
    try:
        check_cv(inner_cv, y, classifier=True)
    except ValueError as error:
        raise ValueError(f"inner_cv={inner_cv!r} is no way to choose settings: {error}") from None
    return inner_cv


def _outer_splits(
    cv: Any, X: AnyArray, y: AnyArray, groups: Any, rng: np.random.RandomState
) -> list[tuple[AnyArray, AnyArray]]:
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        seed = rng.randint(2**31 - 1)
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    splits = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    if not splits:
        raise ValueError("cv has no splits (a generator can be used only once).")
    return splits


def _chosen(estimators: Any, n_features: int, inner_cv: Any) -> dict[str, Any]:
    if isinstance(estimators, Mapping):
        others = [name for name, own in estimators.items() if not is_classifier(own)]
        if others:
            raise TypeError(f"estimators has {others}, which are no classifiers.")
        return _not_empty(dict(estimators))
    usual: dict[str, Any] = default_estimators(n_features, inner_cv)
    if estimators is None:
        return usual
    known = usual | further_estimators(n_features, inner_cv)
    if isinstance(estimators, str) and estimators == "all":
        return known
    if isinstance(estimators, str) or not isinstance(estimators, Iterable):
        raise TypeError(
            f"estimators must be a dict by name or a list of names, or 'all', got {estimators!r}."
        )
    names = list(estimators)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"estimators has unknown names {unknown}; there are {list(known)}.")
    return _not_empty({name: known[name] for name in names})


def _not_empty(estimators: dict[str, Any]) -> dict[str, Any]:
    if not estimators:
        raise ValueError("estimators is empty: there is nothing to compare.")
    return estimators


def _rows(X: Any, which: AnyArray) -> Any:
    """Some rows of an array or a data frame."""
    return X.iloc[which] if hasattr(X, "iloc") else X[which]


def _one(
    estimator: Any,
    X: Any,
    y: AnyArray,
    groups: AnyArray | None,
    split: tuple[AnyArray, AnyArray],
) -> dict[str, Any]:
    """Fit to the first rows of a split and judge on the second."""
    train, test = split
    # scikit-learn's searches take groups among other parameters, and hand them to their cv
    takes_groups = has_fit_parameter(estimator, "groups") or isinstance(estimator, SEARCHES)
    inside = {} if groups is None or not takes_groups else {"groups": groups[train]}
    outcome: dict[str, Any] = {"error": np.nan, "log_loss": np.nan, "failure": ""}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = clone(estimator).fit(_rows(X, train), y[train], **inside)
            outcome["seconds"] = time.perf_counter() - start
            outcome["error"] = float(np.mean(model.predict(_rows(X, test)) != y[test]))
            if hasattr(model, "predict_proba"):
                outcome["log_loss"] = _log_loss(model, _rows(X, test), y[test])
            outcome["parameters"] = dict(getattr(model, "best_params_", {}))
        except Exception as error:  # one candidate's failure is not the others'
            outcome["failure"] = f"{type(error).__name__}: {error}"
            outcome |= {"seconds": time.perf_counter() - start, "parameters": {}}
    return outcome


def _log_loss(model: Any, X: Any, y: AnyArray) -> float:
    posteriors: FloatArray = model.predict_proba(X)
    own = posteriors[y[:, None] == model.classes_]
    unseen = len(y) - len(own)  # classes that no training row had
    losses = -np.log(np.maximum(own, 1e-15))
    return float((losses.sum() - unseen * np.log(1e-15)) / len(y))


@contextmanager
def _progress(total: int, verbose: int) -> Any:
    """A function that is called when a task is done."""
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
