"""opgd cluster."""

import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from opgd import load_model
from tests.cli.helpers import WINE, assert_call_refused, join_words, run_ok

BAD_CALLS = [
    (["cluster", "train.csv", "-k", "3"], ["--output"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "many", "-o", "x"], ["-k", "'many'"]),
    (["cluster", "train.csv", "--ignore", "kind", "-k", "500", "-o", "x"], ["-k", "89 rows"]),
    (["cluster", "none.csv", "-k", "2,0", "-o", "x"], ["-k must be at least 1, got 0"]),
    (["cluster", "none.csv", "--criterion", "bicc", "-o", "x"], ["--criterion", "'bicc'"]),
    (["cluster", "none.csv", "--covariance", "diagg", "-o", "x"], ["--covariance", "'diagg'"]),
    (["cluster", "train.csv", "--ignore", "kind", "--merge", "yes", "-o", "x"], ["--merge"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_CALLS, ids=join_words)
def test_bad_calls_are_refused_in_words(arguments, words, bad_files):
    assert_call_refused(arguments, words, bad_files)


def test_outliers_are_noise_if_asked_for(tmp_path):
    table, labels = tmp_path / "wine.csv", tmp_path / "labels.csv"
    rows = WINE.data.copy()
    rows.loc[0] = 20 * rows.max()
    rows.to_csv(table, index=False)
    model = tmp_path / "wine.opgd"
    done = run_ok("cluster", table, "-k", "3", "--noise", "-o", model, "--labels", labels)
    found = pd.read_csv(labels)["cluster"]
    assert found[0] == -1
    assert f"{(found == -1).sum()} rows belong to no cluster" in done.out


def test_numbers_tried_and_profiles_are_printed(tmp_path):
    table, model = tmp_path / "wine.csv", tmp_path / "wine.opgd"
    WINE.data.to_csv(table, index=False)
    printed = " ".join(run_ok("cluster", table, "-k", "2,3", "-o", model).out.split())
    assert "3: mean bic +0, smallest cluster 27.0% (selected)" in printed
    assert "(27%); od280/od315_of_diluted_wines" in printed
    again = " ".join(run_ok("info", model).out.split())
    assert "(27%); od280/od315_of_diluted_wines" in again


def test_gaussians_are_merged_if_asked_for(tmp_path):
    table, model, labels = (tmp_path / name for name in ("moons.csv", "moons.opgd", "labels.csv"))
    X, sides = make_moons(300, noise=0.05, random_state=0)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(table, index=False)
    options = ["-k", "8", "--merge", "2", "-o", model, "--labels", labels]
    run_ok("cluster", table, *options)
    assert adjusted_rand_score(sides, pd.read_csv(labels)["cluster"]) > 0.9
    assert len(load_model(model).means_) == 8
