"""Fits that do not come to their end."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

from tests.hostile.outcomes import fit, some_labels, table, usable, watched
from tests.hostile.registry import calls_back, hostile, takes_max_iter

SECTION = "Interruptions"
MOMENTS = (0.1, 0.5, 0.9)
"""Shares of a fit after which somebody presses Ctrl-C."""


@hostile(
    "`max_iter=1`",
    "a finite fit; `ConvergenceWarning` and `converged_=False` unless one iteration suffices",
    to=takes_max_iter,
)
def one_iteration(model):
    X, y = table()
    said = fit(model.set_params(max_iter=1), X, y)
    usable(model, X)
    warned = any("max_iter" in own for own in said)
    if hasattr(model, "converged_"):
        assert warned == (not model.converged_), said


@hostile("a fitted estimator whose next fit fails", "the estimator is unchanged")
def failing_fit(model):
    X, y = table()
    fit(model, X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 3, np.inf, X)[:, :3], some_labels(model, y))
    assert pickle.dumps(model) == before


@hostile(
    "Ctrl-C during a fit (tested at several points in its first half)",
    "`KeyboardInterrupt`; the estimator is unchanged",
)
def interrupted(model):
    X, y = table()
    labels = some_labels(model, y)
    fitted = clone(model)
    n_calls = calls_in(lambda: fitted.fit(X, labels))
    for own in (model, fitted):
        before = pickle.dumps(own)
        for share in MOMENTS:
            with pytest.raises(KeyboardInterrupt):
                calls_in(lambda own=own: own.fit(X[:, :3], labels), 1 + int(share * n_calls * 0.5))
            assert pickle.dumps(own) == before
    fit(model, X, y)
    assert np.array_equal(model.predict_proba(X), fitted.predict_proba(X))


class Raises:
    """A callback that fails in the second iteration that it hears of."""

    n_heard = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, **state):
        self.n_heard += 1
        if self.n_heard == 2:
            raise ZeroDivisionError("from the callback")

    def teardown(self, estimator, context):
        pass


@hostile(
    "a callback that raises an exception",
    "the exception is propagated; the fitted attributes are unchanged",
    to=calls_back,
)
def failing_callback(model):
    X, y = table()
    fit(model, X, y)
    fitted = {key: value for key, value in vars(model).items() if key.endswith("_")}
    model.set_callbacks(Raises())
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        model.fit(X[:, :3], some_labels(model, y))
    assert fitted.keys() == {key for key in vars(model) if key.endswith("_")}
    assert all(vars(model)[key] is value for key, value in fitted.items())


def calls_in(action, last=None):
    """Count the package's function calls in an action; the `last` of them is a Ctrl-C."""
    count = 0

    def on_event(code, event, argument):
        nonlocal count
        if event == "call" and code.f_globals.get("__name__", "").startswith("opgd."):
            count += 1
            if count == last:
                raise KeyboardInterrupt

    def run():
        sys.setprofile(on_event)
        try:
            action()
        finally:
            sys.setprofile(None)

    watched(run)
    return count
