"""
Inside a pipeline of scikit-learn
=================================

Measures of cells, some of which are missing, go through an imputer into OPGD, and a grid search
chooses the number of axes and the ridge. The picture has the error on rows left out for each
setting, and the axes of the chosen one come out as a table.
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
# There is no ``StandardScaler``: units of the columns do not matter here.

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
# The error on rows left out:

errors = 1 - search.cv_results_["mean_test_score"].reshape(3, 3)
figure, axes = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
picture = axes.imshow(errors, cmap="viridis_r")
for (row, column), error in np.ndenumerate(errors):
    axes.text(column, row, f"{error:.3f}", ha="center", va="center", color="white", weight="bold")
axes.set(xticks=range(3), xticklabels=[0, 0.1, 0.5], xlabel="ridge")
axes.set(yticks=range(3), yticklabels=[1, 2, 3], ylabel="number of axes")

# %%
# ``set_output`` gives the scores names, and keeps the index of the rows:

print(search.best_estimator_.transform(X_test).head(3).round(2))

# %%
# The last step is the model, and can be drawn. It wants the rows that it got, which the steps
# before have made.

chosen = search.best_estimator_
model = chosen.set_params(opgdclassifier__n_components=2).fit(X, y)
ProjectionDisplay.from_estimator(model[-1], model[:-1].transform(X_test), y_test)

# %%
# **To conclude**: everything that takes a classifier or a transformer takes this one.
# ``OPGDClassifierCV`` searches faster than a grid, since it grows the axes instead of fitting
# anew.
