"""OPGDClassifierCV, which selects the number of components and the regularization."""

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianClassifier
from opgd._base.projection import ProjectionMixin
from opgd._base.support import SupportMixin
from opgd._dask.lazy import is_lazy
from opgd._fit.problem import limit_n_components
from opgd._fit.subclasses import check_n_subclasses
from opgd._model_selection.best_estimator import BestEstimatorMixin
from opgd._model_selection.correction import correct_error
from opgd._model_selection.folds import Fold, Sample, make_folds
from opgd._model_selection.held_out import collect_held_out
from opgd._model_selection.inputs import (
    draw_samples,
    list_values,
    make_sample,
    make_splits,
    thin_counts,
)
from opgd._model_selection.ranking import Model, Ranking
from opgd._model_selection.results import tabulate
from opgd._model_selection.routing import make_router, route_metadata
from opgd._model_selection.scores import METRICS, is_quick
from opgd._model_selection.selection import Selection
from opgd._model_selection.summary import SelectionSummary, summarize_selection
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from opgd._utils.progress import Progress
from opgd._utils.validation import (
    check_choice,
    check_class_weight,
    check_flag,
    check_integer,
    check_n_jobs,
    check_sample_weight,
    check_share,
    check_sparsity,
    count_kept,
)
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.classifier import OPGDClassifier
from opgd.core.types import AnyArray


class OPGDClassifierCV(
    BestEstimatorMixin,
    SupportMixin,
    ProjectionMixin,
    CallbackSupportMixin,
    GaussianClassifier,
):
    r"""OPGDClassifier with hyperparameters selected by cross-validation.

    All hyperparameters that are not given are selected in stages. First the number of components is
    increased step by step: existing and new components are optimized jointly, so trying many
    numbers of components costs little more than fitting the largest model. Reduced-rank LDA and
    regularized discriminant analysis (RDA) on all components are also candidates. Then shrinkage
    and ridge are varied, and the number of Gaussians per class is doubled as long as held-out
    samples gain from it, with diagonal and full covariances. Finally fewer features are tried, and
    used if this is clearly better. Variants of a model are first compared with it on two splits,
    and abandoned if they are clearly worse. The selected model is fitted to all samples, starting
    from the components that scored best on held-out samples (as in the paper) unless features were
    removed.

    With ``calibrate=True``, probabilities are calibrated by a temperature :math:`T` and by the
    share :math:`\varepsilon` of a background, the prior probabilities :math:`\pi_k`. With Gaussian
    densities :math:`\phi_k` on the components :math:`V`, the probability of class :math:`k` for
    sample :math:`x_i` is

    .. math::

        p_{ik} = (1 - \varepsilon) \frac{(\pi_k \phi_k(V^\top x_i))^{1 / T}}
                      {\sum_l (\pi_l \phi_l(V^\top x_i))^{1 / T}} + \varepsilon \pi_k.

    The held-out predictions of the selected model are kept: `predict_set` and `typicality` rank new
    samples among them, and `estimate_priors` corrects probabilities by them.

    With ``shrinkage=0, ridge=0, n_subclasses=1, covariance_type="diag", sparsity=0``, candidates
    are the models of the paper, LDA and RDA.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=None
        Numbers of components to try. None tries every number from 1 to n_features if
        ``n_features <= 12``; otherwise 1 to 6, then a geometric sequence (ratio about 1.5) up to
        n_features, plus ``n_classes - 1``. The search stops early once the training samples are
        perfectly separated, or once three successive numbers of components have improved neither
        the error nor the log-loss on held-out samples. If numbers are given, only these are
        candidates: LDA is tried with those up to ``n_classes - 1``, RDA only if n_features is among
        them, or the number of features that are kept. Pass 2 for a model that can be plotted, or
        small numbers for a quick search.
    shrinkage : float, "auto" or sequence of these, default=None
        Values to try; see `OPGDClassifier`. Given values are tried in all combinations with those
        of the other parameters. None selects among 0, 0.1, 0.3 and 0.6. RDA is tried with these
        values, 0.9 and given values in any case. Pass a value to save time, or 0 for the method of
        the paper.
    ridge : float, "auto" or sequence of these, default=None
        Values to try; see `OPGDClassifier`. None selects among "auto", 0.05 and 0.2. Pass larger
        values when there are fewer samples than features, and 0 for the method of the paper.
    n_subclasses : int, "auto", dict or sequence of these, default=None
        Values to try; see `OPGDClassifier`. None tries 1, 2, 4, 8, 16 and 32 Gaussians per class
        until three successive numbers bring no improvement; a class has at most one Gaussian for
        four of its samples. Pass 1 for one Gaussian per class and a quicker search. LDA, with one
        Gaussian per class, is a candidate in any case.
    covariance_type : {"diag", "full"} or sequence of these, default=None
        Values to try; see `OPGDClassifier`. None tries "full" for the best model with "diag". RDA,
        which has full covariances on all components, is a candidate in any case. Pass "diag" for a
        quicker search, and for components that are determined one by one.
    sparsity : None, "auto", float, int or sequence of numbers, default=None
        How many features to use. A float is the share of features that are removed, an int the
        number of features that are kept; see `OPGDClassifier`. None tries models like the best ones
        with fewer and fewer features, but no fewer than the largest given `n_components`, and
        removes features only if this is clearly better: the log-loss is lower, the score is not
        worse, and the decrease in the number of errors, in standard deviations, and that in
        log-loss, in standard errors over the splits, exceed 2.1 together; with fewer than three
        splits, that in the number of errors exceeds 1.5. A simpler model with as few features
        may then be selected if it is as good. "auto" tries about 1.4 times as many features each
        time, from one to all, with inexpensive models and one like the best model with all
        features, then numbers near the selected one. Of these, or of several numbers that are
        passed, the smallest is selected whose score and Brier score are within half a standard
        error of the best ones, with ``rule="one_se"`` a whole one. Both are averaged over
        neighboring numbers first, unless the largest number is clearly worse than the best.
        Features are ordered on the training samples of each split, so that held-out samples do not
        take part in the selection; `sparsity_path_` has the results. Set 0 to use all features, and
        "auto" when fewer features would be worth a slightly larger error.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class; see `OPGDClassifier`. They apply to all fits, to the
        calibration, and to the scores of models: this is the same as multiplying `sample_weight`,
        except that "f1", "f1_macro" and "average_precision", which depend on the shares of
        the classes, are computed without them. Use it when rare classes should influence the
        components as much as frequent ones.
    cv : int, float, splitter or iterable of splits, default=5
        Cross-validation scheme. An int is the number of stratified folds; a float between 0 and 1
        is the fraction of samples in a single stratified validation set (as in the paper). A
        splitter or an iterable of (train, test) indices is used as in `GridSearchCV`. Pass a
        splitter for groups or time series, a float for a quick search, and 10 when samples are few.
    scoring : str, callable or None, default="accuracy"
        A scikit-learn scorer or its name. "neg_log_loss" is computed from calibrated probabilities
        if ``calibrate=True``; all other scorers are applied to uncalibrated models. None means
        accuracy. "accuracy", "balanced_accuracy", "f1" (of the second class of two), "f1_macro",
        "average_precision" (of the second class of two, or the mean over all classes) and
        "neg_log_loss" are weighted and need no further predictions.
        Change it when probabilities matter ("neg_log_loss") or when classes are imbalanced
        ("balanced_accuracy", "average_precision").
    calibrate : bool, default=True
        Whether to fit the temperature and the background on held-out samples. Calibration usually
        improves the predicted probabilities. A predicted class changes only in favor of a class
        with a larger prior, and only if the difference of the two posteriors without background
        is at most :math:`\varepsilon / (1 - \varepsilon)` times the difference of the priors. Set
        it to False for the Gaussian posteriors themselves, or to calibrate by other samples.
    rule : {"best", "one_se"}, default="best"
        How to select a model. "best" considers the models whose mean score is within half a
        standard error of the highest and, with more than one split, those of them whose log-loss is
        within half a standard error of the lowest. It selects the model with the fewest Gaussians;
        ties are broken by higher score, then by lower log-loss, then by fewer parameters. "one_se"
        selects the model with the fewest parameters among those whose mean score is within one
        standard error of the highest, and have the selected number of features; of several
        requested numbers it also keeps fewer, see `sparsity`. Use "one_se"
        when a smaller model is worth a slightly larger error.
    n_jobs : int, default=None
        Number of processes among which splits and combinations of hyperparameters are distributed.
        None means 1; -1 means all cores. Set -1 unless the search is part of another one that runs
        in parallel.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the validation set if `cv` is a float. Set it for reproducible results in
        this case.
    verbose : int, default=0
        If positive, show the progress on standard error, with the lowest error so far and the
        estimated time remaining: a bar in terminals and notebooks, a line every ten seconds in log
        files. Set it when a search takes longer than a minute.

    Attributes
    ----------
    best_estimator_ : OPGDClassifier
        The selected model, refitted to all samples and calibrated like this estimator. Its
        attributes (`components_`, `classes_`, `priors_`, `means_`, `covariances_`,
        `projected_means_`, `projected_variances_`, `gaussian_classes_`, `log_likelihood_`,
        `component_log_likelihoods_`, `component_shares_`, `n_components_`, `n_iter_`,
        `n_evaluations_`, `converged_`, `loss_curve_`) are also attributes of this estimator.
    best_params_ : dict
        Hyperparameters of the selected model.
    best_score_ : float
        Mean score of the selected model on held-out samples.
    best_index_ : int
        Index of the selected model in `cv_results_`.
    corrected_error_ : float
        Error rate on held-out samples, corrected for the selection: the smallest of many estimated
        errors is too optimistic. In bootstrap resamples of the held-out predictions, the model
        with the smallest error is selected, and evaluated on the samples that were not drawn; this
        is the mean of these errors, or the error of the selected model if that is larger. Samples
        are resampled one by one, also if `groups` were passed, and models with fewer features
        take part even if all features are kept. With `class_weight` or `sample_weight` it is a
        weighted error rate, as are all errors and log-losses of the selection.
    temperature_ : float
        Temperature by which log joint densities are divided; 1 if ``calibrate=False``.
    background_ : float
        Share of the prior probabilities in the predicted probabilities; 0 if ``calibrate=False``.
    summary_ : SelectionSummary
        The selected model by name, its error and log-loss with standard errors, the corrected
        error, and what fewer components would cost. Print it for a table; notebooks show it as
        HTML.
    cv_results_ : dict of arrays
        Results of each model: `params`, `model` (its name), `param_n_components`, ...,
        `split0_test_score`, ..., `mean_test_score`, `std_test_score`, `rank_test_score`,
        `mean_test_error`,
        `mean_test_log_loss` and `mean_test_calibrated_log_loss` (over all held-out samples),
        `se_test_error` and `se_test_log_loss` (standard errors over splits),
        `temperature` and `background` (of a coarse grid), `n_gaussians`, `n_parameters`. Models
        that were abandoned before the last split are not included. If the search stopped earlier
        on one split than on others, the scores of that split's largest model are also used for
        larger numbers of components.
    sparsity_path_ : dict of ndarrays of shape (n_sizes,)
        Results of the best model by number of features, if `sparsity` is given and not 0:
        "n_features", "mean_test_error" and "se_test_error", "mean_test_log_loss" (calibrated),
        "test_log_likelihood" (of held-out samples, without calibration), "n_components", and
        "selected". The features are the first entries of `feature_order_`. With
        ``sparsity="auto"`` more models are tried for the selected number and for all features,
        which are not part of these results. It can be passed to `pandas.DataFrame`.
    feature_order_ : ndarray of shape (n_varying,)
        Indices of the features that are not constant, the most useful one first, if features are
        removed or `sparsity` is given and not 0.
    support_ : ndarray of shape (n_features,)
        Whether each feature is used by a component; see also `get_support`.
    n_splits_ : int
        Number of splits.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if all names are strings.

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

    _tries_ends = True
    """Whether LDA and RDA are candidates."""

    _allow_missing = True

    def __init__(
        self,
        n_components: Any = None,
        *,
        shrinkage: Any = None,
        ridge: Any = None,
        n_subclasses: Any = None,
        covariance_type: Any = None,
        sparsity: Any = None,
        class_weight: Any = None,
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
        self.sparsity = sparsity
        self.class_weight = class_weight
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
        """Select hyperparameters by cross-validation and refit on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples. Of Dask arrays and data frames, at most 100,000 samples are drawn by
            class, with a seed derived from `random_state`, and the model is selected on these in
            memory, so that splitters split these. The selected model is then fitted to all samples
            on the workers.
        y : array-like of shape (n_samples,)
            Class labels, all of one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, used for fitting and for scoring.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample, for splitters such as `GroupKFold`.
        **params : dict
            Metadata requested by the splitter or the scorer. Requires scikit-learn's metadata
            routing to be enabled.

        Returns
        -------
        self : OPGDClassifierCV
            Fitted estimator.
        """
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        whole = X, y, sample_weight
        scorer = self._scorer()
        params |= {"sample_weight": sample_weight, "groups": groups}
        if is_lazy(X):
            X, y, params = draw_samples(X, y, params, self.cv, self.random_state)
        routed = route_metadata(self, scorer, params)
        sample, split_params = self._check_data(X, y, params["sample_weight"], routed)
        self._check_parameters(sample.classes)
        rank, n_varying = sample.count_dimensions()
        splits = make_splits(self.cv, sample, split_params, self.random_state)
        if self.rule == "one_se" and len(splits) < 2:
            raise ValueError("rule='one_se' needs at least two splits, but cv gives one.")
        progress = FitProgress(self, data)
        metric = self.scoring if scorer is None and self.scoring in METRICS else "accuracy"
        folds = make_folds(sample, splits, scorer, metric)
        ranking = Ranking(
            by_log_loss=self.scoring == "neg_log_loss",
            calibrate=self.calibrate,
            by_accuracy=self.scoring in (None, "accuracy"),
        )
        selection, n_selected = self._search(sample, folds, rank, n_varying, ranking, progress)
        models, folds = selection.models, selection.folds
        table = tabulate(
            models,
            classes=sample.classes,
            counts=sample.class_sizes,
            rank=rank,
            n_total=folds[0].n_total,
            ranking=ranking,
        )
        _check_scores(table, models)
        candidates = [m for m in models if m.setting.n_features == n_selected]
        best = models.index(ranking.preferred(candidates, self.rule))
        components = self._best_components(table, best, models[best])
        model = self._refit(*whole, table["params"][best], components)
        self._warn_if_fewer_components(model)
        held_out, calibration = collect_held_out(folds, models[best], calibrate=self.calibrate)
        model._set_calibration(calibration.temperature, calibration.background)
        model._set_held_out(held_out)
        attributes = {
            "best_estimator_": model,
            "best_index_": best,
            "cv_results_": table,
            "corrected_error_": correct_error(models, best, folds),
            "n_splits_": len(splits),
        }
        if selection.path is not None:
            attributes["sparsity_path_"] = selection.path.tabulate()
        self.__dict__.update(attributes)
        progress.report("refit")
        progress.finish(attributes)
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the selected model to other samples, and keep the selection.

        Select hyperparameters on some of many samples with `fit`, then call `refit` with all of
        them. Results of the selection, calibration and held-out samples are those of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        y : array-like of shape (n_samples,)
            Class labels, with the classes of `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : OPGDClassifierCV
            Fitted estimator.
        """
        check_is_fitted(self)
        if is_lazy(X):
            columns = X._meta if hasattr(X, "columns") else X  # scikit-learn knows no lazy frames
            validate_data(self, columns, reset=False, skip_check_array=True)
        else:
            self._check_rows(X)
        selected = self.best_estimator_
        components = None if selected.sparsity else selected.components_
        model = self._refit(X, y, sample_weight, self.best_params_, components)
        if not np.array_equal(model.classes_, selected.classes_):
            raise ValueError(
                f"y has the classes {model.classes_.tolist()}, but the model was selected with "
                f"{selected.classes_.tolist()}; both need the same classes."
            )
        model._set_calibration(self.temperature_, self.background_)
        model._set_held_out(selected._held_out)
        self.best_estimator_ = model
        return self

    @property
    def summary_(self) -> SelectionSummary:
        """The selected model by name, its errors, and what simpler models would cost."""
        check_is_fitted(self)
        sizes = getattr(self, "sparsity_path_", None)
        return summarize_selection(
            self.cv_results_,
            self.best_index_,
            n_features=self.n_features_in_,
            # constant features are not selected
            n_varying=len(getattr(self, "feature_order_", range(self.n_features_in_))),
            n_splits=self.n_splits_,
            corrected_error=self.corrected_error_,
            temperature=self.temperature_,
            background=self.background_,
            calibrated=self.calibrate,
            compares_sizes=sizes is not None and len(sizes["selected"]) > 1,
            class_weighted=self.class_weight is not None,
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of this estimator, its splitter and its scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        return make_router(self, self.cv, self._scorer())

    def _scorer(self) -> Any:
        """Return the scorer, or None if scores follow from log joint densities."""
        return None if is_quick(self.scoring) else get_scorer(self.scoring)

    def _check_data(
        self, X: Any, y: Any, sample_weight: Any, routed: dict[str, dict[str, Any]]
    ) -> tuple[Sample, dict[str, Any]]:
        """Return the samples, and the metadata for the splitter."""
        default_splits = self.cv is None or isinstance(self.cv, Real)
        X, y = self._check_X_y(X, y)
        weights = check_sample_weight(sample_weight, X)
        if "sample_weight" in routed["score"]:
            routed["score"]["sample_weight"] = weights
        sample, split_params = make_sample(X, y, weights, routed, drop_unweighted=default_splits)
        factors = check_class_weight(self.class_weight, sample.classes, sample.counts)
        return sample.weighted_by_class(factors), split_params

    def _check_parameters(self, classes: AnyArray) -> None:
        given = self._given()
        for name in ("shrinkage", "ridge"):
            for value in given.get(name, []):
                if value != "auto":
                    check_share(name, value, word="auto")
        for value in given.get("n_subclasses", []):
            check_n_subclasses(value, classes)
        for value in given.get("covariance_type", []):
            check_choice("covariance_type", value, ["diag", "full"])
        if self.sparsity is not None and not self._selects_sizes():
            self._sizes(1, 1)
        if self.scoring == "f1" and len(classes) != 2:
            raise ValueError(
                f"scoring='f1' needs two classes, but y has {len(classes)}; use 'f1_macro'."
            )
        check_flag("calibrate", self.calibrate)
        check_choice("rule", self.rule, ["best", "one_se"])
        check_integer("verbose", self.verbose)
        check_n_jobs(self.n_jobs)

    def _counts(self, sample: Sample, rank: int) -> list[int]:
        """Return the numbers of components to try, none larger than the rank of the samples."""
        if self.n_components is None:
            max_lda = min(rank, max(1, len(sample.classes) - 1))
            return sorted({*thin_counts(rank), max_lda})
        n_features = sample.X.shape[1]
        counts = {
            min(check_integer("n_components", value, 1, n_features), rank)
            for value in list_values(self.n_components)
        }
        if not counts:
            raise ValueError("n_components is empty; pass at least one number of components.")
        return sorted(counts)

    def _warn_if_fewer_components(self, model: OPGDClassifier) -> None:
        """Warn if a model has fewer components than were requested."""
        if self.n_components is None:
            return
        what = "The selected features vary" if model.sparsity else "Samples vary"
        least = min(list_values(self.n_components))
        for note in limit_n_components(least, model.n_components_, what)[1]:
            warn_caller(f"{note}.", DataWarning)

    def _given(self) -> dict[str, list[Any]]:
        """Return the values of the hyperparameters that were passed, without repetitions."""
        given = {}
        for name in ("covariance_type", "n_subclasses", "shrinkage", "ridge"):
            if getattr(self, name) is None:
                continue
            values = {repr(value): value for value in list_values(getattr(self, name))}
            if not values:
                raise ValueError(f"{name} is empty; pass at least one value, or None.")
            given[name] = list(values.values())
        return given

    def _search(
        self,
        sample: Sample,
        folds: list[Fold],
        rank: int,
        n_varying: int,
        ranking: Ranking,
        progress: FitProgress,
    ) -> tuple[Selection, int | None]:
        """Try models on the folds; return them, and the number of features, None for all."""
        with Progress("Selecting a model", enabled=self.verbose > 0) as bar:
            selection = Selection(
                sample,
                folds,
                rank,
                n_varying,
                ranking,
                self.rule,
                self._given(),
                lambda rank: self._counts(sample, rank),
                tries_ends=self._tries_ends,
                n_jobs=self.n_jobs,
                on_step=lambda: progress.report("path"),
                bar=bar,
            )
            if self.sparsity is None:
                # all requested numbers of components remain possible
                n_least = 1 if self.n_components is None else max(self._counts(sample, rank))
                n_selected = selection.try_fewer_features(n_least)
            elif self._uses_all():
                selection.try_all()
                n_selected = None
            elif self._selects_sizes():
                n_selected = selection.explore_sizes()
            else:
                n_selected = selection.compare_sizes(self._sizes(sample.X.shape[1], n_varying))
        return selection, n_selected

    def _uses_all(self) -> bool:
        """Return whether all features are to be used."""
        return not self._selects_sizes() and all(v == 0 for v in list_values(self.sparsity))

    def _selects_sizes(self) -> bool:
        """Return whether the number of features is selected."""
        return isinstance(self.sparsity, str) and self.sparsity == "auto"

    def _sizes(self, n_features: int, n_varying: int) -> list[int]:
        """Return the numbers of features to try, ascending, none above the number that vary."""
        values = [check_sparsity(value, word="auto") for value in list_values(self.sparsity)]
        if not values:
            raise ValueError("sparsity is empty; pass at least one number, or None.")
        return sorted({min(count_kept(value, n_features), n_varying) for value in values})

    def _best_components(self, table: dict[str, Any], best: int, model: Model) -> AnyArray | None:
        """Return the components from the split on which the selected model scored best.

        Splits on which the model has fewer components are skipped.
        """
        n_components = max(outcome.n_components for outcome in model.outcomes)
        scores = [
            table[f"split{i}_test_score"][best] if outcome.n_components == n_components else -np.inf
            for i, outcome in enumerate(model.outcomes)
        ]
        uses_all = model.setting.n_features in (None, self.n_features_in_)
        if model.setting.end or not uses_all:  # splits may use different features
            return None
        return model.components[int(np.argmax(scores))]

    def _refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        params: dict[str, Any],
        components: AnyArray | None,
    ) -> OPGDClassifier:
        """Fit the selected model to all samples, starting from the components of a split.

        Components near those of the best split are known to score well on held-out samples, which
        a higher log-likelihood from another start does not show.
        """
        model = OPGDClassifier(**params, class_weight=self.class_weight, n_jobs=self.n_jobs)
        if components is None or len(components) != params["n_components"]:
            return model.fit(X, y, sample_weight)
        init = model.init
        model.set_params(init=components).fit(X, y, sample_weight)
        return model.set_params(init=init)  # keep the parameter that the user can see


def _check_scores(table: dict[str, Any], models: list[Model]) -> None:
    """Raise ValueError if no model has a score, and warn if the scorer failed for some."""
    failures = [message for model in models for message in model.failures]
    if not np.any(np.isfinite(table["mean_test_score"])):
        reason = f" The scorer failed: {failures[0]}" if failures else ""
        raise ValueError(
            "Every candidate scored NaN or infinity on at least one split; check that every "
            f"split contains all classes and that `scoring` suits the problem.{reason}"
        )
    if failures:
        warn_caller(
            f"The scorer failed for some models, whose scores are nan: {failures[0]}", UserWarning
        )
