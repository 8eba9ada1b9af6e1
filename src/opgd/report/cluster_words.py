"""Sentences on clusters for the first screen of a report."""

from opgd.inspection.cluster_columns import ClusterProfiles
from opgd.inspection.cluster_quality import CERTAIN, ClusterQuality
from opgd.inspection.followed_columns import FollowedColumn
from opgd.inspection.tables import Clusters
from opgd.inspection.text import shorten
from opgd.report.words import MAX_NAMES, count, join

STRONG, WEAK = 0.8, 0.3
"""Adjusted Rand indices from which clusters are mostly, and partly, the same."""


def describe_clusters(profiles: ClusterProfiles, n_noise: int) -> list[str]:
    """Return a sentence for each of the largest clusters."""
    sentences = []
    for k, line in enumerate(profiles.lines[:MAX_NAMES]):
        about = join(line.words) if line.words else "no column that distinguishes it"
        sentences.append(f"Cluster {k}: {count(line.size, 'row')} ({line.share:.0%}); {about}.")
    if len(profiles.lines) > MAX_NAMES:
        sentences.append(f"The other {len(profiles.lines) - MAX_NAMES} are described below.")
    if n_noise:
        sentences.append(f"{count(n_noise, 'row')} {'is' if n_noise == 1 else 'are'} noise.")
    return sentences


def describe_followed(column: FollowedColumn) -> str:
    """Return that clusters reproduce a column of the table, and what to do."""
    name = shorten(column.name, 30)
    name = name if name.startswith("column ") else f"the column {name}"
    values = [
        f"cluster {k} is {shorten(value, 30)}"
        for k, value in enumerate(column.values)
        if value is not None
    ]
    if len(values) > MAX_NAMES:
        values = [*values[: MAX_NAMES - 1], f"{len(values) - MAX_NAMES + 1} more"]
    if column.determines:
        verb = f"follow {name}"
    else:
        verb = f"divide the values of {name}, each cluster within one value"
    return (
        f"The clusters {verb}: {join(values)} ({column.share:.0%} of the rows). Remove the column "
        "and fit again to find other structure."
    )


def describe_quality(quality: ClusterQuality, clusters: Clusters) -> list[str]:
    """Return how well the clusters are separated, and how the number and k-means compare."""
    sentences = []
    if len(clusters.sizes) > 1:
        sentences.append(
            f"{quality.certain:.0%} of the rows belong to their cluster with a probability of at "
            f"least {CERTAIN:g} (mean {1 - quality.uncertainty:.3f}): the clusters "
            f"{_judge_separation(quality)} on the axes of the model. The model was fitted to these "
            "rows, so this is optimistic."
        )
    numbers = _describe_numbers(clusters)
    sentences += [numbers] if numbers else []
    if quality.k_means is not None:
        sentences.append(_describe_k_means(quality.k_means))
    return sentences


def _judge_separation(quality: ClusterQuality) -> str:
    if quality.certain >= 0.95:
        return "are well separated"
    return "overlap a little" if quality.certain >= 0.8 else "overlap"


def _describe_numbers(clusters: Clusters) -> str:
    """Return the criterion of the fitted number, of the next best number and of one cluster."""
    entries, chosen = clusters.selection, clusters.selection[clusters.chosen]
    if len(entries) < 2:
        return ""
    noun = "cluster" if len(clusters.sizes) == chosen["n_clusters"] else "Gaussian"
    others = sorted(
        (entry for entry in entries if entry is not chosen), key=lambda e: e["selected_by"]
    )
    singles = [entry for entry in others[1:] if entry["n_clusters"] == 1]
    compared = {int(entry["n_clusters"]): entry["selected_by"] for entry in others[:1] + singles}
    against = join([f"{value:,.0f} for {count(n, noun)}" for n, value in compared.items()])
    sentence = (
        f"The mean criterion (lower is better) is {chosen['selected_by']:,.0f} for "
        f"{count(int(chosen['n_clusters']), noun)}, against {against}."
    )
    return sentence.replace("-", "\u2212")


def _describe_k_means(index: float) -> str:
    same = "mostly" if index >= STRONG else "partly" if index >= WEAK else "hardly"
    return (
        f"Compared with the usual method, k-means on standardized columns with as many clusters: "
        f"{same} the same clusters (adjusted Rand index {max(index, 0.0):.2f}; 1 is identical, 0 "
        "is chance)."
    )
