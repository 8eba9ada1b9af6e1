"""
scikit-learn pipelines
======================

Measurements of cells with missing values are imputed and passed to OPGD, and a grid search selects
the number of axes and the ridge. The figure shows the cross-validated error of each setting, and
the scores of the selected model are returned as a data frame.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier
from opgd.plotting import ProjectionDisplay

cancer = load_breast_cancer(as_frame=True)
X = cancer.data.mask(np.random.default_rng(0).random(cancer.data.shape) < 0.02)
y = cancer.target_names[cancer.target]
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# A ``StandardScaler`` is not needed, since the units of the features do not matter.

pipeline = make_pipeline(SimpleImputer(strategy="median"), OPGDClassifier())
pipeline.set_output(transform="pandas")
grid = {
    "opgdclassifier__n_components": [1, 2, 3],
    "opgdclassifier__ridge": [0.0, 0.1, 0.5],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
print(search.best_params_)
print(f"test error {1 - search.score(X_test, y_test):.3f}")

# %%
# The cross-validated error:

errors = 1 - search.cv_results_["mean_test_score"].reshape(3, 3)
figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
axes.imshow(errors, cmap="viridis_r")
for (row, column), error in np.ndenumerate(errors):
    axes.text(column, row, f"{error:.3f}", ha="center", va="center", color="white", weight="bold")
axes.set(xticks=range(3), xticklabels=[0, 0.1, 0.5], xlabel="ridge")
axes.set(yticks=range(3), yticklabels=[1, 2, 3], ylabel="number of axes")

# %%
# With ``set_output`` the scores are a data frame with column names and the index of the input:

print(search.best_estimator_.transform(X_test).head(3).round(2))

# %%
# The last step of the pipeline can be plotted. Its input is the output of the preceding steps.

model = search.best_estimator_
model.set_params(opgdclassifier__n_components=2).fit(X, y)
ProjectionDisplay.from_estimator(model[-1], model[:-1].transform(X_test), y_test)

# %%
# **To conclude**: OPGD works with scikit-learn's tools for classifiers and transformers.
# ``OPGDClassifierCV`` is faster than a grid search, since it extends the axes instead of fitting
# every number from scratch.
