"""OPGDSemiSupervised: labeled and unlabeled rows together."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_consistent_length

from opgd._base.estimator import restore_on_failure
from opgd._base.posterior import log_normalized
from opgd._base.projection_classifier import ProjectionClassifier
from opgd._dask.lazy import here, is_lazy
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.problem import Prepared, frame_samples, pose
from opgd._fit.self_training import soft_classes
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import with_callbacks
from opgd._utils.labels import codes_among, encode_partly, is_missing, label_array
from opgd._utils.validation import (
    check_integer,
    check_n_components,
    check_priors,
    check_sample_weight,
    check_seed,
    validate_rows,
)
from opgd.core.engines import Engine, RowEngine
from opgd.core.fitted import FittedProjection
from opgd.core.types import AnyArray, FloatArray, IntArray


class OPGDSemiSupervised(ProjectionClassifier):
    """Gaussian discriminant on optimal axes, learnt from a few labels and many rows.

    The projection V maximizes the log posterior probability of the class that each row aims at,

        sum_i log( pi_t phi_t(V'x_i) / sum_k pi_k phi_k(V'x_i) ),

    which is its own class for a labeled row, and the strongest at the moment for an unlabeled
    one. Means and covariances of the classes come from all rows: labeled ones count for their
    class, the others for every class by its probability, in rounds that start from LDA on the
    labeled rows. With all rows labeled this is `OPGDClassifier`.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; None means ``min(n_features, max(2, n_classes - 1))``, or as many as `init`
        has.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances inside the projection.
    shrinkage : float or "auto", default=0.0
        Share of the pooled covariance in each class's; "auto" estimates it.
    ridge : float, default=0.0
        Share of the identity (on standardized columns) in each covariance.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of all rows, by label and probability.
    unlabeled : default=None
        What stands for a missing label in y; None means -1, None and NaN.
    n_rounds : int, default=6
        Most rounds for the moments of the classes. They end earlier when labeled rows, which are
        few among the rows that a class is made of, would get other classes more often than before,
        by more than one standard error. 0 takes the probabilities of LDA on the labeled rows.
    init : {"auto", "lda", "paper", "save", "pca", "random"} or array-like, default="auto"
        First guess of the projection, as in `OPGDClassifier`.
    n_init : int, default=1
        Number of searches; those after the first begin at random.
    max_iter : int, default=500
        Most iterations of a search.
    tol : float, default=1e-6
        A search ends when no entry of the gradient of the mean log posterior is larger.
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
    transduction_ : ndarray of shape (n_samples,)
        Label of every training row: its own where it has one, else the most probable.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for every training row; 0 and 1 for labeled rows.
    n_rounds_ : int
        Rounds that were made.
    components_, n_components_, classes_, priors_, means_, covariances_, projected_means_, \
projected_variances_, gaussian_classes_, log_likelihood_, component_log_likelihoods_, \
component_shares_, n_iter_, n_evaluations_, converged_, loss_curve_
        As in `OPGDClassifier`; `log_likelihood_` is that of the classes that rows aim at.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from opgd import OPGDSemiSupervised
    >>> X, y = load_wine(return_X_y=True)
    >>> few = np.full(len(y), -1)
    >>> few[::10] = y[::10]
    >>> model = OPGDSemiSupervised().fit(X, few)
    >>> bool(np.mean(model.transduction_ == y) > 0.9)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        covariance_type: str = "diag",
        shrinkage: float | str = 0.0,
        ridge: float = 0.0,
        priors: Any = None,
        unlabeled: Any = None,
        n_rounds: int = 6,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        subsample: bool = True,
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
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
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
            Labels of any one type; rows without a label as `unlabeled` says.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : OPGDSemiSupervised
        """
        self._check_parameters()
        check_integer("n_rounds", self.n_rounds)
        if np.ndim(self.unlabeled) or isinstance(self.unlabeled, Mapping | Set):
            raise TypeError(f"unlabeled must be one value, got {self.unlabeled!r}.")
        rng = check_seed(self.random_state)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        samples = self._read_samples(X, y, sample_weight)
        engine, classes = samples.engine, samples.classes
        check_n_components(self.n_components, engine.n_features)
        with one_blas_thread():
            frame = frame_samples(engine)
            moments, n_rounds = soft_classes(frame, len(classes), self.n_rounds)
            problem = pose(
                Prepared(frame, moments),
                check_priors(self.priors, classes, moments.priors),
                covariance_type=self.covariance_type,
                shrinkage=self.shrinkage,
                ridge=self.ridge,
            )
            progress = self._watch(problem, classes, data)
            directions, summary, notes = self._optimize(problem, rng, progress)
            attributes = self._describe(problem, classes, directions) | summary
            distributions, labels = samples.label(attributes["_projection"])
        attributes |= {
            "n_rounds_": n_rounds,
            "transduction_": labels,
            "label_distributions_": distributions,
        }
        warn_about_data(problem, [str(label) for label in classes], self._column_names(), notes)
        progress.finish(self._store(attributes))
        return self

    def _read_samples(self, X: Any, y: Any, sample_weight: Any) -> "_Samples":
        unlabeled = self.unlabeled
        if is_lazy(X):
            from opgd._dask.inputs import lazy_rows

            if y is None:
                label_array(y)  # raises
            encode = partial(encode_partly, unlabeled=unlabeled)
            codes_of = partial(codes_among, unlabeled=unlabeled)
            rows = lazy_rows(self, X, y, sample_weight, encode, codes_of)
            return _LazySamples(rows.engine, rows.classes, rows, unlabeled)
        X = validate_rows(self, X, ensure_min_samples=2)
        y = label_array(y)
        check_consistent_length(X, y)
        weights = check_sample_weight(sample_weight, X)
        present = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        classes, codes = encode_partly(y[present], unlabeled)
        weighted, all_codes = X, codes
        if weights is not None and not present.all():
            weighted, weights = X[present], weights[present]
            all_codes = codes_among(y, classes, unlabeled)
        engine = RowEngine(weighted, codes, weights, n_threads=effective_n_jobs(self.n_jobs))
        return _SamplesInMemory(engine, classes, X, all_codes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of labeled rows whose class is predicted; rows without a label are passed over.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
        """
        predicted, y = here(self.predict(X)), label_array(here(y))
        check_consistent_length(predicted, y)
        weights = check_sample_weight(here(sample_weight), predicted)
        known = ~is_missing(y, self.unlabeled)
        if weights is not None:
            known &= weights > 0
        if not known.any():
            raise ValueError("y has no labeled rows to score (of positive weight, if weighted).")
        codes = codes_among(y, self.classes_, self.unlabeled)
        right = codes == np.searchsorted(self.classes_, predicted)
        return float(np.average(right[known], weights=None if weights is None else weights[known]))


class _Samples(Protocol):
    """Partly labeled samples: an engine of those with positive weight, and labels for all."""

    @property
    def engine(self) -> Engine: ...

    @property
    def classes(self) -> AnyArray: ...

    def label(self, projection: FittedProjection) -> tuple[Any, Any]:
        """Return probabilities of the classes (n, K) and labels (n,) of all samples."""
        ...


@dataclass(frozen=True)
class _SamplesInMemory:
    engine: RowEngine
    classes: AnyArray
    X: AnyArray
    codes: IntArray  # (n,), -1 for samples without a label

    def label(self, projection: FittedProjection) -> tuple[AnyArray, AnyArray]:
        probabilities = _compute_probabilities(projection, self.X, self.codes)
        return probabilities, self.classes[np.argmax(probabilities, axis=1)]


@dataclass(frozen=True)
class _LazySamples:
    engine: Engine
    classes: AnyArray
    rows: Any  # LazyRows, which need Dask
    unlabeled: Any

    def label(self, projection: FittedProjection) -> tuple[Any, Any]:
        known = projection, self.classes, self.unlabeled
        nothing = np.zeros((0, len(self.classes)))
        return (
            self.rows.answers(partial(_part_probabilities, *known), nothing),
            self.rows.answers(partial(_part_labels, *known), self.classes[:0]),
        )


def _compute_probabilities(
    projection: FittedProjection, X: AnyArray, codes: IntArray
) -> FloatArray:
    """Return posteriors (n, K); those of labeled samples (codes >= 0) are 0 and 1."""
    probabilities: FloatArray = np.exp(log_normalized(projection.class_log_joint(X)))
    labeled = np.flatnonzero(codes >= 0)
    probabilities[labeled] = 0.0
    probabilities[labeled, codes[labeled]] = 1.0
    return probabilities


def _part_probabilities(
    projection: FittedProjection, classes: AnyArray, unlabeled: Any, part: Any
) -> FloatArray:
    codes = codes_among(part.labels, classes, unlabeled)
    return _compute_probabilities(projection, part.X, codes)


def _part_labels(
    projection: FittedProjection, classes: AnyArray, unlabeled: Any, part: Any
) -> AnyArray:
    probabilities = _part_probabilities(projection, classes, unlabeled, part)
    labels: AnyArray = classes[np.argmax(probabilities, axis=1)]
    return labels
