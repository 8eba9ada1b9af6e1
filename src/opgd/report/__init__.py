"""Interactive reports on fitted models, as self-contained HTML files and in notebooks."""

from opgd.report.exploration import Exploration, explore
from opgd.report.writer import write_report

__all__ = ["Exploration", "explore", "write_report"]
