"""What is read from fitted estimators, and where."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import opgd
from opgd import OPGDClassifier
from opgd.inspection.estimators import compute_first_components_errors, get_center, standardize_rows

SOURCE = Path(opgd.__file__).parent


def private_attributes(path):
    """Private attributes of anything but self and cls."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id not in {"self", "cls"}:
                yield node.attr


def test_private_attributes_of_estimators_are_read_in_one_module():
    paths = [
        path
        for name in ("inspection", "plotting", "report")
        for path in (SOURCE / name).glob("*.py")
    ]
    readers = {path.relative_to(SOURCE) for path in paths if any(private_attributes(path))}
    assert readers == {Path("inspection/estimators.py")}


def test_rows_are_standardized_by_the_training_rows():
    X, y = load_wine(return_X_y=True)
    model = OPGDClassifier(n_components=2).fit(X, y)
    np.testing.assert_allclose(get_center(model), X.mean(axis=0))
    np.testing.assert_allclose(standardize_rows(model, X).std(axis=0), 1)


def test_errors_of_the_first_axes_need_known_labels():
    X, y = load_wine(return_X_y=True)
    model = OPGDClassifier(n_components=3).fit(X, y)
    one = compute_first_components_errors(model, X, y)
    some = compute_first_components_errors(model, X, np.where(np.arange(178) % 2, y, 99))
    assert one.shape == some.shape == (3,)
    assert one[0] > one[-1]
    with pytest.raises(ValueError, match="None of the labels in y is a class of the estimator"):
        compute_first_components_errors(model, X, np.full(178, 99))
