"""
Semi-supervised learning with five labels per class
===================================================

Handwritten digits of which fifty are labeled, five of each class. The unlabeled samples show the
shape of the classes, and a model that uses them makes fewer errors than one that uses the labeled
samples only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from opgd import OPGDSemiSupervised
from opgd.plotting import ProjectionDisplay

X, digits = load_digits(return_X_y=True)
X = X[:, X.std(axis=0) > 0]

# %%
# Draw the labels three times, and compare with LDA with shrinkage, a strong choice for few labels:

errors = []
for seed in range(3):
    rng = np.random.default_rng(seed)
    indices = [rng.choice(np.flatnonzero(digits == k), 5, replace=False) for k in range(10)]
    labeled = np.isin(np.arange(len(digits)), indices)
    labels = np.where(labeled, digits, -1)  # -1: unlabeled
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    lda.fit(X[labeled], digits[labeled])
    model = OPGDSemiSupervised(shrinkage="auto").fit(X, labels)
    predictions = {"LDA": lda.predict(X), "semi-supervised OPGD": model.transduction_}
    errors.append(
        [np.mean(y_pred[~labeled] != digits[~labeled]) for y_pred in predictions.values()]
    )
    print({name: f"{error:.3f}" for name, error in zip(predictions, errors[-1], strict=True)})

figure, axes = plt.subplots(figsize=(5, 2.6), layout="constrained")
axes.plot(np.array(errors).T, [0, 1], "o-", color="#3f90da")
axes.set(yticks=[0, 1], yticklabels=list(predictions), ylim=(-0.5, 1.5), xlim=(0, None))
axes.set_xlabel("error on unlabeled samples (one line per draw)")

# %%
# The labeled samples of the last draw as rings, among all samples colored by their assigned class:

# sphinx_gallery_thumbnail_number = 2
display = ProjectionDisplay.from_estimator(model, X, model.transduction_, gaussians=False)
display.ax_.scatter(
    *model.transform(X[labeled])[:, :2].T,
    s=90,
    facecolors="none",
    edgecolors="black",
    linewidths=1.5,
)
display.ax_.set_title("rings: labeled samples")

# %%
# **To conclude**: unlabeled samples can improve a classifier when labels are expensive. The fit
# checks this by hiding some of the labels and predicting them: ``uses_unlabeled_`` is False if
# they do not help.
