"""The text of the page: hostile names, nothing from elsewhere."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from opgd import (
    OPGDClassifier,
    write_report,
)

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}{% raw %}",
    '=HYPERLINK("x")',
    "\u202e\u05e9\u05dc\u05d5\u05dd\u2028\u2029 <!--<script>",
    "😀\ud800 \x00&amp;",
    "n" * 300,
]


@pytest.fixture(scope="module")
def hostile(wine, tmp_path_factory):
    names = pd.Index(HOSTILE, dtype=object)  # pyarrow has no lone surrogates
    X = wine.data.iloc[:, :6].set_axis(names, axis=1)
    X.index = [f"{HOSTILE[0]}{i}" for i in range(len(X))]
    y = np.array(HOSTILE[:3])[wine.target]
    model = OPGDClassifier(n_components=3).fit(X, y)
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    return write_report(model, X, y, path=path, title=HOSTILE[0] + HOSTILE[1])


def test_hostile_names_stay_text(hostile):
    text = hostile.read_text("utf-8")
    own = text[: text.index("<script>")] + text[text.rindex("</script>") :]  # without scripts
    assert "<img" not in own
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;{{7*7}}{% raw %}" in own
    assert "49" not in re.search(r"<title>(.*?)</title>", own).group(1)
    data = re.search(r'id="data">(.*?)</script>', text, flags=re.S).group(1)
    assert not set("<>&\u2028\u2029") & set(data)
    page = json.loads(data)
    assert {column["name"] for column in page["columns"]} == set(HOSTILE)
    assert page["names"][3] == HOSTILE[0] + "3"


def test_page_asks_for_nothing_from_elsewhere(hostile):
    text = hostile.read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text).group(1)
    assert "http" not in policy
    assert policy.startswith("default-src &#39;none&#39;")
    own = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    own = own.replace("src=x onerror", "")  # escaped, in a title
    assert not re.search(r"""(src|href)=(?!["'](#|data:,))""", own)
    assert "eval" not in policy


def test_same_model_gives_the_same_bytes(model, wine, tmp_path):
    paths = [
        write_report(model, wine.data, wine.target, path=tmp_path / f"{i}.html") for i in range(2)
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()
