"""OPGDMixture, the clustering method of the paper's Section 5."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Number
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianModel, complete_projection, describe_projection
from opgd._base.posterior import normalize_log_joints
from opgd._base.projection import ProjectionMixin
from opgd._dask.lazy import apply_to_samples, compute_eagerly, is_lazy, support_dask, take_values
from opgd._fit.cluster_numbers import (
    Scored,
    combine_candidates,
    confusion_rates,
    doubt_selection,
    list_numbers,
    select_number,
    tabulate_fits,
    try_numbers,
)
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.first_mixtures import MAX_CANDIDATES, FirstMixture
from opgd._fit.initialization import convert_components
from opgd._fit.mixture_init import MIXTURE_INITS, Starts
from opgd._fit.noise import (
    Noise,
    add_noise,
    estimate_noise,
    find_outlying,
)
from opgd._fit.problem import (
    Problem,
    default_n_components,
    frame_samples,
    limit_n_components,
)
from opgd._fit.profiles import ClusterProfile, profile_clusters
from opgd._fit.refinement import (
    METRICS,
    RefinedMixture,
    compute_criteria,
    make_unprojected_mixture,
    mixture_axes,
    next_clusters,
    orthonormalize,
    pose_mixture,
    refine,
)
from opgd._fit.regularizer import Regularizer
from opgd._fit.resolution import FEW_VALUES, drop_rounding_errors, measure_resolution
from opgd._fit.stability import compare_halves
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from opgd._utils.features import validate_features
from opgd._utils.labels import to_label_array
from opgd._utils.text import list_names
from opgd._utils.validation import (
    check_choice,
    check_components_init,
    check_flag,
    check_integer,
    check_n_components,
    check_n_jobs,
    check_positive,
    check_sample_weight,
    check_seed,
    check_share,
)
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.density import SampleDensity, information_criteria, make_sample_density
from opgd.core.engines import Engine, RowEngine
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.moments import Moments
from opgd.core.starts import normalize_rows
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_CORRELATION = 0.9
"""Correlation of the scores on two components above which a warning is issued."""
CRITERIA = ["bic", "icl", "aic"]


class OPGDMixture(ProjectionMixin, ClusterMixin, CallbackSupportMixin, GaussianModel):
    r"""Gaussian mixture model on an optimal linear projection.

    First, a mixture with full covariances is fitted to all features. Then the projection :math:`V`
    that separates its clusters best is computed by maximizing

    .. math::

        \sum_i \log \frac{\max_k \pi_k \phi_k(V^\top x_i)}{\sum_k \pi_k \phi_k(V^\top x_i)}
        - n \lambda \lVert V^\top M V - I \rVert^2,

    where :math:`\phi_k` is the Gaussian density with mean :math:`V^\top \mu_k` and covariance
    :math:`V^\top \Sigma_k V` or its diagonal, and :math:`M` is the metric. Finally, the mixture is
    fitted again by EM to the projected samples.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_clusters : int, iterable of int or "auto", default=2
        Number of clusters. Of several numbers, the best by `criterion` is selected. "auto" tries 1,
        2, ... until three numbers in turn are no better, but at most 20 clusters and at least 5
        samples per cluster. A warning is issued if the choice is doubtful.
    n_components : int, default=None
        Number of components of the projection. None means
        ``min(n_features, max(2, n_clusters - 1))``.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances of the projected Gaussians: diagonal (as in the paper) or full.
    metric : {"covariance", "identity"}, default="covariance"
        Metric :math:`M` in which components should be orthonormal. With "covariance" the scores are
        uncorrelated with unit variance, and the result does not depend on the units and origins of
        the features (nor on any invertible linear map of them, if `init` is labels or
        responsibilities). "identity" is the paper's :math:`V^\top V = I` on the features as given.
    orthogonality : float, default=1.0
        Weight :math:`\lambda` of the penalty, per sample; the paper's :math:`\lambda = n`
        corresponds to 1. Increase it if components are too similar.
    init : {"auto", "kmeans", "ward"}, mixture, labels or responsibilities, default="auto"
        How to obtain the first mixture:

        - a fitted `GaussianMixture` or `BayesianGaussianMixture` of scikit-learn is used as it is;
        - labels of shape (n_samples,) or responsibilities of shape (n_samples, n_clusters)
          initialize EM;
        - "kmeans" and "ward" initialize EM by k-means or Ward linkage on half-sphered samples, that
          is, on principal components of the standardized features divided by the square roots of
          their standard deviations. Ward linkage uses at most 2,000 samples;
        - "auto" runs EM from three k-means solutions and from Ward linkage on half-sphered and on
          standardized samples, and keeps the highest likelihood; solutions with collapsed clusters
          are used only if there are no others.

        Except with a fitted mixture, EM uses at most 20,000 samples, spaced evenly by weight.
    components_init : array-like of shape (n_components, n_features), default=None
        Initial components. None means the LDA components of the clusters of the first mixture,
        followed by the directions in which their variances differ most.
    n_init : int, default=1
        Number of k-means initializations (three times as many with ``init="auto"``), of which the
        one with the highest likelihood after EM is kept.
    n_rounds : int, default=1
        Maximum number of rounds. Each round computes a projection for the current clusters and fits
        the mixture again. Rounds stop when no sample changes its cluster; the round with the
        highest likelihood of the samples in all features is kept.
    shrinkage : float or "auto", default="auto"
        Weight of the pooled covariance in each cluster covariance while the projection is
        optimized, which prevents overfitting to the first mixture. "auto" estimates it for each
        cluster; see `OPGDClassifier`.
    regularization : float, default=1.0
        Strength of a weak prior on the covariances of clusters, whose scale comes from the data
        (Fraley & Raftery 2007). It keeps clusters from collapsing onto a few samples; with many
        samples its effect vanishes. With 0 there is no prior, and the first mixture has full
        covariances fitted as in the paper.
    criterion : {"bic", "icl", "aic"}, default="bic"
        Criterion for selecting among several numbers of clusters; lower is better.
    noise : bool or float, default=False
        Whether samples may belong to no cluster. They have a uniform density on a box around all
        samples; its share is estimated, or given as a number from 0 to 1. The clusters are fitted
        to the other samples. With noise, samples must not have missing values.
    stability : bool, default=False
        Whether to fit each number of clusters to two random halves of the samples as well, and to
        add the agreement of the two fits to `selection_`. It takes about twice as long.
    max_iter : int, default=500
        Maximum number of iterations of the search for the projection. With 0 the initial components
        are kept.
    tol : float, default=1e-3
        The search has converged when no entry of the gradient of the mean objective exceeds `tol`
        in absolute value.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, and of `sample`.
    subsample : bool, default=True
        Whether to use subsamples when there are 100,000 samples or more: the search starts on
        10,000, and each iteration on all samples is then a search on a subsample of at most a
        quarter of the data, drawn by the losses at the current components. `tol` refers to all
        samples. The subsamples are deterministic. This needs fewer passes over the data, but may
        end in a different local optimum.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. None means 1, -1 all cores.
    verbose : int, default=0
        If positive, print the objective every ``verbose`` iterations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample. Clusters are numbered by weight, the largest first. With
        `noise`, -1 for samples that are more probably noise.
    initial_labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample according to the first mixture, with the same numbering.
    uncertainty_ : ndarray of shape (n_samples,)
        One minus the posterior probability of the cluster of each training sample.
    n_clusters_ : int
        Number of clusters.
    weights_ : ndarray of shape (n_clusters_,)
        Mixture weights of the clusters.
    components_ : ndarray of shape (n_components_, n_features)
        The components, :math:`V^\top`, of length 1 in the metric. They are ordered as in the paper:
        each adds the most to the objective of those before it.
    n_components_ : int
        Number of components.
    means_, covariances_ : ndarrays of shape (n_clusters_, n_features[, n_features])
        Means and covariances of the clusters in the original features: those of the mixture within
        the projection, and those of all samples in the remaining directions.
    projected_means_, projected_variances_ : ndarrays of shape (n_clusters_, n_components_)
        Means and variances (covariances with ``covariance_type="full"``) of the projected clusters,
        in the units of `transform`.
    objective_ : float
        Maximized objective, including the penalty, as a sum over samples.
    component_log_likelihoods_, component_shares_ : ndarrays of shape (n_components_,)
        Objective without the penalty for the first 1, 2, ... components; its increase due to each
        component, as a share of the total increase.
    log_likelihood_ : float
        Sum of the log densities of the training samples; see `score_samples`.
    selection_ : dict of arrays
        Results for each number of clusters:

        - `n_clusters`, `n_components`, `log_likelihood`, `n_parameters`, `bic`, `icl`, `aic`: those
          of the density of `score_samples`;
        - `first_bic`, `first_icl`, `first_aic`: those of the best first mixture in all features;
        - `smallest`: the share of the smallest cluster;
        - `selected_by`: the mean of the two values of `criterion`. Of the numbers with clusters of
          at least 2 % of the samples, the one with the smallest mean is selected;
        - `covariances`: the structure of the covariances of the first mixture, "full", "tied",
          "rotated" (equal volume and shape, mclust's EEV), "equal_shape" (VEV), "diag",
          "spherical", or "given";
        - `agreement`, with `stability`: the adjusted Rand index between the clusters of all samples
          according to fits to two halves of them. Clusters that are found again have an index near
          1. It does not influence the selection.
    noise_share_, noise_log_density_ : float
        Share of noise and log of its uniform density; only with `noise`. The criteria in
        `selection_` are then those of the samples that are not outlying.
    eigenvalues_ : ndarray
        Nonzero eigenvalues of the correlation matrix of the features, in descending order. Small
        values indicate collinear features, for which ``metric="identity"`` can fail.
    n_iter_, n_evaluations_ : int
        Number of iterations and of evaluations in the last search for the projection.
    n_rounds_ : int
        Number of rounds.
    converged_ : bool
        Whether the last search reached `tol`.
    loss_curve_ : list of float
        Negative mean objective before the search and after each iteration.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if all names are strings.

    References
    ----------
    Hofmeyr, Kamper & Melonas, "Optimal Projections for Gaussian Discriminants", Section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from opgd import OPGDMixture
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OPGDMixture(n_clusters=3, random_state=0).fit(X)
    >>> bool(adjusted_rand_score(y, model.labels_) > 0.9)
    True
    >>> model.transform(X).shape
    (178, 2)
    """

    weights_: FloatArray
    noise_share_: float
    noise_log_density_: float
    _allow_missing = True

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        n_components: int | None = None,
        covariance_type: str = "diag",
        metric: str = "covariance",
        orthogonality: float = 1.0,
        init: Any = "auto",
        components_init: Any = None,
        n_init: int = 1,
        n_rounds: int = 1,
        shrinkage: float | str = "auto",
        regularization: float = 1.0,
        criterion: str = "bic",
        noise: bool | float = False,
        stability: bool = False,
        max_iter: int = 500,
        tol: float = 1e-3,
        random_state: Any = None,
        subsample: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.metric = metric
        self.orthogonality = orthogonality
        self.init = init
        self.components_init = components_init
        self.n_init = n_init
        self.n_rounds = n_rounds
        self.shrinkage = shrinkage
        self.regularization = regularization
        self.criterion = criterion
        self.noise = noise
        self.stability = stability
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the clusters, the projection and the projected mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample; samples of weight 0
            are ignored, but are assigned a label. The first mixture is fitted to samples drawn
            evenly by weight.

        Returns
        -------
        self : OPGDMixture
            Fitted estimator.
        """
        numbers, is_auto = self._check_parameters(), isinstance(self.n_clusters, str)
        seed = check_seed(self.random_state).randint(2**31 - 1)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        X, engine, init = self._engine(X, sample_weight)
        numbers = list_numbers(engine.n_samples) if is_auto else numbers
        self._check_sizes(engine.n_samples, engine.n_features, numbers)
        with one_blas_thread():
            n_fits = (1 + 2 * self.stability) * (len(numbers) + (self.noise is not False))
            max_total_iter = MAX_CANDIDATES * n_fits * self.n_rounds * self.max_iter
            progress = FitProgress(self, data, dict, max_total_iter)
            select = partial(self._select, seed=seed, progress=progress)
            if self.noise is False:
                outcome = select(engine, init, numbers)
            else:
                outcome = self._separate_noise(engine, init, numbers, select)
            fit, selection = outcome.fit, outcome.selection
            attributes = self._fitted_attributes(X, fit) | {"selection_": selection}
            if outcome.noise is not None:
                attributes |= self._label_noise(X, sample_weight, outcome.noise, attributes)
            notes = outcome.notes + self._doubt_selection(fit.refined, selection)
        self._warn(fit.refined, attributes, notes)
        progress.finish(self._store(attributes))
        return self

    def _check_parameters(self) -> list[int]:
        if isinstance(self.n_clusters, str):
            check_choice("n_clusters", self.n_clusters, ["auto"])
        several = isinstance(self.n_clusters, Iterable)
        values = [] if self.n_clusters == "auto" else [self.n_clusters]
        values = list(self.n_clusters) if several and values else values
        numbers = list(dict.fromkeys(check_integer("n_clusters", value, 1) for value in values))
        if not numbers and not isinstance(self.n_clusters, str):
            raise ValueError("n_clusters is empty; pass at least one number of clusters.")
        check_n_components(self.n_components)
        check_choice("covariance_type", self.covariance_type, ["diag", "full"])
        check_choice("metric", self.metric, METRICS)
        check_positive("orthogonality", self.orthogonality, or_zero=True)
        if isinstance(self.init, str | Number | None):
            check_choice("init", self.init, MIXTURE_INITS)
        check_integer("n_init", self.n_init, 1)
        check_integer("n_rounds", self.n_rounds, 1)
        if self.shrinkage != "auto":
            check_share("shrinkage", self.shrinkage, word="auto")
        check_positive("regularization", self.regularization, or_zero=True)
        check_choice("criterion", self.criterion, CRITERIA)
        if not isinstance(self.noise, bool):
            check_share("noise", self.noise)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("verbose", self.verbose)
        check_flag("subsample", self.subsample)
        check_flag("stability", self.stability)
        check_n_jobs(self.n_jobs)
        return numbers

    def _engine(self, X: Any, sample_weight: Any) -> tuple[Any, Engine, Any]:
        """Return all samples, an engine over those with positive weight, and `init` for these."""
        if is_lazy(X):
            from opgd._dask.inputs import encode_one_class, validate_dask_input

            if not isinstance(self.init, str) and not hasattr(self.init, "fit"):
                raise TypeError(
                    f"With Dask input, init must be one of {MIXTURE_INITS} or a fitted Gaussian "
                    f"mixture, got {type(self.init).__name__}."
                )
            rows = validate_dask_input(self, X, None, sample_weight, encode_one_class)
            return X, rows.engine, self.init
        X = self._refuse_missing(validate_features(self, X, min_samples=2, allow_nan=True))
        weights = check_sample_weight(sample_weight, X)
        weighted, init = X, self.init
        if weights is not None and not np.all(weights):
            present = weights > 0
            weighted, weights, init = X[present], weights[present], _select_init(init, present)
        codes = np.zeros(len(weighted), dtype=np.intp)
        engine = RowEngine(weighted, codes, weights, n_threads=effective_n_jobs(self.n_jobs))
        return X, engine, init

    def _check_sizes(self, n_samples: int, n_features: int, numbers: list[int]) -> None:
        if max(numbers) > n_samples:
            raise ValueError(
                f"n_clusters={max(numbers)} is more than the {n_samples} samples of X."
            )
        check_n_components(self.n_components, n_features)

    def _select(
        self, engine: Engine, init: Any, numbers: list[int], seed: int, progress: FitProgress
    ) -> "_Outcome":
        """Fit each number of clusters, and return the best fit by the criterion."""
        frame, regularizer, notes = self._prepare(engine)
        starts = Starts(frame, regularizer, init, self.n_init, seed)
        fit_one, is_auto = partial(self._fit_one, starts, progress), self.n_clusters == "auto"
        fits = list(try_numbers(fit_one, numbers, stop=is_auto))
        selection = tabulate_fits(fits)
        if self.stability:
            agreement = self._compare_halves(engine, init, selection["n_clusters"], seed, progress)
            selection["agreement"] = agreement
        return _Outcome(fits[select_number(selection)], selection, notes)

    def _compare_halves(
        self, engine: Engine, init: Any, numbers: AnyArray, seed: int, progress: FitProgress
    ) -> FloatArray:
        """Return the agreement between fits to two halves of the samples, by number."""
        if not isinstance(engine, RowEngine):
            raise TypeError("stability needs samples in memory; with Dask input, set it to False.")

        def fit_half(half: AnyArray, number: int) -> RefinedMixture:
            rows = engine.select_rows(np.flatnonzero(half))
            frame, regularizer, _ = self._prepare(rows)
            starts = Starts(frame, regularizer, _select_init(init, half), self.n_init, seed)
            return self._fit_one(starts, progress, number).refined

        return compare_halves(engine, fit_half, list(numbers), seed)

    def _separate_noise(
        self, engine: Engine, init: Any, numbers: list[int], select: Callable[..., "_Outcome"]
    ) -> "_Outcome":
        """Select the number of clusters without outlying samples, then fit it without noise."""
        if not isinstance(engine, RowEngine):
            raise TypeError("noise needs samples in memory; with Dask input, set noise=False.")
        share = None if self.noise is True else float(self.noise)
        retained = ~find_outlying(frame_samples(engine))
        rows = engine.select_rows(np.flatnonzero(retained))
        selected = select(rows, _select_init(init, retained), numbers)
        retained = estimate_noise(engine, selected.fit.refined.density, share).retained
        rows, number = engine.select_rows(np.flatnonzero(retained)), selected.fit.n_clusters
        outcome = select(rows, _select_init(init, retained), [number])
        noise = estimate_noise(engine, outcome.fit.refined.density, share).noise
        return replace(outcome, selection=selected.selection, noise=noise)

    def _prepare(self, engine: Engine) -> tuple[Frame, Regularizer, list[str]]:
        """Sphere the samples and bound variances; return notes about features as well."""
        frame = frame_samples(engine, keep_relations=True)
        if self.regularization == 0:
            return frame, Regularizer(0.0), []
        resolution, names = measure_resolution(engine), self._column_names()
        frame, residual = drop_rounding_errors(frame, resolution)
        notes = []
        if len(residual):
            notes.append(
                "Up to rounding errors, these columns are linear combinations of others: "
                f"{list_names([names[j] for j in residual])}. The rounding errors are not used for "
                "clustering; drop the columns"
            )
        if len(resolution.few):
            few = list_names([names[j] for j in resolution.few], n_all=len(names))
            notes.append(
                f"Columns with at most {FEW_VALUES} distinct values: {few}. Clusters are at least "
                "half the spacing of the values wide there; drop columns that are categories or "
                "codes"
            )
        return frame, Regularizer(self.regularization, resolution.floor(frame)), notes

    def _fit_one(self, starts: Starts, progress: FitProgress, n_clusters: int) -> "_Fit":
        """Fit one number of clusters, and return the best of several first mixtures."""
        mixtures = starts.make_mixtures(n_clusters)
        fits = [
            self._refine_mixture(starts.frame, starts.regularizer, mixture, progress)
            for mixture in mixtures
        ]
        return combine_candidates(fits, self.criterion)

    def _refine_mixture(
        self, frame: Frame, regularizer: Regularizer, first: FirstMixture, progress: FitProgress
    ) -> "_Fit":
        """Refine a first mixture, and return the best round."""
        report = progress.reporter(self.verbose, frame.engine.total_weight, "objective")
        clusters, rounds = first.moments, list[RefinedMixture]()
        while True:
            problem = pose_mixture(
                frame,
                clusters,
                metric=self.metric,
                covariance_type=self.covariance_type,
                shrinkage=self.shrinkage,
                orthogonality=self.orthogonality,
            )
            progress.describe = partial(self._describe, problem)
            if not rounds:
                start = self._initial_components(problem, clusters, clusters.n_groups)
            rounds.append(
                refine(
                    problem,
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_iteration=report,
                    subsample=self.subsample and self.components_init is None and not rounds,
                    regularizer=regularizer,
                )
            )
            same = len(rounds) > 1 and rounds[-1].agrees_with(rounds[-2])
            if same or len(rounds) == self.n_rounds:
                break
            clusters, start = next_clusters(rounds[-1]), orthonormalize(rounds[-1].directions)
        best = max(rounds, key=lambda refined: refined.log_likelihood)
        of_first = first.criteria(frame.engine.count, best.density.log_volume)
        criteria = compute_criteria(best) | {"covariances": first.structure}
        criteria |= {f"first_{name}": value for name, value in of_first.items()}
        return _Fit(criteria, int(np.sum(best.sizes == 0)), first, best, len(rounds))

    def _doubt_selection(
        self, refined: RefinedMixture, selection: dict[str, AnyArray]
    ) -> list[str]:
        """Return notes on the selected number of clusters, if there was a choice."""
        if len(selection["n_clusters"]) == 1:
            return []
        order = np.argsort(_rank_by_weight(refined.mixture.gaussians))
        rates = confusion_rates(refined)[np.ix_(order, order)]
        return doubt_selection(selection, refined.sizes[order], rates)

    def _label_noise(
        self, X: AnyArray, sample_weight: Any, noise: Noise, attributes: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the attributes that noise changes."""
        density = make_sample_density(attributes["_coordinates"], attributes["_projection"])
        log_densities = density.log_density(X)
        probabilities = noise.probabilities(log_densities)
        is_noise = log_densities < noise.log_odds
        certainty = (1 - attributes["uncertainty_"]) * (1 - probabilities)
        total = add_noise(log_densities, noise.share, noise.log_density)
        weights = check_sample_weight(sample_weight, X)
        return {
            "labels_": np.where(is_noise, -1, attributes["labels_"]),
            "uncertainty_": 1 - np.where(is_noise, probabilities, certainty),
            "log_likelihood_": float(total.sum() if weights is None else weights @ total),
            "noise_share_": noise.share,
            "noise_log_density_": noise.log_density,
        }

    def _initial_components(
        self, problem: Problem, clusters: Moments, n_clusters: int
    ) -> FloatArray:
        rank, number = problem.coordinates.rank, self.n_components
        if self.components_init is None:
            number = default_n_components(rank, n_clusters) if number is None else number
            return mixture_axes(problem, clusters, min(rank, number))
        name = "components_init"
        components = check_components_init(self.components_init, number, self.n_features_in_, name)
        return convert_components(problem, components[:rank], name)

    def _describe(
        self, problem: Problem, directions: FloatArray, gaussians: ProjectedGaussians | None = None
    ) -> dict[str, Any]:
        """Return the attributes that predictions need, with clusters ordered by weight."""
        gaussians = problem.objective.gaussians(directions) if gaussians is None else gaussians
        gaussians = gaussians.take(np.argsort(_rank_by_weight(gaussians)))
        projection = replace(problem.project(directions), gaussians=gaussians)
        coordinates = sphered_coordinates(problem.frame)
        density = make_sample_density(coordinates, projection)
        means, covariances = density.sphered_moments()
        weights = np.exp(gaussians.log_priors)
        attributes = {
            "n_clusters_": len(weights),
            "weights_": weights / weights.sum(),
            "means_": coordinates.raw_means(means),
            "_projection": projection,
            "_coordinates": coordinates,
            "_covariances": covariances,
        }
        attributes["_projection"] = complete_projection(**attributes)
        return attributes | describe_projection(self, projection)

    def _fitted_attributes(self, X: AnyArray, fit: "_Fit") -> dict[str, Any]:
        refined, frame = fit.refined, fit.refined.problem.frame
        gaussians = refined.mixture.gaussians
        attributes = self._describe(refined.problem, refined.directions, gaussians)
        clustered = apply_to_samples(partial(_cluster, attributes["_projection"]), X)
        first_labels = apply_to_samples(
            partial(_predict_clusters, make_unprojected_mixture(frame, fit.first.moments)), X
        )
        weight = frame.engine.total_weight
        return (
            refined.summary
            | attributes
            | {
                "labels_": clustered[:, 0].astype(np.intp),
                "initial_labels_": take_values(_rank_by_weight(gaussians), first_labels),
                "uncertainty_": clustered[:, 1],
                "log_likelihood_": weight * refined.log_likelihood,
                "eigenvalues_": frame.spread**-2.0,
                "n_rounds_": fit.n_rounds,
            }
        )

    def _warn(
        self, refined: RefinedMixture, attributes: dict[str, Any], data_notes: list[str]
    ) -> None:
        """Issue one warning that lists all problems of the data and of the result."""
        problem, places = refined.problem, _rank_by_weight(refined.mixture.gaussians)
        n_components = attributes["n_components_"]
        notes = limit_n_components(self.n_components or n_components, n_components)[1]
        notes += data_notes
        n_clusters = attributes["n_clusters_"]
        empty = np.sort(places[refined.sizes == 0])
        if len(empty):
            which = ", ".join(map(str, empty))
            advice = "reduce n_clusters"
            if hasattr(self.init, "fit"):
                advice = "check that init was fitted to data in the units of X"
            notes.append(f"Of {n_clusters} clusters, these have no samples: {which}; {advice}")
        notes += self._check_correlation(problem, attributes["components_"])
        warn_about_data(
            problem,
            [str(place) for place in places],
            self._column_names(),
            notes,
            what=("cluster", "clusters"),
            advice="set the parameter shrinkage to choose the amount",
        )

    def _check_correlation(self, problem: Problem, components: FloatArray) -> list[str]:
        """Return a note if two components are nearly the same (the paper's Section 5.2)."""
        if self.metric != "identity":
            return []
        directions = normalize_rows(sphered_coordinates(problem.frame).directions(components))
        correlations = np.abs(np.tril(directions @ directions.T, -1))
        j, i = np.unravel_index(np.argmax(correlations), correlations.shape)
        if correlations[j, i] < MAX_CORRELATION:
            return []
        return [
            f"Scores on components {i + 1} and {j + 1} have a correlation of "
            f"{correlations[j, i]:.2f}, which metric='identity' allows if features are collinear "
            "(see eigenvalues_); use metric='covariance'"
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.noise is False
        return tags

    def _check_rows(self, X: Any) -> AnyArray:
        return self._refuse_missing(super()._check_rows(X))

    def _refuse_missing(self, X: AnyArray) -> AnyArray:
        """Return samples; raise ValueError if they have missing values and there is noise.

        The density of noise is uniform on a box of sphered samples, and has no simple marginals.
        """
        if self.noise is not False and np.isnan(X).any():
            raise ValueError(
                "Input X contains NaN, which noise does not support; set noise=False, or impute "
                "the missing values (for example with SimpleImputer)."
            )
        return X

    def _log_joint(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        with one_blas_thread():
            return self._projection.log_joint(X)

    @support_dask
    def predict(self, X: Any) -> IntArray:
        """Predict the most probable cluster of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            With `noise`, -1 for samples that are more probably noise.
        """
        labels = np.argmax(self._log_joint(X), axis=1)
        noise = self._noise
        if noise is None:
            return labels
        is_noise = self._density().log_density(self._check_rows(X)) < noise.log_odds
        return np.where(is_noise, -1, labels)

    @property
    def _noise(self) -> Noise | None:
        """Return the noise component, if there is one."""
        if not hasattr(self, "noise_share_"):
            return None
        return Noise(self.noise_share_, self.noise_log_density_)

    @support_dask
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the posterior probabilities of the clusters.

        With `noise`, these are the probabilities given that a sample is not noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_clusters_)
        """
        return np.exp(normalize_log_joints(self._log_joint(X)))

    def profiles(self, X: Any) -> list[ClusterProfile]:
        """Describe each cluster by the original features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, usually those of `fit`.

        Returns
        -------
        profiles : list of ClusterProfile
            One for each cluster, with `size`, `share`, `means`, `differences` (from the other
            clusters, in standard deviations), `distinguishing` (the features that differ most) and
            `representatives` (indices of the most typical samples). Printed, a profile is one line.
        """
        X = compute_eagerly(X)
        labels, log_joints = self.predict(X), self._log_joint(X)
        names = getattr(self, "feature_names_in_", None)
        columns = self._column_names() if names is None else [str(name) for name in names]
        return profile_clusters(self._check_rows(X), labels, log_joints, columns)

    def _density(self) -> SampleDensity:
        check_is_fitted(self)
        return make_sample_density(self._coordinates, self._projection)

    @support_dask
    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log density of each sample in all features.

        Densities of scores cannot be compared between projections of different dimensions.
        Therefore the projected mixture is combined with a Gaussian, fitted to the training samples,
        for the remaining dimensions given the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            log_densities = self._density().log_density(X)
        if self._noise is None:
            return log_densities
        return add_noise(log_densities, self.noise_share_, self.noise_log_density_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Compute the mean log density of the samples; see `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        mean_log_density : float
        """
        log_density = compute_eagerly(self.score_samples(X))
        weights = check_sample_weight(compute_eagerly(sample_weight), log_density)
        return float(np.average(log_density, weights=weights))

    def aic(self, X: Any) -> float:
        """Compute the Akaike information criterion; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
        """
        return self._criterion("aic", X)

    def bic(self, X: Any) -> float:
        """Compute the Bayesian information criterion; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
        """
        return self._criterion("bic", X)

    def icl(self, X: Any) -> float:
        """Compute the integrated completed likelihood criterion; lower is better.

        It is `bic` plus a penalty for samples whose cluster is uncertain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        icl : float
        """
        return self._criterion("icl", X)

    def _criterion(self, name: str, X: Any) -> float:
        log_density = compute_eagerly(self.score_samples(X))
        certainty = 0.0
        if name == "icl":
            certainty = np.log(compute_eagerly(self.predict_proba(X)).max(axis=1)).sum()
        n_parameters = self._density().n_parameters + (self._noise is not None)
        sizes = n_parameters, len(log_density)
        criteria = information_criteria(log_density.sum(), *sizes, certainty)
        return float(criteria[name])

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw samples of the clusters, without noise, from the density of `score_samples`.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples to draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            Cluster from which each sample was drawn.
        """
        density = self._density()
        rng = check_seed(self.random_state)
        counts = rng.multinomial(check_integer("n_samples", n_samples, 1), self.weights_)
        return density.draw(counts, rng), np.repeat(np.arange(len(counts)), counts)


@dataclass(frozen=True)
class _Outcome:
    """The selected fit, criteria of all numbers of clusters, notes on features, and noise."""

    fit: "_Fit"
    selection: dict[str, AnyArray]
    notes: list[str]
    noise: Noise | None = None


@dataclass(frozen=True)
class _Fit(Scored):
    """Fit for one number of clusters: the first mixture, and the best round."""

    first: FirstMixture
    refined: RefinedMixture
    n_rounds: int

    @property
    def n_clusters(self) -> int:
        return self.first.moments.n_groups


def _cluster(projection: FittedProjection, X: AnyArray) -> FloatArray:
    """Return the most probable cluster, and one minus its probability, (n, 2)."""
    log_posteriors = normalize_log_joints(projection.log_joint(X))
    uncertainties = -np.expm1(log_posteriors.max(axis=1))
    return np.column_stack([np.argmax(log_posteriors, axis=1), uncertainties])


def _predict_clusters(projection: FittedProjection, X: AnyArray) -> IntArray:
    """Return the most probable cluster, (n,)."""
    return np.argmax(projection.log_joint(X), axis=1)


def _rank_by_weight(gaussians: ProjectedGaussians) -> IntArray:
    """Return the rank of each cluster by weight, 0 for the largest, (K,)."""
    return np.argsort(np.argsort(-gaussians.log_priors, kind="stable"), kind="stable")


def _select_init(init: Any, present: AnyArray) -> Any:
    """Return the labels or responsibilities of the selected samples; any other `init` as it is."""
    if np.ndim(init) == 0 or len(init) != len(present):
        return init
    labels = to_label_array(init, "init") if np.ndim(init) == 1 else np.asarray(init)
    return labels[present]
