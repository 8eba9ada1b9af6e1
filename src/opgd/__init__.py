"""Optimal projections for Gaussian discriminants."""

from opgd._warnings import DataWarning
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.comparison import compare
from opgd.mixture import OPGDMixture
from opgd.model_file import load_model, save_model
from opgd.report import write_report
from opgd.semi_supervised import OPGDSemiSupervised

__version__ = "0.1.0.dev0"
__all__ = [
    "DataWarning",
    "OPGDClassifier",
    "OPGDClassifierCV",
    "OPGDMixture",
    "OPGDSemiSupervised",
    "__version__",
    "compare",
    "load_model",
    "save_model",
    "write_report",
]
