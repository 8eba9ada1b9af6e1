"""Data sets: the same for every source, or refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from opgd_paper import datasets
from opgd_paper.datasets import (
    DatasetMismatchError,
    DatasetUnavailableError,
    list_datasets,
    load_dataset,
)

INFOS = {info.name: info for info in list_datasets()}


@pytest.mark.parametrize("name", INFOS)
def test_sizes_are_those_of_the_paper(name, data):
    info, found = INFOS[name], load_dataset(name)
    assert found.data.shape == (info.n_samples, info.n_features)
    assert np.all(np.isfinite(found.data))
    assert sorted(set(found.target)) == sorted(found.target_names)
    assert len(found.target_names) == info.n_classes
    assert list(found.frame.columns[: info.n_features]) == found.feature_names
    np.testing.assert_array_equal(found.frame[found.feature_names], found.data)


def test_vowel_has_its_speakers_and_their_split(data):
    vowel = load_dataset("vowel")
    assert np.bincount(vowel.speaker).tolist() == 15 * [66]
    assert set(vowel.speaker[vowel.split == "train"]) == set(range(8))


def write_changed(name, folder, monkeypatch, change):
    """Store a table after a change, in a folder that is searched from now on."""
    table = load_dataset(name).frame
    change(table).to_csv(folder / f"{name}.csv", index=False)
    monkeypatch.setenv("OPGD_DATA", str(folder))


def test_order_names_and_digits_of_a_copy_do_not_matter(data, tmp_path, monkeypatch):
    expected = load_dataset("seeds")
    names = {"1": "Kama", "2": "Rosa", "3": "Canadian"}

    def change(table):
        return table.sample(frac=1, random_state=0).round(9).replace({"target": names})

    write_changed("seeds", tmp_path, monkeypatch, change)
    found = load_dataset("seeds")
    np.testing.assert_allclose(found.data, expected.data)
    np.testing.assert_array_equal(found.target, expected.target)


CHANGES = {
    "a cell": lambda table: table.assign(area=table["area"] + 0.001 * (table.index == 7)),
    "a missing cell": lambda table: table.assign(area=table["area"].where(table.index != 7)),
    "a missing row": lambda table: table[1:],
    "a missing column": lambda table: table.drop(columns="area"),
    "a label": lambda table: table.assign(target=np.roll(table["target"], 1)),
    "no labels": lambda table: table.drop(columns="target"),
    "text": lambda table: table.assign(area="wide"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_data_are_refused(change, data, tmp_path, monkeypatch):
    write_changed("seeds", tmp_path, monkeypatch, CHANGES[change])
    with pytest.raises(DatasetMismatchError, match=r"seeds\.csv"):
        load_dataset("seeds")


def test_vowel_in_another_order_is_refused(data, tmp_path, monkeypatch):
    write_changed("vowel", tmp_path, monkeypatch, lambda table: table[::-1])
    with pytest.raises(DatasetMismatchError, match="order differs"):
        load_dataset("vowel")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"Unknown data set '\.\./iris'"):
        load_dataset("../iris")


def test_openml_has_other_columns_before_the_features(data, tmp_path, monkeypatch):
    expected = load_dataset("vowel")
    features = expected.frame.iloc[:, :10].astype("category")
    features.insert(0, "Speaker", "Andrew")

    def fetch(*, data_id, as_frame):
        assert (data_id, as_frame) == (307, True)
        return Bunch(data=features, target=pd.Series(expected.target, dtype="category"))

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    monkeypatch.setenv("OPGD_DATA", str(tmp_path))
    np.testing.assert_array_equal(load_dataset("vowel").data, expected.data)


def test_unavailable_data_are_described(tmp_path, monkeypatch):
    def fail(**_):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "fetch_openml", fail)
    monkeypatch.setenv("OPGD_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailableError, match=r"no network.*wine\.csv\.gz.*178 rows"):
        load_dataset("wine")
    with pytest.raises(DatasetUnavailableError, match=r"forest is not on OpenML.*27 numeric"):
        load_dataset("forest")
