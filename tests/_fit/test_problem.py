import numpy as np

from opgd._fit import problem
from opgd._fit.problem import pose, prepare
from opgd._fit.subclasses import NearestCenters
from opgd.core.engines import RowEngine


def test_gaussians_that_no_sample_is_nearest_to_are_dropped(rng, monkeypatch):
    X, labels = rng.standard_normal((60, 3)), np.arange(60) % 2
    split = problem.split_classes

    def split_with_ties(*args):
        nearest, classes = split(*args)
        copies = [np.vstack([centers, centers[:1]]) for centers in nearest.centers]
        return NearestCenters(nearest.whitener, copies), np.append(classes, [0, 1])[
            [0, 1, 4, 2, 3, 5]
        ]

    def pose_problem():
        prepared = prepare(RowEngine(X, labels, None), 2)
        return pose(
            prepared, np.full(2, 0.5), n_subclasses=np.array([2, 2]), covariance_type="diag"
        )

    expected = pose_problem().objective
    monkeypatch.setattr(problem, "split_classes", split_with_ties)
    posed = pose_problem()
    assert posed.gaussian_classes.tolist() == [0, 0, 1, 1]
    assert posed.objective.value(np.eye(3)) == expected.value(np.eye(3))
