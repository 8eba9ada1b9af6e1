"""Matrix products with many rows, as stacks of small ones.

BLAS packs what it multiplies into buffers of its own, which costs more than it gains where the
other matrix has few cells. OpenBLAS leaves that out for small products, and many of those, in a
stack that NumPy goes through by itself, take half or a third of the time of one product.
"""

import numpy as np

from opgd.core.types import AnyArray

SMALL_PRODUCT = 500_000
"""Multiplications up to which a product is small."""
MOST_CELLS = 12_000
"""Cells of the other matrix beyond which packing pays."""
LEAST_RESULTS = 501
"""NumPy lets other threads run during a product from so many results on."""


def _n_small(n_rows: int, n_columns: int, n_others: int) -> int:
    """How many small products there are in a large one."""
    if n_columns * n_others > MOST_CELLS:
        return 1
    return max(1, min(-(-n_rows * n_columns * n_others // SMALL_PRODUCT), n_rows))


def rows_times(rows: AnyArray, matrix: AnyArray, out: AnyArray) -> AnyArray:
    """Rows (n, p) times a matrix (p, q), into `out` (n, q)."""
    n_small = _n_small(len(rows), *matrix.shape)
    whole = len(rows) // n_small * n_small
    small_rows, small_out = (
        own[:whole].reshape(n_small, whole // n_small, own.shape[1]) for own in (rows, out)
    )
    np.matmul(small_rows, matrix, out=small_out)
    if whole < len(rows):
        np.matmul(rows[whole:], matrix, out=out[whole:])
    return out


def times_columns(matrix: AnyArray, columns: AnyArray, out: AnyArray) -> AnyArray:
    """A matrix (q, p) times columns (p, n), into `out` (q, n)."""
    return rows_times(columns.T, matrix.T, out.T).T


def times_rows(left: AnyArray, rows: AnyArray) -> AnyArray:
    """A matrix (q, n) times rows (n, p), (q, p)."""
    q, (n_rows, p) = len(left), rows.shape
    n_small = min(max(_n_small(n_rows, p, q), -(-LEAST_RESULTS // (p * q))), max(n_rows, 1))
    whole = n_rows // n_small * n_small
    small_left = left[:, :whole].reshape(q, n_small, whole // n_small)
    small_rows = rows[:whole].reshape(n_small, whole // n_small, p)
    product: AnyArray = np.matmul(small_left.transpose(1, 0, 2), small_rows).sum(axis=0)
    if whole < n_rows:
        product += np.dot(left[:, whole:], rows[whole:])
    return product
