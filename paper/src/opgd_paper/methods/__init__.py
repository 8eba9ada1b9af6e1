"""Seven methods that the paper mentions but does not compare, as scikit-learn estimators."""

from opgd_paper.methods.alternating import AlternatingComponents
from opgd_paper.methods.fda import FlexibleDiscriminantAnalysis
from opgd_paper.methods.informative import InformativeComponents
from opgd_paper.methods.kernel import KernelDiscriminantAnalysis, KernelNaiveBayes
from opgd_paper.methods.pursuit import GaussianMixturePursuit, LikelihoodRatioPursuit

__all__ = [
    "AlternatingComponents",
    "FlexibleDiscriminantAnalysis",
    "GaussianMixturePursuit",
    "InformativeComponents",
    "KernelDiscriminantAnalysis",
    "KernelNaiveBayes",
    "LikelihoodRatioPursuit",
]
