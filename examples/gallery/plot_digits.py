"""
Handwritten digits on two axes
==============================

Images of ten handwritten digits with 64 pixels each, on the two leading axes of LDA and on two axes
of OPGD. The ellipses of OPGD overlap less, since its axes are optimized to predict the labels
rather than to maximize the distances between class means.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd.baselines import ReducedRankLDA
from opgd.plotting import ProjectionDisplay

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
varying = X.std(axis=0) > 0  # some pixels are constant
X, X_test = X[:, varying], X_test[:, varying]

# %%
# Both models classify on their two axes, so the test errors correspond to the plots. A small
# ``ridge`` keeps the optimization away from pixels that hardly vary.

models = {
    "LDA": ReducedRankLDA(n_components=2),
    "OPGD": OPGDClassifier(n_components=2, covariance_type="full", ridge=0.05),
}
figure, panels = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
for (name, model), panel in zip(models.items(), panels, strict=True):
    error = 1 - model.fit(X, y).score(X_test, y_test)
    ProjectionDisplay.from_estimator(model, X_test, y_test, ax=panel, legend=name == "OPGD")
    panel.set_title(f"{name}: test error {error:.0%}")
    print(f"{name:4} test error on two axes {error:.3f}")

# %%
# More axes reduce the error. Cross-validation selects the number of axes and the ridge; LDA has at
# most one axis fewer than there are classes:

search = OPGDClassifierCV((2, 5, 9, 13), shrinkage=0, ridge=(0.05, 0.3), cv=3)
for name, model in [("LDA", ReducedRankLDA()), ("OPGD", search)]:
    error = 1 - model.fit(X, y).score(X_test, y_test)
    print(f"{name:4} test error on {len(model.components_)} axes {error:.3f}")

# %%
# **To conclude**: for a plot with two axes, use axes that are optimized to discriminate between the
# classes.
