"""Which Gaussians rows aim at."""

import numpy as np
import pytest

from opgd.core.targets import Labeled, Mixed, Strongest

GAUSSIAN_CLASSES = np.array([0, 0, 0, 1, 2, 2])


def test_rows_aim_at_all_gaussians_of_their_class_and_at_padding():
    targets = Labeled(GAUSSIAN_CLASSES)
    allowed = targets.allowed(np.array([2, 0, 1]), np.empty((6, 3)))
    assert targets.n_allowed == 3
    assert allowed.T.tolist() == [[4, 5, 6], [0, 1, 2], [3, 6, 6]]


def test_the_strongest_is_the_first_of_the_largest():
    log_joint = np.array([[0.0, -1.0, 2.0], [1.0, -3.0, 2.0]])
    assert Strongest().allowed(np.zeros(3, np.intp), log_joint).tolist() == [[1, 0, 0]]
    assert Strongest().n_allowed == 1


@pytest.mark.parametrize("gaussian_classes", [GAUSSIAN_CLASSES, np.array([0, 1, 2])])
def test_rows_without_a_label_aim_at_the_strongest_and_others_at_their_class(gaussian_classes):
    n_gaussians = len(gaussian_classes)
    log_joint = np.random.default_rng(0).normal(size=(n_gaussians, 5))
    labels = np.array([-1, 0, 2, -1, 1])
    targets = Mixed(gaussian_classes)
    allowed = targets.allowed(labels, log_joint)
    known = Labeled(gaussian_classes).allowed(labels[labels >= 0], log_joint)
    assert targets.n_allowed == len(allowed)
    assert np.array_equal(allowed[:, labels >= 0], known)
    assert allowed[0, labels < 0].tolist() == log_joint[:, labels < 0].argmax(axis=0).tolist()
    assert np.all(allowed[1:, labels < 0] == n_gaussians)
    assert np.array_equal(labels, [-1, 0, 2, -1, 1])


def test_labels_alone_need_no_strongest():
    labels = np.array([0, 2, 1])
    log_joint = np.zeros((6, 3))
    assert np.array_equal(
        Mixed(GAUSSIAN_CLASSES).allowed(labels, log_joint),
        Labeled(GAUSSIAN_CLASSES).allowed(labels, log_joint),
    )
