"""Experiments of the paper: raw results in one file, and tables and figures made from it."""
