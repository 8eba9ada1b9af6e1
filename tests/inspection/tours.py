"""The way of a report's tour, computed a second time."""

import numpy as np

from opgd.inspection.tour import PARALLEL


def tour_matrices(tour, t):
    """A(t) and B(t) of `Tour`: what tour.js computes, once more."""
    parallel = tour.angles < PARALLEL
    safe = np.where(parallel, 1.0, tour.angles)
    first = np.where(parallel, 1 - t, np.sin((1 - t) * safe) / np.sin(safe))
    second = np.where(parallel, t, np.sin(t * safe) / np.sin(safe))
    turn = (1 - t) * tour.turns[0] + t * tour.turns[1]
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    inside = rotation @ ((1 - t) * np.eye(2) + t * tour.stretch)
    return (tour.from_pca * first) @ inside, (tour.from_scores * second) @ inside
