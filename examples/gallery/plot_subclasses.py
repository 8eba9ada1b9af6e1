"""
Classes that consist of several clouds
======================================

Handwritten digits labeled as even or odd only: each of the two classes is made of five digits,
which one Gaussian describes badly. With five Gaussians for each class there are fewer errors, and
each part of a class leans to a digit of its own, without having been told.
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
varies = X.std(axis=0) > 0  # some pixels are always white
X, X_test = X[:, varies], X_test[:, varies]

# %%
# ``"auto"`` looks at the shape of each class and chooses the numbers itself.

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
# The parts, on the first two of the three axes:

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for n_subclasses, panel in [(1, left), (5, right)]:
    ProjectionDisplay.from_estimator(
        models[n_subclasses], X_test, y_test, ax=panel, legend=n_subclasses == 5
    )
    panel.set_title(f"n_subclasses={n_subclasses}")

# %%
# Which digit is most frequent in each part, and what share of the part it has:

model = models[5]
scores, means, variances = (
    model.transform(X_test),
    model.projected_means_,
    model.projected_variances_,
)
distances = ((scores[:, None] - means) ** 2 / variances + np.log(variances)).sum(axis=2)
nearest = distances.argmin(axis=1)
for part, code in enumerate(model.gaussian_classes_):
    counts = np.bincount(digits_test[nearest == part], minlength=10)
    share = counts.max() / max(counts.sum(), 1)
    print(f"{model.classes_[code]:4} part {part}: digit {counts.argmax()} ({share:.0%})")

# %%
# **To conclude**: where a class is a union of things, give it several Gaussians; rows left out say
# whether they help (``OPGDClassifierCV(n_subclasses=(1, 2, 5))``).
