"""Fits that are watched, stopped, or interrupted."""

import pickle
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised
from opgd.baselines import MixtureDiscriminantAnalysis, ReducedRankLDA

ESTIMATORS = [
    OPGDClassifier(init="lda"),
    OPGDClassifierCV((1, 2), shrinkage=0, ridge=0, n_subclasses=1, covariance_type="diag", cv=2),
    OPGDMixture(3, random_state=0),
    OPGDSemiSupervised(calibrate=False),
    ReducedRankLDA(),
    MixtureDiscriminantAnalysis(n_subclasses=2),
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def name_model(model):
    return type(model).__name__


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def count_calls(action, last=None):
    """Count the package's function calls in an action; the `last` of them is a Ctrl-C."""
    count = 0

    def on_event(code, event, argument):
        nonlocal count
        if event == "call" and code.f_globals.get("__name__", "").startswith("opgd."):
            count += 1
            if count == last:
                raise KeyboardInterrupt

    sys.setprofile(on_event)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("model", ESTIMATORS, ids=name_model)
def test_ctrl_c_leaves_the_estimator_as_it_was(model, iris):
    X, y = iris
    fitted, model = clone(model).fit(X, y), clone(model)
    n_calls = count_calls(partial(clone(model).fit, X[:, :3], y))
    for estimator in (model, fitted):
        before = pickle.dumps(estimator)
        for share in (0.1, 0.5, 0.9):
            with pytest.raises(KeyboardInterrupt):
                count_calls(partial(estimator.fit, X[:, :3], y), 1 + int(share * n_calls * 0.9))
            assert pickle.dumps(estimator) == before
    assert np.array_equal(model.fit(X, y).predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("model", ESTIMATORS, ids=name_model)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(model, iris):
    X, y = iris
    model = clone(model).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 3, np.inf, X)[:, :3], y)
    assert pickle.dumps(model) == before


class Recorder:
    """A callback that counts iterations, and stops or fails after some."""

    def __init__(self, stop_after=None, raise_after=None):
        self.iterations, self.torn_down = [], False
        self.stop_after, self.raise_after = stop_after, raise_after

    def setup(self, estimator, context):
        self.torn_down = False

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "iteration":
            return False
        self.iterations.append(fitted_estimator)
        if self.raise_after == len(self.iterations):
            raise RuntimeError("from the callback")
        return self.stop_after == len(self.iterations)

    def teardown(self, estimator, context):
        self.torn_down = True


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")


def test_callbacks_see_every_iteration_and_change_nothing(iris, callback):
    recorder = Recorder()
    model = OPGDClassifier(init="lda").set_callbacks(recorder).fit(*iris)
    assert len(recorder.iterations) == model.n_iter_
    assert recorder.torn_down
    likelihoods = [
        own.predict_log_proba(iris[0])[np.arange(150), iris[1]].sum() for own in recorder.iterations
    ]
    assert np.all(np.diff(likelihoods) >= -1e-9)
    assert likelihoods[-1] == pytest.approx(model.log_likelihood_, rel=1e-9)
    plain = OPGDClassifier(init="lda").fit(*iris)
    assert np.array_equal(model.components_, plain.components_)


def test_a_callback_can_stop_all_searches_without_a_warning(iris, callback):
    for model in (OPGDClassifier(init="lda"), OPGDClassifier(2), OPGDClassifier(n_init=5)):
        recorder = Recorder(stop_after=4)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model.set_callbacks(recorder).fit(*iris)
        assert len(recorder.iterations) == 4
        assert not model.converged_
        assert model.score(*iris) > 0.5


def test_a_callback_that_raises_leaves_the_fitted_attributes(iris, callback):
    model, recorder = OPGDClassifier().fit(*iris), Recorder(raise_after=2)
    before = model.components_.copy()
    model.set_params(n_components=3).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(*iris)
    assert recorder.torn_down
    assert np.array_equal(model.components_, before)


def test_scikit_learns_own_callbacks_run(callback, capsys):
    pytest.importorskip("rich")
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    model = OPGDClassifier(init="lda").set_callbacks(callback.ProgressBar(), monitor)
    model.fit(*load_wine(return_X_y=True))
    assert "OPGDClassifier" in capsys.readouterr().out


def test_reaching_max_iter_warns_with_advice(iris):
    with pytest.warns(ConvergenceWarning, match="Increase max_iter") as caught:
        model = OPGDClassifier(max_iter=2).fit(*iris)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 2
