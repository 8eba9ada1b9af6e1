"""Rows, and short ways to ask displays."""

from sklearn.datasets import load_wine

from opgd.plotting import ProjectionDisplay

WINE = load_wine(as_frame=True)
X, Y = WINE.data, WINE.target_names[WINE.target]


def arrays(estimator, *args, **options):
    return ProjectionDisplay.from_estimator(estimator, *args, draw=False, **options)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
