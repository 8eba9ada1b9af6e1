"""OPGDMixture, the clustering method of the paper's Section 5."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianModel, describe_projection
from opgd._base.mixture_density import MixtureDensityMixin
from opgd._base.projection import ProjectionMixin
from opgd._base.support import SupportMixin
from opgd._dask.lazy import compute_eagerly, is_lazy, match_input_type
from opgd._fit.cluster_numbers import list_numbers
from opgd._fit.mixture_attributes import describe_fit, describe_mixture, describe_noise
from opgd._fit.mixture_fit import MixtureSettings, Monitor
from opgd._fit.mixture_init import MIXTURE_INITS
from opgd._fit.mixture_parameters import check_mixture_parameters
from opgd._fit.mixture_selection import (
    Outcome,
    Samples,
    Selector,
    select_features,
    select_init,
)
from opgd._fit.mixture_warnings import warn_about_mixture
from opgd._fit.problem import Problem
from opgd._fit.profiles import ClusterProfile, profile_clusters
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from opgd._utils.features import validate_features
from opgd._utils.validation import (
    check_n_components,
    check_sample_weight,
    check_seed,
    count_kept,
)
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.engines import Engine, RowEngine
from opgd.core.scoring import normalize_log_joints
from opgd.core.types import AnyArray, FloatArray, IntArray


class OPGDMixture(
    SupportMixin,
    ProjectionMixin,
    MixtureDensityMixin,
    ClusterMixin,
    CallbackSupportMixin,
    GaussianModel,
):
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
        samples per cluster. A warning is issued if the choice is doubtful. Use "auto", or a range
        that includes 1, when the number is not known.
    n_components : int, default=None
        Number of components of the projection. None means
        ``min(n_features, max(2, n_clusters - 1))``. Set 2 for a plot of many clusters; increase it
        when clusters overlap on the components but not in all features.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances of the projected Gaussians: diagonal (as in the paper) or full. Use "full" when
        clusters are elongated in different directions of the projection.
    metric : {"covariance", "identity"}, default="covariance"
        Metric :math:`M` in which components should be orthonormal. With "covariance" the scores are
        uncorrelated with unit variance, and the result does not depend on the units and origins of
        the features (nor on any invertible linear map of them, if `init` is labels or
        responsibilities). "identity" is the paper's :math:`V^\top V = I` on the features as given.
        Use "identity" to repeat the paper, with features in the same units.
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
        - "auto" runs EM from three k-means solutions, and from Ward linkage on half-sphered and on
          standardized samples. The highest likelihood is kept.

        Except with a fitted mixture, EM uses at most 20,000 samples, spaced evenly by weight. Pass
        labels or a fitted mixture to refine a clustering that you have; the result depends on the
        first mixture more than on anything else.
    components_init : array-like of shape (n_components, n_features), default=None
        Initial components. None means the LDA components of the clusters of the first mixture,
        followed by the directions in which their variances differ most. Set it to start from
        components of another method.
    n_init : int, default=1
        Number of k-means initializations (three times as many with ``init="auto"``), of which the
        one with the highest likelihood after EM is kept. Increase it when different values of
        `random_state` lead to different clusters.
    n_rounds : int, default=1
        Maximum number of rounds. Each round computes a projection for the current clusters and fits
        the mixture again. Rounds stop when no sample changes its cluster; the round with the
        highest likelihood of the samples in all features is kept. Increase it when many samples
        change their cluster (compare `initial_labels_` with `labels_`).
    shrinkage : float or "auto", default="auto"
        Weight of the pooled covariance in each cluster covariance while the projection is
        optimized, which prevents overfitting to the first mixture. "auto" estimates it for each
        cluster; see `OPGDClassifier`. Set 0 to repeat the paper, or when clusters have many samples
        per feature.
    regularization : float, default=1.0
        Strength of a weak prior on the covariances of clusters, whose scale comes from the data
        (Fraley & Raftery 2007). It keeps clusters from collapsing onto a few samples; with many
        samples its effect vanishes. With 0 there is no prior, and the first mixture has full
        covariances fitted as in the paper. Increase it when clusters of very few samples appear;
        set 0 to repeat the paper.
    criterion : {"bic", "icl", "aic"}, default="bic"
        Criterion for selecting among several numbers of clusters; lower is better. Use "icl" when
        clusters should be well separated, and "aic" when the density matters more than the number
        of clusters.
    merge : int, default=None
        Number of clusters into which the Gaussians, of which `n_clusters` is then the number, are
        merged, each time the two clusters whose union decreases the entropy of the cluster
        probabilities most (Baudry et al. 2010). None means one Gaussian for each cluster. It has no
        effect if `init` is labels or responsibilities. Set it when clusters may be curved or
        skewed.
    noise : bool or float, default=False
        Whether samples may belong to no cluster. They have a uniform density on a box around all
        samples; its share is estimated, or given as a number from 0 to 1. A sample is noise if this
        density is higher than that of the clusters, with t distributions in place of Gaussians, so
        that heavy tails of clusters are not noise. The clusters are fitted to the other samples.
        With noise, samples must not have missing values. Set it when a few samples are far from all
        clusters, or form tiny ones.
    sparsity : float or int, default=0.0
        How many features are left out of all components: the share that is removed (a float from 0
        to below 1), or the number that is kept (an int). The features that separate the clusters of
        a first fit best, in the order of `OPGDClassifier`, are clustered again, with the same
        number of clusters. Densities and criteria then refer to these features; `selection_` has
        those of the first fit. Set it when many features do not distinguish the clusters.
    max_iter : int, default=500
        Maximum number of iterations of the search for the projection. With 0 the initial components
        are kept. Increase it after a `ConvergenceWarning`.
    tol : float, default=1e-3
        The search has converged when no entry of the gradient of the mean objective exceeds `tol`
        in absolute value. Decrease it to compare optima.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, and of `sample`. Set it for reproducible clusters.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. None means 1, -1 all cores. Set it when
        a fit takes longer than a few seconds.
    verbose : int, default=0
        If positive, print the objective every ``verbose`` iterations. Set it to follow a long fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample. Clusters are numbered by weight, the largest first. If
        `init` is labels or responsibilities, they are numbered like these: clusters and groups are
        matched one to one, so that as many samples as possible keep their number (that of their
        label in sorted order). With `noise`, -1 for samples that are more probably noise.
    initial_labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample according to the first mixture, with the same numbering.
    uncertainty_ : ndarray of shape (n_samples,)
        One minus the posterior probability of the cluster of each training sample.
    n_clusters_ : int
        Number of clusters.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Cluster of each Gaussian: 0, 1, ... unless clusters were merged.
    weights_ : ndarray of shape (n_clusters_,)
        Mixture weights of the clusters.
    components_ : ndarray of shape (n_components_, n_features)
        The components, :math:`V^\top`, of length 1 in the metric. They are ordered as in the paper:
        each adds the most to the objective of those before it.
    n_components_ : int
        Number of components.
    means_, covariances_ : ndarrays of shape (n_gaussians, n_features[, n_features])
        Means and covariances of the Gaussians in the original features: those of the mixture within
        the projection, and those of all samples in the remaining directions.
    projected_means_, projected_variances_ : ndarrays of shape (n_gaussians, n_components_)
        Means and variances (covariances with ``covariance_type="full"``) of the projected
        Gaussians, in the units of `transform`.
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
          "spherical", or "given".
    noise_share_, noise_log_density_ : float
        Share of noise and log of its uniform density; only with `noise`. The criteria in
        `selection_` are then those of the samples that are not noise according to a first
        selection, which leaves out samples that are outlying among their neighbors.
    noise_scales_, noise_degrees_ : ndarrays of shape (n_gaussians,)
        Factors of the covariances and degrees of freedom of the t distributions that take the place
        of the Gaussians where samples are compared with the noise; only with `noise`. Few degrees
        of freedom indicate a cluster with heavy tails.
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
        merge: int | None = None,
        noise: bool | float = False,
        sparsity: float | int = 0.0,
        max_iter: int = 500,
        tol: float = 1e-3,
        random_state: Any = None,
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
        self.merge = merge
        self.noise = noise
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
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
        numbers = check_mixture_parameters(self)
        seed = check_seed(self.random_state).randint(2**31 - 1)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        X, samples = self._validate(X, sample_weight)
        if self.sparsity:
            samples.require_memory("sparsity", 0)
        numbers = self._check_sizes(samples.engine, numbers)
        progress = self._watch(data, len(numbers))
        with one_blas_thread():
            outcome = self._select(samples, numbers, seed, progress)
            features = self._select_features(samples, outcome)
            if features is not None:
                selection, numbers = outcome.selection, [outcome.fit.n_clusters]
                outcome = self._select(samples, numbers, seed, progress, features)
                outcome = replace(outcome, selection=selection)
            numbering = outcome.number_clusters(self.merge)
            attributes = describe_fit(X, outcome.fit, numbering)
            attributes["selection_"] = outcome.selection
            if outcome.noise is not None:
                weights = check_sample_weight(sample_weight, X)
                noise = outcome.noise.take(numbering.order)
                attributes |= describe_noise(X, weights, noise, attributes)
            warn_about_mixture(
                outcome,
                numbering,
                attributes["_projection"].components,
                self._column_names(),
                n_components=self.n_components,
                metric=self.metric,
                init=self.init,
            )
        progress.finish(self._store(attributes))
        return self

    def _validate(self, X: Any, sample_weight: Any) -> tuple[Any, Samples]:
        """Return all samples, and those with positive weight with `init` for these."""
        if is_lazy(X):
            from opgd._dask.inputs import encode_one_class, validate_dask_input

            if not isinstance(self.init, str) and not hasattr(self.init, "fit"):
                raise TypeError(
                    f"With Dask input, init must be one of {MIXTURE_INITS} or a fitted Gaussian "
                    f"mixture, got {type(self.init).__name__}."
                )
            rows = validate_dask_input(self, X, None, sample_weight, encode_one_class)
            return X, Samples(rows.engine, self.init)
        X = self._refuse_missing(validate_features(self, X, min_samples=2, allow_nan=True))
        weights = check_sample_weight(sample_weight, X)
        weighted, init = X, self.init
        if weights is not None and not np.all(weights):
            present = weights > 0
            weighted, weights, init = X[present], weights[present], select_init(init, present)
        codes = np.zeros(len(weighted), dtype=np.intp)
        engine = RowEngine(weighted, codes, weights, n_threads=effective_n_jobs(self.n_jobs))
        return X, Samples(engine, init)

    def _check_sizes(self, engine: Engine, numbers: list[int]) -> list[int]:
        """Return the numbers of clusters to try, at most as many as there are samples."""
        if not numbers:
            numbers = list_numbers(engine.n_samples)
        if max(numbers) > engine.n_samples:
            raise ValueError(
                f"n_clusters={max(numbers)} is more than the {engine.n_samples} samples of X."
            )
        check_n_components(self.n_components, engine.n_features)
        return numbers

    def _watch(self, data: dict[str, Any], n_numbers: int) -> FitProgress:
        """Return an object that reports iterations to callbacks, to which `data` is passed."""
        n_fits = (1 + (self.noise is not False)) * n_numbers
        return FitProgress(self, data, dict, n_fits * MixtureSettings.read(self).max_total_iter)

    def _select_features(self, samples: Samples, outcome: Outcome) -> IntArray | None:
        """Return the features that separate the clusters of a first fit best, None for all."""
        if not self.sparsity:
            return None
        engine = samples.require_memory("sparsity", 0)
        labels = describe_fit(engine.X, outcome.fit, outcome.number_clusters(self.merge))["labels_"]
        if len(np.unique(labels)) < 2:
            warn_caller(
                "One cluster was found, so that sparsity has no effect; all features are used.",
                DataWarning,
            )
            return None
        return select_features(engine, labels, count_kept(self.sparsity, engine.n_features))

    def _select(
        self,
        samples: Samples,
        numbers: list[int],
        seed: int,
        progress: FitProgress,
        features: IntArray | None = None,
    ) -> Outcome:
        """Fit each number of clusters and return the best, without outlying samples if asked."""
        selector = Selector(
            MixtureSettings.read(self),
            Monitor(progress, self._describe, self.verbose),
            seed,
            isinstance(self.n_clusters, str),
            self._column_names(),
            features,
        )
        if self.noise is False:
            return selector.select(samples, numbers)
        share = None if self.noise is True else float(self.noise)
        return selector.separate_noise(samples, numbers, share)

    def _describe(self, problem: Problem, directions: FloatArray) -> dict[str, Any]:
        """Return the attributes that predictions need, during the search."""
        attributes = describe_mixture(problem, directions)
        return attributes | describe_projection(self, attributes["_projection"])

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
            return self._projection.class_log_joint(X)

    @match_input_type
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
        labels = self._log_joint(X).argmax(axis=1)
        noise = self._noise
        if noise is None:
            return labels
        with one_blas_thread():
            log_odds = noise.log_odds(self._check_rows(X), self._density())
        return np.where(log_odds > 0, -1, labels)

    @property
    def gaussian_classes_(self) -> IntArray:
        """Cluster of each Gaussian, an array of shape (n_gaussians,)."""
        check_is_fitted(self)
        return self._projection.gaussian_classes

    @match_input_type
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
