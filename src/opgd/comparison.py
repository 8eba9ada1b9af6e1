"""compare(), which evaluates classifiers on the same splits of the data, and its summary."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import stats
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from opgd._table_cells import import_pandas
from opgd._utils.features import to_feature_array
from opgd._utils.labels import check_no_missing, encode_labels, to_label_array
from opgd._utils.progress import Progress
from opgd._utils.text import list_names
from opgd._utils.validation import check_sample_weight, check_seed, check_share
from opgd._utils.warnings import warn_caller
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray

__all__ = ["MethodSummary", "compare", "summarize", "summarize_methods"]

N_DEFAULT_METHODS = 9
"""The first methods of `make_methods` are those that are compared by default."""
METRICS = ("error", "log_loss", "balanced_accuracy", "seconds")
LARGER_IS_BETTER = ("balanced_accuracy",)
SMALLEST_PROBABILITY = 1e-15


def compare(
    X: Any,
    y: Any,
    estimators: Any = None,
    *,
    cv: Any = 5,
    inner_cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
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
        Samples, in memory. Missing values (NaN) are used by the classifiers that accept them; for
        the others, medians of the training samples replace them, and a warning names these methods.
        If `estimators` is a dict, nothing is replaced.
    y : array-like of shape (n_samples,)
        Class labels, of at least two classes.
    estimators : None, "all", list or dict, default=None
        Classifiers to compare.

        - None: "OPGD, all settings" (`OPGDClassifierCV` with its defaults) and usual choices: "LDA"
          (reduced-rank), "QDA", "logistic regression", "RBF SVC", "random forest", "gradient
          boosting" (histogram-based), "k-NN" and "naive Bayes" (Gaussian);
        - "all": in addition "OPGD" (`OPGDClassifier` with its defaults), "RDA", "SAVE", "CPCDA" and
          "MDA";
        - list: some of these names (case, spaces and punctuation do not matter) and classifiers,
          which are named after their class;
        - dict: classifiers by name.

        The parameters of classifiers given by name are selected from small grids by the error on
        `inner_cv`, and by the log-loss if errors are equal, with `GridSearchCV`; classifiers that
        are passed are fitted with the parameters they have.
    cv : int, float, splitter or iterable of splits, default=5
        Splits into training and held-out samples. An int is the number of stratified, shuffled
        folds, a float the share of samples (with `groups`, of groups) in a single test set. Both
        keep `groups` together.
    inner_cv : int, float or splitter, default=5
        Splits of the training samples for selecting hyperparameters. An int is the number of
        stratified, shuffled folds, a float the share of samples (with `groups`, of groups) in a
        single validation set. Both keep `groups` together.
    groups : array-like of shape (n_samples,), default=None
        Group of each sample, such as a person or a batch.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, used for fitting, for selecting hyperparameters and in the results. "QDA"
        and "k-NN" are fitted without weights; a warning names methods for which this is the case.
    n_jobs : int, default=None
        Number of parallel processes over methods and splits. None means 1, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed for shuffling folds, and for drawing single test and validation sets.
    verbose : int, default=1
        If positive, show the progress on standard error.

    Returns
    -------
    table : pandas.DataFrame
        One row per method and split, with columns `method`, `split`, `error`, `log_loss` (NaN for
        classifiers without `predict_proba`, such as "RBF SVC"), `seconds` (time of the fit,
        including the search), `parameters` (the selected hyperparameters), `balanced_accuracy`,
        `n_train`, `n_test` (numbers of samples), `status` ("ok" or "failed") and `reason` (why a
        fit failed). If a fit fails, a warning is issued and its results are NaN.

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
    pandas = import_pandas()
    for name, values in {"X": X, "y": y}.items():
        if hasattr(values, "__dask_graph__"):
            raise TypeError(f"{name} must be in memory, got Dask; pass {name}.compute().")
    rng = check_seed(random_state)
    y = to_label_array(y)
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise ValueError("y has only one class; a comparison needs at least two.")
    check_consistent_length(X, y, groups)
    if groups is not None:
        groups = to_label_array(groups, "groups")
        check_no_missing(groups, name="groups")
    weights = check_sample_weight(sample_weight, y)

    inner = _make_splitter("inner_cv", inner_cv, codes, groups, rng)
    outer = _make_splitter("cv", cv, codes, groups, rng)
    samples = np.arange(len(y))
    parts = outer.split(samples, codes, groups)
    splits = [(samples[train], samples[test]) for train, test in parts]
    if not splits:
        raise ValueError("cv yielded no splits. Pass a list of splits instead of a generator.")
    if isinstance(estimators, Mapping):
        methods = dict(estimators)
    else:
        X = to_feature_array(X, finite="allow-nan")
        methods = _select_methods(estimators, make_methods(X.shape[1], len(classes), inner))
        if np.isnan(X).any():
            filled = [name for name, model in methods.items() if not _accepts_missing(model)]
            _warn_of("Missing values are replaced by medians of the training samples for", filled)
            for name in filled:
                imputer = SimpleImputer(strategy="median", keep_empty_features=True)
                methods[name] = make_pipeline(imputer, methods[name])
    if not methods:
        raise ValueError("estimators is empty; pass at least one classifier.")
    for name, model in methods.items():
        if not hasattr(model, "fit") or not is_classifier(model):
            raise TypeError(f"All estimators must be classifiers, but {name!r} is {model!r}.")
    if weights is not None:
        unweighted = [name for name, model in methods.items() if not _uses_weights(model)]
        _warn_of("Fitted without sample_weight, which they do not accept", unweighted)

    metadata = {"sample_weight": weights, "groups": groups}
    metadata = {key: values for key, values in metadata.items() if values is not None}
    rows = []
    n_fits = len(splits) * len(methods)
    with Progress("Comparing", enabled=verbose > 0) as bar:
        for row in evaluate_methods(methods, X, y, splits, metadata, n_jobs):
            rows.append(row)
            bar.update(len(rows) / n_fits, f"{len(rows)} of {n_fits} fits")
            if row["status"] == "failed":
                warn_caller(
                    f"{row['method']} failed on split {row['split']}: {row['reason']}", UserWarning
                )
    return pandas.DataFrame(rows)


def make_methods(n_features: int, n_classes: int, inner_cv: Any) -> dict[str, Any]:
    """Return the classifiers that compare() provides by name; the default ones come first."""

    def search(model: Any, **grid: Any) -> GridSearchCV:
        return GridSearchCV(model, grid, cv=inner_cv, scoring=Scorer(), refit=_find_best_candidate)

    def scale(classifier: Any) -> Pipeline:
        return make_pipeline(StandardScaler(), classifier)

    n_components = list(range(1, n_features + 1))
    gammas = [factor / n_features for factor in (0.1, 0.3, 1.0, 3.0)]
    return {
        "OPGD, all settings": OPGDClassifierCV(cv=inner_cv),
        "LDA": search(ReducedRankLDA(), n_components=n_components[: n_classes - 1]),
        "QDA": search(
            scale(QuadraticDiscriminantAnalysis()),
            quadraticdiscriminantanalysis__reg_param=[0.0, 0.01, 0.1, 0.3, 0.6],
        ),
        "logistic regression": search(
            scale(LogisticRegression(max_iter=2000)),
            logisticregression__C=[0.01, 0.1, 1.0, 10.0, 100.0],
        ),
        "RBF SVC": search(scale(SVC()), svc__C=[1.0, 10.0, 100.0], svc__gamma=gammas),
        "random forest": search(
            RandomForestClassifier(200, random_state=0), max_features=["sqrt", 0.5]
        ),
        "gradient boosting": search(
            HistGradientBoostingClassifier(random_state=0), min_samples_leaf=[20, 5]
        ),
        "k-NN": search(
            scale(KNeighborsClassifier()), kneighborsclassifier__n_neighbors=[1, 3, 5, 9, 15, 25]
        ),
        "naive Bayes": GaussianNB(),
        "OPGD": OPGDClassifier(),
        "RDA": search(RegularizedDiscriminantAnalysis(), alpha=np.linspace(0, 1, 11).tolist()),
        "SAVE": search(SlicedAverageVariance(), n_components=n_components),
        "CPCDA": search(CommonPrincipalComponents(n_init=1), n_components=n_components),
        "MDA": search(MixtureDiscriminantAnalysis(), n_subclasses=[1, 2, 3, 4, 5]),
    }


def match_name(text: str, known: Iterable[str]) -> str:
    """Return the known name that equals the text up to case, spaces and punctuation."""
    names = {_simplify(name): name for name in known}
    if (simple := _simplify(text)) in names:
        return names[simple]
    similar = get_close_matches(simple, names, n=1)
    hint = f" Did you mean {names[similar[0]]!r}?" if similar else ""
    raise ValueError(f"Unknown method {text!r}.{hint} Known methods: {'; '.join(names.values())}.")


def _simplify(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _select_methods(estimators: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Return the classifiers of a list of names and classifiers, None or "all"."""
    if estimators is None:
        return {name: known[name] for name in list(known)[:N_DEFAULT_METHODS]}
    if isinstance(estimators, str) and estimators == "all":
        return known
    if isinstance(estimators, str) or not isinstance(estimators, Iterable):
        raise TypeError(f"estimators must be None, 'all', a list or a dict, got {estimators!r}.")
    methods: dict[str, Any] = {}
    for entry in estimators:
        if isinstance(entry, str):
            name = match_name(entry, known)
            methods[name] = known[name]
        elif (name := type(entry).__name__) in methods:
            raise ValueError(f"estimators has several of type {name}; pass a dict with names.")
        else:
            methods[name] = entry
    return methods


def _make_splitter(
    name: str, cv: Any, codes: AnyArray, groups: Any, rng: np.random.RandomState
) -> Any:
    """Return a splitter; those made from numbers keep groups together if there are any."""
    if isinstance(cv, Integral):
        folds = StratifiedKFold if groups is None else StratifiedGroupKFold
        return folds(int(cv), shuffle=True, random_state=rng.randint(2**31 - 1))
    if isinstance(cv, Real):
        single = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
        share = check_share(name, cv)
        return single(1, test_size=share, random_state=rng.randint(2**31 - 1))
    return check_cv(cv, codes, classifier=True)


def evaluate_methods(
    methods: Mapping[str, Any],
    X: Any,
    y: AnyArray,
    splits: Sequence[tuple[AnyArray, AnyArray]],
    metadata: Mapping[str, AnyArray],
    n_jobs: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of compare(); a fit that fails gives a row with the reason.

    `metadata` may have "sample_weight" and "groups", which are passed to all that use them.
    """
    results: Iterator[dict[str, Any]] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_evaluate)(name, model, X, y, number, split, metadata)
        for number, split in enumerate(splits)
        for name, model in methods.items()
    )
    return results


def _evaluate(
    name: str, model: Any, X: Any, y: AnyArray, number: int, split: Any, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Fit a classifier to the training samples of a split, and score it on the others."""
    row: dict[str, Any] = {"method": name, "split": number, "error": np.nan, "log_loss": np.nan}
    row |= {"seconds": np.nan, "parameters": {}, "balanced_accuracy": np.nan}
    row |= {"n_train": len(split[0]), "n_test": len(split[1]), "status": "ok", "reason": ""}
    with warnings.catch_warnings(), config_context(enable_metadata_routing=bool(metadata)):
        warnings.simplefilter("ignore")
        try:
            model = clone(model)
            if metadata:
                _request_metadata(model)
            result = cross_validate(
                model,
                X,
                y,
                cv=[split],
                params=metadata or None,
                scoring=Scorer(),
                return_estimator=True,
                error_score="raise",
            )
        except Exception as error:  # the other methods are still compared
            reason = f"{type(error).__name__}: {error}"
            if "Traceback" in reason:  # of all fits of a search; the last line has the error
                reason = reason.strip().splitlines()[-1]
            return row | {"status": "failed", "reason": reason}
    fitted = result["estimator"][0]
    search = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    row |= {key: float(result[f"test_{key}"][0]) for key in METRICS[:3]}
    row["seconds"] = float(result["fit_time"][0])
    row["parameters"] = dict(getattr(search, "best_params_", {}))
    return row


class Scorer:
    """Error, log-loss and balanced accuracy of a fitted classifier, with weights if requested."""

    def __call__(
        self, model: Any, X: Any, y: Any, sample_weight: Any = None, **_: Any
    ) -> dict[str, float]:
        """Return the scores by name."""
        probabilities = classes = None
        if hasattr(model, "predict_proba"):
            probabilities, classes = model.predict_proba(X), model.classes_
        return score_predictions(y, model.predict(X), probabilities, classes, sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """Request sample weights, and groups, since metadata must have a consumer."""
        request = MetadataRequest(owner="Scorer")
        for name in ("sample_weight", "groups"):
            request.score.add_request(param=name, alias=True)
        return request


def score_predictions(
    y: Any, predicted: Any, probabilities: Any, classes: Any, weights: Any = None
) -> dict[str, float]:
    """Return error, log-loss (NaN without probabilities) and balanced accuracy.

    Probabilities of labels that are not among `classes` are 0.
    """
    y = np.asarray(y)
    wrong = np.asarray(predicted) != y
    codes = np.unique(y, return_inverse=True)[1]
    totals = np.bincount(codes, weights)
    wrong_totals = np.bincount(codes, wrong if weights is None else wrong * weights)
    scores = {"error": float(np.average(wrong, weights=weights)), "log_loss": np.nan}
    scores["balanced_accuracy"] = 1 - float(np.mean((wrong_totals / totals)[totals > 0]))
    if probabilities is not None:
        true = np.where(y[:, None] == classes, probabilities, 0.0).sum(axis=1)
        losses = -np.log(np.maximum(true, SMALLEST_PROBABILITY))
        scores["log_loss"] = float(np.average(losses, weights=weights))
    return scores


def _find_best_candidate(results: Mapping[str, Any]) -> int:
    """Return the candidate of a search with the lowest error, and log-loss in case of a tie."""
    errors = np.round(results["mean_test_error"], 12)  # NaN, where fits failed, comes last
    return int(np.lexsort((results["mean_test_log_loss"], errors))[0])


def _request_metadata(model: Any) -> None:
    """Let all parts of a classifier use sample weights if it does, and groups for its splits."""
    weighted = _uses_weights(model)
    for part in [model, *model.get_params(deep=True).values()]:
        if has_fit_parameter(part, "sample_weight"):
            part.set_fit_request(sample_weight=weighted)
        if has_fit_parameter(part, "groups"):
            part.set_fit_request(groups=True)
        if hasattr(part, "set_score_request"):
            part.set_score_request(sample_weight=weighted)
        if isinstance(part, GridSearchCV | RandomizedSearchCV) and isinstance(part.scoring, str):
            part.scoring = get_scorer(part.scoring).set_score_request(sample_weight=weighted)


def _unwrap(model: Any) -> list[Any]:
    """Return the steps of a classifier inside of searches and the like; the last one classifies."""
    while hasattr(getattr(model, "estimator", None), "fit"):
        model = model.estimator
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    return [step for step in steps if step not in (None, "passthrough")]


def _uses_weights(model: Any) -> bool:
    """Return whether the classifier itself, not only a step before it, uses sample weights."""
    return bool(has_fit_parameter(_unwrap(model)[-1], "sample_weight"))


def _accepts_missing(model: Any) -> bool:
    """Return whether a classifier accepts NaN; a Pipeline, if all steps up to an imputer do."""
    for step in _unwrap(model):
        if not get_tags(step).input_tags.allow_nan:
            return False
        if type(step).__module__.startswith("sklearn.impute"):
            break
    return True


def _warn_of(message: str, names: list[str]) -> None:
    if names:
        warn_caller(f"{message}: {list_names(names)}.", UserWarning)


def summarize(
    table: Any, metric: str = "error", *, reference: str = "best", level: float = 0.95
) -> Any:
    r"""Summarize a comparison: means, paired differences with intervals, and the best methods.

    Every method has the same splits, so methods are compared split by split. With differences
    :math:`d_j` of a method from the reference on :math:`J` splits, their mean :math:`\bar d` and
    standard deviation :math:`s`, the interval is

    .. math::

        \bar d \pm t_{J - 1} \, s \sqrt{\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}},

    the corrected resampled t interval of Nadeau and Bengio. The second term under the root accounts
    for the overlap of the training sets of different splits; without it, intervals are too short.
    Standard errors of means have the same correction. Intervals are not adjusted for the number of
    methods.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of `compare`.
    metric : str, default="error"
        Column by which methods are ranked: "error", "log_loss", "balanced_accuracy" (where larger
        is better) or "seconds".
    reference : str, default="best"
        Method from which differences are computed. "best" is the method with the best mean among
        those with results on all splits.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    summary : pandas.DataFrame
        One row per method, the best first and methods without results on some splits last, with
        columns

        - `error`, `error_se`, `log_loss`, `log_loss_se`, `balanced_accuracy`,
          `balanced_accuracy_se`: means over the splits, and their standard errors;
        - `seconds`: mean time of a fit;
        - `difference`, `low`, `high`: mean difference of `metric` from the reference, and its
          interval;
        - `winner`: whether the method has results on all splits and is the best or not
          significantly worse, that is, the interval of its difference from the best contains 0;
        - `n_splits`, `n_failed`: numbers of splits with results and of failed fits.

    References
    ----------
    Nadeau & Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import compare
    >>> from opgd.comparison import summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> table = compare(X, y, ["QDA", "naive Bayes"], cv=5, random_state=0, verbose=0)
    >>> summary = summarize(table, reference="naive Bayes")
    >>> summary["winner"].to_dict()
    {'QDA': True, 'naive Bayes': True}
    """
    pandas = import_pandas()
    rows = []
    for method in summarize_methods(table, metric, reference, level):
        row: dict[str, Any] = {"method": method.name}
        for name, mean in method.means.items():
            row[name] = mean
            if name != "seconds":
                row[f"{name}_se"] = method.standard_errors[name]
        columns = ("difference", "low", "high", "winner", "n_splits", "n_failed")
        rows.append(row | {name: getattr(method, name) for name in columns})
    return pandas.DataFrame(rows).set_index("method")


@dataclass(frozen=True)
class MethodSummary:
    """Results of one method, and their difference from a reference on the same splits."""

    name: str
    values: FloatArray  # (n_splits,) of the metric, NaN where there is no result
    mean: float  # of the values
    standard_error: float  # of the mean, corrected for overlapping training sets
    difference: float  # of the method from the reference, on the splits that both have
    low: float  # confidence interval of the difference
    high: float
    winner: bool  # whether no method is significantly better
    n_failed: int  # number of failed fits
    means: dict[str, float]  # of all metrics in the table
    standard_errors: dict[str, float]

    @property
    def n_splits(self) -> int:
        """Number of splits with results."""
        return int(np.sum(np.isfinite(self.values)))

    @property
    def remark(self) -> str:
        """Text on splits without results, such as "2 failed", or ""."""
        return f"{self.n_failed} failed" if self.n_failed else ""


def summarize_methods(
    table: Any, metric: str = "error", reference: str = "best", level: float = 0.95
) -> list[MethodSummary]:
    """Return a summary of each method, the best first; `summarize` has the formulas.

    The table may be a dict of columns, and its numbers may be text, as in a CSV file. Methods
    without results on some splits come after the others.
    """
    check_share("level", level)
    names, values, ratios = _read_table(table, metric)
    if reference not in ("best", *names):
        raise ValueError(f"reference={reference!r} is not a method; methods are {names}.")
    sign = -1.0 if metric in LARGER_IS_BETTER else 1.0
    rows = values[metric]
    counts = np.isfinite(rows).sum(axis=1)
    complete = (counts == counts.max()) & (counts > 0)
    means = np.array([estimate_mean(row, ratios)[0] for row in rows])
    best = int(np.argmin(np.where(complete, sign * means, np.inf)))
    base = best if reference == "best" else names.index(reference)
    summaries = []
    for i, name in enumerate(names):
        estimates = {key: estimate_mean(array[i], ratios)[:2] for key, array in values.items()}
        difference, _, low, high = estimate_mean(rows[i] - rows[base], ratios, level)
        if i == base and counts[i]:
            difference = low = high = 0.0
        loss, _, lowest_loss, _ = estimate_mean(sign * (rows[i] - rows[best]), ratios, level)
        summaries.append(
            MethodSummary(
                name,
                rows[i],
                *estimates[metric],
                difference,
                low,
                high,
                winner=bool(complete[i] and (loss <= 0 or lowest_loss <= 0)),
                n_failed=int(np.isnan(values["error"][i]).sum()),
                means={key: mean for key, (mean, _) in estimates.items()},
                standard_errors={key: error for key, (_, error) in estimates.items()},
            )
        )
    n_splits = counts.max()
    return sorted(summaries, key=lambda s: (s.n_splits == 0, s.n_splits < n_splits, sign * s.mean))


def estimate_mean(
    values: FloatArray, ratios: FloatArray, level: float = 0.95
) -> tuple[float, float, float, float]:
    """Return the mean over splits with results, its standard error, and its confidence interval.

    The formula is that of Nadeau and Bengio; `ratios` are the numbers of held-out samples divided
    by those of training samples.
    """
    known = np.isfinite(values)
    n_splits = int(known.sum())
    mean = float(np.mean(values[known])) if n_splits else np.nan
    if n_splits < 2:
        return mean, np.nan, np.nan, np.nan
    factor = np.sqrt(1 / n_splits + np.mean(ratios[known]))
    error = float(np.std(values[known], ddof=1) * factor)
    half = float(stats.t.ppf((1 + level) / 2, n_splits - 1)) * error
    return mean, error, mean - half, mean + half


def _read_table(table: Any, metric: str) -> tuple[list[str], dict[str, FloatArray], FloatArray]:
    """Return methods, values by metric (n_methods, n_splits), and n_test / n_train by split."""
    for column in ("method", "split", "n_train", "n_test", "error", metric):
        if column not in table:
            raise ValueError(f"table must be that of opgd.compare: it has no column {column!r}.")
    methods, splits = [str(name) for name in table["method"]], list(table["split"])
    if not methods or len({*zip(methods, splits, strict=True)}) < len(methods):
        raise ValueError("table must have one row per method and split, of one comparison.")
    names = list(dict.fromkeys(methods))
    rows = [names.index(name) for name in methods]
    places = np.unique(splits, return_inverse=True)[1]

    def to_numbers(column: str) -> FloatArray:
        return np.array([np.nan if x == "" else x for x in table[column]], dtype=np.float64)

    values = {}
    for key in dict.fromkeys([metric, *METRICS]):
        if key in table:
            values[key] = np.full((len(names), places.max() + 1), np.nan)
            values[key][rows, places] = to_numbers(key)
    ratios = np.empty(places.max() + 1)
    ratios[places] = to_numbers("n_test") / to_numbers("n_train")
    return names, values, ratios
