"""Inputs that somebody will pass in one day, and what every estimator has to do with them.

`python -m tests.hostile` prints the tables of the guide and how many pairs were tried.
"""
