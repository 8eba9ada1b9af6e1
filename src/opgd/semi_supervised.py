"""OPGDSemiSupervised, a classifier for labeled and unlabeled samples together."""

from collections.abc import Mapping, Set
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_consistent_length

from opgd._base.estimator import restore_on_failure
from opgd._base.projection_classifier import ProjectionClassifier, summarize_search
from opgd._dask.lazy import compute_eagerly
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.hidden_labels import Predictions, divide_labels, select_model
from opgd._fit.initialization import has_names, make_starts
from opgd._fit.partly_labeled import LabelUse, ProblemSettings, list_uses, predict_hidden
from opgd._fit.problem import Problem, frame_samples
from opgd._fit.search import search, search_once
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import FitProgress, with_callbacks
from opgd._utils.features import validate_features
from opgd._utils.labels import (
    check_same_type,
    encode_among,
    encode_known_labels,
    encode_partly_labeled,
    is_missing,
    to_label_array,
)
from opgd._utils.validation import (
    check_components_init,
    check_flag,
    check_integer,
    check_n_components,
    check_priors,
    check_sample_weight,
    check_seed,
)
from opgd.core.calibration import Calibration
from opgd.core.coordinates import Frame
from opgd.core.engines import RowEngine
from opgd.core.fitted import FittedProjection, mix_background
from opgd.core.types import AnyArray, FloatArray, IntArray

TRIAL_TOLERANCE = 1e-4
"""Least `tol` of the searches with hidden labels."""


class OPGDSemiSupervised(ProjectionClassifier):
    r"""Gaussian discriminant analysis on an optimal projection, from partly labeled samples.

    The projection :math:`V` maximizes

    .. math::

        \sum_i \log \frac{\pi_{t_i} \phi_{t_i}(V^\top x_i)}{\sum_k \pi_k \phi_k(V^\top x_i)},

    where the target :math:`t_i` of a labeled sample is its class, and that of an unlabeled sample
    is the class with the largest joint density :math:`\pi_k \phi_k(V^\top x_i)`.

    Class means and covariances are estimated from all samples by self-training: labeled samples
    count for their class and unlabeled samples for every class in proportion to its posterior
    probability. The first probabilities are those of LDA on the labeled samples. If all samples are
    labeled, this is `OPGDClassifier`, without calibration.

    With ``calibrate=True``, a fifth of the labels is hidden in each of five trials and predicted
    from the others. The hidden labels serve two purposes. Probabilities are calibrated by a
    temperature :math:`T` and the share :math:`\varepsilon` of the priors, as in
    `OPGDClassifierCV`:

    .. math::

        p_{ik} = (1 - \varepsilon) \frac{(\pi_k \phi_k(V^\top x_i))^{1 / T}}
                      {\sum_l (\pi_l \phi_l(V^\top x_i))^{1 / T}} + \varepsilon \pi_k.

    And the use of the unlabeled samples is decided: self-training is compared with the same model
    without rounds, with `OPGDClassifier` on the labeled samples, and with LDA on the labeled
    samples. Another model is used if the mean probability of the hidden labels is larger with it by
    more than one standard error. `uses_unlabeled_` tells whether unlabeled samples were used for
    the fit.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``, or the number of components in `init` if it is
        an array. Set 2 for a plot; with few labels, few components are safer.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances of the projected Gaussians: diagonal (as in the paper) or full. Use "full" when
        scores are clearly correlated within classes and labels are not too few.
    shrinkage : float or "auto", default=0.0
        Weight of the pooled covariance in each class covariance, from 0 to 1; "auto" estimates it.
        Increase it when classes have few samples. See `OPGDClassifier`.
    ridge : float or "auto", default="auto"
        Weight of the identity matrix (on standardized features) in each covariance, from 0 to 1;
        "auto" estimates it from the labeled samples. Increase it when features are many or nearly
        collinear. See `OPGDClassifier`.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies among all samples, where
        unlabeled samples are counted by their posterior probabilities, or among the labeled samples
        if only these are used. Set them when the labeled samples were not drawn at random and the
        frequencies are known.
    unlabeled : default=None
        Value in `y` that marks unlabeled samples. None means -1, None and NaN. Set it if -1 is a
        class label.
    n_rounds : int, default=6
        Maximum number of rounds of self-training. Rounds stop early when the error on labeled
        samples increases by more than one standard error. With 0 the posterior probabilities of LDA
        on the labeled samples are used. Decrease it to save time; set 0 when unlabeled samples come
        from elsewhere than the labeled ones.
    calibrate : bool, default=True
        Whether to hide labels in trials, in order to calibrate the probabilities and to decide
        whether to use the unlabeled samples. This takes up to 20 additional fits, each with a
        single search. The label of a class with a single labeled sample is not hidden; if there is
        such a class, or if there are fewer than 10 labels to hide, unlabeled samples are used in
        any case. With False, unlabeled samples are used and probabilities are not calibrated. Set
        it to False to save time, if the unlabeled samples are known to help.
    init : str, sequence of str or array-like, default="auto"
        Initial components: "auto", "lda", "paper", "save", "pca", "random", several of these names,
        or an array; see `OPGDClassifier`. Set "lda" for a quick fit; an array starts from known
        components.
    n_init : int, default=1
        Number of searches, of which the best is kept. All but the first start from random
        components. Increase it when the result depends on the initialization.
    max_iter : int, default=500
        Maximum number of iterations of each search. With 0 the initial components are kept.
        Increase it after a `ConvergenceWarning`.
    tol : float, default=1e-6
        A search has converged when no entry of the gradient of the mean log posterior, in whitened
        coordinates, exceeds `tol` in absolute value. Increase it, for example to 1e-3, for quick
        fits to many samples; decrease it to compare optima.
    random_state : int, RandomState instance or None, default=None
        Seed of random initial components. Set it for reproducible results if starts are random.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. None means 1, -1 all cores. Set it when
        a fit takes longer than a few seconds.
    verbose : int, default=0
        If positive, print the log-likelihood every ``verbose`` iterations. Set it to follow a long
        fit.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of each training sample: the given label, or the most probable class of an unlabeled
        sample.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of each training sample; 0 and 1 for labeled samples.
    n_rounds_ : int
        Number of rounds of self-training.
    uses_unlabeled_ : bool
        Whether the model was fitted to all samples. If False, it was fitted to the labeled samples,
        and the unlabeled ones were only used to standardize features.
    temperature_ : float
        Temperature by which log joint densities are divided; 1 without calibration.
    background_ : float
        Share of the prior probabilities in the predicted probabilities; 0 without calibration.
    trials_ : dict of arrays
        Results on hidden labels: `model` (names), `error`, `log_loss` and `missed_probability` (one
        minus the mean probability of the hidden label), all with calibrated probabilities and with
        weights that give the classes their frequencies as estimated by LDA. Defined only if labels
        were hidden.
    components_, n_components_, classes_, priors_, means_, covariances_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_
        As in `OPGDClassifier`.
    log_likelihood_, component_log_likelihoods_, component_shares_
        As in `OPGDClassifier`, with the targets :math:`t_i` in place of the true classes, of the
        samples used for the fit and without calibration.
    n_iter_, n_evaluations_, converged_, loss_curve_
        As in `OPGDClassifier`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if all names are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDSemiSupervised
    >>> X, y = load_wine(return_X_y=True)
    >>> partly_labeled = np.full(len(y), -1)
    >>> partly_labeled[::10] = y[::10]
    >>> model = OPGDSemiSupervised().fit(X, partly_labeled)
    >>> bool(np.mean(model.transduction_ == y) > 0.9)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        covariance_type: str = "diag",
        shrinkage: float | str = 0.0,
        ridge: float | str = "auto",
        priors: Any = None,
        unlabeled: Any = None,
        n_rounds: int = 6,
        calibrate: bool = True,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.priors = priors
        self.unlabeled = unlabeled
        self.n_rounds = n_rounds
        self.calibrate = calibrate
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the projection and the projected Gaussians.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels, all of one type; unlabeled samples are marked as described for
            `unlabeled`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample; samples of weight 0
            are ignored.

        Returns
        -------
        self : OPGDSemiSupervised
            Fitted estimator.
        """
        self._check_parameters()
        rng = check_seed(self.random_state)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        engine, classes, X, codes = self._read_samples(X, y, sample_weight)
        check_n_components(self.n_components, engine.n_features)
        settings = ProblemSettings(
            len(classes),
            partial(check_priors, self.priors, classes),
            self.covariance_type,
            self.shrinkage,
            self.ridge,
        )
        with one_blas_thread():
            frame = frame_samples(engine)
            use, calibration, attributes = self._choose_use(engine, frame, settings, rng)
            problem, n_rounds = use.pose(frame, settings)
            progress = self._watch(problem, classes, data)
            directions, summary, notes = self._fit_components(problem, use, rng, progress)
            attributes |= self._describe(problem, classes, directions) | summary
            projection = replace(
                attributes["_projection"],
                temperature=calibration.temperature,
                background=calibration.background,
            )
            distributions = _compute_probabilities(projection, problem.priors, X, codes)
        attributes |= {
            "_projection": projection,
            "n_rounds_": n_rounds,
            "uses_unlabeled_": use.with_unlabeled,
            "transduction_": classes[np.argmax(distributions, axis=1)],
            "label_distributions_": distributions,
        }
        warn_about_data(problem, [str(label) for label in classes], self._column_names(), notes)
        self.__dict__.pop("trials_", None)  # of an earlier fit
        progress.finish(self._store(attributes))
        return self

    @property
    def temperature_(self) -> float:
        """Temperature by which log joint densities are divided."""
        return self._projection.temperature

    @property
    def background_(self) -> float:
        """Share of the prior probabilities in the predicted probabilities."""
        return self._projection.background

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_rounds", self.n_rounds)
        check_flag("calibrate", self.calibrate)
        if np.ndim(self.unlabeled) or isinstance(self.unlabeled, Mapping | Set):
            raise TypeError(f"unlabeled must be a single value, got {self.unlabeled!r}.")

    def _choose_use(
        self, engine: RowEngine, frame: Frame, settings: ProblemSettings, rng: np.random.RandomState
    ) -> tuple[LabelUse, Calibration, dict[str, Any]]:
        """Return how to use the samples, the calibration, and the attribute `trials_`.

        All follow from trials in which labels are hidden, if there are labels to hide.
        """
        uses = list_uses(int(self.n_rounds))
        trials = divide_labels(engine, frame) if self.calibrate and engine.partly_labeled else []
        if not trials:
            return uses[0], Calibration(), {}
        search_trial = partial(self._search_trial, deepcopy(rng))  # leaves the seed of the fit
        predictions = predict_hidden(uses, trials, frame, settings, search_trial)
        best = select_model(predictions)
        table = {"trials_": _tabulate_trials(uses, predictions)}
        return uses[best], predictions[best].calibration, table

    def _fit_components(
        self, problem: Problem, use: LabelUse, rng: np.random.RandomState, progress: FitProgress
    ) -> tuple[FloatArray, dict[str, Any], list[str]]:
        """Return ordered directions, fitted attributes and notes."""
        if not use.is_lda:
            return self._optimize(problem, rng, progress)
        n_components, notes = self._count_components(problem)
        start = make_starts(problem, "lda", n_components, rng)
        result = search(problem, start, max_iter=0, tol=self.tol, on_iteration=lambda *_: None)
        directions, summary = summarize_search(problem, result)
        return directions, summary | {"converged_": True}, notes

    def _search_trial(
        self, rng: np.random.RandomState, problem: Problem, use: LabelUse
    ) -> FloatArray:
        """Return the directions of a trial fit: of LDA, or of a single search.

        Searches start from LDA instead of random components, which would add noise to the
        comparison.
        """
        n_components, _ = self._count_components(problem)
        init = self.init
        from_lda = ("auto", "random") if self.max_iter > 0 else ("auto",)
        if use.is_lda or (isinstance(init, str) and init in from_lda):
            init = "lda"
        elif not has_names(init):
            init = check_components_init(init, self.n_components, self.n_features_in_)
        return search_once(
            problem,
            make_starts(problem, init, n_components, rng),
            max_iter=0 if use.is_lda else int(self.max_iter),
            tol=max(self.tol, TRIAL_TOLERANCE),
        )

    def _read_samples(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[RowEngine, AnyArray, AnyArray, IntArray]:
        """Return an engine over the samples with positive weight, and the class labels.

        Return also all samples, and their codes (n,), -1 for samples without a label.
        """
        X = validate_features(self, X, min_samples=2, allow_nan=True)
        y = to_label_array(y)
        check_consistent_length(X, y)
        weights = check_sample_weight(sample_weight, X)
        present = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        classes, codes = encode_partly_labeled(y[present], self.unlabeled)
        weighted, all_codes = X, codes
        if weights is not None and not present.all():
            weighted, weights = X[present], weights[present]
            all_codes = encode_among(y, classes, self.unlabeled)
        engine = RowEngine(weighted, codes, weights, n_threads=effective_n_jobs(self.n_jobs))
        return engine, classes, X, all_codes

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy on the labeled samples; unlabeled samples are ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels; some samples may be unlabeled.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
        """
        predicted, y = compute_eagerly(self.predict(X)), to_label_array(compute_eagerly(y))
        check_consistent_length(predicted, y)
        weights = check_sample_weight(compute_eagerly(sample_weight), predicted)
        known = ~is_missing(y, self.unlabeled)
        if weights is not None:
            known &= weights > 0
        if not known.any():
            raise ValueError("y has no labeled samples with positive weight to score.")
        check_same_type(y[known], self.classes_)
        codes = encode_among(y, self.classes_, self.unlabeled)
        correct = codes == encode_known_labels(predicted, self.classes_)
        known_weights = None if weights is None else weights[known]
        return float(np.average(correct[known], weights=known_weights))


def _tabulate_trials(uses: list[LabelUse], predictions: list[Predictions]) -> dict[str, AnyArray]:
    return {
        "model": np.array([use.name for use in uses], dtype=object),
        "error": np.array([model.error for model in predictions]),
        "log_loss": np.array([model.log_loss for model in predictions]),
        "missed_probability": np.array([model.missed_probability for model in predictions]),
    }


def _compute_probabilities(
    projection: FittedProjection, priors: FloatArray, X: AnyArray, codes: IntArray
) -> FloatArray:
    """Return posterior probabilities (n, K), which are 0 and 1 for labeled samples."""
    log_joints = projection.class_log_joint(X)
    probabilities: FloatArray = np.exp(mix_background(log_joints, projection.background, priors))
    labeled = np.flatnonzero(codes >= 0)
    probabilities[labeled] = 0.0
    probabilities[labeled, codes[labeled]] = 1.0
    return probabilities
