"""Optimal projections for Gaussian discriminants."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from opgd._utils.warnings import DataWarning
    from opgd.classifier import OPGDClassifier
    from opgd.classifier_cv import OPGDClassifierCV
    from opgd.comparison import compare
    from opgd.decisions import CostSensitiveClassifier
    from opgd.files import open_table
    from opgd.mixture import OPGDMixture
    from opgd.model_file import load_model, save_model
    from opgd.onnx import to_onnx
    from opgd.report import explore, write_report
    from opgd.semi_supervised import OPGDSemiSupervised
    from opgd.table_encoder import TableEncoder

__version__ = "0.3.0.dev0"
__all__ = [
    "CostSensitiveClassifier",
    "DataWarning",
    "OPGDClassifier",
    "OPGDClassifierCV",
    "OPGDMixture",
    "OPGDSemiSupervised",
    "TableEncoder",
    "__version__",
    "compare",
    "explore",
    "load_model",
    "open_table",
    "save_model",
    "to_onnx",
    "write_report",
]

# Names are imported on first use, so that `opgd --help` does not import scikit-learn.
_MODULES = {
    "CostSensitiveClassifier": "opgd.decisions",
    "DataWarning": "opgd._utils.warnings",
    "OPGDClassifier": "opgd.classifier",
    "OPGDClassifierCV": "opgd.classifier_cv",
    "OPGDMixture": "opgd.mixture",
    "OPGDSemiSupervised": "opgd.semi_supervised",
    "TableEncoder": "opgd.table_encoder",
    "compare": "opgd.comparison",
    "explore": "opgd.report",
    "load_model": "opgd.model_file",
    "open_table": "opgd.files",
    "save_model": "opgd.model_file",
    "to_onnx": "opgd.onnx",
    "write_report": "opgd.report",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'opgd' has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
