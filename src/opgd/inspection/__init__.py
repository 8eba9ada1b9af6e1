"""Computations for plots and reports, as plain arrays and small frozen dataclasses.

`opgd.plotting` and `opgd.report` both use this package, and import nothing from each other.
Nothing in this package draws, or imports matplotlib or jinja2.
"""
