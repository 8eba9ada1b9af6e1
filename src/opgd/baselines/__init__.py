"""The discriminants that the paper compares with, as scikit-learn estimators.

LDA itself, QDA and diagonal discriminant analysis (naive Bayes) are scikit-learn's own.
"""

from opgd.baselines.cpc import CommonPrincipalComponents
from opgd.baselines.lda import ReducedRankLDA
from opgd.baselines.mda import MixtureDiscriminantAnalysis
from opgd.baselines.rda import RegularizedDiscriminantAnalysis
from opgd.baselines.save import SlicedAverageVariance

__all__ = [
    "CommonPrincipalComponents",
    "MixtureDiscriminantAnalysis",
    "ReducedRankLDA",
    "RegularizedDiscriminantAnalysis",
    "SlicedAverageVariance",
]
