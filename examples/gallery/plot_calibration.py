"""
Calibrated probabilities
========================

Reliability curves for types of soil: the fraction of correct predictions against their predicted
probability. Without calibration the model is overconfident. A single number, the temperature,
estimated on held-out samples, brings the curve close to the diagonal and changes no prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifierCV
from opgd_paper.datasets import load_dataset

satellite = load_dataset("satellite")
X, X_test, y, y_test = train_test_split(
    satellite.data, satellite.target, stratify=satellite.target, random_state=0
)

# %%
# Run the same search with and without calibration:

models = {
    name: OPGDClassifierCV((5, 8), shrinkage=0, ridge=0, cv=3, calibrate=calibrate).fit(X, y)
    for name, calibrate in [("uncalibrated", False), ("calibrated", True)]
}
print(f"temperature {models['calibrated'].temperature_:.2f}")

# %%
# Divide the test samples into five bins of equal size by the probability of the predicted class:

figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], color="grey", linestyle=":", label="perfectly calibrated")
for name, model in models.items():
    probabilities = model.predict_proba(X_test)
    confidence = probabilities.max(axis=1)
    correct = model.predict(X_test) == y_test
    bins = np.array_split(np.argsort(confidence), 5)
    axes.plot(
        [confidence[indices].mean() for indices in bins],
        [correct[indices].mean() for indices in bins],
        "o-",
        label=name,
    )
    loss = log_loss(y_test, probabilities)
    print(
        f"{name:12} accuracy {correct.mean():.3f}, "
        f"mean probability {confidence.mean():.3f}, log-loss {loss:.3f}"
    )
axes.set(xlabel="probability of the predicted class", ylabel="fraction of correct predictions")
axes.set(xlim=(0, 1.03), ylim=(0, 1.03))
axes.legend(frameon=False)

equal = np.array_equal(*(model.predict(X_test) for model in models.values()))
print("same predictions:", equal)

# %%
# **To conclude**: the samples held out for model selection can also be used to calibrate the
# probabilities. Hold out what will be new in the application: for predictions at new locations,
# hold out whole locations. Samples unlike the training data are detected by ``typicality``, not by
# the temperature.
