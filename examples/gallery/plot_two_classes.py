"""
Two axes for two classes
========================

Very damp grey soil against all other types of soil in a satellite image: a two-class problem, for
which LDA has only one axis. The second axis of OPGD shows that one class lies within the other, and
reduces the error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.baselines import ReducedRankLDA
from opgd.plotting import ProjectionDisplay
from opgd_paper.datasets import load_dataset

satellite = load_dataset("satellite")
labels = np.where(satellite.target == "7", "very damp grey soil", "other soil")
X, X_test, y, y_test = train_test_split(satellite.data, labels, stratify=labels, random_state=0)

# %%
# LDA has one axis for two classes:

print(LinearDiscriminantAnalysis().fit(X, y).transform(X_test).shape)

# %%
# The test samples on one axis and on two:

lda, opgd = ReducedRankLDA().fit(X, y), OPGDClassifier(n_components=2).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
ProjectionDisplay.from_estimator(lda, X_test, y_test, ax=left, legend=False)
left.set_title("LDA")
ProjectionDisplay.from_estimator(opgd, X_test, y_test, decision_regions=True, ax=right)
right.set_title("OPGD")
for name, model in [("LDA ", lda), ("OPGD", opgd)]:
    loss = log_loss(y_test, model.predict_proba(X_test))
    print(f"{name} test error {1 - model.score(X_test, y_test):.3f}, log-loss {loss:.3f}")

# %%
# **To conclude**: the number of axes is not limited by the number of classes; the default,
# ``n_components=None``, uses at least two.
