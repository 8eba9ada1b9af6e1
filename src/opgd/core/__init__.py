"""The mathematics: functions over arrays and small frozen dataclasses.

Modules in this package depend on NumPy and SciPy only. They neither validate input nor print; the
estimators do.
"""
