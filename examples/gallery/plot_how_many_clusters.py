"""
How many clusters
=================

Three kinds of wine without their names: criteria for one to six clusters, and the clusters
themselves. BIC and ICL are least at the number of kinds, and AIC goes on.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

from opgd import OPGDMixture
from opgd.plotting import ComponentsDisplay, ProjectionDisplay

wine = load_wine(as_frame=True)
X, kinds = wine.data, wine.target_names[wine.target]

models = {
    criterion: OPGDMixture(range(1, 7), criterion=criterion, random_state=0).fit(X)
    for criterion in ("bic", "icl", "aic")
}
for criterion, model in models.items():
    print(f"{criterion}: {model.n_clusters_} clusters")
ComponentsDisplay.from_mixture(models["bic"])

# %%
# The clusters that BIC chose, and the kinds that it has not seen:

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
ProjectionDisplay.from_estimator(models["bic"], X, ax=left)
ProjectionDisplay.from_estimator(models["bic"], X, kinds, ax=right)
print(pd.crosstab(kinds, models["bic"].labels_, rownames=["kind"], colnames=["cluster"]))

# %%
# **To conclude**: a criterion compares mixtures, not truths. BIC asks how many Gaussians the
# density needs, ICL how many groups stand apart.
