"""
Decisions: sets, costs and rejection
====================================

Tumors are classified from ten features. Prediction sets contain the true class with a given
probability, costs say that a missed tumor is worse than a false alarm, and samples that remain
doubtful are left to somebody else.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier
from opgd.plotting import CostDisplay, PredictionSetDisplay

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data.filter(like="mean "), cancer.target_names[cancer.target]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
X_fit, X_held_out, y_fit, y_held_out = train_test_split(X, y, stratify=y, random_state=0)
model = OPGDClassifier(n_components=2, ridge=0.05).fit(X_fit, y_fit)

# %%
# Held-out samples determine which probabilities are usual in each class. The sets then contain the
# true class as often as asked for, up to the number of test samples; sets with both classes cannot
# be decided at this coverage.

model.conformalize(X_held_out, y_held_out)
sets = PredictionSetDisplay.from_estimator(model, X_test, y_test, coverage=0.95)
print(f"coverage {sets.summary.coverage:.3f}")

# %%
# If a missed tumor costs ten times as much as a false alarm, malignant is predicted from a
# probability of 1/11 on. On the left, the samples with the largest expected costs are rejected
# first:

costs = {("malignant", "benign"): 10}
display = CostDisplay.from_estimator(model, X_test, y_test, costs=costs)
for curve in display.curves.by_rejection:
    print(f"{curve.name:20} mean cost {curve.costs[0]:.3f}")

# %%
# **To conclude**: probabilities become decisions by costs; the plots show what a threshold, or a
# second look at some samples, is worth.
