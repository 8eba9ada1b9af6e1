"""Plots of fitted models with matplotlib.

A display is created by a ``from_...`` method, which computes its arrays and draws them. With
``draw=False`` the arrays are computed only, and matplotlib is not needed. The method `plot` draws a
display again, optionally on existing matplotlib axes.
"""

from opgd.inspection.loadings_table import loadings_table
from opgd.plotting.comparison import ComparisonDisplay
from opgd.plotting.components import ComponentsDisplay, Curve, Panel
from opgd.plotting.convergence import ConvergenceDisplay
from opgd.plotting.costs import CostDisplay
from opgd.plotting.drift import DriftDisplay
from opgd.plotting.features import FeatureSelectionDisplay
from opgd.plotting.loadings import LoadingsDisplay
from opgd.plotting.pairs import PairsDisplay
from opgd.plotting.prediction_sets import PredictionSetDisplay
from opgd.plotting.projection import ProjectionDisplay
from opgd.plotting.selection import SelectionDisplay

__all__ = [
    "ComparisonDisplay",
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "CostDisplay",
    "Curve",
    "DriftDisplay",
    "FeatureSelectionDisplay",
    "LoadingsDisplay",
    "PairsDisplay",
    "Panel",
    "PredictionSetDisplay",
    "ProjectionDisplay",
    "SelectionDisplay",
    "loadings_table",
]
