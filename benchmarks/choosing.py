"""The paper's protocol on Vowel: the number of axes by cross-validation over speakers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.model_selection import LeaveOneGroupOut

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show
from benchmarks.paper import PAPER_VOWEL_ERROR
from opgd import OPGDClassifier, OPGDClassifierCV


def cv_model(**arguments: Any) -> OPGDClassifierCV:
    """All cores, since seconds are not the matter."""
    return OPGDClassifierCV(n_jobs=-1, **arguments)


def show_vowel(console: Console) -> bool:
    """The paper's protocol on Vowel: one fold for each speaker of the training part."""
    data = load("vowel")
    train, test = data.part("train"), data.part("test")
    one_diagonal = {"n_subclasses": 1, "covariance_type": "diag"}
    paper = cv_model(shrinkage=0, ridge=0, sparsity=0, **one_diagonal, cv=LeaveOneGroupOut())
    paper.fit(train.X, train.y, groups=train.speaker)
    table = make_table(["model"], ["axes", "error by speaker"])
    results = paper.cv_results_
    for params, error in zip(results["params"], results["mean_test_error"], strict=True):
        if "max_iter" not in params:
            chosen = " chosen" if params == paper.best_params_ else ""
            table.add_row("OPGD", str(params["n_components"]), f"{error:.3f}", chosen)
    best = int(
        np.argmin(
            [
                error if "max_iter" not in params else 1.0
                for params, error in zip(results["params"], results["mean_test_error"], strict=True)
            ]
        )
    )
    axes = results["params"][best]["n_components"]
    searched = OPGDClassifier(axes).fit(train.X, train.y)
    full = cv_model(cv=LeaveOneGroupOut())
    full.fit(train.X, train.y, groups=train.speaker)
    how = (
        f"Test error of OPGD with {axes} axes {1 - searched.score(test.X, test.y):.3f}; of the "
        f"chosen model, LDA and RDA among the choices, {1 - paper.score(test.X, test.y):.3f}; "
        f"the paper's {PAPER_VOWEL_ERROR} (3 axes). With default arguments: "
        f"{1 - full.score(test.X, test.y):.3f}, {full.best_params_}."
    )
    show(console, "Vowel, the paper's protocol", table, how)
    return True


def quietly(section: Callable[[Console], bool]) -> Callable[[Console], bool]:
    """A section without the warnings of its many fits."""

    def run(console: Console) -> bool:
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return section(console)

    return run
