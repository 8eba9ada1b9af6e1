"""OPGDMixture: the paper's Section 5."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Number
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import restore_on_failure
from opgd._base.gaussian import GaussianModel, describe_projection
from opgd._base.posterior import log_normalized
from opgd._base.projection import AxesMixin
from opgd._dask.lazy import answers, here, is_lazy, rowwise, taken
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.initialization import convert_components
from opgd._fit.mixture_init import STARTS, first_mixture
from opgd._fit.problem import (
    Problem,
    default_n_components,
    frame_samples,
    limit_n_components,
)
from opgd._fit.refinement import (
    METRICS,
    Refined,
    criteria,
    mixture_axes,
    next_clusters,
    orthonormal,
    pose_mixture,
    refine,
    whole_mixture,
)
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import CallbackSupportMixin, FitProgress, with_callbacks
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
    validate_rows,
)
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.density import RowDensity, information_criteria, row_density
from opgd.core.engines import Engine, RowEngine
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.moments import Moments
from opgd.core.starts import unit_rows
from opgd.core.types import AnyArray, FloatArray, IntArray

SAME_AXES = 0.9
"""Correlation of the scores of two axes above which they show the same thing."""
CRITERIA = ["bic", "icl", "aic"]


class OPGDMixture(AxesMixin, ClusterMixin, CallbackSupportMixin, GaussianModel):
    """Gaussian mixture on the linear axes that tell its clusters apart best.

    A mixture with full covariances is fitted first. Then the projection V is found that maximizes

        sum_i log( max_k pi_k phi_k(V'x_i) / sum_k pi_k phi_k(V'x_i) ) - n lambda ||V'MV - I||^2,

    where phi_k is the Gaussian density with mean V'mu_k and covariance V'Sigma_k V, or its
    diagonal, and M the metric; so that few rows lie between clusters. Last, the mixture is
    estimated again by EM inside the projection.

    Parameters
    ----------
    n_clusters : int or iterable of int, default=2
        Number of clusters; of several numbers, the one that is best by `criterion` is kept.
    n_components : int, default=None
        Number of axes; None means ``min(n_features, max(2, n_clusters - 1))``.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances inside the projection.
    metric : {"covariance", "identity"}, default="covariance"
        In which axes should be orthonormal: "covariance" asks for uncorrelated scores of unit
        variance, and makes the result independent of units and origins of the columns (and of any
        invertible mixing of them, if `init` are labels or responsibilities); "identity" is the
        paper's V'V = I on the columns as they are given.
    orthogonality : float, default=1.0
        Weight lambda of the penalty, per row; the paper's lambda = n is 1.
    init : {"auto", "kmeans", "ward"}, mixture, labels or responsibilities, default="auto"
        The first mixture: a fitted `GaussianMixture` or `BayesianGaussianMixture` of scikit-learn,
        taken as it is; or what its EM starts from: labels of shape (n_samples,), responsibilities
        of shape (n_samples, n_clusters), k-means, or Ward linkage (of 2000 rows, if there are
        more), both on half-sphered rows: principal components of standardized columns with the
        square roots of their standard deviations. "auto" tries k-means three times, and Ward
        linkage on half-sphered and on standardized rows, and keeps the EM of highest likelihood,
        those without collapsed clusters first. More than 20000 rows are thinned for this, evenly
        by weight.
    components_init : array-like of shape (n_components, n_features), default=None
        First guess of the projection; None takes the LDA axes of the first mixture's clusters,
        then the directions in which their variances differ most.
    n_init : int, default=1
        Number of k-means starts, of which the EM of highest likelihood is kept; "auto" makes three
        times as many.
    n_rounds : int, default=1
        How often to find a projection and estimate the mixture in it. From the second round on the
        clusters are those of the last; the rounds end when no row changes its cluster, and the one
        with the highest likelihood of whole rows is kept.
    shrinkage : float or "auto", default="auto"
        Share of the pooled covariance in each cluster's while the projection is sought; "auto"
        estimates it for each cluster, see `OPGDClassifier`. It keeps the projection from fitting
        the accidents of the first mixture.
    criterion : {"bic", "icl", "aic"}, default="bic"
        How to choose among several numbers of clusters; the least wins.
    max_iter : int, default=500
        Most iterations of the search for a projection.
    tol : float, default=1e-3
        The search ends when no entry of the gradient of the mean objective is larger.
    random_state : int, RandomState instance or None, default=None
        Used by k-means.
    subsample : bool, default=True
        Begin the search on samples where there are 100000 rows or more: ten thousand rows, then
        five times as many, up to a quarter of all; the search then goes on with all rows to the
        same `tol`. The samples are always the same ones. It costs about half the passes over the
        rows, and may end in another optimum than a search among all rows from the beginning.
    n_jobs : int, default=None
        Threads that share the rows, for the same result; None means one, -1 all cores.
    verbose : int, default=0
        Above 0, print the objective every ``verbose`` iterations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row. Clusters are numbered by weight, the largest first.
    initial_labels_ : ndarray of shape (n_samples,)
        The same by the first mixture, in the same numbers.
    uncertainty_ : ndarray of shape (n_samples,)
        One minus the probability of each row's cluster.
    n_clusters_ : int
        Number of clusters.
    weights_ : ndarray of shape (n_clusters_,)
        Their shares of the rows.
    components_ : ndarray of shape (n_components_, n_features)
        The axes, V', of length one in the metric, in the paper's order: each adds most to the
        objective of those before it.
    n_components_ : int
        Number of axes found.
    means_, covariances_ : ndarrays of shape (n_clusters_, n_features[, n_features])
        Of the clusters in the space of the columns: inside the projection those of the mixture,
        across it those of all rows.
    projected_means_, projected_variances_ : ndarrays of shape (n_clusters_, n_components_)
        Of the clusters on the axes, in the units of `transform`; covariances if
        ``covariance_type="full"``.
    objective_ : float
        What was maximized, with the penalty, as a sum over the rows.
    component_log_likelihoods_, component_shares_ : ndarrays of shape (n_components_,)
        The objective without penalty with the first 1, 2, ... axes; the gain by each, as a share.
    log_likelihood_ : float
        Log density of the training rows, summed; see `score_samples`.
    selection_ : dict of arrays
        For every number of clusters that was tried: `n_clusters`, `n_components`,
        `log_likelihood`, `n_parameters`, `bic`, `icl`, `aic`.
    eigenvalues_ : ndarray
        Of the correlation matrix of the columns, largest first, without those that are zero: small
        ones are collinear columns, with which ``metric="identity"`` can fail.
    n_iter_, n_evaluations_ : int
        Iterations and evaluations of the last search for a projection.
    n_rounds_ : int
        Rounds that were made.
    converged_ : bool
        Whether that search ended by `tol`.
    loss_curve_ : list of float
        Minus the mean objective before the search and after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

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
        criterion: str = "bic",
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
        self.criterion = criterion
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters, the axes and the mixture on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, one of weight 0 as none (it gets a label
            nevertheless). The first mixture sees rows drawn evenly by weight.

        Returns
        -------
        self : OPGDMixture
        """
        numbers = self._check_parameters()
        seed = check_seed(self.random_state).randint(2**31 - 1)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        X, engine, init = self._engine(X, sample_weight)
        self._check_sizes(engine.n_samples, engine.n_features, numbers)
        with one_blas_thread():
            frame = frame_samples(engine)
            most_iterations = len(numbers) * self.n_rounds * self.max_iter
            progress = FitProgress(self, data, dict, most_iterations)
            # each number begins anew, so that it gives the same model alone and among others
            tried = [self._fit_one(frame, init, own, seed, progress) for own in numbers]
            rows_tried = [criteria(own.refined) for own in tried]
            selection = {key: np.array([own[key] for own in rows_tried]) for key in rows_tried[0]}
            best = tried[int(np.argmin(selection[self.criterion]))]
            attributes = self._fitted(X, best) | {"selection_": selection}
        self._warn(best.refined, attributes)
        progress.finish(self._store(attributes))
        return self

    def _check_parameters(self) -> list[int]:
        several = isinstance(self.n_clusters, Iterable) and not isinstance(self.n_clusters, str)
        wanted = list(self.n_clusters) if several else [self.n_clusters]
        numbers = list(dict.fromkeys(check_integer("n_clusters", own, 1) for own in wanted))
        if not numbers:
            raise ValueError("n_clusters is empty: there is no number of clusters to try.")
        check_n_components(self.n_components)
        check_choice("covariance_type", self.covariance_type, ["diag", "full"])
        check_choice("metric", self.metric, METRICS)
        check_positive("orthogonality", self.orthogonality, or_zero=True)
        if isinstance(self.init, str | Number | None):
            check_choice("init", self.init, STARTS)
        check_integer("n_init", self.n_init, 1)
        check_integer("n_rounds", self.n_rounds, 1)
        if self.shrinkage != "auto":
            check_share("shrinkage", self.shrinkage, word="auto")
        check_choice("criterion", self.criterion, CRITERIA)
        check_integer("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_integer("verbose", self.verbose)
        check_flag("subsample", self.subsample)
        check_n_jobs(self.n_jobs)
        return numbers

    def _engine(self, X: Any, sample_weight: Any) -> tuple[Any, Engine, Any]:
        """All rows, those of positive weight, and `init` for these."""
        if is_lazy(X):
            from opgd._dask.inputs import lazy_rows, no_labels

            if not isinstance(self.init, str) and not hasattr(self.init, "fit"):
                raise TypeError(
                    f"For rows of Dask's, init must be one of {STARTS} or a Gaussian mixture."
                )
            rows = lazy_rows(self, X, None, sample_weight, no_labels)
            return X, rows.engine, self.init
        X = validate_rows(self, X, ensure_min_samples=2)
        weights = check_sample_weight(sample_weight, X)
        own, init = X, self.init
        if weights is not None and not np.all(weights):
            present = weights > 0
            own, weights, init = X[present], weights[present], _rows_of(init, present)
        codes = np.zeros(len(own), dtype=np.intp)
        return X, RowEngine(own, codes, weights, n_threads=effective_n_jobs(self.n_jobs)), init

    def _check_sizes(self, n_samples: int, n_features: int, numbers: list[int]) -> None:
        if max(numbers) > n_samples:
            raise ValueError(f"n_clusters={max(numbers)} is more than the {n_samples} rows of X.")
        check_n_components(self.n_components, n_features)

    def _fit_one(
        self,
        frame: Frame,
        init: Any,
        n_clusters: int,
        seed: int,
        progress: FitProgress,
    ) -> "_Fit":
        """The best round for one number of clusters."""
        rng = np.random.RandomState(seed)
        first = clusters = first_mixture(frame, init, n_clusters, self.n_init, rng)
        report = progress.reporter(self.verbose, frame.engine.total_weight, "objective")
        rounds: list[Refined] = []
        while True:
            problem = pose_mixture(
                frame,
                clusters,
                metric=self.metric,
                covariance_type=self.covariance_type,
                shrinkage=self.shrinkage,
                orthogonality=self.orthogonality,
            )
            progress.describe = partial(self._described, problem)
            if not rounds:
                start = self._first_axes(problem, clusters, n_clusters)
            rounds.append(
                refine(
                    problem,
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_iteration=report,
                    subsample=self.subsample and self.components_init is None and not rounds,
                )
            )
            same = len(rounds) > 1 and rounds[-1].agrees_with(rounds[-2])
            if same or len(rounds) == self.n_rounds:
                break
            clusters, start = next_clusters(rounds[-1]), orthonormal(rounds[-1].directions)
        return _Fit(first, max(rounds, key=lambda own: own.log_likelihood), len(rounds))

    def _first_axes(self, problem: Problem, clusters: Moments, n_clusters: int) -> FloatArray:
        rank, wanted = problem.coordinates.rank, self.n_components
        if self.components_init is None:
            wanted = default_n_components(rank, n_clusters) if wanted is None else wanted
            return mixture_axes(problem, clusters, min(rank, wanted))
        name = "components_init"
        given = check_components_init(self.components_init, wanted, self.n_features_in_, name)
        return convert_components(problem, given[:rank], name)

    def _described(
        self, problem: Problem, directions: FloatArray, gaussians: ProjectedGaussians | None = None
    ) -> dict[str, Any]:
        """What predictions need of a mixture on these directions; clusters by weight."""
        gaussians = problem.objective.gaussians(directions) if gaussians is None else gaussians
        gaussians = gaussians.take(np.argsort(_places(gaussians)))
        projection = replace(problem.project(directions), gaussians=gaussians)
        coordinates = sphered_coordinates(problem.frame)
        density = row_density(coordinates, projection)
        means, covariances = density.sphered_moments()
        weights = np.exp(gaussians.log_priors)
        return describe_projection(self, projection) | {
            "n_clusters_": len(weights),
            "weights_": weights / weights.sum(),
            "means_": coordinates.raw_means(means),
            "_projection": projection,
            "_coordinates": coordinates,
            "_covariances": covariances,
        }

    def _fitted(self, X: AnyArray, fit: "_Fit") -> dict[str, Any]:
        refined, frame = fit.refined, fit.refined.problem.frame
        gaussians = refined.mixture.gaussians
        described = self._described(refined.problem, refined.directions, gaussians)
        clustered = answers(partial(_clustered, described["_projection"]), X)
        first_labels = answers(partial(_strongest, whole_mixture(frame, fit.first)), X)
        weight = frame.engine.total_weight
        return (
            refined.summary
            | described
            | {
                "labels_": clustered[:, 0].astype(np.intp),
                "initial_labels_": taken(_places(gaussians), first_labels),
                "uncertainty_": clustered[:, 1],
                "log_likelihood_": weight * refined.log_likelihood,
                "eigenvalues_": frame.spread**-2.0,
                "n_rounds_": fit.n_rounds,
            }
        )

    def _warn(self, refined: Refined, attributes: dict[str, Any]) -> None:
        """One warning for all that a user should know of these data and this result."""
        problem, places = refined.problem, _places(refined.mixture.gaussians)
        found = attributes["n_components_"]
        notes = limit_n_components(self.n_components or found, found)[1]
        n_clusters = attributes["n_clusters_"]
        empty = np.sort(places[refined.sizes == 0])
        if len(empty):
            which = ", ".join(map(str, empty))
            advice = "is init in the units of X?" if hasattr(self.init, "fit") else "ask for fewer"
            notes.append(f"of {n_clusters} clusters, these have no rows: {which}; {advice}")
        notes += self._same_axes(problem, attributes["components_"])
        names = [f"cluster {place}" for place in places]
        columns = self._column_names()
        warn_about_data(problem, names, columns, notes, what="clusters", advice="shrinkage")

    def _same_axes(self, problem: Problem, components: FloatArray) -> list[str]:
        """The failure of the paper's Section 5.2, where there is one: axes that show the same."""
        if self.metric != "identity":
            return []
        directions = unit_rows(sphered_coordinates(problem.frame).directions(components))
        correlations = np.abs(np.tril(directions @ directions.T, -1))
        j, i = np.unravel_index(np.argmax(correlations), correlations.shape)
        if correlations[j, i] < SAME_AXES:
            return []
        return [
            f"scores on the axes {i + 1} and {j + 1} have a correlation of "
            f"{correlations[j, i]:.2f}: with collinear columns (see eigenvalues_) "
            "metric='identity' can mistake one direction for two; metric='covariance' does not"
        ]

    def _log_joint(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        with one_blas_thread():
            return self._projection.log_joint(X)

    @rowwise
    def predict(self, X: Any) -> IntArray:
        """Most probable cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.argmax(self._log_joint(X), axis=1)

    @rowwise
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_clusters_)
        """
        return np.exp(log_normalized(self._log_joint(X)))

    def _density(self) -> RowDensity:
        check_is_fitted(self)
        return row_density(self._coordinates, self._projection)

    @rowwise
    def score_samples(self, X: Any) -> FloatArray:
        """Log density of whole rows.

        Densities inside projections of different dimension cannot be compared, so the mixture on
        the axes is completed by one Gaussian for the rest of a row given its scores, fitted to the
        training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            return self._density().log_density(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Mean log density of whole rows, see `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        mean_log_density : float
        """
        log_density = here(self.score_samples(X))
        weights = check_sample_weight(here(sample_weight), log_density)
        return float(np.average(log_density, weights=weights))

    def aic(self, X: Any) -> float:
        """Akaike's criterion on rows, the less the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
        """
        return self._criterion("aic", X)

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on rows, the less the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
        """
        return self._criterion("bic", X)

    def icl(self, X: Any) -> float:
        """Integrated completed likelihood: `bic` plus what rows lie between clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        icl : float
        """
        return self._criterion("icl", X)

    def _criterion(self, name: str, X: Any) -> float:
        log_density = here(self.score_samples(X))
        certainty = 0.0
        if name == "icl":
            certainty = np.log(here(self.predict_proba(X)).max(axis=1)).sum()
        sizes = self._density().n_parameters, len(log_density)
        criteria = information_criteria(log_density.sum(), *sizes, certainty)
        return float(criteria[name])

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw rows from the density of `score_samples`.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The cluster that each row was drawn from.
        """
        density = self._density()
        rng = check_seed(self.random_state)
        counts = rng.multinomial(check_integer("n_samples", n_samples, 1), self.weights_)
        return density.draw(counts, rng), np.repeat(np.arange(len(counts)), counts)


@dataclass(frozen=True)
class _Fit:
    """One number of clusters: the first mixture and the best of the rounds."""

    first: Moments
    refined: Refined
    n_rounds: int


def _clustered(projection: FittedProjection, X: AnyArray) -> FloatArray:
    """Return the most probable cluster, and one minus its probability, (n, 2)."""
    log_posteriors = log_normalized(projection.log_joint(X))
    doubts = -np.expm1(log_posteriors.max(axis=1))
    return np.column_stack([np.argmax(log_posteriors, axis=1), doubts])


def _strongest(projection: FittedProjection, X: AnyArray) -> IntArray:
    """Return the most probable cluster, (n,)."""
    return np.argmax(projection.log_joint(X), axis=1)


def _places(gaussians: ProjectedGaussians) -> IntArray:
    """Number that each cluster of the search gets, by weight, (K,)."""
    return np.argsort(np.argsort(-gaussians.log_priors, kind="stable"), kind="stable")


def _rows_of(init: Any, present: AnyArray) -> Any:
    """Labels or responsibilities of the rows that are present; other starts as they are."""
    if np.ndim(init) == 0 or len(init) != len(present):
        return init
    return np.asarray(init)[present]
