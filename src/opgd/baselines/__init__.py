"""Discriminant methods with Gaussian classes, as scikit-learn estimators.

For LDA, QDA and diagonal discriminant analysis, use scikit-learn's `LinearDiscriminantAnalysis`,
`QuadraticDiscriminantAnalysis` and `GaussianNB`.
"""

from opgd.baselines.cpc import CommonPrincipalComponents
from opgd.baselines.lda import ReducedRankLDA
from opgd.baselines.mda import MixtureDiscriminantAnalysis
from opgd.baselines.rda import RegularizedDiscriminantAnalysis
from opgd.baselines.sliced_variance import SlicedAverageVariance

__all__ = [
    "CommonPrincipalComponents",
    "MixtureDiscriminantAnalysis",
    "ReducedRankLDA",
    "RegularizedDiscriminantAnalysis",
    "SlicedAverageVariance",
]
