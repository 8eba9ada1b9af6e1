"""
Vowels of new speakers
======================

Eleven English vowels with ten features per utterance; the speakers of the test samples are not
among those of the training samples. OPGD has a smaller error than LDA for every number of axes, and
the error of LDA increases from the third axis on.
"""

import matplotlib.pyplot as plt

from opgd import OPGDClassifier
from opgd.baselines import ReducedRankLDA
from opgd.plotting import ProjectionDisplay
from opgd_paper.datasets import load_dataset

vowel = load_dataset("vowel")
train = vowel.split == "train"
X, y = vowel.data[train], vowel.target[train]
X_test, y_test = vowel.data[~train], vowel.target[~train]

# %%
# The test error for each number of axes:

sizes = range(1, 9)
errors = {
    name: [1 - method(n_components=q).fit(X, y).score(X_test, y_test) for q in sizes]
    for name, method in [("LDA", ReducedRankLDA), ("OPGD", OPGDClassifier)]
}
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, curve in errors.items():
    axes.plot(sizes, curve, "o-", label=name)
    print(name, *(f"{error:.3f}" for error in curve))
axes.set(xlabel="number of axes", ylabel="test error")
axes.legend(frameon=False)

# %%
# The first two of three axes, with the samples of the new speakers:

model = OPGDClassifier(n_components=3).fit(X, y)
display = ProjectionDisplay.from_estimator(model, X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
display.ax_.set_title("test samples, and ellipses of the fitted model")

# %%
# **To conclude**: fewer axes than classes can be enough. Do not select their number on the test
# samples, as in this plot, but by holding out one speaker at a time:
# ``OPGDClassifierCV(cv=GroupKFold(8)).fit(X, y, groups=vowel.speaker[train])``.
