"""Folders for the command. Helpers are imported late: without its packages they skip a module."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wine_folder(tmp_path_factory):
    """Tables and a model that tests only read."""
    from tests.cli.helpers import run_ok, wine

    folder = tmp_path_factory.mktemp("cli")
    table = wine()
    table.iloc[::2].to_csv(folder / "train.csv", index=False)
    table.iloc[1::2].to_csv(folder / "new.csv", index=False)
    run_ok("fit", folder / "train.csv", "-t", "kind", "--axes", 2, "-o", folder / "model.opgd")
    return folder


@pytest.fixture
def files(wine_folder, tmp_path, monkeypatch):
    """The working folder, with the tables and the model of wine."""
    monkeypatch.chdir(tmp_path)
    for path in wine_folder.iterdir():
        shutil.copy(path, tmp_path)  # links are never replaced
    return tmp_path


@pytest.fixture
def bad_files(files):
    """The same with files that some command refuses."""
    import pandas as pd
    import polars as pl

    from opgd.baselines import RegularizedDiscriminantAnalysis
    from opgd.model_file import save_model
    from tests.cli.helpers import COLUMNS

    header = "true,predicted,cost"
    Path("beer.csv").write_text(f"{header}\nred,beer,3\n", encoding="utf-8")
    Path("twice.csv").write_text(f"{header}\nred,white,3\nred,white,4\n", encoding="utf-8")
    Path("words.csv").write_text(f"{header}\nred,white,much\n", encoding="utf-8")
    new = pd.read_csv("new.csv")
    new.drop(columns="hue").to_csv("lacking.csv", index=False)
    new.assign(kind=["beer", *new["kind"][1:]]).to_csv("strange.csv", index=False)
    for name in ("fake.parquet", "fake.arrow"):
        Path(name).write_bytes(b"no table")
    days = pl.DataFrame({"when": ["2020-01-01"] * 4, "kind": list("ppqq")})
    days.with_columns(pl.col("when").str.to_date()).write_parquet("dates.parquet")
    save_model(RegularizedDiscriminantAnalysis().fit(new[COLUMNS], new["kind"]), "rda.opgd")
    return files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a small table."""
    from tests.cli.helpers import SMALL_TABLE

    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(SMALL_TABLE, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """A model of the small table, which tests copy."""
    from tests.cli.helpers import SMALL_TABLE, run_ok

    folder = tmp_path_factory.mktemp("small")
    (folder / "good.csv").write_text(SMALL_TABLE)
    run_ok("fit", folder / "good.csv", "-t", "y", "--axes", 1, "-o", folder / "model.opgd")
    return folder / "model.opgd"


@pytest.fixture
def model(folder, small_model):
    """A model of the small table in the working folder."""
    shutil.copy(small_model, folder)
    return small_model.name
