"""The classifiers that are compared on the same splits, by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from opgd import OPGDClassifierCV
from opgd.comparison.methods import paper_estimators
from opgd.comparison.searches import ParameterSearch
from opgd.core.types import AnyArray, FloatArray

MAX_GRID_ROWS = 2000
"""Training rows on which the parameters of the SVC are selected, where seconds do not matter."""
MAX_NCA_ROWS = 500
"""Training rows to which components are fitted in time quadratic in the rows."""
N_FOLDS = 5
SHRINKAGES = (0.0, 0.01, 0.1, 0.3, 0.6)
"""Shrinkage of QDA; those with which the covariance of a class is singular are left out."""
RANK_TOLERANCE = 1e-10
MAX_ALPHAS = 25
NEIGHBORS = (25, 15, 9, 5, 3, 1)


def draw_rows(X: FloatArray, y: AnyArray, most: int | None) -> tuple[FloatArray, AnyArray]:
    """Return a stratified sample of at most so many rows, or all rows if `most` is None."""
    if most is None or len(X) <= most:
        return X, y
    sample, _, labels, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    return sample, labels


def make_svc_grid(n_columns: int) -> tuple[Any, dict[str, list[float]]]:
    """Return an RBF-SVC on standardized features, and a grid of 5 x 5 of its parameters."""
    grid = {
        "svc__C": [0.1, 1, 10, 100, 1000],
        "svc__gamma": [factor / n_columns for factor in (0.1, 0.3, 1, 3, 10)],
    }
    return make_pipeline(StandardScaler(), SVC(cache_size=500)), grid


class SearchedSVC:
    """RBF-SVC on standardized features, with C and gamma from a grid of 5 x 5 by 5 folds."""

    def __init__(self, max_rows: int | None = None) -> None:
        self.max_rows = max_rows

    def fit(self, X: FloatArray, y: AnyArray) -> "SearchedSVC":
        """Select the parameters, on a stratified sample if there are many rows, and fit."""
        pipeline, grid = make_svc_grid(X.shape[1])
        sample, labels = draw_rows(X, y, self.max_rows)
        search = GridSearchCV(pipeline, grid, cv=5, refit=False).fit(sample, labels)
        self.model_ = pipeline.set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> AnyArray:
        """Predict the classes of rows."""
        labels: AnyArray = self.model_.predict(X)
        return labels


class SearchedRDA:
    """RDA with alpha by 5 folds from the grid of `opgd.comparison`: as many values as features.

    They are at most 25: with hundreds the search takes minutes, and neighbors hardly differ.
    """

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return the classifier with the selected parameter, fitted to all rows."""
        n_alphas = min(X.shape[1], MAX_ALPHAS)
        return paper_estimators(n_alphas, N_FOLDS)["RDA"].fit(X, y)


class NearestInComponents:
    """k-NN in the space of NCA on standardized features, with k by 5 folds.

    NCA is fitted once, to a stratified sample if there are many rows; the folds share its space.
    """

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return a pipeline of the fitted steps."""
        scaler = StandardScaler().fit(X)
        nca = NeighborhoodComponentsAnalysis(random_state=0)
        nca.fit(*draw_rows(scaler.transform(X), y, MAX_NCA_ROWS))
        neighbors = fit_neighbors(nca.transform(scaler.transform(X)), y)
        return make_pipeline(scaler, nca, neighbors)


class Nearest:
    """k-NN on standardized features, with k by 5 folds."""

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return a pipeline of the fitted steps."""
        scaler = StandardScaler().fit(X)
        return make_pipeline(scaler, fit_neighbors(scaler.transform(X), y))


def fit_neighbors(X: FloatArray, y: AnyArray) -> KNeighborsClassifier:
    """Return k-NN with the k of the lowest error in 5 folds, the largest of equals.

    Neighbors are searched for once in each fold, for all k.
    """
    classes, codes = np.unique(y, return_inverse=True)
    errors = np.zeros(len(NEIGHBORS))
    for train, test in StratifiedKFold(N_FOLDS).split(X, y):
        model = KNeighborsClassifier(max(NEIGHBORS)).fit(X[train], y[train])
        nearest = codes[train][model.kneighbors(X[test], return_distance=False)]
        votes = nearest[:, :, None] == np.arange(len(classes))
        for i, number in enumerate(NEIGHBORS):
            predicted = votes[:, :number].sum(axis=1).argmax(axis=1)
            errors[i] += np.sum(predicted != codes[test])
    return KNeighborsClassifier(NEIGHBORS[int(errors.argmin())]).fit(X, y)


def make_qda() -> Any:
    """Return QDA on standardized features, shrunk toward a multiple of the identity by 5 folds."""
    qda = QuadraticDiscriminantAnalysis(solver="eigen", tol=RANK_TOLERANCE)
    grid = {"quadraticdiscriminantanalysis__shrinkage": SHRINKAGES}
    return ParameterSearch(make_pipeline(StandardScaler(), qda), grid, N_FOLDS)


METHODS: dict[str, Callable[[], Any]] = {
    "opgd": OPGDClassifierCV,
    "lda": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)),
    "forest": lambda: RandomForestClassifier(500, random_state=0),
    "svc": lambda: SearchedSVC(MAX_GRID_ROWS),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "qda": make_qda,
    "rda": SearchedRDA,
    "knn": Nearest,
    "nca_knn": NearestInComponents,
}
