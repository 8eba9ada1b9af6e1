"""Tools without mathematics: validation, labels, files, warnings, BLAS threads, callbacks."""
