"""An interactive report on a fitted model: one file of HTML that opens without a network."""

from opgd.report.writer import write_report

__all__ = ["write_report"]
