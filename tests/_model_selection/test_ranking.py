"""Which of several models is selected, and the correction of its error."""

from dataclasses import replace

import numpy as np
import pytest

from opgd._model_selection.correction import correct_error
from opgd._model_selection.folds import Outcome, Sample, make_folds
from opgd._model_selection.path import Setting
from opgd._model_selection.ranking import Model, Ranking
from opgd.core.calibration import TEMPERATURES, make_shares


def make_model(errors, n_gaussians=2, n_parameters=10, loss=0.5, wrong=None):
    """Return a model with these errors on splits of 100 samples."""
    losses = np.full((len(TEMPERATURES), len(make_shares(100.0))), 100 * loss)
    wrong = [np.arange(100) < 100 * error for error in errors] if wrong is None else wrong
    return Model(
        [
            Outcome(
                Setting("diag", 1, 0.0, 0.0),
                1,
                1,
                n_gaussians,
                n_parameters,
                1 - float(np.mean(part)),
                float(np.mean(part)),
                part,
                part.astype(float),
                losses,
                100 * loss,
                np.ones(100),
                100.0,
                None,
            )
            for part in wrong
        ]
    )


def test_score_decides_then_loss_then_size():
    worse, best = make_model([0.2, 0.2]), make_model([0.1, 0.1])
    assert Ranking().preferred([worse, best]) is best
    likelier = make_model([0.1, 0.1], loss=0.4)
    assert Ranking().preferred([best, likelier]) is likelier
    smaller = make_model([0.1, 0.1], n_parameters=5)
    assert Ranking().preferred([best, smaller]) is smaller


def test_fewer_gaussians_win_within_half_a_standard_error():
    many = make_model([0.08, 0.10, 0.12], n_gaussians=16)
    spread = np.std([0.08, 0.10, 0.12]) / np.sqrt(2)
    assert spread > 0.01
    near = make_model([0.10, 0.10, 0.11], n_gaussians=2)  # 0.0033 behind
    far = make_model([0.11, 0.11, 0.12], n_gaussians=2)  # 0.0133 behind
    assert Ranking().preferred([many, near]) is near
    assert Ranking().preferred([many, far]) is many
    assert Ranking().best([many, near]) is many


def with_losses(model, losses, raw_losses):
    """Return a model with these mean log-losses on its splits of 100 samples."""
    return Model(
        [
            replace(outcome, losses=np.full_like(outcome.losses, 100 * loss), raw_loss=100 * raw)
            for outcome, loss, raw in zip(model.outcomes, losses, raw_losses, strict=True)
        ]
    )


@pytest.mark.parametrize(("loss", "n_gaussians"), [(0.305, 2), (0.31, 16)])
def test_fewer_gaussians_need_a_log_loss_within_half_a_standard_error(loss, n_gaussians):
    spread, equal = [0.28, 0.30, 0.32], [0.5] * 3  # standard errors 0.0115 and 0.0033
    many = with_losses(make_model([0.1] * 3, n_gaussians=16), spread, equal)
    few = with_losses(make_model([0.1] * 3, n_gaussians=2), [loss] * 3, equal)
    assert Ranking().preferred([many, few]).n_gaussians == n_gaussians
    assert Ranking(calibrate=False).preferred([many, few]) is few
    one_split = [Model(model.outcomes[:1]) for model in (many, few)]
    assert Ranking().preferred(one_split).n_gaussians == 2


def test_log_loss_as_score():
    accurate, calibrated = make_model([0.1], loss=0.9), make_model([0.2], loss=0.3)
    assert (
        Ranking(by_log_loss=True, by_accuracy=False).preferred([accurate, calibrated]) is calibrated
    )


def make_fold(n_samples):
    sample = Sample(np.zeros((n_samples, 1)), np.zeros(n_samples, int), None, np.arange(1))
    return make_folds(sample, [(np.arange(n_samples), np.arange(n_samples))])[0]


def test_error_of_a_single_model_needs_no_correction():
    model = make_model([0.1])
    # the mean over resamples is zero up to its own noise
    assert correct_error([model], 0, [make_fold(100)]) == pytest.approx(model.error, abs=0.01)


def test_correction_undoes_the_selection_of_equal_models(rng):
    """Fifty models that guess: the best of them looks better than one half."""
    differences = []
    for _ in range(10):
        models = [make_model([0.5], wrong=[rng.random(100) < 0.5]) for _ in range(50)]
        best = min(range(50), key=lambda k: models[k].error)
        corrected = correct_error(models, best, [make_fold(100)])
        assert models[best].error < 0.45
        differences.append(corrected - 0.5)
    assert abs(np.mean(differences)) < 0.03


def test_repeated_predictions_are_drawn_together(rng):
    wrong = rng.random((20, 60)) < 0.5
    once = [make_model([0.5], wrong=[row]) for row in wrong]
    thrice = [make_model([0.5] * 3, wrong=[row] * 3) for row in wrong]
    sample = Sample(np.zeros((60, 1)), np.zeros(60, int), None, np.arange(1))
    splits = [(np.arange(60), np.arange(60))]
    errors = [
        correct_error(models, 0, make_folds(sample, splits * k))
        for models, k in ((once, 1), (thrice, 3))
    ]
    assert errors[0] == pytest.approx(errors[1])
