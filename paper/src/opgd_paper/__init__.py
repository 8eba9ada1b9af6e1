"""Companion of the paper: data sets, experiments and research methods."""
