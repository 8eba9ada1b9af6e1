"""The function compare()."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.parallel import Parallel, delayed

from opgd._dask.lazy import is_lazy, load_lengths
from opgd._utils.features import convert_list, read_frame, to_feature_array
from opgd._utils.labels import (
    check_no_missing,
    encode_labels,
    make_split_labels,
    to_label_array,
)
from opgd._utils.progress import Progress
from opgd._utils.text import list_names
from opgd._utils.validation import check_n_jobs, check_positive, check_sample_weight, check_seed
from opgd._utils.warnings import warn_caller
from opgd.comparison.evaluation import EMPTY, evaluate
from opgd.comparison.missing import accepts_missing, has_missing
from opgd.comparison.names import select_estimators
from opgd.comparison.splits import Split, make_inner_splitter, make_outer_splits, sort_splits
from opgd.comparison.subsampled import subsample_others
from opgd.comparison.weights import uses_weights
from opgd.core.types import FloatArray

TRIAL_STEPS = (16, 8)
"""Methods are tried on each sixteenth sample, then on each eighth."""
MIN_SAMPLES_TO_TRY = 800
"""With fewer training samples, methods are not tried on few of them before the first split."""


def compare(
    X: Any,
    y: Any,
    estimators: Any = None,
    *,
    cv: Any = 5,
    inner_cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 1,
) -> Any:
    r"""Compare classifiers on the same splits of the data.

    For each split, each classifier is fitted to the training samples, and its error rate, log-loss
    and balanced accuracy are computed on the held-out samples. With sample weights :math:`w_i`
    (by default 1) and classes :math:`k = 1, \dots, K`:

    .. math::

        \text{error} = \frac{\sum_i w_i I(\hat y_i \ne y_i)}{\sum_i w_i}, \qquad
        \text{log-loss} = -\frac{\sum_i w_i \log \max(\hat p_{i y_i}, 10^{-15})}{\sum_i w_i},

    .. math::

        \text{balanced accuracy} = \frac{1}{K} \sum_k
            \frac{\sum_{i: y_i = k} w_i I(\hat y_i = k)}{\sum_{i: y_i = k} w_i}.

    `opgd.comparison.summarize` returns means, intervals of paired differences, and the best
    methods; `opgd.plotting.ComparisonDisplay` draws them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples. Missing values (NaN) are used by the classifiers that accept them; for the others,
        medians of the training samples replace them, and a warning names these methods. If
        `estimators` is a dict, nothing is replaced. Dask arrays and data frames stay on their
        workers: OPGD, LDA, RDA, SAVE, CPCDA and MDA are fitted there. Other classifiers are fitted
        in memory to at most 20000 training samples, spread over all of them, as the column
        `n_train` tells, and a warning names these methods; their results are those of all held-out
        samples.
    y : array-like of shape (n_samples,)
        Class labels, of at least two classes.
    estimators : None, "usual", "paper", "all", list or dict, default=None
        Classifiers to compare.

        - None: "OPGD, all settings" (`OPGDClassifierCV` with its defaults) and usual choices: "LDA"
          (reduced-rank), "QDA", "logistic regression", "RBF SVC", "random forest", "gradient
          boosting" (histogram-based), "k-NN" and "naive Bayes" (Gaussian);
        - "usual": in addition "NCA + k-NN", whose time is quadratic in the number of samples;
        - "paper": "LDA", "RDA", "SAVE", "CPCDA", "MDA", "OPGD" (with hyperparameters selected as in
          the paper's Section 4) and "OPGD, all settings"; this was the default in opgd 0.1.0;
        - "all": all of these, and "FDA", "KDA", "kernel NB", "LR pursuit", "GM pursuit",
          "informative", "informative, samples" and "alternating"; with more than some hundred
          samples, set a `budget`, since some of them are slow;
        - list: some of these names (case, spaces and punctuation do not matter) and classifiers,
          which are named after their class;
        - dict: classifiers by name.

        The parameters of classifiers given by name are selected from small grids by the error on
        `inner_cv`; classifiers that are passed are fitted with the parameters they have.
    cv : int, splitter or iterable of splits, default=5
        Splits into training and held-out samples. An int is the number of stratified, shuffled
        folds, which keep `groups` together.
    inner_cv : int, float or splitter, default=5
        Splits of the training samples for selecting hyperparameters. An int is the number of
        stratified, shuffled folds, a float the share of samples (with `groups`, of groups) in a
        single validation set. Both keep `groups` together.
    groups : array-like of shape (n_samples,), default=None
        Group of each sample, such as a person or a batch.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, used for fitting, for selecting hyperparameters and in the results. "QDA",
        "k-NN", "NCA + k-NN", "LR pursuit" and "GM pursuit" are fitted without weights; a warning
        names methods for which this is the case.
    budget : float, default=None
        Seconds for the fits of each method. Before each split except the first, a method is stopped
        if its time so far plus its mean time per split exceeds the budget. Its remaining splits
        have the status "skipped". A fit is never interrupted; instead, with 800 training samples or
        more, each method is first fitted to a sixteenth and to an eighth of them, and is skipped
        altogether if one of these fits exceeds the budget, or if a fit to all training samples is
        expected to, from the growth of the times. With a budget, parallel processes share the
        methods of one split at a time.
    n_jobs : int, default=None
        Number of parallel processes over methods and splits. None means 1, -1 all cores. With Dask
        input, fits follow one another.
    random_state : int, RandomState instance or None, default=None
        Seed for shuffling folds, and for drawing the validation set if `inner_cv` is a float.
    verbose : int, default=1
        If positive, show the progress and the estimated time remaining on standard error; see
        `OPGDClassifierCV`.

    Returns
    -------
    table : pandas.DataFrame
        One row per method and split, with columns `method`, `split`, `error`, `log_loss` (NaN for
        classifiers without `predict_proba`), `seconds` (time of the fit, including the selection of
        hyperparameters), `parameters` (the selected hyperparameters), `balanced_accuracy`,
        `n_train`, `n_test` (numbers of samples used), `status` ("ok", "failed" or "skipped") and
        `reason` (why a fit failed or was skipped). If a fit fails, a warning is issued and its
        results are NaN.

    See Also
    --------
    opgd.comparison.summarize : Means, paired differences and the best methods.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import compare
    >>> from opgd.comparison import summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> table = compare(X, y, ["LDA", "QDA"], cv=3, random_state=0, verbose=0)
    >>> table["method"].tolist()
    ['LDA', 'QDA', 'LDA', 'QDA', 'LDA', 'QDA']
    >>> summarize(table)["error"].round(3).to_dict()
    {'LDA': 0.02, 'QDA': 0.027}
    """
    pandas = _import_pandas()
    check_n_jobs(n_jobs)
    if budget is not None:
        check_positive("budget", budget)
    rng = check_seed(random_state)
    y = to_label_array(y)
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise ValueError("y has only one class; a comparison needs at least two.")
    X = load_lengths(X) if is_lazy(X) else _convert_samples(X, estimators)
    check_consistent_length(X, y, groups)
    if groups is not None:
        groups = to_label_array(groups, "groups")
        check_no_missing(groups, name="groups")
    weights = check_sample_weight(sample_weight, y)
    split_labels = make_split_labels(classes, codes)
    inner = make_inner_splitter(inner_cv, split_labels, groups, rng)
    candidates = select_estimators(estimators, X.shape[1], inner)
    splits = make_outer_splits(cv, X, split_labels, groups, rng)
    if weights is not None:
        _check_weights(weights, splits, candidates)
    filled = set[str]()
    if not isinstance(estimators, Mapping) and has_missing(X):
        filled = _find_filled(candidates)
    if is_lazy(X):
        candidates = subsample_others(candidates, filled)
        splits, n_jobs, filled = sort_splits(splits, len(y)), None, set[str]()
    run = Comparison(candidates, (X, y, groups, weights), splits, budget, n_jobs, filled)
    return pandas.DataFrame(run.evaluate_all(verbose))


class Comparison:
    """The fits of a comparison: which are left, their times, and their results."""

    def __init__(
        self,
        candidates: dict[str, Any],
        data: tuple[Any, ...],
        splits: list[Split],
        budget: float | None,
        n_jobs: int | None,
        filled: set[str],
    ) -> None:
        self.candidates, self.data, self.splits = candidates, data, splits
        self.budget, self.n_jobs = budget, n_jobs
        self.filled = filled  # methods for which missing values are replaced
        self.seconds: dict[str, list[float]] = {name: [] for name in candidates}
        self.too_slow: dict[str, str] = {}  # reasons, by method

    def evaluate_all(self, verbose: int) -> list[dict[str, Any]]:
        """Return the rows of the table, by split and method."""
        numbers = list(range(len(self.splits)))
        rounds = [numbers] if self.budget is None else [[number] for number in numbers]
        self._try_methods()
        rows = []
        total = len(numbers) * len(self.candidates)
        with Progress("Comparing", enabled=verbose > 0) as bar:
            for round_ in rounds:
                for name, number, outcome in self._evaluate_round(round_):
                    rows.append(self._make_row(name, number, outcome))
                    bar.update(len(rows) / total, f"{len(rows)} of {total} fits, {name}")
        return rows

    def _evaluate_round(self, numbers: list[int]) -> Any:
        """Yield the results of all methods on some splits, in the order of the table."""
        tasks = [(name, number) for number in numbers for name in self.candidates]
        affordable = [task for task in tasks if not self._exceeds_budget(task[0])]
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(evaluate)(
                self.candidates[name], *self.data, self.splits[number], fill=name in self.filled
            )
            for name, number in affordable
        )
        for task in tasks:
            outcome = next(results) if task in affordable else None
            if outcome is not None:
                self.seconds[task[0]].append(outcome["seconds"])
            yield *task, outcome

    def _try_methods(self) -> None:
        """Fit all methods to few samples, and note those that are too slow for the budget.

        Two trials tell how the time grows with the number of samples.
        """
        n_samples = len(self.splits[0][0])
        if self.budget is None or n_samples < MIN_SAMPLES_TO_TRY:
            return
        first, second = (self._time_trials(step) for step in TRIAL_STEPS)
        growth = np.log(n_samples) - np.log(-(-n_samples // TRIAL_STEPS[1]))
        growth /= np.log(TRIAL_STEPS[0] / TRIAL_STEPS[1])
        for name in first.keys() & second.keys() - self.too_slow.keys():
            seconds = second[name]
            expected = seconds * max(1.0, seconds / first[name]) ** growth
            if expected > self.budget:
                self.too_slow[name] = self._say_too_slow(seconds, TRIAL_STEPS[1], expected)

    def _time_trials(self, step: int) -> dict[str, float]:
        """Return the seconds of fits to each step-th sample; those over the budget are noted."""
        assert self.budget is not None
        train, test = self.splits[0]
        names = [name for name in self.candidates if name not in self.too_slow]
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(evaluate)(
                self.candidates[name],
                *self.data,
                (train[::step], test[::step]),
                fill=name in self.filled,
            )
            for name in names
        )
        outcomes = dict(zip(names, results, strict=True))
        times = {name: outcome["seconds"] for name, outcome in outcomes.items()}
        for name, seconds in times.items():
            if seconds > self.budget:
                self.too_slow[name] = self._say_too_slow(seconds, step)
        return {name: seconds for name, seconds in times.items() if not outcomes[name]["failure"]}

    def _say_too_slow(self, seconds: float, step: int, expected: float | None = None) -> str:
        n_samples = len(self.splits[0][0])
        trial = f"a fit to {-(-n_samples // step)} of {n_samples} samples took {seconds:.3g} s, "
        if expected is not None:
            trial += f"one to all is expected to take {expected:.3g} s, "
        return f"{trial}the budget is {self.budget:g} s"

    def _exceeds_budget(self, name: str) -> bool:
        """Return whether the next fit of a method is expected to end after its budget."""
        spent = self.seconds[name]
        if self.budget and spent and sum(spent) + np.mean(spent) > self.budget:
            self.too_slow[name] = (
                f"{len(spent)} of {len(self.splits)} splits took {sum(spent):.3g} s, "
                f"the budget is {self.budget:g} s"
            )
        return name in self.too_slow

    def _make_row(self, name: str, number: int, outcome: dict[str, Any] | None) -> dict[str, Any]:
        results = dict(EMPTY) if outcome is None else dict(outcome)
        failure = results.pop("failure", "")
        if failure:
            warn_caller(f"{name} failed on split {number}: {failure}", UserWarning)
        train, test = self.splits[number]
        status = "skipped" if outcome is None else "failed" if failure else "ok"
        sizes = {"n_train": results.pop("n_train", len(train)), "n_test": len(test)}
        reason = self.too_slow[name] if outcome is None else failure
        row = {"method": name, "split": number, **results, **sizes}
        return row | {"status": status, "reason": reason}


def _convert_samples(X: Any, estimators: Any) -> Any:
    """Return an array, unless estimators are passed that may accept data frames and NaN."""
    if not isinstance(estimators, Mapping):
        return to_feature_array(X, finite="allow-nan")
    if isinstance(X, list | tuple):
        return convert_list(X)
    return np.asarray(X) if read_frame(X) is None and not isinstance(X, np.ndarray) else X


def _find_filled(candidates: dict[str, Any]) -> set[str]:
    """Return the methods that do not accept missing values, and warn that these are filled."""
    filled = [name for name, model in candidates.items() if not accepts_missing(model)]
    if filled:
        warn_caller(
            "Missing values were replaced by medians of the training samples for the classifiers "
            f"that do not accept them: {list_names(filled)}.",
            UserWarning,
        )
    return set(filled)


def _check_weights(weights: FloatArray, splits: list[Split], candidates: dict[str, Any]) -> None:
    """Raise an error if a split has no weight, and warn of methods that do not use weights."""
    for number, split in enumerate(splits):
        for indices, samples in zip(split, ("training", "held-out"), strict=True):
            if not np.any(weights[indices] > 0):
                raise ValueError(
                    f"sample_weight is zero for all {samples} samples of split {number}."
                )
    unweighted = [name for name, model in candidates.items() if not uses_weights(model)]
    if unweighted:
        warn_caller(
            "Fitted without sample_weight, which the classifiers do not accept: "
            f"{list_names(unweighted)}. The results are weighted.",
            UserWarning,
        )


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError('compare() needs the package pandas: pip install "opgd[data]".') from None
    return pandas
