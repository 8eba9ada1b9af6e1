"""Fits for several numbers of clusters: selection, and noise."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd._fit.cluster_numbers import select_number, tabulate_fits, try_numbers
from opgd._fit.merging import merge_gaussians
from opgd._fit.mixture_fit import MixtureFit, MixtureSettings, Monitor, fit_number
from opgd._fit.mixture_init import Starts
from opgd._fit.noise import Noise, estimate_noise, find_outlying
from opgd._fit.numbering import Numbering, number_by_weight, number_like_groups
from opgd._fit.problem import frame_samples, prepare
from opgd._fit.regularizer import Regularizer
from opgd._fit.resolution import (
    describe_resolution,
    leave_out_rare_values,
    measure_resolution,
)
from opgd._utils.labels import to_label_array
from opgd.core.coordinates import Frame
from opgd.core.engines import Engine, RowEngine
from opgd.core.types import AnyArray, IntArray


@dataclass(frozen=True)
class Samples:
    """Samples with positive weight, and how to obtain their first mixture."""

    engine: Engine
    init: Any  # as in `OPGDMixture`

    def select(self, retained: AnyArray) -> "Samples":
        """Return the samples of a mask, (n,)."""
        rows = self.engine.select_rows(np.flatnonzero(retained))
        return Samples(rows, select_init(self.init, retained))

    def require_memory(self, parameter: str, off: Any = False) -> RowEngine:
        """Return the engine; raise TypeError if the samples are on a Dask cluster.

        The message names `off`, the value of the parameter that needs no samples in memory.
        """
        if not isinstance(self.engine, RowEngine):
            raise TypeError(
                f"{parameter} needs samples in memory; with Dask input, set {parameter}={off}."
            )
        return self.engine


@dataclass(frozen=True)
class Outcome:
    """The selected fit, criteria of all numbers of clusters, notes on features, and noise."""

    fit: MixtureFit
    selection: dict[str, AnyArray]
    notes: list[str]
    init: Any  # as in `OPGDMixture`, for the samples of the fit
    n_samples: int  # including noise
    noise: Noise | None = None

    def number_clusters(self, merge: int | None) -> Numbering:
        """Return the clusters of the Gaussians, several for one cluster with `merge`."""
        refined, init = self.fit.refined, self.init
        if not isinstance(init, str) and not hasattr(init, "fit"):
            return number_like_groups(refined, init)
        groups = None if merge is None else merge_gaussians(refined, merge)
        return number_by_weight(refined.mixture.gaussians, groups)


@dataclass(frozen=True)
class Selector:
    """Selection of the number of clusters for given settings."""

    settings: MixtureSettings
    monitor: Monitor
    seed: int
    stop: bool  # whether to stop when further numbers are no better
    names: list[str]  # of the features
    features: IntArray | None = None  # indices of those that are used, None for all

    def select(self, samples: Samples, numbers: list[int]) -> Outcome:
        """Fit each number of clusters, and return the best fit by the criterion."""
        starts, notes = self._make_starts(samples)
        fits = list(
            try_numbers(
                lambda number: fit_number(starts, self.settings, self.monitor, number),
                numbers,
                stop=self.stop,
            )
        )
        selection = tabulate_fits(fits)
        return Outcome(
            fits[select_number(selection)], selection, notes, samples.init, samples.engine.n_samples
        )

    def separate_noise(self, samples: Samples, numbers: list[int], share: float | None) -> Outcome:
        """Select the number of clusters without outlying samples, then without noise.

        Which samples are noise is known only after a fit: clusters without their outlying samples
        are too narrow, so that the criterion can prefer more of them.
        """
        engine = samples.require_memory("noise")
        inner = samples.select(~find_outlying(frame_samples(engine)))
        first = self.select(inner, numbers)
        retained = estimate_noise(engine, first.fit.refined.density, share).retained
        if not np.all(retained) and np.count_nonzero(retained) <= min(numbers):
            raise ValueError(
                f"With noise, {np.count_nonzero(~retained)} of {engine.n_samples} samples are "
                f"more probably noise than in a cluster, too many for {min(numbers)} clusters. "
                "Pass a smaller share as noise, or noise=False."
            )
        outcome = self.select(samples.select(retained), numbers)
        noise = estimate_noise(engine, outcome.fit.refined.density, share).noise
        return replace(outcome, n_samples=engine.n_samples, noise=noise)

    def _make_starts(self, samples: Samples) -> tuple[Starts, list[str]]:
        """Sphere the samples and bound variances; return notes about features as well."""
        frame = frame_samples(samples.engine, keep_relations=True)
        strength = self.settings.regularization
        regularizer, notes = Regularizer(0.0), list[str]()
        if strength > 0:
            resolution = measure_resolution(samples.engine)
            frame = leave_out_rare_values(frame, resolution)
            rare, frame = frame.left_out, self._restrict(frame)
            notes = describe_resolution(resolution, frame, rare, self.names)
            regularizer = Regularizer(strength, resolution.floor(frame))
        else:
            frame = self._restrict(frame)
        n_init, seed = self.settings.n_init, self.seed
        return Starts(frame, regularizer, samples.init, n_init, seed), notes

    def _restrict(self, frame: Frame) -> Frame:
        """Return the frame with the selected features."""
        if self.features is None:
            return frame
        return frame.restricted(np.setdiff1d(self.features, frame.constant))


def select_features(engine: RowEngine, labels: IntArray, n_kept: int) -> IntArray:
    """Return the features that separate clusters best; samples labeled -1 are left out."""
    rows = engine.select_rows(np.flatnonzero(labels >= 0))
    codes = np.unique(labels[labels >= 0], return_inverse=True)[1].astype(np.intp)
    clusters = RowEngine(rows.X, codes, rows.weights, n_threads=rows.n_threads)
    return np.sort(prepare(clusters, int(codes.max()) + 1).feature_order[:n_kept])


def select_init(init: Any, present: AnyArray) -> Any:
    """Return the labels or responsibilities of the selected samples; any other `init` as it is."""
    if np.ndim(init) == 0 or len(init) != len(present):
        return init
    labels = to_label_array(init, "init") if np.ndim(init) == 1 else np.asarray(init)
    return labels[present]
