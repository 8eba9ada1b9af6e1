"""
Fitting a memory-mapped file
============================

Samples of a satellite image, resampled with noise into a large file, from which the fit reads block
by block without copying it. The plot shows a subsample, and the ellipses of the model.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from opgd import OPGDClassifier
from opgd.plotting import ProjectionDisplay
from opgd_paper.datasets import load_dataset

satellite = load_dataset("satellite")
rng = np.random.default_rng(0)
indices = rng.integers(0, len(satellite.data), 120_000)
y = satellite.target[indices]
path = Path(tempfile.mkdtemp()) / "samples.npy"
noise = rng.normal(scale=2, size=(len(indices), satellite.data.shape[1]))
np.save(path, (satellite.data[indices] + noise).astype(np.float32))

# %%
# With ``mmap_mode`` NumPy reads the file only when needed.

X = np.load(path, mmap_mode="r")
print(f"{X.shape[0]} samples, {X.shape[1]} features, {path.stat().st_size / 1e6:.0f} MB")

# %%
# With 100000 samples or more, the optimization starts on subsamples and ends on all samples. This
# saves passes over the data, which matters if reading is slow or many iterations are needed.

begin = perf_counter()
model = OPGDClassifier(n_components=2).fit(X, y)
seconds, value = perf_counter() - begin, model.log_likelihood_ / len(y)
print(f"{seconds:.1f} s, mean log posterior {value:.4f}")

# %%
# Of so many samples, a stratified subsample is plotted:

ProjectionDisplay.from_estimator(model, X, y, max_rows=4000)
path.unlink()

# %%
# **To conclude**: data larger than memory can be fitted without subsampling them first. For more
# than one machine, the same estimator accepts Dask arrays.
