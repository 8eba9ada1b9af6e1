"""Optimal projections for Gaussian discriminants."""

from opgd._warnings import DataWarning
from opgd.classifier import OPGDClassifier

__version__ = "0.1.0.dev0"
__all__ = ["DataWarning", "OPGDClassifier", "__version__"]
