"""All displays: what they refuse, that they draw, and whose axes and names they use."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier, OPGDClassifierCV, compare
from opgd.baselines import (
    CommonPrincipalComponents,
    RegularizedDiscriminantAnalysis,
)
from opgd.plotting import (
    ComparisonDisplay,
    ComponentsDisplay,
    ConvergenceDisplay,
    CostDisplay,
    DriftDisplay,
    FeatureSelectionDisplay,
    LoadingsDisplay,
    PairsDisplay,
    PredictionSetDisplay,
    ProjectionDisplay,
    SelectionDisplay,
    loadings_table,
)
from tests.plotting.helpers import X, Y, arrays, legend_texts

HOSTILE = [
    "$x_1^2$", "_hidden", "__", "cost $5", r"\frac{$}{", "new\nline", "", "שלום", "😀", "中文",
    "\ud800", "\u202eabc", "a" * 99 + "1", "a" * 99 + "2",
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: arrays(m, X, Y, axes=(0, 3)), ValueError, "axes"),
        (lambda m: arrays(m, X, Y, axes=(0, 0)), ValueError, "distinct"),
        (lambda m: arrays(m, X, Y, axes=(0, 1, 2)), ValueError, "PairsDisplay"),
        (lambda m: arrays(m, X, Y, level=1.0), ValueError, "level"),
        (lambda m: arrays(m, X, Y[:-1]), ValueError, "inconsistent"),
        (lambda m: arrays(m, X, Y, axes=0, arrows=2), ValueError, "two axes"),
        (lambda m: arrays(make_pipeline(PCA()), X, Y), TypeError, "Pipeline that ends in PCA"),
        (lambda m: arrays(RegularizedDiscriminantAnalysis(), X, Y), TypeError, "with components"),
        (lambda m: loadings_table(m, X, n_bootstrap=2), ValueError, "labels y"),
        (lambda m: ComponentsDisplay.from_eigenvalues([1, 0.0]), ValueError, "positive"),
        (lambda m: PairsDisplay.from_estimator(m, X, axes=[1]), ValueError, "two axes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, call, error, words):
    with pytest.raises(error, match=words):
        call(model)


def test_every_display_draws(plt, model, full, mixture):
    search = OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, cv=0.3, random_state=0).fit(X, Y)
    sparse = OPGDClassifierCV(1, sparsity=(1, 13), n_subclasses=1, ridge=0.1, cv=2).fit(X, Y)
    table = compare(X, Y, ["LDA", "RDA"], cv=3, random_state=0, verbose=0)
    cpc = CommonPrincipalComponents(2).fit(X.to_numpy(), Y)
    displays = [
        ProjectionDisplay.from_estimator(model, X, Y, arrows=3, mark_errors=True),
        ProjectionDisplay.from_estimator(full, X, Y, decision_regions=True),
        ProjectionDisplay.from_estimator(mixture, X, Y, decision_regions=True),
        ProjectionDisplay.from_estimator(mixture, X, axes=0),
        ProjectionDisplay.from_estimator(cpc, X.to_numpy(), Y, legend=False, gaussians=False),
        ProjectionDisplay.from_estimator(OPGDClassifier(1).fit(X, Y), X, Y),
        PairsDisplay.from_estimator(model, X, Y),
        LoadingsDisplay.from_estimator(model, X, top=3),
        ComponentsDisplay.from_estimator(model, X, Y),
        ComponentsDisplay.from_cv(search),
        ComponentsDisplay.from_mixture(mixture),
        ComponentsDisplay.from_eigenvalues(mixture),
        SelectionDisplay.from_estimator(mixture),
        ConvergenceDisplay.from_estimator(model),
        ComparisonDisplay.from_table(table),
        ComparisonDisplay.from_table(table, "seconds"),
        CostDisplay.from_estimator(model, X, Y, costs={("class_1", "class_0"): 5}),
        DriftDisplay.from_estimator(model, X[:59]),
        FeatureSelectionDisplay.from_estimator(sparse),
        PredictionSetDisplay.from_predictions(Y, model.predict_proba(X) > 0.2, model.classes_),
    ]
    assert len(plt.get_fignums()) == len(displays)
    for display in displays:
        plt.close(display.figure_)
        assert display.plot() is display  # again, on a figure of its own
        display.figure_.canvas.draw()
        plt.close(display.figure_)


def test_axes_of_the_caller_are_used(plt, model):
    figure, grid = plt.subplots(2, 3)
    display = ProjectionDisplay.from_estimator(model, X, Y, ax=grid[0, 0])
    assert display.ax_ is grid[0, 0]
    assert display.figure_ is figure
    ComponentsDisplay.from_estimator(model, X, Y, ax=grid[1])
    with pytest.raises(ValueError, match="2 axes for 3 panels"):
        LoadingsDisplay.from_estimator(model, ax=grid[0, 1:])


def test_hostile_names_are_shown_literally(plt, rng):
    labels = np.repeat(np.array(HOSTILE, dtype=object), 12)
    rows = 5 * rng.normal(size=(len(HOSTILE), 4)).repeat(12, axis=0) + rng.normal(
        size=(len(labels), 4)
    )
    frame = pd.DataFrame(rows, columns=["$a$_b", "_c", "x" * 300, "😀 $"])
    model = OPGDClassifier(n_components=2).fit(frame, labels)
    display = ProjectionDisplay.from_estimator(
        model, frame, labels, arrows=4, decision_regions=True
    )
    shown = legend_texts(display.ax_)
    assert sorted(display.names) == sorted(HOSTILE)
    for part in (r"\$x_1^2\$", "_hidden", "__", r"cost \$5", "new line", "(empty)", "[D800]"):
        assert part in shown, part
    assert sum(name.startswith("aaa") for name in shown) == 2
    assert len(set(shown)) == len(shown)
    ProjectionDisplay.from_estimator(model, frame, labels, axes=1)
    PairsDisplay.from_estimator(model, frame, labels)
    loadings = LoadingsDisplay.from_estimator(model, frame)
    assert "_c" in [text.get_text() for text in loadings.ax_.get_yticklabels()]
    assert all(len(own.columns[2]) == 300 for own in [loadings])
    assert len(plt.get_fignums()) == 4  # which the fixture draws


def test_arrays_need_no_matplotlib_and_drawing_names_the_extra():
    program = """
import sys
sys.modules["matplotlib"] = None
from sklearn.datasets import load_iris
from opgd import OPGDClassifier
from opgd.plotting import ConvergenceDisplay, PairsDisplay, ProjectionDisplay
X, y = load_iris(return_X_y=True)
model = OPGDClassifier().fit(X, y)
ProjectionDisplay.from_estimator(model, X, y, arrows=2, decision_regions=True, draw=False)
PairsDisplay.from_estimator(model, X, y, draw=False)
try:
    ConvergenceDisplay.from_estimator(model)
except ImportError as error:
    assert "the extra 'plot' is missing" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
