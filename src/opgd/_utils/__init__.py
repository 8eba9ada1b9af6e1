"""Utilities: validation, labels, files, warnings, BLAS threads, callbacks."""
