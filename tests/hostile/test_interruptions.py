"""Fits that are watched, stopped, or broken off."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from opgd import OPGDClassifier, load_model, save_model
from opgd.core.objective import Objective

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 brought callbacks")


class Recorder:
    """Counts what it is told; may ask to stop or raise after some iterations."""

    def __init__(self, stop_after=None, raise_after=None):
        self.iterations, self.begun, self.torn_down = [], 0, False
        self.stop_after, self.raise_after = stop_after, raise_after

    def setup(self, estimator, context):
        self.torn_down = False

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

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
def iris():
    return load_iris(return_X_y=True)


def test_callbacks_see_every_iteration_with_a_usable_estimator(iris):
    recorder = Recorder()
    model = OPGDClassifier(init="lda").set_callbacks(recorder).fit(*iris)
    assert len(recorder.iterations) == model.n_iter_ + 1  # and the one that never ran
    assert recorder.torn_down
    likelihoods = [
        own.predict_log_proba(iris[0])[np.arange(150), iris[1]].sum() for own in recorder.iterations
    ]
    assert np.all(np.diff(likelihoods[:-1]) >= -1e-9)
    assert likelihoods[-1] == pytest.approx(model.log_likelihood_, rel=1e-9)


@pytest.mark.parametrize("n_iterations", [1, 2, 10, 20])
def test_callback_can_stop_the_exploration(n_iterations, iris, tmp_path):
    recorder = Recorder(stop_after=n_iterations)
    model = OPGDClassifier(2).set_callbacks(recorder).fit(*iris)
    assert len(recorder.iterations) == n_iterations + 1
    table = model.search_
    assert table["n_iter"].sum() == n_iterations
    assert table["log_likelihood"].max() == pytest.approx(model.log_likelihood_, rel=1e-9)
    assert np.all(np.isfinite(model.predict_log_proba(iris[0])))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model").search_["log_likelihood"]
    np.testing.assert_array_equal(loaded, table["log_likelihood"])


def test_callback_can_stop_the_search(iris):
    recorder = Recorder(stop_after=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # who asks to stop is not warned
        model = OPGDClassifier(init="lda").set_callbacks(recorder).fit(*iris)
    assert model.n_iter_ == 4
    assert not model.converged_
    assert model.score(*iris) > 0.9


def test_stopping_ends_all_searches(iris):
    recorder = Recorder(stop_after=2)
    model = OPGDClassifier(n_init=5, random_state=0).set_callbacks(recorder).fit(*iris)
    assert len(recorder.iterations) == 3
    assert model.score(*iris) > 0.5


def test_watching_changes_nothing(iris):
    watched = OPGDClassifier().set_callbacks(Recorder()).fit(*iris)
    assert np.array_equal(watched.components_, OPGDClassifier().fit(*iris).components_)


def test_scikit_learns_own_callbacks_run(iris, capsys):
    pytest.importorskip("rich")
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    model = OPGDClassifier(init="lda").set_callbacks(callback.ProgressBar(), monitor)
    model.fit(*iris)
    assert "OPGDClassifier" in capsys.readouterr().out


def test_callback_that_raises_leaves_the_estimator_as_it_was(iris):
    model = OPGDClassifier().fit(*iris)
    before = model.components_.copy()
    recorder = Recorder(raise_after=2)
    model.set_params(n_components=3).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(*iris)
    assert recorder.torn_down
    assert np.array_equal(model.components_, before)


@pytest.mark.parametrize("evaluation", [1, 3, 30])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_leaves_the_estimator_as_it_was(evaluation, n_jobs, iris, monkeypatch):
    X, y = load_wine(return_X_y=True)
    fitted = OPGDClassifier(n_jobs=n_jobs).fit(X, y)
    unfitted = OPGDClassifier(n_jobs=n_jobs)
    before = pickle.dumps(fitted), pickle.dumps(unfitted)
    compute, count = Objective.value_and_gradient, 0

    def interrupted(self, directions):
        nonlocal count
        count += 1
        if count == evaluation:
            raise KeyboardInterrupt
        return compute(self, directions)

    monkeypatch.setattr(Objective, "value_and_gradient", interrupted)
    for model in (fitted, unfitted):
        count = 0
        with pytest.raises(KeyboardInterrupt):
            model.fit(*iris)
    assert (pickle.dumps(fitted), pickle.dumps(unfitted)) == before


def test_reaching_max_iter_warns_with_advice(iris):
    with pytest.warns(ConvergenceWarning, match="Increase max_iter") as caught:
        model = OPGDClassifier(max_iter=2).fit(*iris)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 2


def test_pickled_models_predict_the_same(iris):
    model = OPGDClassifier(n_subclasses=2, ridge=0.1).fit(*iris)
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.predict_proba(iris[0]), model.predict_proba(iris[0]))
    assert not hasattr(clone(model), "components_")
