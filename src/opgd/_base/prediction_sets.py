"""Mixin for prediction sets: classes that held-out samples do not rule out."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from opgd._dask.lazy import (
    apply_lazily,
    apply_to_samples,
    compute_eagerly,
    compute_together,
    is_lazy,
)
from opgd._utils.labels import encode_true_labels, to_label_array
from opgd._utils.validation import check_flag, check_sample_weight, check_seed, check_share
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.held_out import HeldOut
from opgd.core.moments import scale_to_counts
from opgd.core.types import AnyArray, FloatArray

ROUNDING = 1e-9
"""Tolerance of comparisons with a coverage such as 0.9, which is not exact in floating point."""


class PredictionSetMixin:
    """Mixin for classifiers with prediction sets."""

    classes_: AnyArray
    _held_out: HeldOut

    def _density_log_joint(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def _log_prior_ratios(self, priors: Any) -> FloatArray:
        raise NotImplementedError

    def _set_held_out(self, held_out: HeldOut) -> None:
        self._held_out = held_out

    def conformalize(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store how the fitted model sees samples that it was not fitted to.

        `predict_set` then ranks new samples among these, and so does `typicality` if the
        classifier has it. The samples replace those of `OPGDClassifierCV`, or of an earlier call.
        Fitting again discards them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that were not used in `fit`. The coverage is guaranteed only for these.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        y, sample_weight = compute_eagerly(y), compute_eagerly(sample_weight)
        results = [apply_to_samples(self._density_log_joint, X)]
        if hasattr(self, "_nearest_distances"):
            results.append(apply_to_samples(self._nearest_distances, X))
        log_joints, distances = (*compute_together(*results), None)[:2]
        codes = encode_true_labels(y, self.classes_)
        check_consistent_length(log_joints, codes)
        if np.any(codes < 0):
            first = int(np.argmax(codes < 0))
            raise ValueError(
                f"y has labels that are not classes of the fitted model, first "
                f"{to_label_array(y).tolist()[first]!r} at position {first}."
            )
        weights = check_sample_weight(sample_weight, log_joints)
        weights = np.ones(len(codes)) if weights is None else scale_to_counts(weights)
        self._set_held_out(HeldOut.collect(log_joints, codes, weights, distances))
        return self

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        priors: Any = None,
        randomized: bool = False,
        random_state: Any = None,
    ) -> AnyArray:
        r"""Predict sets of classes that contain the true class with a given probability.

        Class :math:`k` is in the set of a sample unless its posterior probability is smaller than
        that of all but a few held-out samples of class :math:`k`. With :math:`n_k` of these, of
        which :math:`r` have posterior odds of class :math:`k` no larger than the sample,

        .. math::

            \frac{r + 1}{n_k + 1} > 1 - \text{coverage}.

        The coverage holds in each class ("Mondrian" conformal prediction). It is guaranteed on
        average over held-out and new samples if held-out samples were passed to `conformalize`
        and new samples of a class come from the same distribution, whatever the model. The
        held-out samples of `OPGDClassifierCV` are those of its cross-validation, whose models
        differ from the final one ("cross-conformal"): the coverage is then approximate.

        A set may be empty: no class has a probability that is usual for its samples, as happens
        between two classes if the coverage is below the accuracy. A set may be full: no class can
        be ruled out at this coverage.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability with which a set contains the true class, between 0 and 1. A class with
            fewer than :math:`1 / (1 - \text{coverage}) - 1` held-out samples cannot be ruled out:
            it is in every set, and there is a warning.
        priors : "uniform", array-like of shape (n_classes,) or dict {label: prior}, default=None
            Prior probabilities of the classes, as in `predict`. The coverage by class does not
            depend on them, but sets are smaller if they are right.
        randomized : bool, default=False
            Whether to break ties at random, among them that of a sample with itself: the coverage
            is then exact, not at least as large. This matters if held-out samples are few.
        random_state : int, RandomState instance or None, default=None
            Seed of the random numbers with ``randomized=True``.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), of bool
            Whether each class is in the set; columns are in the order of ``classes_``.
            `opgd.decisions.label_sets` converts rows to labels.
        """
        check_is_fitted(self)
        level = 1.0 - check_coverage(coverage) + ROUNDING
        held_out = getattr(self, "_held_out", None)
        if held_out is None:
            raise ValueError(
                f"Prediction sets need held-out samples: call conformalize with samples that this "
                f"{type(self).__name__} was not fitted to, or use OPGDClassifierCV."
            )
        rng = check_seed(random_state) if check_flag("randomized", randomized) else None
        too_few = 1.0 / (held_out.class_weights + 1.0) > level
        if too_few.any():
            self._warn_about_few(too_few, coverage)
        make_sets = partial(self._make_sets, held_out, priors, level, too_few)
        if is_lazy(X) and rng is not None:
            seed = int(rng.randint(2**31 - 1))
            return apply_lazily(partial(_call_with_rng, make_sets, seed), X, numbered=True)
        return apply_to_samples(partial(make_sets, rng), X)

    def _make_sets(
        self,
        held_out: HeldOut,
        priors: Any,
        level: float,
        too_few: AnyArray,
        rng: np.random.RandomState | None,
        X: Any,
    ) -> AnyArray:
        log_joints = self._density_log_joint(X)
        ratios = self._log_prior_ratios(priors)
        uniform = None if rng is None else rng.uniform(size=log_joints.shape)
        sets: AnyArray = held_out.p_values(log_joints + ratios, ratios, uniform) > level
        return sets | too_few

    def _warn_about_few(self, too_few: AnyArray, coverage: float) -> None:
        labels = ", ".join(repr(label) for label in self.classes_[too_few].tolist())
        warn_caller(
            f"Too few held-out samples of {labels} to rule these classes out at a coverage of "
            f"{coverage:g}; they are in every set. Pass more samples to conformalize, or a smaller "
            "coverage.",
            DataWarning,
        )


def _call_with_rng(make_sets: Callable[..., AnyArray], seed: int, X: Any, number: int) -> AnyArray:
    """Return the sets of a block of Dask input, with random numbers of its own."""
    return make_sets(np.random.RandomState([seed, number]), X)


def check_coverage(coverage: Any) -> float:
    """Return a coverage between 0 and 1, exclusive, or raise TypeError or ValueError."""
    share = check_share("coverage", coverage)
    if not 0 < share < 1:
        raise ValueError(f"coverage must be between 0 and 1, exclusive, got {coverage!r}.")
    return share
