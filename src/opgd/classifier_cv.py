"""OPGDClassifierCV: the number of axes and the regularization, chosen on rows left out."""

import warnings
from collections import defaultdict
from collections.abc import Iterable
from inspect import signature
from itertools import product
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianClassifier
from opgd._base.projection import AxesMixin
from opgd._fit.subclasses import check_n_subclasses
from opgd._model_selection.path import Outcome, Sample, Setting, end_settings, try_settings
from opgd._model_selection.results import aligned, choose, tabulate
from opgd._utils.callbacks import CallbackSupportMixin, TaskProgress, with_callbacks
from opgd._utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_sample_weight,
    check_share,
    encode_labels,
    validate_rows,
)
from opgd._utils.warnings import DataWarning
from opgd.classifier import OPGDClassifier
from opgd.core.types import AnyArray, IntArray

FEW_AXES = 12
DENSE_COUNTS = 6
COUNT_RATIO = 1.3
QUICK_SCORINGS = ("accuracy", "neg_log_loss")
CHANCE = 0.01
"""Share of the log-likelihood by which two fits may differ without one being better."""


def thinned_counts(most: int) -> list[int]:
    """All numbers up to twelve; for more, all up to six and then each about 1.3 times the last."""
    dense = most if most <= FEW_AXES else DENSE_COUNTS
    counts = list(range(1, dense + 1))
    while counts[-1] < most:
        counts.append(min(most, max(counts[-1] + 1, round(COUNT_RATIO * counts[-1]))))
    return counts


def delegate_to_best(name: str) -> Any:
    """Return a property that reads an attribute of `best_estimator_`."""

    def read(self: Any) -> Any:
        try:
            best = self.__dict__["best_estimator_"]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r} before fit."
            ) from None
        return getattr(best, name)

    return property(read, doc=f"`{name}` of `best_estimator_`.")


class OPGDClassifierCV(AxesMixin, CallbackSupportMixin, GaussianClassifier):
    """OPGDClassifier with its settings chosen by cross-validation.

    On each split a path of axes is grown for every combination of the other settings: the axes
    found so far and the next ones are optimized together, so many numbers of axes cost little more
    than the last. Two neighbors that need no search are always tried as well and win where rows
    are few: reduced-rank LDA, and regularized discriminant analysis on all axes. The chosen model
    is fitted to all rows, from the components that did best on the rows left out (the paper) and
    from the default start; the first is kept, unless the log-likelihood of the second is higher by
    more than one percent.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=None
        Numbers of axes to try. None means all from 1 to n_features; of more than twelve, 1 to 6 and
        then each about 1.3 times the last, n_features, and ``n_classes - 1``. A path ends early
        where it tells the training rows apart completely, or where four numbers in a row bring
        neither less error nor less log-loss on the rows left out. Where numbers are given, no other
        number is chosen: LDA is tried with those among them that it can have, RDA if n_features is
        among them.
    shrinkage, ridge : float or sequence, default=(0, 0.1, 0.5) and (0, 0.05, 0.3)
        Values to try, see `OPGDClassifier`; "auto" may be among the shrinkages.
    n_subclasses : int, "auto", dict or sequence of these, default=(1,)
        Values to try.
    covariance_type : {"diag", "full"} or sequence of these, default=("diag",)
        Values to try.
    cv : int, float, splitter or iterable of splits, default=5
        Number of stratified folds; a share between 0 and 1 to be left out once (the paper's
        validation share); or anything scikit-learn takes.
    scoring : str or callable, default="accuracy"
        A scorer of scikit-learn; the larger the better. "neg_log_loss" is that of calibrated
        probabilities if `calibrate`; any other scorer sees models before calibration.
    calibrate : bool, default=True
        Fit one temperature to the predictions for rows left out, and divide log joint densities by
        it: probabilities become honest, predictions stay (those with the priors of the fit).
    rule : {"best", "one_se"}, default="best"
        "best" takes the highest mean score, then the least log-loss, then the fewest parameters;
        "one_se" the fewest parameters among models within one standard error of the best.
    n_jobs : int, default=None
        Processes that share splits and settings; None means one, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the rows left out where `cv` is a share.
    verbose : int, default=0
        Above 0, print a line for every path.

    Attributes
    ----------
    best_estimator_ : OPGDClassifier
        The chosen model, fitted to all rows, with the temperature. Its attributes
        (`components_`, `classes_`, `priors_`, `means_`, `covariances_`, `projected_means_`,
        `projected_variances_`,
        `gaussian_classes_`, `log_likelihood_`, `component_log_likelihoods_`,
        `component_shares_`, `n_components_`, `n_iter_`, `n_evaluations_`, `converged_`,
        `loss_curve_`) are attributes of this estimator too.
    best_params_ : dict
        Its settings.
    best_score_ : float
        Its mean score on rows left out.
    best_index_ : int
        Its place in `cv_results_`.
    temperature_ : float
        What log joint densities are divided by for probabilities; 1 without `calibrate`.
    cv_results_ : dict of arrays
        One entry for every model: `params`, `param_n_components`, ..., `split0_test_score`, ...,
        `mean_test_score`, `std_test_score`, `rank_test_score`, `mean_test_error`,
        `mean_test_log_loss` and `mean_test_calibrated_log_loss` (over all rows left out),
        `temperature`, `n_parameters`. Where the path of a split ended before those of others, it
        counts with its last model.
    n_splits_ : int
        Number of splits.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    References
    ----------
    Hofmeyr, Kamper & Melonas, "Optimal Projections for Gaussian Discriminants", Section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OPGDClassifierCV(shrinkage=0, ridge=(0, 0.1)).fit(X, y)
    >>> model.transform(X).shape == (150, model.best_params_["n_components"])
    True
    """

    def __init__(
        self,
        n_components: Any = None,
        *,
        shrinkage: Any = (0.0, 0.1, 0.5),
        ridge: Any = (0.0, 0.05, 0.3),
        n_subclasses: Any = (1,),
        covariance_type: Any = ("diag",),
        cv: Any = 5,
        scoring: Any = "accuracy",
        calibrate: bool = True,
        rule: str = "best",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.n_subclasses = n_subclasses
        self.covariance_type = covariance_type
        self.cv = cv
        self.scoring = scoring
        self.calibrate = calibrate
        self.rule = rule
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **params: Any
    ) -> Self:
        """Try all settings on all splits, and fit the best to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows, in fitting and in scoring.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows for splitters that keep them together.
        **params : dict
            Metadata for the splitter and the scorer, where scikit-learn's metadata routing is
            enabled and they request it.

        Returns
        -------
        self : OPGDClassifierCV
        """
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        routed = self._route({"sample_weight": sample_weight, "groups": groups, **params})
        sample, split_params = self._check_data(X, y, sample_weight, routed)
        self._check_parameters(sample.classes)
        rank = sample.rank()
        counts = self._counts(sample, rank)
        splits = self._splits(sample, split_params)
        if self.rule == "one_se" and len(splits) < 2:
            raise ValueError("rule='one_se' needs more than one split; choose another cv.")
        settings = self._settings(all_axes=counts[-1] >= rank)
        progress = TaskProgress(self, data, len(splits) * len(settings) + 1)
        outcomes = self._try_all(sample, counts, splits, settings, progress)
        table = tabulate(
            outcomes,
            rank=rank,
            by_log_loss=self.scoring == "neg_log_loss",
            calibrate=self.calibrate,
        )
        best = choose(table, rule=self.rule, calibrate=self.calibrate)
        found = self._best_components(table, best, outcomes[best])
        model = self._refit(X, y, sample_weight, table["params"][best], found)
        if self.calibrate:
            model._set_temperature(float(table["temperature"][best]))
        attributes = {
            "best_estimator_": model,
            "best_index_": best,
            "cv_results_": table,
            "n_splits_": len(splits),
        }
        self.__dict__.update(attributes)
        progress.finish(attributes)
        return self

    @property
    def best_params_(self) -> dict[str, Any]:
        """Settings of the chosen model."""
        params: dict[str, Any] = self.cv_results_["params"][self.best_index_]
        return params

    @property
    def best_score_(self) -> float:
        """Mean score of the chosen model on held-out samples."""
        return float(self.cv_results_["mean_test_score"][self.best_index_])

    @property
    def temperature_(self) -> float:
        """Divisor of log joint densities."""
        return self._projection.temperature

    _projection = delegate_to_best("_projection")
    _coordinates = delegate_to_best("_coordinates")
    _covariances = delegate_to_best("_covariances")
    classes_ = delegate_to_best("classes_")
    priors_ = delegate_to_best("priors_")
    means_ = delegate_to_best("means_")
    components_ = delegate_to_best("components_")
    n_components_ = delegate_to_best("n_components_")
    projected_means_ = delegate_to_best("projected_means_")
    projected_variances_ = delegate_to_best("projected_variances_")
    gaussian_classes_ = delegate_to_best("gaussian_classes_")
    log_likelihood_ = delegate_to_best("log_likelihood_")
    component_log_likelihoods_ = delegate_to_best("component_log_likelihoods_")
    component_shares_ = delegate_to_best("component_shares_")
    n_iter_ = delegate_to_best("n_iter_")
    n_evaluations_ = delegate_to_best("n_evaluations_")
    converged_ = delegate_to_best("converged_")
    loss_curve_ = delegate_to_best("loss_curve_")

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata go to this estimator, its splitter and its scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedKFold()
        splitting = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=splitter, method_mapping=splitting)
        if not self._is_quick():
            scoring = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=get_scorer(self.scoring), method_mapping=scoring)
        return router

    def _route(self, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the metadata of the splitter ("split") and of the scorer ("score")."""
        given = {name: value for name, value in params.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            scorer = routed.scorer.score if "scorer" in routed else {}
            return {"split": dict(routed.splitter.split), "score": dict(scorer)}
        unknown = set(given) - {"sample_weight", "groups"}
        if unknown:
            raise TypeError(
                f"fit got unexpected metadata {sorted(unknown)}; to pass them to the splitter or "
                "the scorer, enable metadata routing with sklearn.set_config."
            )
        weights = given.get("sample_weight")
        takes_weights = not self._is_quick() and "sample_weight" in (
            signature(get_scorer(self.scoring)).parameters
        )
        return {
            "split": {"groups": given.get("groups")},
            "score": {"sample_weight": weights} if takes_weights and weights is not None else {},
        }

    def _is_quick(self) -> bool:
        """Whether the score follows from the log joints, without a scorer of scikit-learn."""
        return isinstance(self.scoring, str) and self.scoring in QUICK_SCORINGS

    def _check_data(
        self, X: Any, y: Any, sample_weight: Any, routed: dict[str, dict[str, Any]]
    ) -> tuple[Sample, dict[str, Any]]:
        X, y = validate_rows(self, X, y, ensure_min_samples=2)
        weights = check_sample_weight(sample_weight, X)
        if "sample_weight" in routed["score"]:
            routed["score"]["sample_weight"] = weights
        metadata = {
            use: {
                name: _check_length(name, value, len(X))
                for name, value in values.items()
                if value is not None
            }
            for use, values in routed.items()
        }
        drawn_here = self.cv is None or isinstance(self.cv, Real)
        if weights is not None and not np.all(weights) and drawn_here:
            # splits that are given refer to all samples; ours need not see these
            present = weights > 0
            X, y, weights = X[present], y[present], weights[present]
            metadata = {
                use: {name: value[present] for name, value in values.items()}
                for use, values in metadata.items()
            }
        classes, codes = encode_labels(y)
        return Sample(X, codes, weights, classes, metadata["score"]), metadata["split"]

    def _check_parameters(self, classes: AnyArray) -> None:
        for value in _values(self.shrinkage):
            if value != "auto":
                check_share("shrinkage", value, word="auto")
        for value in _values(self.ridge):
            check_share("ridge", value)
        for value in _values(self.n_subclasses):
            check_n_subclasses(value, classes)
        for value in _values(self.covariance_type):
            check_choice("covariance_type", value, ["diag", "full"])
        check_flag("calibrate", self.calibrate)
        check_choice("rule", self.rule, ["best", "one_se"])
        check_integer("verbose", self.verbose)
        check_n_jobs(self.n_jobs)

    def _counts(self, sample: Sample, rank: int) -> list[int]:
        """Numbers of axes, of which there are no more than dimensions in which rows differ."""
        if self.n_components is None:
            most_lda = min(rank, max(1, len(sample.classes) - 1))
            return sorted({*thinned_counts(rank), most_lda})
        n_features = sample.X.shape[1]
        counts = {
            min(check_integer("n_components", value, 1, n_features), rank)
            for value in _values(self.n_components)
        }
        if not counts:
            raise ValueError("n_components is empty: there is no number of axes to try.")
        return sorted(counts)

    def _settings(self, *, all_axes: bool) -> list[list[Setting]]:
        """What to try, by task: every point of the grid, and all ends together."""
        shrinkages, ridges = _values(self.shrinkage), _values(self.ridge)
        grid = product(
            _values(self.covariance_type), _values(self.n_subclasses), shrinkages, ridges
        )
        points = list({repr(point): Setting(*point) for point in grid}.values())
        if not points:
            raise ValueError("shrinkage, ridge, n_subclasses or covariance_type is empty.")
        return [[point] for point in points] + [end_settings(shrinkages, ridges, all_axes)]

    def _splits(self, sample: Sample, params: dict[str, Any]) -> list[tuple[IntArray, IntArray]]:
        cv = self.cv
        if isinstance(cv, Real) and not isinstance(cv, int | np.integer):
            if not 0 < float(cv) < 1:
                raise ValueError(f"cv as a share of rows must lie between 0 and 1, got {cv!r}.")
            cv = StratifiedShuffleSplit(1, test_size=float(cv), random_state=self.random_state)
        splitter = check_cv(cv, sample.codes, classifier=True)
        splits = list(splitter.split(sample.X, sample.classes[sample.codes], **params))
        if not splits:
            raise ValueError("cv has no splits (a generator can be used only once).")
        return splits

    def _try_all(
        self,
        sample: Sample,
        counts: list[int],
        splits: list[tuple[IntArray, IntArray]],
        settings: list[list[Setting]],
        progress: TaskProgress,
    ) -> list[list[Outcome]]:
        """Outcomes of every model, in the order of the splits."""
        scorer = None if self._is_quick() else get_scorer(self.scoring)
        tasks = [(split, own) for split in range(len(splits)) for own in settings]
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(try_settings)(sample, splits[split], own, counts, scorer)
            for split, own in tasks
        )
        tried: dict[str, list[list[Outcome]]] = defaultdict(lambda: [[] for _ in splits])
        for (split, own), outcomes in zip(tasks, results, strict=True):
            for outcome in outcomes:
                tried[repr(outcome.setting)][split].append(outcome)
            if self.verbose:
                what = "ends" if len(own) > 1 else own[0]
                print(f"split {split + 1} of {len(splits)}: {what}, {len(outcomes)} models")
            progress.step()
        return [model for paths in tried.values() for model in aligned(paths)]

    def _best_components(
        self, table: dict[str, Any], best: int, model: list[Outcome]
    ) -> AnyArray | None:
        """Axes of the split on which the chosen model did best, of those that have them all."""
        most = max(own.n_components for own in model)
        scores = [
            table[f"split{i}_test_score"][best] if own.n_components == most else -np.inf
            for i, own in enumerate(model)
        ]
        return model[int(np.argmax(scores))].components

    def _refit(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], found: AnyArray | None
    ) -> OPGDClassifier:
        """The chosen model on all rows: from the default start and from the best split's axes."""
        model = OPGDClassifier(**params, n_jobs=self.n_jobs).fit(X, y, sample_weight)
        if found is None or found.shape != model.components_.shape:
            return model
        other = clone(model).set_params(init=found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the first fit has said it
            other.fit(X, y, sample_weight)
        # axes close to these did well on rows left out, which the likelihood of training rows
        # cannot say: the default start has to be better by more than could be chance
        best = model if model.log_likelihood_ > (1 - CHANCE) * other.log_likelihood_ else other
        return best.set_params(init=model.init)  # where it began is no setting of the user's


def _values(value: Any) -> list[Any]:
    """The values to try, from one or several."""
    if isinstance(value, str | dict) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _check_length(name: str, values: Any, n_samples: int) -> AnyArray:
    """Return metadata as an array with one entry for each sample."""
    array = np.asarray(values)
    if array.shape[:1] != (n_samples,):
        raise ValueError(f"{name} has {len(array)} entries for {n_samples} rows.")
    return array
