"""
Which classes are confused
==========================

Handwritten digits on two axes, and the counts of true and predicted digits next to them. Digits
that are neighbors in the plane are confused; in the heat map they are neighbors as well, since
classes are ordered by their confusion.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.datasets import load_dataset
from opgd.plotting import ConfusionDisplay, ProjectionDisplay

digits = load_dataset("opt_digits")
pixels = digits.data[:, digits.data.std(axis=0) > 0]  # some pixels are constant
X, X_test, y, y_test = train_test_split(
    pixels, digits.target, test_size=0.4, stratify=digits.target, random_state=0
)
model = OPGDClassifier(n_components=2, covariance_type="full", ridge=0.05).fit(X, y)

# %%
# A few test samples of some digits are far from all others. They are drawn as triangles at the
# border, so that they do not determine the scale; ``frame="all"`` would show them.

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
plane = ProjectionDisplay.from_estimator(
    model, X_test, y_test, decision_regions=True, ax=left, legend=False
)
display = ConfusionDisplay.from_estimator(model, X_test, y_test, ax=right)
print(f"{plane.n_outside} of {plane.n_rows} samples outside the plot")
print("order of the digits:", *[display.labels[k] for k in display.order])

# %%
# With more axes hardly any errors remain, and rare ones become visible on the square root scale:

model = OPGDClassifier(n_components=9, ridge=0.05).fit(X, y)
ConfusionDisplay.from_estimator(model, X_test, y_test)
print(f"test error {1 - model.score(X_test, y_test):.3f}")

# %%
# **To conclude**: look at a table of many classes in the order of its errors, not in the order of
# the names.
