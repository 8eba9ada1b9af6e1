"""Flexible discriminant analysis: LDA in a basis of functions, by optimal scoring."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from opgd._dask.lazy import rowwise
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_choice, check_integer, check_positive
from opgd.baselines._basis_functions import BASES, Basis, distinct_quantiles
from opgd.baselines._optimal_scores import optimal_scores
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    column_moments,
    cut,
    standardized,
)
from opgd.core.types import AnyArray, FloatArray

MOST_EXPLAINED = 1 - 1e-6
"""Scores that are explained to the last digit would have no variance inside the classes."""
LEAST_EXPLAINED = 1e-12


class FlexibleDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, PosteriorClassifier
):
    """LDA on functions of the columns, found by regression on optimal scores.

    The classes get scores theta_l, (n_classes,), that a ridge regression eta_l on functions of
    the columns explains best:

        minimize  mean_i (theta_l[y_i] - eta_l(x_i))^2 + ridge * (sum of coefficients^2)

    with mean_i theta_l[y_i] = 0 and mean_i theta_l[y_i] theta_m[y_i] = (l == m). With r_l^2 the
    share that is explained, the axes are u_l = eta_l / sqrt(r_l^2 (1 - r_l^2)), on which classes
    have variance one, and a row goes to the nearest class mean, given the priors. With the
    linear basis and no ridge this is LDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes, at most ``n_classes - 1``; None means all.
    basis : {"spline", "polynomial", "linear"}, default="spline"
        Splines of every column by itself, products of columns up to a degree, or the columns.
    degree : int, default=3
        Degree of the splines or the products.
    n_knots : int, default=5
        Knots of a spline, at quantiles of the different values of a column.
    ridge : float, default=0.1
        Penalty on the coefficients of standardized functions; per row, as `orthogonality` is.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    n_components_ : int
        Number of axes.
    explained_ : ndarray of shape (n_components_,)
        r_l^2, largest first.
    coefficients_ : ndarray of shape (n_components_, n_functions)
        Of the axes, in standardized functions.
    projected_means_ : ndarray of shape (n_classes, n_components_)
        Class means on the axes.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie, Tibshirani & Buja, "Flexible Discriminant Analysis by Optimal Scoring", JASA 1994.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import FlexibleDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> FlexibleDiscriminantAnalysis(n_components=2).fit(X, y).transform(X).shape
    (178, 2)
    """

    _center: FloatArray
    _scale: FloatArray
    _basis: Basis
    _function_center: FloatArray
    _function_scale: FloatArray
    coefficients_: FloatArray
    projected_means_: FloatArray

    def __init__(
        self,
        n_components: int | None = None,
        *,
        basis: str = "spline",
        degree: int = 3,
        n_knots: int = 5,
        ridge: float = 0.1,
        priors: Any = None,
    ) -> None:
        self.n_components = n_components
        self.basis = basis
        self.degree = degree
        self.n_knots = n_knots
        self.ridge = ridge
        self.priors = priors

    @rowwise
    def transform(self, X: Any) -> FloatArray:
        """Rows on the axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
        """
        check: Any = self._check_rows
        X = check(X)
        with one_blas_thread():
            return self._scores(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.coefficients_)

    def _check_parameters(self) -> None:
        check_choice("basis", self.basis, BASES)
        check_integer("degree", self.degree, 1)
        check_integer("n_knots", self.n_knots, 2)
        check_positive("ridge", self.ridge, or_zero=True)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1)

    def _densities(self, rows: LabeledSamples) -> dict[str, Any]:
        most = rows.n_classes - 1
        if most == 0:
            raise ValueError("y has one class only: there are no axes between classes.")
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} is more than n_classes - 1 = {most}."
            )
        center, scale = column_moments(rows.X, rows.weights)
        Z = standardized(rows.X, center, scale)
        splines = self.basis == "spline"
        knots = distinct_quantiles(Z, self.n_knots) if splines else np.empty((0, Z.shape[1]))
        basis = Basis(self.basis, int(self.degree), knots)
        functions = basis.expand(Z)
        middle, spread = column_moments(functions, rows.weights)
        functions = (functions - middle) / spread
        explained, scores, coefficients = optimal_scores(functions, rows, self.ridge)
        n_axes = min(
            most if self.n_components is None else self.n_components,
            max(1, int(np.sum(explained > LEAST_EXPLAINED))),
        )
        explained = np.clip(explained[:n_axes], LEAST_EXPLAINED, MOST_EXPLAINED)
        deviations = np.sqrt(explained * (1 - explained))  # of eta inside the classes
        return {
            "explained_": explained,
            "n_components_": n_axes,
            "coefficients_": coefficients[:n_axes] / deviations[:, None],
            "projected_means_": scores[:, :n_axes] * explained / deviations,
            "_center": center,
            "_scale": scale,
            "_basis": basis,
            "_function_center": middle,
            "_function_scale": spread,
        }

    def _scores(self, X: AnyArray) -> FloatArray:
        Z = standardized(X, self._center, self._scale)
        functions = cut(self._basis.expand(Z))
        standard = (functions - self._function_center) / self._function_scale
        return cut(standard @ self.coefficients_.T)

    def _log_densities(self, X: AnyArray) -> FloatArray:
        scores = self._scores(X)
        steps = scores[:, None, :] - self.projected_means_  # (n, K, q)
        logs: FloatArray = -0.5 * np.einsum("nkq,nkq->nk", steps, steps)
        return logs
