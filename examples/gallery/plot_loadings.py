"""
What the axes are made of
=========================

Three kinds of wine on two axes, with the columns that go with them as arrows, and the loadings of
all columns with intervals from the bootstrap. A column whose interval holds zero may be left out
of the story that one tells about an axis.
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
# Fits to rows drawn with replacement say how far the loadings would change with other rows:

table = loadings_table(model, X, y, n_bootstrap=60, random_state=0)
figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for axis, panel in enumerate(panels):
    own = table[table["axis"] == axis]
    panel.hlines(own["column"], own["standardised_low"], own["standardised_high"], color="#3f90da")
    panel.plot(own["standardised"], own["column"], "o", color="#3f90da")
    panel.axvline(0, color="grey", linewidth=0.8)
    share = model.component_shares_[axis]
    panel.set(title=f"axis {axis + 1} ({share:.0%} of the gain)", xlabel="standardized coefficient")
panels[0].invert_yaxis()

# %%
# The columns that resemble each axis most, by themselves:

for axis in range(2):
    own = table[table["axis"] == axis].sort_values("correlation", key=abs, ascending=False)
    print(own[["axis", "column", "correlation", "standardised"]].head(3).round(2).to_string())

# %%
# **To conclude**: name an axis by correlations, and trust a coefficient as far as its interval
# goes.
