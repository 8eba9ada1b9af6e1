"""OPGDClassifier: the paper's Section 3."""

from typing import Any, Self

from joblib import effective_n_jobs

from opgd._base.estimator import restore_on_failure
from opgd._base.projection_classifier import ProjectionClassifier
from opgd._dask.lazy import is_lazy
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.problem import pose, prepare
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import with_callbacks
from opgd._utils.validation import (
    check_flag,
    check_n_components,
    check_priors,
    check_seed,
    encode_labels,
    known_codes,
)
from opgd.core.engines import Engine, RowEngine
from opgd.core.types import AnyArray


class OPGDClassifier(ProjectionClassifier):
    """Gaussian discriminant on the linear axes that tell classes apart best.

    Finds the projection V that maximizes the log posterior probability of the rows' own classes,

        l(V) = sum_i log( pi_yi phi_yi(V'x_i) / sum_k pi_k phi_k(V'x_i) ),

    where phi_k is the Gaussian density with mean V'mu_k and covariance V'Sigma_k V, or its
    diagonal. Unlike LDA it gives any number of axes for any number of classes and lets covariances
    differ; unlike QDA it has axes. A default fit uses no randomness, and does not depend on units
    or origins of the columns.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes, from 1 to n_features. None means ``min(n_features, max(2, n_classes - 1))``:
        a problem of two classes deserves a picture too; or as many as `init` has, if components are
        given. Where rows differ in fewer dimensions than that, all of those are used, and a warning
        says so if a number was given.
    n_subclasses : int, dict or "auto", default=1
        Gaussians per class, the same for all or by label (labels left out have one). A class is
        split by k-means; its probability is the sum over its Gaussians, which are drawn a little
        towards what they have in common. "auto" chooses for each class by a penalized likelihood,
        at most one Gaussian for every ``2 (d + 1)`` rows, where d is the number of dimensions in
        which rows differ, and at most eight.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances inside the projection: the diagonal (the paper) or all of V'Sigma_k V.
    shrinkage : float or "auto", default=0.0
        Share of the pooled covariance in each class's, from 0 to 1. "auto" estimates the share
        with the least expected error for each class (as Ledoit-Wolf and OAS, in closed form).
    ridge : float, default=0.0
        Share of the identity (on standardized columns, at the average within-class variance) in
        each covariance, from 0 to 1.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows. A pandas Series goes by
        its index.
    init : {"auto", "lda", "paper", "save", "pca", "random"} or array-like, default="auto"
        First guess of the projection: "lda" is the LDA axes followed by the directions in which
        class variances differ most, "paper" the matrix of the paper's Section 3.2, "save" sliced
        average variance, "pca" principal components of standardized columns; or components of
        shape (n_components, n_features). "auto" climbs ten iterations from "lda" and from "pca" and
        goes on from the better.
    n_init : int, default=1
        Number of searches; those after the first begin at random.
    max_iter : int, default=500
        Most iterations of a search. 0 keeps the first guess.
    tol : float, default=1e-6
        A search ends when no entry of the gradient of the mean log posterior (in whitened
        coordinates) is larger.
    warm_start : bool, default=False
        Begin at the components of the last fit, if there was one of the same shape.
    random_state : int, RandomState instance or None, default=None
        Used by random starts.
    subsample : bool, default=True
        Begin the search on samples where there are 100000 rows or more: ten thousand rows, then
        five times as many, up to a quarter of all; the search then goes on with all rows to the
        same `tol`. The samples are always the same ones. It costs about half the passes over the
        rows, and may end in another optimum than a search among all rows from the beginning.
    n_jobs : int, default=None
        Threads that share the rows, for the same result; None means one, -1 all cores.
    verbose : int, default=0
        Above 0, print the log-likelihood every ``verbose`` iterations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The axes, V'. Their pooled within-class variance (with the ridge) is one, the largest
        loading on standardized columns is positive, and they are in the paper's order: each adds
        most to those before it.
    n_components_ : int
        Number of axes found.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities.
    means_ : ndarray of shape (n_gaussians, n_features)
        Means of the Gaussians.
    covariances_ : ndarray of shape (n_gaussians, n_features, n_features)
        Their covariances (divisor n_k), with shrinkage and ridge.
    projected_means_ : ndarray of shape (n_gaussians, n_components_)
        Means on the axes, in the units of `transform`.
    projected_variances_ : ndarray of shape (n_gaussians, n_components_)
        Variances on the axes; covariances, (n_gaussians, n_components_, n_components_), if
        ``covariance_type="full"``.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class that each Gaussian belongs to.
    log_likelihood_ : float
        l(V), the sum of log posterior probabilities of the training rows' own classes.
    component_log_likelihoods_ : ndarray of shape (n_components_,)
        l(V) with the first 1, 2, ... axes.
    component_shares_ : ndarray of shape (n_components_,)
        Gain of l(V) by each axis, as a share of the gain by all.
    n_iter_, n_evaluations_ : int
        Iterations of the search that won; evaluations of l(V) and its gradient in all searches.
    converged_ : bool
        Whether the search ended by `tol`.
    loss_curve_ : list of float
        Minus the mean log posterior before the search and after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    References
    ----------
    Hofmeyr, Kamper & Melonas, "Optimal Projections for Gaussian Discriminants", Section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = OPGDClassifier(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (178, 2)
    >>> model.score(X, y)
    1.0
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: Any = 1,
        covariance_type: str = "diag",
        shrinkage: float | str = 0.0,
        ridge: float = 0.0,
        priors: Any = None,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        subsample: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.covariance_type = covariance_type
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.priors = priors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_failure
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the axes and the Gaussians on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any one type.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : OPGDClassifier
        """
        self._check_parameters()
        rng = check_seed(self.random_state)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        last = getattr(self, "components_", None) if self.warm_start else None
        engine, classes = self._read_samples(X, y, sample_weight)
        check_n_components(self.n_components, engine.n_features)
        with one_blas_thread():
            prepared = prepare(engine, len(classes))
            problem = pose(
                prepared,
                check_priors(self.priors, classes, prepared.classes.priors),
                n_subclasses=check_n_subclasses(self.n_subclasses, classes),
                covariance_type=self.covariance_type,
                shrinkage=self.shrinkage,
                ridge=self.ridge,
            )
            progress = self._watch(problem, classes, data)
            directions, summary, notes = self._optimize(problem, rng, progress, last)
            attributes = self._describe(problem, classes, directions) | summary
        warn_about_data(problem, [str(label) for label in classes], self._column_names(), notes)
        progress.finish(self._store(attributes))
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("warm_start", self.warm_start)

    def _read_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Engine, AnyArray]:
        """Return an engine of the samples of positive weight, and the classes."""
        if is_lazy(X):
            from opgd._dask.inputs import lazy_rows

            if y is None:
                raise ValueError(
                    "This estimator requires y to be passed, but the target y is None."
                )
            rows = lazy_rows(self, X, y, sample_weight, encode_labels, known_codes)
            return rows.engine, rows.classes
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        return RowEngine(X, codes, weights, n_threads=effective_n_jobs(self.n_jobs)), classes
