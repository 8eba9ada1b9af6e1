"""
Two classes, two axes
=====================

Very damp grey soil against all other kinds of soil seen by a satellite: a problem of two classes,
for which LDA has one axis and no picture. The second axis of OPGD shows how the one class lies
inside the other, and makes fewer errors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.baselines import ReducedRankLDA
from opgd.datasets import load_dataset
from opgd.plotting import ProjectionDisplay

satellite = load_dataset("satellite")
labels = np.where(satellite.target == "7", "very damp grey soil", "other soil")
X, X_test, y, y_test = train_test_split(satellite.data, labels, stratify=labels, random_state=0)

# %%
# scikit-learn's LDA, as everybody's, has one axis for two classes:

print(LinearDiscriminantAnalysis().fit(X, y).transform(X_test).shape)

# %%
# Here is what is to be seen on one axis, and on two:

one, two = ReducedRankLDA().fit(X, y), OPGDClassifier(n_components=2).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
ProjectionDisplay.from_estimator(one, X_test, y_test, ax=left, legend=False)
left.set_title("LDA")
ProjectionDisplay.from_estimator(two, X_test, y_test, decision_regions=True, ax=right)
right.set_title("OPGD")
for name, model in [("LDA ", one), ("OPGD", two)]:
    loss = log_loss(y_test, model.predict_proba(X_test))
    print(f"{name} test error {1 - model.score(X_test, y_test):.3f}, log-loss {loss:.3f}")

# %%
# **To conclude**: the number of axes is yours to choose, whatever the number of classes; two is
# the least that ``n_components=None`` takes.
