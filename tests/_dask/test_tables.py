"""Dask data frames with categories."""

import numpy as np
import pytest

from opgd import TableEncoder

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N_ROWS = 600


@pytest.fixture
def table(rng):
    labels = rng.integers(0, 2, N_ROWS)
    plans = np.array(["basic", "gold", "free"])[(rng.random(N_ROWS) + labels).astype(int)]
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N_ROWS), "D")
    return pd.DataFrame(
        {
            "number": np.arange(N_ROWS),
            "age": np.where(rng.random(N_ROWS) < 0.1, np.nan, 40 + 10 * labels)
            + rng.normal(size=N_ROWS),
            "plan": plans,
            "color": pd.Categorical(rng.choice(["red", "blue"], N_ROWS)),
            "since": days,
            "label": labels,
        }
    )


@pytest.fixture
def lazy(table):
    return dd.from_pandas(table, npartitions=4)


def test_dask_frames_are_refused(table, lazy):
    with pytest.raises(TypeError, match=r"X.compute\(\)"):
        TableEncoder().fit(lazy)
    with pytest.raises(TypeError, match=r"X.compute\(\)"):
        TableEncoder().fit(table[["age", "plan"]]).transform(lazy)
