"""Interactive reports on fitted models, as self-contained HTML files."""

from opgd.report.writer import write_report

__all__ = ["write_report"]
