"""explore(): the projection in a notebook."""

import html
import re

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifier, OPGDMixture, explore
from tests.report.helpers import read_text_data, unpack


def test_the_frame_holds_the_page_and_nothing_else(model, wine):
    shown = explore(model, wine.data, wine.target)
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" [^<]*></iframe>', shown._repr_html_()
    )
    assert html.unescape(frame.group(1)) == shown.html
    assert "allow-same-origin" not in frame.group(2)
    assert len(shown.html) < 150_000
    assert shown.n_rows == 178
    data = read_text_data(shown.html)
    assert np.array_equal(unpack(data["groupings"][0]["codes"]), wine.target)


def test_labels_are_optional_and_rows_are_limited(model, wine):
    data = read_text_data(explore(model, wine.data).html)
    assert np.array_equal(unpack(data["groupings"][0]["codes"]), model.predict(wine.data))
    assert explore(model, wine.data, wine.target, max_rows=60).n_rows <= 60
    mixture = OPGDMixture(3, random_state=0).fit(wine.data)
    assert explore(mixture, wine.data, wine.target).title == "OPGDMixture"
    pipeline = make_pipeline(StandardScaler(), OPGDClassifier(2)).fit(wine.data, wine.target)
    assert "proline" in explore(pipeline, wine.data, wine.target).html


def test_bad_arguments_are_named(model, wine):
    with pytest.raises(TypeError, match="LogisticRegression"):
        explore(LogisticRegression(), wine.data, wine.target)
    with pytest.raises(ValueError, match="height"):
        explore(model, wine.data, wine.target, height=1)
    with pytest.raises(ValueError, match="inconsistent"):
        explore(model, wine.data, load_wine().target[:5])
