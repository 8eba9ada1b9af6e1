"""
Rotation from principal components to OPGD axes
===============================================

The plane of the first two principal components of five handwritten digits is rotated along the
shortest path into the plane of two OPGD axes. The frames show how the digits become separated, and
the angles how far apart the two planes are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier

X, y = load_digits(return_X_y=True)
selected = np.isin(y, [1, 3, 5, 8, 9])
X, y = X[selected], y[selected]
Z = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0.1])
model = OPGDClassifier(n_components=2, ridge=0.3).fit(Z, y)

# %%
# The singular value decomposition of the product of two orthonormal bases pairs each direction of
# one plane with one of the other, so that each direction only has to be rotated into its partner.
# The singular values are the cosines of the principal angles.

start = PCA(2).fit(Z).components_.T  # (n_features, 2)
end = np.linalg.qr(model.components_.T)[0]
left, cosines, right = np.linalg.svd(start.T @ end)
start, end = start @ left, end @ right.T
angles = np.arccos(cosines.clip(-1, 1))
print("angles between the planes, in degrees:", np.degrees(angles).round(1))

# %%
# Frame ``t``, from 0 to 1, is the plane at the fraction ``t`` of the path:


def interpolate_plane(t: float) -> np.ndarray:
    """Return an orthonormal basis at the fraction t of the path, (n_features, 2)."""
    return (start * np.sin((1 - t) * angles) + end * np.sin(t * angles)) / np.sin(angles)


figure, panels = plt.subplots(1, 5, figsize=(14, 3.2), layout="constrained")
for t, panel in zip(np.linspace(0, 1, 5), panels, strict=True):
    scores = Z @ interpolate_plane(t)
    for digit in np.unique(y):
        panel.scatter(*scores[y == digit].T, s=5, label=f"{digit}")
    panel.set(title=f"{t:.0%}", aspect="equal", xticks=[], yticks=[])
figure.legend(*panel.get_legend_handles_labels(), loc="outside right center", markerscale=3)
figure.supxlabel("from the principal components (0%) to the plane of the OPGD axes (100%)")

# %%
# **To conclude**: directions of large variance and directions that discriminate between classes
# need not be the same. The HTML report (``opgd.write_report``) has this rotation as a slider.
