"""Data sets and results of the public benchmark."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from benchmarks.classifiers import METHODS
from benchmarks.data import BUNDLED, NAMES
from benchmarks.defaults import OTHERS
from benchmarks.ranks import Ranking
from benchmarks.selection import N_SPLITS, TEST_SHARE, Summary
from opgd.datasets import list_datasets

OURS = "opgd"
DECIMALS = 12
"""Means that agree in these decimals are ties."""


@dataclass(frozen=True)
class Source:
    """Size and origin of a data set."""

    n_samples: int
    n_features: int
    n_classes: int
    origin: str


SOURCES = {
    **{
        info.name: Source(info.n_samples, info.n_features, info.n_classes, info.origin)
        for info in list_datasets()
    },
    "breast cancer": Source(569, 30, 2, "`load_breast_cancer`: UCI, Breast Cancer Wisconsin"),
    "digits": Source(1797, 64, 10, "`load_digits`: the test part of UCI 80"),
    "more/breast_tissue": Source(106, 9, 6, "UCI, Breast Tissue"),
    "more/cardiotocography": Source(2126, 21, 10, "UCI, Cardiotocography (ten patterns)"),
    "more/dry_bean": Source(13611, 16, 7, "UCI, Dry Bean"),
    "more/frogs": Source(7195, 21, 10, "UCI, Anuran Calls (species), without the first MFCC"),
    "more/htru2": Source(17898, 8, 2, "UCI, HTRU2"),
    "more/messidor": Source(1151, 19, 2, "UCI, Diabetic Retinopathy Debrecen"),
    "more/parkinsons": Source(195, 22, 2, "UCI, Parkinsons"),
    "more/raisin": Source(900, 7, 2, "UCI, Raisin"),
    "more/rice": Source(3810, 7, 2, "UCI, Rice (Cammeo and Osmancik)"),
    "more/robot_navigation": Source(5456, 24, 4, "UCI, Wall-Following Robot Navigation"),
    "more/steel_plates": Source(1941, 27, 7, "UCI, Steel Plates Faults"),
    "more/wifi": Source(2000, 7, 4, "UCI, Wireless Indoor Localization"),
    "more/wine_quality_red": Source(1599, 11, 6, "UCI, Wine Quality (red)"),
}


@dataclass(frozen=True)
class Group:
    """Data sets that were used alike while the package was developed."""

    name: str
    title: str
    tables: list[str]


MORE = Group("more", "Never used for tuning", [f"more/{name}" for name in OTHERS])
SHIPPED = Group("bundled", "scikit-learn's data sets", list(BUNDLED))
PAPER = Group("paper", "The paper's data sets", NAMES)
GROUPS = [MORE, SHIPPED, PAPER]
ALL = Group("all", "All data sets", [table for group in GROUPS for table in group.tables])
RANKED = [MORE, PAPER, ALL]
"""Groups that have enough data sets for a diagram of ranks."""


def list_complete(raw: pd.DataFrame) -> list[str]:
    """Return the methods that have results of all splits of all data sets.

    Raise ValueError if OPGD is not among them.
    """
    counts = raw.pivot_table(index="table", columns="method", values="seed", aggfunc="nunique")
    complete = (counts.reindex(ALL.tables) == N_SPLITS).all()
    methods = [method for method in METHODS if complete.get(method, False)]
    if OURS not in methods:
        raise ValueError(
            "Results of OPGD are not complete; run python -m benchmarks public-benchmark."
        )
    return methods


@dataclass(frozen=True)
class Results:
    """Results of all methods on some data sets, a row of `raw` for each fit."""

    raw: pd.DataFrame

    @classmethod
    def select(cls, raw: pd.DataFrame, group: Group) -> "Results":
        """Select the results of complete methods on a group of data sets."""
        methods = list_complete(raw)
        return cls(raw[raw["table"].isin(group.tables) & raw["method"].isin(methods)])

    def means(self, value: str) -> pd.DataFrame:
        """Return means over splits, for the methods that have the value, (n_tables, n_methods)."""
        means = Summary(self.raw).mean(value).round(DECIMALS)
        return means[[method for method in METHODS if method in means]]

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Mean test errors, (n_tables, n_methods)."""
        return self.means("error")

    @cached_property
    def losses(self) -> pd.DataFrame:
        """Mean log-losses, without the SVC, (n_tables, n_methods)."""
        return self.means("loss")

    @cached_property
    def seconds(self) -> pd.DataFrame:
        """Mean CPU seconds of a fit, selection of parameters included, (n_tables, n_methods)."""
        return self.means("cpu")

    def rank(self, value: str) -> Ranking:
        """Rank the methods by means of a value."""
        return Ranking.from_values(self.means(value))

    def compare(self, value: str, method: str) -> pd.DataFrame:
        """Return OPGD minus a method by data set: mean `difference` and `standard_error`.

        Training sets overlap, so that the variance of a mean over splits is larger than that of
        independent ones: Nadeau & Bengio, "Inference for the Generalization Error", 2003.
        """
        wide = self.raw.pivot_table(index=["table", "seed"], columns="method", values=value)
        steps = (wide[OURS] - wide[method]).unstack("seed")
        factor = 1 / N_SPLITS + TEST_SHARE / (1 - TEST_SHARE)
        errors = np.sqrt(factor * steps.var(axis=1, ddof=1))
        return pd.DataFrame({"difference": steps.mean(axis=1), "standard_error": errors})

    def find_better(self, value: str) -> pd.DataFrame:
        """Return data sets on which another method has a lower mean, largest differences first.

        Columns are `ours`, the best `method`, `best` (its mean), `difference` and `standard_error`.
        """
        means = self.means(value)
        others = means.drop(columns=OURS)
        rows = pd.DataFrame(
            {"ours": means[OURS], "method": others.idxmin(axis=1), "best": others.min(axis=1)}
        )
        rows["difference"] = rows["ours"] - rows["best"]
        pairs = {method: self.compare(value, method) for method in others}
        rows["standard_error"] = [
            pairs[method].loc[table, "standard_error"] for table, method in rows["method"].items()
        ]
        return rows[rows["difference"] > 0].sort_values("difference", ascending=False)
