"""Columns made of columns: the bases in which flexible discriminants are linear."""

from dataclasses import dataclass
from math import comb

import numpy as np
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from opgd.core.types import FloatArray

BASES = ["linear", "polynomial", "spline"]


@dataclass(frozen=True)
class Basis:
    """Functions of standardized columns, (n, p) to (n, F), without a constant."""

    kind: str
    degree: int
    knots: FloatArray  # (n_knots, p), for splines

    @property
    def n_functions(self) -> int:
        """F."""
        n_knots, n_columns = self.knots.shape
        if self.kind == "linear":
            return n_columns
        if self.kind == "polynomial":
            return comb(n_columns + self.degree, self.degree) - 1
        return n_columns * (n_knots + self.degree - 2)

    def expand(self, Z: FloatArray) -> FloatArray:
        """The values of the functions."""
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
    """Knots (n_knots, p): quantiles of the different values of each column.

    Quantiles of all values would fall together where many are equal; these ascend.
    """
    levels = np.linspace(0.0, 1.0, n_knots)
    knots = np.empty((n_knots, Z.shape[1]))
    for j, column in enumerate(Z.T):
        values = np.unique(column)
        knots[:, j] = np.quantile(values, levels) if len(values) > 1 else values[0] + levels
    return knots
