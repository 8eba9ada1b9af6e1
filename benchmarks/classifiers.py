"""The classifiers that are compared on the same splits, by name."""

from collections.abc import Callable
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from opgd import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray

MAX_GRID_ROWS = 2000
"""Training rows on which the parameters of the SVC are selected, where seconds do not matter."""


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
        sample, labels = X, y
        if self.max_rows is not None and len(X) > self.max_rows:
            sample, _, labels, _ = train_test_split(
                X, y, train_size=self.max_rows, stratify=y, random_state=0
            )
        search = GridSearchCV(pipeline, grid, cv=5, refit=False).fit(sample, labels)
        self.model_ = pipeline.set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> AnyArray:
        """Predict the classes of rows."""
        labels: AnyArray = self.model_.predict(X)
        return labels


METHODS: dict[str, Callable[[], Any]] = {
    "opgd": OPGDClassifierCV,
    "lda": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)),
    "forest": lambda: RandomForestClassifier(500, random_state=0),
    "svc": lambda: SearchedSVC(MAX_GRID_ROWS),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}
