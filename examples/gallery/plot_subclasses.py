"""
Classes with several clusters
=============================

Handwritten digits labeled as even or odd only: each class consists of five digits, which are poorly
described by one Gaussian. Five Gaussians per class reduce the error, and most subclasses correspond
to a digit, although the digits were not used in the fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.plotting import ProjectionDisplay

X, digits = load_digits(return_X_y=True)
parity = np.where(digits % 2, "odd", "even")
X, X_test, y, y_test, _, digits_test = train_test_split(
    X, parity, digits, stratify=digits, random_state=0
)
varying = X.std(axis=0) > 0  # some pixels are constant
X, X_test = X[:, varying], X_test[:, varying]

# %%
# ``"auto"`` selects the number of Gaussians from the shape of each class.

models = {}
for n_subclasses in (1, 5, "auto"):
    model = OPGDClassifier(n_components=3, n_subclasses=n_subclasses, ridge=0.05).fit(X, y)
    numbers = np.bincount(model.gaussian_classes_)
    print(
        f"n_subclasses={n_subclasses!s:4}  Gaussians of even and odd: {numbers}  "
        f"test error {1 - model.score(X_test, y_test):.3f}"
    )
    models[n_subclasses] = model

# %%
# The subclasses on the first two of the three axes:

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for n_subclasses, panel in [(1, left), (5, right)]:
    ProjectionDisplay.from_estimator(
        models[n_subclasses], X_test, y_test, ax=panel, legend=n_subclasses == 5
    )
    panel.set_title(f"n_subclasses={n_subclasses}")

# %%
# The most frequent digit in each subclass, and its share of the subclass:

model = models[5]
scores, means, variances = (
    model.transform(X_test),
    model.projected_means_,
    model.projected_variances_,
)
distances = ((scores[:, None] - means) ** 2 / variances + np.log(variances)).sum(axis=2)
nearest = distances.argmin(axis=1)
for subclass, code in enumerate(model.gaussian_classes_):
    counts = np.bincount(digits_test[nearest == subclass], minlength=10)
    share = counts.max() / max(counts.sum(), 1)
    print(f"{model.classes_[code]:4} subclass {subclass}: digit {counts.argmax()} ({share:.0%})")

# %%
# **To conclude**: use several Gaussians for a class that consists of several clusters, and
# cross-validation to check whether they help (``OPGDClassifierCV(n_subclasses=(1, 2, 5))``).
