"""OPGDClassifier, the supervised method of the paper's Section 3."""

from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from opgd._base.estimator import restore_on_failure
from opgd._base.projection_classifier import ProjectionClassifier
from opgd._base.support import SupportMixin
from opgd._dask.lazy import is_lazy
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.problem import pose, prepare
from opgd._fit.subclasses import check_n_subclasses
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import with_callbacks
from opgd._utils.validation import (
    check_class_weight,
    check_flag,
    check_n_components,
    check_priors,
    check_seed,
    check_sparsity,
    count_kept,
    weigh_by_class,
)
from opgd.core.engines import Engine, RowEngine
from opgd.core.types import AnyArray


class OPGDClassifier(SupportMixin, ProjectionClassifier):
    r"""Gaussian discriminant analysis on an optimal linear projection.

    The projection :math:`V` maximizes the log posterior probability of the true classes,

    .. math::

        \ell(V) = \sum_i \log \frac{\pi_{y_i} \phi_{y_i}(V^\top x_i)}
                                   {\sum_k \pi_k \phi_k(V^\top x_i)},

    where :math:`\phi_k` is the Gaussian density with mean :math:`V^\top \mu_k` and covariance
    :math:`V^\top \Sigma_k V` (``covariance_type="full"``) or its diagonal
    (``covariance_type="diag"``).

    Unlike LDA, this classifier allows up to n_features components whatever the number of classes,
    and lets covariances differ between classes. Unlike QDA, it reduces the dimension. With default
    parameters the fit is deterministic, and it does not depend on the units, origins or order of
    the features. With ``ridge=0`` the objective is invariant to any invertible linear map of the
    features.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``, or the number of components in `init` if it is
        an array. The number is reduced to the number of dimensions that the samples span, with a
        warning if `n_components` was set. Set 2 for a plot; increase it, or use `OPGDClassifierCV`,
        when the test error matters more than the number of components.
    n_subclasses : int, dict or "auto", default=1
        Number of Gaussians per class: one number for all classes, or a dict mapping labels to
        numbers (missing labels get 1). Use more than one when classes have several modes. Each
        class is split by k-means, its density is the mixture of its Gaussians, and their
        covariances are shrunk slightly toward their pooled covariance. "auto" selects the number
        for each class by a penalized likelihood, up to 8 and up to one Gaussian per
        :math:`2 (d + 1)` samples, where :math:`d` is the number of dimensions that the samples
        span.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances of the projected Gaussians: diagonal (as in the paper) or full. Use "full" when
        scores are clearly correlated within classes, or when probabilities matter; it needs more
        samples per class.
    shrinkage : float or "auto", default=0.0
        Weight of the pooled covariance in each class covariance, from 0 (none) to 1 (all classes
        have the pooled covariance). Increase it when classes have few samples. "auto" estimates, in
        closed form and for each class, the weight that minimizes the expected squared error of the
        covariance estimate, as Ledoit-Wolf and OAS do.
    ridge : float or "auto", default="auto"
        Weight of the identity matrix in each covariance, from 0 to 1. The identity refers to
        standardized features and is scaled by the average within-class variance. "auto" selects the
        weight with the largest (tempered) leave-one-out log posterior of linear discriminant
        analysis among :math:`m / (n + m)`, where :math:`m` is up to four times the number of
        dimensions that the :math:`n` samples span; it is stored as `ridge_`. Increase the ridge
        when features are many or nearly collinear. Set it to 0 when classes differ in their
        variances only, which linear discriminant analysis cannot detect. With
        ``ridge=0, shrinkage=0`` this is the method of the paper.
    sparsity : float or int, default=0.0
        How many features are left out of all components: the share that is removed (a float from 0
        to below 1), or the number that is kept (an int). Features are removed one after the other,
        each the one without which the others separate the classes best, by means, variances and
        correlations. The fit is the same as that to the selected features alone.
        `OPGDClassifierCV` selects the number of features. Set it when measuring features is
        expensive.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label. Set them when the classes are more or less frequent where the model
        is used than among the training samples.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class, as in scikit-learn: a dict {label: weight}, where
        missing labels have weight 1, or "balanced" for weights inversely proportional to the
        frequencies of the classes. With ``priors=None``, the prior probabilities are the weighted
        frequencies, so that "balanced" makes them equal; priors that are passed are used as they
        are. Predicted probabilities refer to the weighted classes; to decide by costs, pass them
        to `predict` instead. Use it when rare classes should influence the components as much as
        frequent ones.
    init : str, sequence of str or array-like, default="auto"
        Initial components:

        - "auto": a race of many starts, three deterministic ones and batches of pseudo-random ones
          from a fixed seed. It ends when the best optimum has been found three times, or after five
          batches; `search_` tells what each start reached. The first iterations run on a quarter of
          the samples, or on 1,000 if that is more;
        - "lda": the LDA components, followed by the directions in which class variances differ
          most;
        - "paper": the initialization of the paper's Section 3.2;
        - "save": sliced average variance estimation;
        - "pca": principal components of the standardized features;
        - "random": random directions;
        - sequence of names other than "auto": ten iterations from each, continued from the best;
        - array-like of shape (n_components, n_features): the components themselves.

        Set an array to start from known components, "lda" for a quick fit, and "paper" to repeat
        the paper.
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
    warm_start : bool, default=False
        Whether to start from the components of the previous fit, if they have the same shape. Set
        it to refit to slightly changed samples or parameters.
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
    components_ : ndarray of shape (n_components_, n_features)
        The components, :math:`V^\top`. Each has pooled within-class variance 1 (including the
        ridge), and its largest loading on standardized features is positive. They are ordered
        greedily, as in the paper: each is the one that increases the objective most when added to
        those before it.
    n_components_ : int
        Number of components.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_ : ndarray of shape (n_classes,)
        Class prior probabilities.
    means_ : ndarray of shape (n_gaussians, n_features)
        Means of the Gaussians.
    covariances_ : ndarray of shape (n_gaussians, n_features, n_features)
        Covariances of the Gaussians (with divisor :math:`n_k`, not :math:`n_k - 1`), after
        shrinkage and ridge.
    projected_means_ : ndarray of shape (n_gaussians, n_components_)
        Means of the projected Gaussians, in the units of `transform`.
    projected_variances_ : ndarray of shape (n_gaussians, n_components_)
        Variances of the projected Gaussians; with ``covariance_type="full"`` their covariances, of
        shape (n_gaussians, n_components_, n_components_).
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian.
    log_likelihood_ : float
        :math:`\ell(V)`, the sum of the log posterior probabilities of the true classes.
    component_log_likelihoods_ : ndarray of shape (n_components_,)
        :math:`\ell(V)` with the first 1, 2, ... components.
    component_shares_ : ndarray of shape (n_components_,)
        Increase of :math:`\ell(V)` due to each component, as a share of the total increase.
    n_iter_ : int
        Number of iterations of the best search.
    n_evaluations_ : int
        Number of evaluations of :math:`\ell(V)` and its gradient in all searches.
    converged_ : bool
        Whether the best search reached `tol`.
    loss_curve_ : list of float
        Negative mean log posterior before the search and after each iteration.
    ridge_ : float
        The ridge that was used.
    support_ : ndarray of shape (n_features,)
        Whether each feature is used by a component; see also `get_support`.
    feature_order_ : ndarray of shape (n_varying,)
        Indices of the features that are not constant, the most useful one first.
        Defined only if `sparsity` is not 0.
    search_ : dict of ndarrays of shape (n_starts,)
        What each start of the search reached: its name ("start"), "log_likelihood", "n_iter",
        "n_samples" (fewer than all if the start was abandoned on a subsample), "converged", and
        "found_best", whether it approached the best optimum. If few starts found the best optimum,
        a better one may exist; increase `n_init`. It can be passed to `pandas.DataFrame`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if all names are strings.

    Notes
    -----
    With 100,000 samples or more, starts that are not given are compared on 10,000 samples, and each
    iteration on all samples is a search on a subsample drawn by the losses at the current
    components. The subsamples are deterministic, and `tol` refers to all samples.

    With `shrinkage` :math:`s`, `ridge` :math:`r` and the pooled within-class covariance
    :math:`\Sigma_W` of :math:`p` standardized features, class covariances are regularized in two
    steps:

    .. math::

        \Sigma_k \leftarrow (1 - s)\,\Sigma_k + s\,\Sigma_W, \qquad
        \Sigma_k \leftarrow (1 - r)\,\Sigma_k + r\,\frac{\operatorname{tr} \Sigma_W}{p}\,I.

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
        ridge: float | str = "auto",
        sparsity: float | int = 0.0,
        priors: Any = None,
        class_weight: Any = None,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.covariance_type = covariance_type
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.sparsity = sparsity
        self.priors = priors
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
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
            Class labels, all of one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample; samples of weight 0
            are ignored.

        Returns
        -------
        self : OPGDClassifier
            Fitted estimator.
        """
        self._check_parameters()
        rng = check_seed(self.random_state)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        previous = getattr(self, "components_", None) if self.warm_start else None
        engine, classes = self._read_samples(X, y, sample_weight)
        check_n_components(self.n_components, engine.n_features)
        order: dict[str, Any] = {}
        with one_blas_thread():
            prepared = prepare(engine, len(classes))
            if self.sparsity:
                order = {"feature_order_": prepared.feature_order}
                prepared = prepared.restrict(count_kept(self.sparsity, engine.n_features))
            problem = pose(
                prepared,
                check_priors(self.priors, classes, prepared.classes.priors),
                n_subclasses=check_n_subclasses(self.n_subclasses, classes),
                covariance_type=self.covariance_type,
                shrinkage=self.shrinkage,
                ridge=self.ridge,
            )
            progress = self._watch(problem, classes, data)
            directions, summary, notes = self._optimize(problem, rng, progress, previous)
            attributes = self._describe(problem, classes, directions) | summary | order
        warn_about_data(problem, [str(label) for label in classes], self._column_names(), notes)
        progress.finish(self._store(attributes))
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("warm_start", self.warm_start)
        check_sparsity(self.sparsity)

    def _read_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Engine, AnyArray]:
        """Return an engine over the samples with positive weight, and the class labels."""
        if is_lazy(X):
            rows = self._check_dask_labeled(X, y, sample_weight)
            if self.class_weight is None:
                return rows.engine, rows.classes
            counts = rows.engine.count_classes(len(rows.classes))
            factors = check_class_weight(self.class_weight, rows.classes, counts)
            return rows.engine.weigh_by_class(factors), rows.classes
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        counts = np.bincount(codes, weights, len(classes)).astype(np.float64)
        factors = check_class_weight(self.class_weight, classes, counts)
        if factors is not None:
            weights = weigh_by_class(factors, codes, weights)
        return RowEngine(X, codes, weights, n_threads=effective_n_jobs(self.n_jobs)), classes
