"""Pictures of fitted models: displays hold arrays and draw them with matplotlib.

Every display is made by a ``from_...`` method, which computes the arrays and draws them; with
``draw=False`` it only computes, and matplotlib is not needed. `plot` draws (again), on axes of the
caller's if it gets them.
"""

from opgd.inspection.loadings_table import loadings_table
from opgd.plotting.comparison import ComparisonDisplay
from opgd.plotting.components import ComponentsDisplay, Curve, Panel
from opgd.plotting.convergence import ConvergenceDisplay
from opgd.plotting.loadings import LoadingsDisplay
from opgd.plotting.pairs import PairsDisplay
from opgd.plotting.projection import ProjectionDisplay

__all__ = [
    "ComparisonDisplay",
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "Curve",
    "LoadingsDisplay",
    "PairsDisplay",
    "Panel",
    "ProjectionDisplay",
    "loadings_table",
]
