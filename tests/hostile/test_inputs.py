"""Hostile inputs: every one with every estimator, and the guide says what happens."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import opgd
import opgd.baselines
from tests.hostile.everything import ESTIMATORS, INPUTS, PENDING, markdown, pairs, statement
from tests.hostile.outcomes import plain, refused, table
from tests.hostile.registry import LONG

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "user_guide" / "invalid_input.md"


N_QUICK = 2
"""Estimators with which the ordinary suite tries each input; `make test-slow` tries all."""


N_FEWER = 9
"""Number of inputs less that slow estimators are tried with."""


def select_pairs():
    """A few estimators for each input, always the same, and variants of mixtures less often."""
    slow = [name for name in ESTIMATORS if name.startswith("OPGDMixture(")]
    rng, used = np.random.default_rng(20261117), Counter(dict.fromkeys(slow, N_FEWER))
    for own in INPUTS:
        names = [name for name in ESTIMATORS if own.applies(ESTIMATORS[name])]
        for name in sorted(rng.permutation(names).tolist(), key=used.__getitem__)[:N_QUICK]:
            used[name] += 1
            yield own, name


def as_parameters(chosen):
    for own, name in chosen:
        reason = PENDING.get((own.name, name))
        marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=False)]
        yield pytest.param(own, name, id=f"{own.name}-{name}", marks=marks)


@pytest.mark.parametrize(("own", "name"), list(as_parameters(select_pairs())))
def test_pair_ends_as_stated(own, name):
    own.check(clone(ESTIMATORS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_inputs_end_as_stated(name):
    failed = []
    for own in (own for own, other in pairs() if other == name):
        try:
            own.check(clone(ESTIMATORS[name]))
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{own.name}: {error!r}")
    assert not failed, "\n".join(failed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "name"), [pair for pair in as_parameters(pairs()) if pair.values[1] in LONG]
)
def test_pair_with_a_long_fit_ends_as_stated(own, name, monkeypatch):
    monkeypatch.setitem(ESTIMATORS, name, LONG[name])
    plain.cache_clear()
    own.check(clone(LONG[name]))
    plain.cache_clear()


def test_every_estimator_is_tried():
    public = {name for name in opgd.__all__ if hasattr(getattr(opgd, name), "fit")}
    tried = {type(estimator).__name__ for estimator in ESTIMATORS.values()}
    assert tried == public - {"TableEncoder"} | set(opgd.baselines.__all__)  # see test_containers
    assert min(Counter(name for _, name in pairs()).values()) > 50


def test_names_of_inputs_are_different():
    assert len({own.name for own in INPUTS}) == len(INPUTS)


def test_the_guide_has_these_tables_and_this_number():
    if not hasattr(opgd.OPGDClassifier(), "set_callbacks"):
        pytest.skip("the number is that with callbacks, which scikit-learn has from 1.9 on")
    page = GUIDE.read_text("utf-8")
    assert markdown() in page, "copy the tables that `python -m tests.hostile` prints"
    assert statement(len(PENDING)) in page
    open_pairs = page.split("Not yet as stated:")[1].split("\n\n")[0] if PENDING else ""
    assert {name for _, name in PENDING} == {n for n in ESTIMATORS if f"`{n}`" in open_pairs}


@pytest.mark.parametrize(("unit", "words"), [(1e160, "overflow"), (1e-170, "underflow")])
def test_a_ridge_in_units_of_columns_refuses_squares_it_cannot_compute(unit, words):
    X, y = table()
    model = opgd.baselines.RegularizedDiscriminantAnalysis(0.5, 0.1)
    refused(lambda: model.fit(X * unit, y), f"squares {words}")
