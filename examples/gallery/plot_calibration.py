"""
Honest probabilities
====================

How often predictions of a kind of soil are right, against how sure the model is of them: as
fitted it is too sure of itself. One number, the temperature, found on rows left out in turns,
brings the curve near the diagonal and changes no prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifierCV
from opgd.datasets import load_dataset

satellite = load_dataset("satellite")
X, X_test, y, y_test = train_test_split(
    satellite.data, satellite.target, stratify=satellite.target, random_state=0
)

# %%
# Twice the same search, with and without the temperature:

models = {
    name: OPGDClassifierCV((5, 8), shrinkage=0, ridge=0, cv=3, calibrate=calibrate).fit(X, y)
    for name, calibrate in [("as fitted", False), ("calibrated", True)]
}
print(f"temperature {models['calibrated'].temperature_:.2f}")

# %%
# Rows are put into five groups of equal size by the probability of the predicted class.

figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], color="grey", linestyle=":", label="honest")
for name, model in models.items():
    probabilities = model.predict_proba(X_test)
    sure = probabilities.max(axis=1)
    right = model.predict(X_test) == y_test
    groups = np.array_split(np.argsort(sure), 5)
    axes.plot(
        [sure[own].mean() for own in groups],
        [right[own].mean() for own in groups],
        "o-",
        label=name,
    )
    loss = log_loss(y_test, probabilities)
    print(
        f"{name:10} right {right.mean():.3f}, mean probability {sure.mean():.3f}, loss {loss:.3f}"
    )
axes.set(xlabel="probability of the predicted class", ylabel="share of them that are right")
axes.set(xlim=(0, 1.03), ylim=(0, 1.03))
axes.legend(frameon=False)

same = np.array_equal(*(model.predict(X_test) for model in models.values()))
print("the same predictions:", same)

# %%
# **To conclude**: the rows left out while settings are chosen also tell how much to believe the
# model. Leave out what will be new: if that is another place, leave out places. Rows unlike all
# that were seen are told by ``typicality``, not by a temperature.
