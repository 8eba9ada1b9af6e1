"""Names of models: special cases are known by their own names."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from opgd import OPGDClassifier
from opgd._model_selection.names import name_model
from opgd.inspection.estimators import name_fitted_model

FREE = {"n_subclasses": 1, "covariance_type": "diag", "shrinkage": 0.0, "ridge": 0.0}
END = {"init": "lda", "max_iter": 0}
LDA = FREE | END | {"shrinkage": 1.0}
FULL = FREE | {"covariance_type": "full"}
EXPECTED = [
    (LDA | {"n_components": 3}, "LDA"),
    (LDA | {"n_components": 3, "ridge": 0.05}, "LDA, ridge 0.05"),
    (LDA | {"n_components": 2}, "reduced-rank LDA, 2 components"),
    (LDA | {"n_components": 1, "ridge": "auto"}, "reduced-rank LDA, 1 component, ridge auto"),
    (FULL | END | {"n_components": 9}, "QDA"),
    (FULL | END | {"n_components": 9, "shrinkage": 0.3}, "RDA, shrinkage 0.3"),
    (
        FULL | END | {"n_components": 9, "n_subclasses": 4, "ridge": 0.2},
        "RDA, 4 Gaussians per class, ridge 0.2",
    ),
    (FULL | {"n_components": 9}, "QDA"),  # searched, but the span is that of all components
    (FULL | {"n_components": 9, "n_subclasses": 2}, "RDA, 2 Gaussians per class"),
    (FULL | {"n_components": 2}, "OPGD, 2 components, full covariances"),
    (FREE | {"n_components": 9}, "OPGD, 9 components"),
    (FREE | {"n_components": 1, "shrinkage": 1.0}, "OPGD, 1 component, pooled covariance"),
    (
        FREE | {"n_components": 6, "n_subclasses": 4, "shrinkage": 0.1, "ridge": "auto"},
        "OPGD, 6 components, 4 Gaussians per class, shrinkage 0.1, ridge auto",
    ),
    (
        FREE | {"n_components": 6, "n_subclasses": {"a": 1, "b": 16}},
        "OPGD, 6 components, 1 to 16 Gaussians per class",
    ),
    (FREE | {"n_components": 2, "n_subclasses": {"a": 1, "b": 1}}, "OPGD, 2 components"),
    (FREE | {"n_components": 2, "n_subclasses": {}}, "OPGD, 2 components"),
    (
        FREE | {"n_components": 2, "n_subclasses": {"a": 2}},
        "OPGD, 2 components, 1 to 2 Gaussians per class",
    ),
    (FULL | END | {"n_components": 9, "n_subclasses": dict.fromkeys("abcd", 1)}, "QDA"),
    (
        FREE | {"n_components": 2, "n_subclasses": "auto", "shrinkage": "auto"},
        "OPGD, 2 components, estimated number of Gaussians per class, shrinkage auto",
    ),
]


@pytest.mark.parametrize(("params", "name"), EXPECTED)
def test_model_is_named_by_what_it_is(params, name):
    assert name_model(params, rank=9, n_classes=4) == name


@pytest.mark.parametrize(
    ("params", "name", "reference"),
    [
        (LDA | {"n_components": 2}, "LDA", LinearDiscriminantAnalysis(solver="lsqr")),
        (FULL | END | {"n_components": 4}, "QDA", QuadraticDiscriminantAnalysis()),
    ],
)
def test_model_named_like_one_of_scikit_learn_predicts_like_it(params, name, reference):
    X, y = load_iris(return_X_y=True)
    model = OPGDClassifier(**params).fit(X, y)
    assert name_fitted_model(model) == name
    np.testing.assert_array_equal(model.predict(X), reference.fit(X, y).predict(X))
