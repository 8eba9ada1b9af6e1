"""Alternating updates of the components, with fixed Gaussians, and of the Gaussians."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from opgd_paper.methods._base import (
    AnyArray,
    ComponentsMixin,
    DensityClassifier,
    FloatArray,
    IntArray,
    check_priors,
)
from opgd_paper.methods._support import (
    AxisGaussians,
    Sphered,
    compute_log_ratio,
    compute_moments,
    count_components,
    fit_mixture,
    lda_axes,
    maximize,
    normalize_rows,
    one_hot,
    split_classes,
    unit_variance,
    whiten,
)

EM_TOL = 1e-6
"""EM in an iteration stops when a step increases the log-likelihood per sample by less."""
TIE = 1e-9
"""Difference up to which values of the objective are equal; ties keep the order."""


class AlternatingComponents(ComponentsMixin, DensityClassifier):
    r"""Classification likelihood maximized by alternating between components and Gaussians.

    The objective is that of `OPGDClassifier`. Each iteration first takes a gradient step in the
    components :math:`V` for

    .. math::

        \sum_i \log \frac{\pi_{y_i} f_{y_i}(V^\top x_i)}{\sum_k \pi_k f_k(V^\top x_i)}, \qquad
        f_k(z) = \sum_g w_{kg} N(z; m_{kg}, S_{kg}),

    with the mixtures :math:`f_k` of the classes held fixed, and then fits these again on the new
    components, by EM from the previous ones. For one Gaussian per class and labeled samples, EM is
    the maximum likelihood estimate. The gradient ignores that the mixtures will change, and EM
    maximizes a different likelihood, so an iteration can *decrease* the objective; see
    `loss_curve_`. The method is included to demonstrate this. For applications, use
    `OPGDClassifier`.

    Unlabeled samples (see `unlabeled`) take part in EM with their posterior probabilities, and in
    the objective with the largest posterior probability of a Gaussian, as in `OPGDSemiSupervised`.
    The reference also has one objective for labeled and unlabeled samples, but the term of the
    latter is a choice made here, as are diagonal covariances :math:`S_{kg}`, for comparison with
    OPGD, and L-BFGS. Its pairwise constraints between unlabeled samples are not implemented.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means
        ``min(n_features, max(2, n_classes - 1))``.
    n_subclasses : int, default=1
        Number of Gaussians per class. EM starts from k-means clusters in each class.
    n_steps : int, default=1
        Number of optimization steps (L-BFGS, the first along the gradient) in each iteration.
    n_em_steps : int, default=10
        Maximum number of EM steps in each iteration.
    unlabeled : label, default=None
        Label in `y` that marks unlabeled samples, such as -1. None means that all samples are
        labeled.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        The iterations stop when the mean objective changes by less than `tol`, up or down.

    Attributes
    ----------
    loss_curve_ : list of float
        Negative mean objective at the start and after each iteration. It may increase.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration changed the objective by less than `tol`.
    components_ : ndarray of shape (n_components_, n_features)
        The components after the last iteration, which need not be the best ones.
    log_likelihood_ : float
        Objective after the last iteration.
    projected_means_, projected_variances_ : ndarray of shape (n_gaussians, n_components_)
        Means and variances of the Gaussians on the components.
    gaussian_classes_ : ndarray of shape (n_gaussians,)
        Index into `classes_` of the class of each Gaussian.
    n_components_ : int
        Number of components.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Peltonen, Goldberger & Kaski, "Fast Semi-supervised Discriminative Component Analysis", IEEE
    Workshop on Machine Learning for Signal Processing 2007; Hofmeyr, Kamper & Melonas, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd_paper.methods import AlternatingComponents
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AlternatingComponents(n_components=2, n_steps=5).fit(X, y)
    >>> bool(model.loss_curve_[-1] > min(model.loss_curve_))  # an earlier iteration was better
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_subclasses: Any = 1,
        n_steps: int = 1,
        n_em_steps: int = 10,
        unlabeled: Any = None,
        priors: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.n_subclasses = n_subclasses
        self.n_steps = n_steps
        self.n_em_steps = n_em_steps
        self.unlabeled = unlabeled
        self.priors = priors
        self.max_iter = max_iter
        self.tol = tol

    def _encode(self, y: AnyArray) -> IntArray:
        if self.unlabeled is None:
            return super()._encode(y)
        labeled = y != self.unlabeled
        if not np.any(labeled):
            raise ValueError("y has no labeled samples.")
        codes = np.full(len(y), -1)
        codes[labeled] = super()._encode(y[labeled])
        return codes

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        n_classes = len(self.classes_)
        whitened = whiten(X, lambda sphered: class_memberships(sphered, codes, n_classes))
        self.priors_ = check_priors(self.priors, whitened.classes.shares)
        default = max(2, n_classes - 1)
        n_components = count_components(self.n_components, default, whitened.rank, X.shape[1])
        moments, borrowed, classes = split_classes(whitened, codes, self.n_subclasses)
        Z, shares = whitened.Z, moments.counts / whitened.classes.counts[classes]

        def project(directions: FloatArray) -> AxisGaussians:
            """Return the Gaussians of the whitened moments on the directions."""
            variances = np.einsum("qr,crs,qs->cq", directions, moments.covariances, directions)
            log_weights = np.log(self.priors_[classes] * shares)
            return AxisGaussians(log_weights, moments.means @ directions.T, variances, classes)

        def run_em(directions: FloatArray, start: AxisGaussians) -> AxisGaussians:
            """Run EM from `start`; labeled samples belong to the Gaussians of their class.

            The weights in each class sum to its prior.
            """
            allowed = (codes[:, None] < 0) | (codes[:, None] == classes)
            gaussians = fit_mixture(
                Z @ directions.T,
                start,
                allowed,
                max_iter=self.n_em_steps,
                tol=EM_TOL,
                share=borrowed,
            )
            weights = np.exp(gaussians.log_weights)
            weights *= (self.priors_ / np.bincount(classes, weights))[classes]
            return replace(gaussians, log_weights=np.log(weights))

        directions = normalize_rows(lda_axes(whitened.classes, n_components))
        gaussians = run_em(directions, project(directions))
        values = [HeldObjective(Z, codes, gaussians)(directions)[0]]
        for _ in range(self.max_iter):
            step = maximize(
                HeldObjective(Z, codes, gaussians), directions, max_iter=self.n_steps, tol=self.tol
            )
            # the length of directions matters only while the Gaussians are fixed
            scale = 1 / np.linalg.norm(step.directions, axis=1)
            directions = scale[:, None] * step.directions
            start = replace(
                gaussians, means=scale * gaussians.means, variances=scale**2 * gaussians.variances
            )
            gaussians = run_em(directions, start)
            values.append(HeldObjective(Z, codes, gaussians)(directions)[0])
            if abs(values[-1] - values[-2]) < self.tol:
                break
        self.n_iter_, self.loss_curve_ = len(values) - 1, [-value for value in values]
        self.converged_ = self.max_iter == 0 or abs(values[-1] - values[-2]) < self.tol
        if not self.converged_:
            warnings.warn(
                f"The alternation has not converged after max_iter={self.max_iter} iterations. It "
                "may never converge; see loss_curve_.",
                ConvergenceWarning,
                stacklevel=3,
            )

        fixed = whitened.fix_signs(directions)
        signs = np.sign(np.sum(fixed * directions, axis=1))
        order = order_components(
            Z @ fixed.T, codes, replace(gaussians, means=signs * gaussians.means)
        )
        self._gaussians = replace(
            gaussians,
            means=(signs * gaussians.means)[:, order],
            variances=gaussians.variances[:, order],
        )
        self.components_ = whitened.components(fixed[order])
        self._center, self.n_components_ = whitened.center, n_components
        self.log_likelihood_ = float(values[-1] * len(X))
        self.projected_means_ = self._gaussians.means + self.components_ @ self._center
        self.projected_variances_ = self._gaussians.variances
        self.gaussian_classes_ = classes

    def _log_densities(self, X: FloatArray) -> FloatArray:
        scores = (X - self._center) @ self.components_.T
        return self._gaussians.class_log_joint(scores) - np.log(self.priors_)


class HeldObjective:
    """Mean log posterior of the samples, by directions (q, R), with fixed Gaussians on them."""

    def __init__(self, Z: FloatArray, codes: IntArray, gaussians: AxisGaussians) -> None:
        self.Z, self.codes, self.gaussians = Z, codes, gaussians

    def __call__(self, directions: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient; this omits that Gaussians change with directions."""
        held, scores = self.gaussians, self.Z @ directions.T
        joint = held.log_joint(scores)
        values, weights = compute_log_ratio(joint, held.allowed(self.codes, joint))
        slopes = weights @ (held.means / held.variances) - scores * (weights @ (1 / held.variances))
        return float(values.mean()), np.asarray(slopes.T @ self.Z / len(scores))


def order_components(scores: FloatArray, codes: IntArray, gaussians: AxisGaussians) -> IntArray:
    """Order components by how much each adds to the objective of those before it (Section 3.3)."""
    selected: list[int] = []
    rest = list(range(scores.shape[1]))
    while rest:
        values = []
        for j in rest:
            axes = [*selected, j]
            chosen = replace(
                gaussians, means=gaussians.means[:, axes], variances=gaussians.variances[:, axes]
            )
            joint = chosen.log_joint(scores[:, axes])
            values.append(compute_log_ratio(joint, chosen.allowed(codes, joint))[0].mean())
        best = int(np.argmax(np.array(values) >= max(values) - TIE))
        selected.append(rest.pop(best))
    return np.array(selected)


def class_memberships(sphered: Sphered, codes: IntArray, n_classes: int) -> FloatArray:
    """Return the share of samples in classes, (n, K); those of unlabeled samples are from LDA.

    LDA is fitted to the labeled samples, with a pooled covariance that is shrunk toward the
    identity on standardized features by the closed form of oracle approximating shrinkage (Chen,
    Wiesel, Eldar & Hero).
    """
    indicators, unlabeled = one_hot(codes, n_classes), codes < 0
    if not unlabeled.any():
        return indicators
    labeled = compute_moments(sphered.Z[~unlabeled], indicators[~unlabeled])
    within = labeled.within / np.outer(sphered.spread, sphered.spread)  # standardized features
    trace, squares = float(np.trace(within)), float(np.sum(within**2))
    count, p = float(np.sum(~unlabeled)), sphered.n_active
    error = (1 - 2 / p) * squares + trace**2
    scaled = (count + 1 - 2 / p) * (squares - trace**2 / p)
    share = 1.0 if error >= scaled else error / scaled
    level = unit_variance(labeled.within, sphered)
    within = (1 - share) * within + share * level * np.eye(len(within))
    slopes = np.linalg.solve(within, (labeled.means / sphered.spread).T)  # (R, K)
    offsets = np.log(labeled.shares) - 0.5 * np.sum(
        slopes.T * labeled.means / sphered.spread, axis=1
    )
    logs = sphered.Z[unlabeled] / sphered.spread @ slopes + offsets
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    indicators[unlabeled] = shares / shares.sum(axis=1, keepdims=True)
    return indicators
