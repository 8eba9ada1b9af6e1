"""Products of tall matrices with small ones, computed as stacks of small products.

BLAS copies its operands into packed buffers, which does not pay where one matrix is small. OpenBLAS
skips this step for small products, and a stacked `np.matmul` of many small products takes half or a
third of the time of one large product.
"""

import numpy as np

from opgd.core.types import AnyArray

SMALL_PRODUCT = 500_000
"""Maximum number of multiplications in a small product."""
MOST_CELLS = 12_000
"""Number of entries of the small matrix above which packing pays."""
SHORT_PRODUCT = 50_000
"""Maximum number of multiplications in a product that is too short for other threads to wait."""
LEAST_RESULTS = 501
"""Number of results from which NumPy releases the GIL during a product."""


def _n_small(n_rows: int, n_columns: int, n_others: int) -> int:
    """Return the number of small products into which a large one is split."""
    if n_columns * n_others > MOST_CELLS:
        return 1
    return max(1, min(-(-n_rows * n_columns * n_others // SMALL_PRODUCT), n_rows))


def rows_times(rows: AnyArray, matrix: AnyArray, out: AnyArray) -> AnyArray:
    """Multiply rows (n, p) by a matrix (p, q) into `out` (n, q)."""
    n_small = _n_small(len(rows), *matrix.shape)
    if n_small == 1:
        return np.matmul(rows, matrix, out=out)
    whole = len(rows) // n_small * n_small
    small_rows, small_out = (
        array[:whole].reshape(n_small, whole // n_small, array.shape[1]) for array in (rows, out)
    )
    np.matmul(small_rows, matrix, out=small_out)
    if whole < len(rows):
        np.matmul(rows[whole:], matrix, out=out[whole:])
    return out


def times_columns(matrix: AnyArray, columns: AnyArray, out: AnyArray) -> AnyArray:
    """Multiply a matrix (q, p) by columns (p, n) into `out` (q, n)."""
    return rows_times(columns.T, matrix.T, out.T).T


def times_rows(left: AnyArray, rows: AnyArray) -> AnyArray:
    """Return the product, (q, p), of a matrix (q, n) and rows (n, p)."""
    q, (n_rows, p) = len(left), rows.shape
    if n_rows * p * q <= SHORT_PRODUCT:
        return np.dot(left, rows)
    n_small = min(max(_n_small(n_rows, p, q), -(-LEAST_RESULTS // (p * q))), max(n_rows, 1))
    whole = n_rows // n_small * n_small
    small_left = left[:, :whole].reshape(q, n_small, whole // n_small)
    small_rows = rows[:whole].reshape(n_small, whole // n_small, p)
    product: AnyArray = np.matmul(small_left.transpose(1, 0, 2), small_rows).sum(axis=0)
    if whole < n_rows:
        product += np.dot(left[:, whole:], rows[whole:])
    return product
