"""Basis functions of flexible discriminant analysis."""

from dataclasses import dataclass
from math import comb

import numpy as np
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from opgd.core.types import FloatArray

BASES = ["linear", "polynomial", "spline"]


@dataclass(frozen=True)
class Basis:
    """Basis functions of standardized features, from (n, p) to (n, F), without a constant."""

    kind: str
    degree: int
    knots: FloatArray  # (n_knots, p), for splines

    @property
    def n_functions(self) -> int:
        """Number of functions, F."""
        n_knots, n_features = self.knots.shape
        if self.kind == "linear":
            return n_features
        if self.kind == "polynomial":
            return comb(n_features + self.degree, self.degree) - 1
        return n_features * (n_knots + self.degree - 2)

    def expand(self, Z: FloatArray) -> FloatArray:
        """Return the values of the functions."""
        if self.kind == "linear":
            return Z
        if self.kind == "polynomial":
            powers = PolynomialFeatures(self.degree, include_bias=False)
            with np.errstate(over="ignore", invalid="ignore"):
                products: FloatArray = powers.fit_transform(Z)
            return products
        splines = SplineTransformer(
            degree=self.degree, knots=self.knots, include_bias=False, extrapolation="linear"
        )
        values: FloatArray = splines.fit(self.knots).transform(Z)
        return values


def distinct_quantiles(Z: FloatArray, n_knots: int) -> FloatArray:
    """Return knots (n_knots, p), at quantiles of the distinct values of each feature.

    Quantiles of all values could coincide if many values are equal.
    """
    levels = np.linspace(0.0, 1.0, n_knots)
    knots = np.empty((n_knots, Z.shape[1]))
    for j, column in enumerate(Z.T):
        values = np.unique(column)
        knots[:, j] = np.quantile(values, levels) if len(values) > 1 else values[0] + levels
    return knots
