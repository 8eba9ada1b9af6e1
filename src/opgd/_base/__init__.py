"""Mixins of the estimators."""
