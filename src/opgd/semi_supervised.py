"""OPGDSemiSupervised, a classifier for labeled and unlabeled samples together."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_consistent_length

from opgd._base.estimator import restore_on_failure
from opgd._base.posterior import normalize_log_joints
from opgd._base.projection_classifier import ProjectionClassifier
from opgd._dask.lazy import compute_eagerly, is_lazy
from opgd._fit.data_warnings import warn_about_data
from opgd._fit.problem import Prepared, frame_samples, pose
from opgd._fit.self_training import estimate_class_moments
from opgd._utils.blas import one_blas_thread
from opgd._utils.callbacks import with_callbacks
from opgd._utils.features import validate_features
from opgd._utils.labels import (
    encode_among,
    encode_known_labels,
    encode_partly_labeled,
    is_missing,
    to_label_array,
)
from opgd._utils.validation import (
    check_integer,
    check_n_components,
    check_priors,
    check_sample_weight,
    check_seed,
)
from opgd.core.engines import Engine, RowEngine
from opgd.core.fitted import FittedProjection
from opgd.core.types import AnyArray, FloatArray, IntArray


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
    labeled, this is `OPGDClassifier`.

    Samples may have missing values (nan), in `fit` and at prediction, which are assumed to be
    missing at random; see the guide.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``, or the number of components in `init` if it is
        an array.
    covariance_type : {"diag", "full"}, default="diag"
        Covariances of the projected Gaussians: diagonal (as in the paper) or full.
    shrinkage : float or "auto", default=0.0
        Weight of the pooled covariance in each class covariance, from 0 to 1; "auto" estimates it.
        Increase it when classes have few samples. See `OPGDClassifier`.
    ridge : float or "auto", default="auto"
        Weight of the identity matrix (on standardized features) in each covariance, from 0 to 1;
        "auto" estimates it from the labeled samples. Increase it when features are many or nearly
        collinear. See `OPGDClassifier`.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies among all samples, where
        unlabeled samples are counted by their posterior probabilities.
    unlabeled : default=None
        Value in `y` that marks unlabeled samples. None means -1, None and NaN; set it if -1 is a
        class label.
    n_rounds : int, default=6
        Maximum number of rounds of self-training. Rounds stop early when the error on labeled
        samples increases by more than one standard error. With 0 the posterior probabilities of LDA
        on the labeled samples are used.
    init : str, sequence of str or array-like, default="auto"
        Initial components: "auto", "lda", "paper", "save", "pca", "random", several of these names,
        or an array; see `OPGDClassifier`.
    n_init : int, default=1
        Number of searches, of which the best is kept. All but the first start from random
        components.
    max_iter : int, default=500
        Maximum number of iterations of each search. With 0 the initial components are kept.
    tol : float, default=1e-6
        A search has converged when no entry of the gradient of the mean log posterior, in whitened
        coordinates, exceeds `tol` in absolute value.
    random_state : int, RandomState instance or None, default=None
        Seed of random initial components.
    subsample : bool, default=True
        Whether the search may use subsamples; see `OPGDClassifier`.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. None means 1, -1 all cores.
    verbose : int, default=0
        If positive, print the log-likelihood every ``verbose`` iterations.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Label of each training sample: the given label, or the most probable class of an unlabeled
        sample.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of each training sample; 0 and 1 for labeled samples.
    n_rounds_ : int
        Number of rounds of self-training.
    components_, n_components_, classes_, priors_, means_, covariances_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_
        As in `OPGDClassifier`.
    log_likelihood_, component_log_likelihoods_, component_shares_
        As in `OPGDClassifier`, with the targets :math:`t_i` in place of the true classes.
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
        check_integer("n_rounds", self.n_rounds)
        if np.ndim(self.unlabeled) or isinstance(self.unlabeled, Mapping | Set):
            raise TypeError(f"unlabeled must be a single value, got {self.unlabeled!r}.")
        rng = check_seed(self.random_state)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        samples = self._read_samples(X, y, sample_weight)
        engine, classes = samples.engine, samples.classes
        check_n_components(self.n_components, engine.n_features)
        with one_blas_thread():
            frame = frame_samples(engine)
            moments, n_rounds = estimate_class_moments(frame, len(classes), self.n_rounds)
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
            from opgd._dask.inputs import validate_dask_input

            if y is None:
                to_label_array(y)  # raises
            encode = partial(encode_partly_labeled, unlabeled=unlabeled)
            codes_of = partial(encode_among, unlabeled=unlabeled)
            rows = validate_dask_input(
                self, X, y, sample_weight, encode, codes_of, allow_missing_labels=True
            )
            return _LazySamples(rows.engine, rows.classes, rows, unlabeled)
        X = validate_features(self, X, min_samples=2, allow_nan=True)
        y = to_label_array(y)
        check_consistent_length(X, y)
        weights = check_sample_weight(sample_weight, X)
        present = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        classes, codes = encode_partly_labeled(y[present], unlabeled)
        weighted, all_codes = X, codes
        if weights is not None and not present.all():
            weighted, weights = X[present], weights[present]
            all_codes = encode_among(y, classes, unlabeled)
        engine = RowEngine(weighted, codes, weights, n_threads=effective_n_jobs(self.n_jobs))
        return _SamplesInMemory(engine, classes, X, all_codes)

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
        codes = encode_among(y, self.classes_, self.unlabeled)
        correct = codes == encode_known_labels(predicted, self.classes_)
        known_weights = None if weights is None else weights[known]
        return float(np.average(correct[known], weights=known_weights))


class _Samples(Protocol):
    """Partly labeled samples: an engine over those with positive weight, and labels for all."""

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
    rows: Any  # LazyRows; not imported, because that needs Dask
    unlabeled: Any

    def label(self, projection: FittedProjection) -> tuple[Any, Any]:
        arguments = projection, self.classes, self.unlabeled
        empty = np.zeros((0, len(self.classes)))
        return (
            self.rows.answers(partial(_part_probabilities, *arguments), empty),
            self.rows.answers(partial(_part_labels, *arguments), self.classes[:0]),
        )


def _compute_probabilities(
    projection: FittedProjection, X: AnyArray, codes: IntArray
) -> FloatArray:
    """Return posterior probabilities (n, K), which are 0 and 1 for labeled samples."""
    probabilities: FloatArray = np.exp(normalize_log_joints(projection.class_log_joint(X)))
    labeled = np.flatnonzero(codes >= 0)
    probabilities[labeled] = 0.0
    probabilities[labeled, codes[labeled]] = 1.0
    return probabilities


def _part_probabilities(
    projection: FittedProjection, classes: AnyArray, unlabeled: Any, part: Any
) -> FloatArray:
    codes = encode_among(part.labels, classes, unlabeled)
    return _compute_probabilities(projection, part.X, codes)


def _part_labels(
    projection: FittedProjection, classes: AnyArray, unlabeled: Any, part: Any
) -> AnyArray:
    probabilities = _part_probabilities(projection, classes, unlabeled, part)
    labels: AnyArray = classes[np.argmax(probabilities, axis=1)]
    return labels
