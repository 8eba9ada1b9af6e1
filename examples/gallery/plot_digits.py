"""
Handwritten digits on two axes
==============================

Pictures of ten handwritten digits, 64 pixels each, on the two best axes of LDA and on two axes of
OPGD. The ellipses of OPGD overlap less, since it looks for axes on which the labels can be told,
not for means that lie far apart.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd.baselines import ReducedRankLDA
from opgd.plotting import ProjectionDisplay

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
varies = X.std(axis=0) > 0  # some pixels are always white
X, X_test = X[:, varies], X_test[:, varies]

# %%
# Both models classify on their two axes, so the errors belong to what is seen. A little ``ridge``
# keeps the search from pixels that hardly vary.

models = {
    "LDA": ReducedRankLDA(n_components=2),
    "OPGD": OPGDClassifier(n_components=2, covariance_type="full", ridge=0.05),
}
figure, panels = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
for (name, model), panel in zip(models.items(), panels, strict=True):
    error = 1 - model.fit(X, y).score(X_test, y_test)
    ProjectionDisplay.from_estimator(model, X_test, y_test, ax=panel, legend=name == "OPGD")
    panel.set_title(f"{name}: {error:.0%} of test rows wrong")
    print(f"{name:4} test error on two axes {error:.3f}")

# %%
# Nobody has to stop at two. Cross-validation chooses the number of axes and the ridge; LDA has at
# most one axis fewer than there are classes:

chosen = OPGDClassifierCV((2, 5, 9, 13), shrinkage=0, ridge=(0.05, 0.3), cv=3)
for name, model in [("LDA", ReducedRankLDA()), ("OPGD", chosen)]:
    error = 1 - model.fit(X, y).score(X_test, y_test)
    print(f"{name:4} test error on {len(model.components_)} axes {error:.3f}")

# %%
# **To conclude**: if there is room for only two axes, let them be chosen for telling labels apart.
