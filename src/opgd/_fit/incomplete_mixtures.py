"""First mixtures of samples with missing entries, by EM for the observed entries.

It starts from a mixture of completed samples, whose clusters are too narrow where many entries are
missing. The M-step is that of the structure of the covariances, with its prior.
"""

from dataclasses import replace

import numpy as np

from opgd._fit.first_mixtures import FirstMixture, make_moments
from opgd.core.coordinates import Frame, sphered_coordinates
from opgd.core.engines import RowBlock
from opgd.core.gaps import Conditionals
from opgd.core.kernels import log_sum
from opgd.core.marginal import observe_blocks
from opgd.core.missing import count_rows
from opgd.core.types import FloatArray

MAX_ROWS = 20_000
"""Maximum number of samples to which a mixture is fitted."""
MAX_ITER = 30


def fit_incomplete(frame: Frame, first: FirstMixture) -> FirstMixture:
    """Continue a mixture by EM for the observed entries, to which its likelihood then refers.

    If a cluster would get less than one sample, the moments of completed samples are kept.
    """
    engine, moments, constrain = frame.engine, first.moments, first.constrain
    if engine.n_samples > MAX_ROWS:
        engine = engine.sample(MAX_ROWS)
    sample = replace(frame, engine=engine)
    if moments.n_groups > 1:
        fitted = sample.fit_mixture(moments, MAX_ITER, constrain)
        if np.all(count_rows(fitted) >= 1):
            moments = make_moments(frame, fitted.priors, fitted.means, fitted.covariances)
    gaussians = frame.span.make_gaussians(moments, constrained=constrain is not None)
    log_density, log_certainty = average_observed(sample, gaussians, np.log(moments.priors))
    log_likelihood = log_density + sphered_coordinates(frame).log_volume
    return replace(
        first, moments=moments, log_likelihood=log_likelihood, log_certainty=log_certainty
    )


def average_observed(
    frame: Frame, gaussians: Conditionals, log_priors: FloatArray
) -> tuple[float, float]:
    """Return means of the log density of observed entries, and of the log of the best posterior.

    `Conditionals.log_densities` leaves out a term of each sample, which is found by comparison with
    the Gaussian of all samples.
    """
    whole, row_map = frame.span.whole, frame.row_map()
    observe = observe_blocks(frame, sphered_coordinates(frame).matrix.T[:1])

    def sum_block(block: RowBlock) -> FloatArray:
        observed, rest = observe(block)
        rows, weights = row_map(block), block.row_weights
        joint = gaussians.log_densities(rows, block.gaps) + log_priors[:, None]
        known = rest + observed.log_reference - whole.log_densities(rows, block.gaps)[0]
        largest, total = joint.max(axis=0), log_sum(joint)
        return np.array([weights @ (total + known), weights @ (largest - total)])

    means = frame.engine.sum(sum_block, observe.width) / frame.engine.total_weight
    return float(means[0]), float(means[1])
