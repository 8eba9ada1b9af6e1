"""OPGDSemiSupervised with five labels per class, beside LDA with and without self-training."""

import numpy as np
from rich.console import Console
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDSemiSupervised
from opgd.core.types import AnyArray, FloatArray

DATA_SETS = ["opt_digits", "pen_digits", "satellite", "texture"]
N_DRAWS = 10
N_LABELS = 5
LEAST_GAIN = 0.02
"""Of mean error over LDA on the labeled rows."""


def few_labels(codes: AnyArray, seed: int) -> AnyArray:
    """The codes of a few rows of each class, -1 for the others."""
    rng = np.random.RandomState(seed)
    labels = np.full(len(codes), -1)
    for code in np.unique(codes):
        drawn = rng.choice(np.flatnonzero(codes == code), N_LABELS, replace=False)
        labels[drawn] = code
    return labels


def errors(X: FloatArray, codes: AnyArray, seed: int) -> list[float]:
    """Errors on the unlabeled rows: LDA, self-training, ours, ours with full covariances."""
    labels = few_labels(codes, seed)
    known, hidden = labels >= 0, labels < 0
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    models = [
        lda.fit(X[known], labels[known]),
        SelfTrainingClassifier(
            LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        ).fit(X, labels),
        OPGDSemiSupervised().fit(X, labels),
        OPGDSemiSupervised(covariance_type="full").fit(X, labels),
    ]
    return [float(np.mean(model.predict(X[hidden]) != codes[hidden])) for model in models]


def show_labels(console: Console) -> bool:
    """The table, and whether the mean error is low enough."""
    table = make_table(["data set"], ["LDA", "self-training", "OPGD", 'OPGD, "full"'])
    rows = []
    with one_blas_thread():
        for name in DATA_SETS:
            data = load(name)
            X = StandardScaler().fit_transform(data.X)
            codes = np.unique(data.y, return_inverse=True)[1]
            rows.append(np.mean([errors(X, codes, seed) for seed in range(N_DRAWS)], axis=0))
            table.add_row(name, *[f"{error:.4f}" for error in rows[-1]])
    lda, self_training, ours, _ = means = np.mean(rows, axis=0)
    kept = bool(ours <= lda - LEAST_GAIN and ours <= self_training)
    table.add_row("mean", *[f"{error:.4f}" for error in means], verdict(kept))
    show(
        console,
        f"{N_LABELS} labels per class: error on the unlabeled rows",
        table,
        f"Means of {N_DRAWS} draws of the labels, columns standardized. Bounds: LDA less "
        f"{LEAST_GAIN}, and self-training.",
    )
    return kept
