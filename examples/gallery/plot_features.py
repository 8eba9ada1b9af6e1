"""
Which features separate the classes
===================================

Three classes have the same means in sixty features, and different variances in six of them. No
linear method can find these six. They are selected here by what the separation of the classes loses
without each of them, with their number by cross-validation.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from opgd import OPGDClassifier, OPGDClassifierCV
from opgd.plotting import FeatureSelectionDisplay

rng = np.random.default_rng(0)
names = [f"informative {j + 1}" for j in range(6)] + [f"noise {j + 1}" for j in range(54)]
codes = np.arange(3600) % 3
values = rng.standard_normal((3600, 60))
for feature in range(6):  # three times the variance in one class
    values[codes == feature % 3, feature] *= np.sqrt(3)
table, labels = pd.DataFrame(values, columns=names), np.array(["a", "b", "c"])[codes]
X, X_test, y, y_test = table[:600], table[600:], labels[:600], labels[600:]

search = OPGDClassifierCV((3, 6), sparsity="auto", shrinkage=0.1, ridge=0, n_subclasses=1)
search.fit(X, y)
FeatureSelectionDisplay.from_estimator(search)

# %%
# The test errors of the selected features, of all features, and of a linear classifier with an L1
# penalty, for which classes with the same means are the same:

dense = OPGDClassifier(6, shrinkage=0.1, ridge=0).fit(X, y)
linear = GridSearchCV(LinearSVC(penalty="l1", dual=False), {"C": [0.01, 0.03, 0.1, 0.3, 1]})
linear.fit(X, y)
used = {
    "sparse OPGD": (search, search.get_support()),
    "OPGD": (dense, dense.get_support()),
    "linear SVC": (linear, np.any(linear.best_estimator_.coef_ != 0, axis=0)),
}
for name, (model, support) in used.items():
    error = 1 - model.score(X_test, y_test)
    print(f"{name:11} {support.sum():2d} features, test error {error:.3f}")

# %%
# **To conclude**: features are found by means or by variances. The path shows what each further
# feature is worth.
