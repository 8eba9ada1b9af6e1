"""
Many rows, in a file
====================

Rows of a satellite's picture, drawn again and again with some noise into a large file, from which
the fit reads block by block; no copy of them is made. The picture shows some of the rows, each
class by its share, and the ellipses that all of them have given.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from opgd import OPGDClassifier
from opgd.datasets import load_dataset
from opgd.plotting import ProjectionDisplay

satellite = load_dataset("satellite")
rng = np.random.default_rng(0)
drawn = rng.integers(0, len(satellite.data), 120_000)
y = satellite.target[drawn]
path = Path(tempfile.mkdtemp()) / "rows.npy"
noise = rng.normal(scale=2, size=(len(drawn), satellite.data.shape[1]))
np.save(path, (satellite.data[drawn] + noise).astype(np.float32))

# %%
# With ``mmap_mode`` NumPy leaves the rows where they are.

X = np.load(path, mmap_mode="r")
print(f"{X.shape[0]} rows of {X.shape[1]} columns, {path.stat().st_size / 1e6:.0f} MB in a file")

# %%
# From 100000 rows on the search begins on samples, and ends on all rows. ``subsample=False`` sees
# all rows from the beginning. The passes over rows that this saves count where reading is slow or
# searches are long; what is found should be as good.

for subsample in (True, False):
    begin = perf_counter()
    model = OPGDClassifier(n_components=2, subsample=subsample).fit(X, y)
    seconds, value = perf_counter() - begin, model.log_likelihood_ / len(y)
    print(f"subsample={subsample!s:5} {seconds:.1f} s, mean log posterior {value:.4f}")

# %%
# A picture of so many rows would be one blot, so some are drawn, and the title says how many:

ProjectionDisplay.from_estimator(model, X, y, max_rows=4000)
path.unlink()

# %%
# **To conclude**: rows that fit no memory are no reason to draw a sample yourself. Beyond one
# machine, the same estimator takes Dask arrays.
