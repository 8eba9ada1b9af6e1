"""Samples from a population that has changed: new class shares, and what moved."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opgd._dask.lazy import compute_together
from opgd._utils.warnings import DataWarning, warn_caller, warn_not_converged
from opgd.core.fitted import mix_background
from opgd.core.held_out import HeldOut
from opgd.core.shift import MAX_ITER, Moves, compare_moments, estimate_shares, fit_correction
from opgd.core.types import AnyArray, FloatArray

FAR = 0.05
"""Typicality below which a sample is far from all classes."""
MIN_EXCESS, MIN_DEVIATIONS = 2.0, 3.0
"""How many times more far samples than expected, and by how many standard errors, are a change."""
UNSURE_SHARE = 0.25
"""Share of far samples that may be due to overfitting if there are no held-out samples."""


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Estimated class shares; it can be passed as `priors`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels.
    priors : ndarray of shape (n_classes,)
        Estimated shares of the classes.
    standard_errors : ndarray of shape (n_classes,)
        Their standard errors, due to the number of new samples. Errors of the fitted densities
        come on top, and matter if training samples are few.
    far_share : float
        Share of new samples with a typicality below 0.05; NaN if the classifier has no typicality.
    expected_far_share : float
        The share to be expected if nothing but the class shares changed.
    """

    classes: AnyArray
    priors: FloatArray
    standard_errors: FloatArray
    far_share: float
    expected_far_share: float

    def __array__(self, dtype: Any = None, copy: Any = None) -> AnyArray:
        return np.array(self.priors, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Drift:
    """Differences between new samples and the model; tables are dicts of arrays.

    Expected values are those of the model with the class shares of the new samples, so that
    changes of the shares alone do not appear in the other tables. A table can be passed to
    `pandas.DataFrame`.

    Attributes
    ----------
    features : dict of ndarrays of shape (n_features,)
        Features, without those that `sparsity` has removed: "feature", the name; "shift", the
        difference between the mean of the new samples and the expected one, in expected standard
        deviations; its "standard_error"; "spread", the standard deviation divided by the expected
        one.
    components : dict of ndarrays of shape (n_components,)
        The same for the scores on the components; "component" is the index.
    classes : dict of ndarrays of shape (n_classes,)
        "class", the label; "prior" of the model; "new_prior", estimated, and its "standard_error";
        "shift", the root mean square over the components of the displacement of the class, in its
        standard deviations; "noise", the value to be expected by chance.
    far_share, expected_far_share : float
        Share of new samples with a typicality below 0.05, and the share to be expected.
    """

    features: dict[str, AnyArray]
    components: dict[str, AnyArray]
    classes: dict[str, AnyArray]
    far_share: float
    expected_far_share: float


class PriorShiftMixin:
    """Mixin for classifiers that estimate the class shares of new samples."""

    classes_: AnyArray
    priors_: FloatArray

    def _mix_background(self, log_joints: FloatArray) -> FloatArray:
        """Return log posteriors (n, K), with what calibration mixes into them."""
        return mix_background(log_joints, 0.0, self.priors_)

    def estimate_priors(self, X: Any) -> PriorEstimate:
        r"""Estimate the class shares of new, unlabeled samples.

        Shares :math:`\pi'_k` maximize the likelihood of the samples under the assumption that
        only the shares differ from those of the training data. EM computes them from the posterior
        probabilities :math:`p_{ik}` under the priors :math:`\pi_k`:

        .. math::

            \pi'_k \leftarrow \frac{1}{n} \sum_i
                \frac{\pi'_k\, p_{ik} / \pi_k}{\sum_l \pi'_l\, p_{il} / \pi_l}.

        Errors of the probabilities are multiplied by this. If there are held-out samples (of
        `OPGDClassifierCV`, or by `conformalize`), the :math:`p_{ik}` are first corrected on these
        by a temperature and a bias of each class, and :math:`\pi_k` are the means of the
        corrected probabilities of the held-out samples.

        There is a warning if more than the shares seems to have changed: if many more samples than
        expected are far from all classes by their typicality. `drift` shows what moved.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples; some hundreds, not one.

        Returns
        -------
        estimate : PriorEstimate
            `priors` and their `standard_errors`. Pass it (or its `priors`) as `priors` to
            `predict`, `predict_proba` or `predict_set`.
        """
        check_is_fitted(self)
        estimate, n_samples = self._estimate_priors(X)
        _warn_about_far_samples(self, estimate, n_samples)
        return estimate

    def _estimate_priors(self, X: Any) -> tuple[PriorEstimate, int]:
        """Return the estimate, and the number of samples; Dask input stays on its workers."""
        results = [self.predict_log_proba(X)]  # type: ignore[attr-defined]
        if hasattr(self, "typicality"):
            results.append(self.typicality(X))
        log_posteriors, *typicality = compute_together(*results)
        priors = self.priors_
        held_out = getattr(self, "_held_out", None)
        if held_out is not None:
            old = self._mix_background(held_out.log_joints)
            correction = fit_correction(old, held_out.codes, held_out.weights)
            log_posteriors = correction.apply(log_posteriors)
            priors = np.average(np.exp(correction.apply(old)), axis=0, weights=held_out.weights)
        found = estimate_shares(log_posteriors, priors)
        if not found.converged:
            warn_not_converged("The EM for class shares has", MAX_ITER)
        far, expected = np.nan, np.nan
        if typicality:
            far = float(np.mean(typicality[0] < FAR))
            expected = _expect_far_share(held_out, self, found.shares)
        estimate = PriorEstimate(self.classes_, found.shares, found.standard_errors, far, expected)
        return estimate, len(log_posteriors)


def _expect_far_share(held_out: HeldOut | None, model: Any, shares: FloatArray) -> float:
    """Return the share of far samples among held-out samples, with the new class shares."""
    if held_out is None or held_out.distances is None:
        return FAR
    far = held_out.typicality(held_out.distances, model._projection.n_components) < FAR
    n_classes = len(shares)
    sums = np.bincount(held_out.codes, held_out.weights * far, n_classes)
    by_class = (sums + FAR) / (held_out.class_weights + 1.0)  # FAR for a class without samples
    return float(shares @ by_class)


def _warn_about_far_samples(model: Any, estimate: PriorEstimate, n_samples: int) -> None:
    held_out = getattr(model, "_held_out", None)
    found, expected = estimate.far_share, estimate.expected_far_share
    n_reference = np.inf if held_out is None else held_out.weights.sum()
    error = np.sqrt(expected * (1 - expected) * (1 / n_samples + 1 / n_reference))
    limit = max(MIN_EXCESS * expected, expected + MIN_DEVIATIONS * error)
    if held_out is None:
        limit = max(limit, UNSURE_SHARE)
    if found > limit:
        warn_caller(
            f"More than the class shares seems to have changed: {found:.0%} of the samples have a "
            f"typicality below {FAR} ({expected:.0%} expected). The estimated priors may be wrong; "
            "see drift(X).",
            DataWarning,
        )


def measure_drift(model: Any, X: Any) -> Drift:
    """Compare new samples with a fitted Gaussian classifier."""
    rows = model._check_rows(X)
    estimate, _ = model._estimate_priors(X)
    projection, coordinates = model._projection, model._coordinates
    ratios = estimate.priors / model.priors_
    weights = np.exp(projection.gaussians.log_priors) * ratios[projection.gaussian_classes]
    weights /= weights.sum()
    held_out = getattr(model, "_held_out", None)
    n_reference = np.inf if held_out is None else float(held_out.weights.sum())
    axes = coordinates.raw_axes
    variances = np.stack([np.sum(axes * (matrix @ axes), axis=0) for matrix in model._covariances])
    known = _find_known(model)
    features = compare_moments(
        rows[:, known], weights, model.means_[:, known], variances[:, known], n_reference
    )
    scores, means = projection.scores(rows), projection.projected_means
    variances = _take_diagonals(projection.gaussians.variances)
    components = compare_moments(scores, weights, means, variances, n_reference)
    posteriors = model.predict_proba(X, estimate)
    codes = projection.gaussian_classes
    moved, noise = _compare_classes(scores, posteriors, weights, means, variances, codes)
    return Drift(
        {"feature": _get_names(model)[known], **_tabulate(features)},
        {"component": np.arange(len(means.T)), **_tabulate(components)},
        {
            "class": model.classes_,
            "prior": model.priors_,
            "new_prior": estimate.priors,
            "standard_error": estimate.standard_errors,
            "shift": moved,
            "noise": noise,
        },
        estimate.far_share,
        estimate.expected_far_share,
    )


def _find_known(model: Any) -> AnyArray:
    """Return the indices of the features whose distribution the model has.

    These are all but those that `sparsity` has removed.
    """
    removed = np.asarray(getattr(model, "feature_order_", ()), dtype=np.intp)
    if len(removed):
        removed = removed[~model.support_[removed]]
    return np.setdiff1d(np.arange(model.n_features_in_), removed)


def _get_names(model: Any) -> AnyArray:
    default = [f"column {j}" for j in range(model.n_features_in_)]
    return np.asarray(getattr(model, "feature_names_in_", default), dtype=object)


def _tabulate(moves: Moves) -> dict[str, AnyArray]:
    return dict(vars(moves))


def _take_diagonals(variances: FloatArray) -> FloatArray:
    """Return the variances (C, q) of Gaussians with diagonal or full covariances."""
    return variances if variances.ndim == 2 else np.einsum("cjj->cj", variances)


def _compare_classes(
    scores: FloatArray,
    posteriors: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    codes: AnyArray,
) -> tuple[FloatArray, FloatArray]:
    """Return root mean square displacements of the classes, (K,), and their values by chance."""
    totals = posteriors.sum(axis=0)
    found = posteriors.T @ scores / totals[:, None]  # (K, q)
    moved = np.empty(len(found))
    for k in range(len(found)):
        in_class = codes == k
        shares = weights[in_class] / weights[in_class].sum()
        center = shares @ means[in_class]
        spread = shares @ (variances[in_class] + (means[in_class] - center) ** 2)
        moved[k] = np.sqrt(np.mean((found[k] - center) ** 2 / spread))
    noise = np.sqrt(np.sum(posteriors**2, axis=0)) / totals
    return moved, noise
