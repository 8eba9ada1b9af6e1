"""
Types of soil in a satellite image
==================================

Thirty-six features, four spectral bands at nine neighboring pixels, and six types of soil. The test
error decreases with the number of axes, also beyond the five axes to which LDA is limited.
"""

import matplotlib.pyplot as plt
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.baselines import ReducedRankLDA
from opgd.plotting import ProjectionDisplay
from opgd_paper.datasets import load_dataset

satellite = load_dataset("satellite")
soils = {"1": "red", "2": "cotton", "3": "grey", "4": "damp grey", "5": "stubble", "7": "very damp"}
names = [soils[label] for label in satellite.target]
X, X_test, y, y_test = train_test_split(satellite.data, names, stratify=names, random_state=0)

# %%
# LDA with up to five axes, OPGD, and QDA, which has no axes, as a horizontal line:

errors = {
    "LDA": {q: 1 - ReducedRankLDA(q).fit(X, y).score(X_test, y_test) for q in range(1, 6)},
    "OPGD": {
        q: 1 - OPGDClassifier(q).fit(X, y).score(X_test, y_test) for q in (1, 2, 3, 4, 5, 7, 9, 12)
    },
}
qda = 1 - QuadraticDiscriminantAnalysis().fit(X, y).score(X_test, y_test)

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, curve in errors.items():
    axes.plot(list(curve), list(curve.values()), "o-", label=name)
    print(name, {q: round(error, 3) for q, error in curve.items()})
axes.axhline(qda, color="grey", linestyle="--", label="QDA, all features")
print(f"QDA {qda:.3f}")
axes.set(xlabel="number of axes", ylabel="test error")
axes.legend(frameon=False)

# %%
# A model with two axes, with misclassified test samples marked:

model = OPGDClassifier(n_components=2).fit(X, y)
# sphinx_gallery_thumbnail_number = 2
ProjectionDisplay.from_estimator(model, X_test, y_test, mark_errors=True)

# %%
# **To conclude**: classes that differ in spread as well as in location need more axes than the
# dimension spanned by their means, but fewer than there are features.
