"""
Number of clusters
==================

Information criteria for one to six clusters of wines of three cultivars, and the resulting
clusters. A number is selected by the mean of two criteria, that of the first mixture in all
features and that of the mixture in the projection, if no cluster has less than 2 % of the samples.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

from opgd import OPGDMixture
from opgd.plotting import ProjectionDisplay, SelectionDisplay

wine = load_wine(as_frame=True)
X, cultivars = wine.data, wine.target_names[wine.target]

models = {
    criterion: OPGDMixture(range(1, 7), criterion=criterion, random_state=0).fit(X)
    for criterion in ("bic", "icl", "aic")
}
for criterion, model in models.items():
    print(f"{criterion}: {model.n_clusters_} clusters")
SelectionDisplay.from_estimator(models["bic"])

# %%
# The clusters selected by BIC, and the cultivars, which were not used in the fit:

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
ProjectionDisplay.from_estimator(models["bic"], X, ax=left)
ProjectionDisplay.from_estimator(models["bic"], X, cultivars, ax=right)
print(pd.crosstab(cultivars, models["bic"].labels_, rownames=["cultivar"], colnames=["cluster"]))

# %%
# **To conclude**: criteria only compare mixtures with each other. BIC selects the number of
# Gaussians that the density needs, ICL the number of well-separated clusters. The clusters are
# distinguished by these features:

for profile in models["bic"].profiles(X):
    print(profile)
