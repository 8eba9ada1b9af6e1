"""Discriminant methods that the paper compares or mentions, as scikit-learn estimators.

For LDA, QDA and diagonal discriminant analysis, use scikit-learn's `LinearDiscriminantAnalysis`,
`QuadraticDiscriminantAnalysis` and `GaussianNB`.
"""

from opgd.baselines.alternating import AlternatingComponents
from opgd.baselines.cpc import CommonPrincipalComponents
from opgd.baselines.fda import FlexibleDiscriminantAnalysis
from opgd.baselines.informative import InformativeComponents
from opgd.baselines.kernel import KernelDiscriminantAnalysis
from opgd.baselines.kernel_nb import KernelNaiveBayes
from opgd.baselines.lda import ReducedRankLDA
from opgd.baselines.mda import MixtureDiscriminantAnalysis
from opgd.baselines.mixture_pursuit import GaussianMixturePursuit
from opgd.baselines.pursuit import LikelihoodRatioPursuit
from opgd.baselines.rda import RegularizedDiscriminantAnalysis
from opgd.baselines.sliced_variance import SlicedAverageVariance

__all__ = [
    "AlternatingComponents",
    "CommonPrincipalComponents",
    "FlexibleDiscriminantAnalysis",
    "GaussianMixturePursuit",
    "InformativeComponents",
    "KernelDiscriminantAnalysis",
    "KernelNaiveBayes",
    "LikelihoodRatioPursuit",
    "MixtureDiscriminantAnalysis",
    "ReducedRankLDA",
    "RegularizedDiscriminantAnalysis",
    "SlicedAverageVariance",
]
