"""The benchmark section about SQFA works without its package."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("psutil")
pytest.importorskip("benchmarks")  # not in source distributions

from benchmarks import neighbors, rivals
from benchmarks.harness import make_console


def split_iris(name, n_splits, seed=0):
    X, y = load_iris(return_X_y=True)
    for _ in range(n_splits):
        yield X[::2], y[::2], X[1::2], y[1::2]


def test_rivals_say_what_is_missing(monkeypatch):
    monkeypatch.setattr(rivals, "find_sqfa", lambda: None)
    monkeypatch.setattr(rivals, "NAMES", ["iris"])
    monkeypatch.setattr(rivals, "split_rows", split_iris)
    console = make_console()
    with console.capture() as printed:
        assert rivals.show_rivals(console)
    assert "sqfa is not installed" in " ".join(printed.get().split())


def test_error_and_loss_are_those_of_the_probabilities():
    class Model:
        classes_ = np.array(["a", "b"])

        def predict_proba(self, X):
            return np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])

    error, loss = neighbors.error_and_loss(Model(), np.zeros((3, 1)), np.array(["a", "b", "b"]))
    assert error == pytest.approx(1 / 3)
    assert loss == pytest.approx(-np.log([0.8, 0.6, 0.3]).mean())
