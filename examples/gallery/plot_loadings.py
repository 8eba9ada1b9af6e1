"""
Loadings of the axes
====================

Wines of three cultivars on two axes, with arrows for the features with the largest effect, and the
loadings of all features with bootstrap intervals. If the interval of a feature contains zero, the
feature should not be used to interpret the axis.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from opgd import OPGDClassifier
from opgd.plotting import ProjectionDisplay, loadings_table

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target_names[wine.target]
model = OPGDClassifier(n_components=2, ridge=0.1).fit(X, y)
ProjectionDisplay.from_estimator(model, X, y, arrows=6)

# %%
# The bootstrap estimates the sampling variability of the loadings:

table = loadings_table(model, X, y, n_bootstrap=60, random_state=0)
figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for axis, panel in enumerate(panels):
    loadings = table[table["axis"] == axis]
    low, high = loadings["standardised_low"], loadings["standardised_high"]
    panel.hlines(loadings["column"], low, high, color="#3f90da")
    panel.plot(loadings["standardised"], loadings["column"], "o", color="#3f90da")
    panel.axvline(0, color="grey", linewidth=0.8)
    share = model.component_shares_[axis]
    panel.set(title=f"axis {axis + 1} ({share:.0%} of the gain)", xlabel="standardized coefficient")
panels[0].invert_yaxis()

# %%
# The features with the largest correlation with each axis:

for axis in range(2):
    loadings = table[table["axis"] == axis].sort_values("correlation", key=abs, ascending=False)
    print(loadings[["axis", "column", "correlation", "standardised"]].head(3).round(2).to_string())

# %%
# **To conclude**: use correlations to name an axis, and take the intervals of coefficients into
# account.
