"""Every content in every container with every estimator, and what the guide says about it."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("pyarrow", exc_type=ImportError)  # it may not support the oldest NumPy

from opgd import DataWarning, TableEncoder
from tests.hostile.containers import (
    FEATURE_CASES,
    LABEL_CASES,
    LABELED,
    MISSING,
    NAMED,
    NO_VALUE,
    markdown,
)
from tests.hostile.outcomes import fit_refused, plain, refused, some_labels, table
from tests.hostile.registry import (
    ESTIMATORS,
    allows_missing,
    partly_labeled,
    takes_weights,
)
from tests.hostile.test_inputs import GUIDE


def str_of_case(value):
    return getattr(value, "name", value if isinstance(value, str) else "-")


ERRORS = {"ValueError": ValueError, "TypeError": TypeError}


def has_names(container):
    return container.startswith(("pandas", "polars", "pyarrow", "Dask data frame"))


QUICK = 24
"""Cases with which the ordinary suite tries each estimator; `make test-slow` tries all."""


def selected(cases, name):
    """A few cases for an estimator, always the same, and others for other estimators."""
    rng = np.random.default_rng([20261117, *name.encode()])
    return [cases[i] for i in sorted(rng.permutation(len(cases))[:QUICK])]


@pytest.mark.parametrize("name", NAMED)
def test_some_columns_of_x_end_as_stated(name):
    columns_end_as_stated(name, selected(FEATURE_CASES, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_columns_of_x_end_as_stated(name):
    columns_end_as_stated(name, FEATURE_CASES)


def columns_end_as_stated(name, cases):
    X, y = table()
    model, fitted = clone(ESTIMATORS[name]), plain(name)
    labels, expected = some_labels(model, y), {}
    invalid = (labels, -np.ones(len(X))) if takes_weights(model) else (labels[1:],)
    for content, container, given in cases:
        where = f"{content.name} in {container}"
        allowed = content.outcome == NO_VALUE and allows_missing(model)
        if content.outcome == "accepted" or allowed:
            if content.name not in expected:
                rows = X.copy()
                rows[:, 1] = [np.nan if value is None else value for value in content.values]
                expected[content.name] = fitted.predict_proba(rows)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit had no names
                answers = np.asarray(fitted.predict_proba(given))
            np.testing.assert_allclose(answers, expected[content.name], atol=1e-12, err_msg=where)
            with pytest.raises(ValueError, match=r"negative|inconsistent"):  # X is accepted before
                model.fit(given, *invalid)
            continue
        error, words = ERRORS.get(content.outcome, ValueError), re.escape(content.words)
        named = "'b'" if has_names(container) else r"1\b"
        fit_refused(model, given, labels, f"(?s)(?=.*{words}).*{named}", error)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=words):
                np.asarray(fitted.predict(given))


@pytest.mark.parametrize("name", LABELED)
def test_some_labels_end_as_stated(name):
    labels_end_as_stated(name, selected(LABEL_CASES, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", LABELED)
def test_labels_end_as_stated(name):
    labels_end_as_stated(name, LABEL_CASES)


def labels_end_as_stated(name, cases):
    X, _ = table()
    model, fitted = clone(ESTIMATORS[name]), plain(name)
    for content, container, given in cases:
        where = f"{content.name} in {container}"
        accepted = content.outcome == "accepted"
        if accepted or (partly_labeled(model) and "missing" in content.words):
            codes, classes = read(model, X, given)
            known = codes >= 0
            assert accepted or np.flatnonzero(~known).tolist() == [MISSING], where
            expected = [value for value in content.values if value is not None and value == value]
            found = classes[codes[known]].tolist()
            if classes.dtype.kind != "M":
                assert found == expected, where
                converted = container == "pandas" and not accepted  # to floats, by pandas
                assert converted or set(map(type, found)) == set(map(type, expected)), where
            continue
        fit_refused(model, X, given, re.escape(content.words), ERRORS[content.outcome])
        if not partly_labeled(model):
            refused(lambda y=given: fitted.score(X, y), ".", ERRORS[content.outcome])


@pytest.mark.parametrize(("content", "container", "given"), FEATURE_CASES, ids=str_of_case)
def test_columns_of_the_encoder_are_numbers_or_refused(content, container, given):
    """TableEncoder takes text, categories and dates too, and drops what it cannot encode."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            encoded = np.asarray(TableEncoder().fit_transform(given, table()[1]), dtype=float)
        except (TypeError, ValueError) as error:
            assert type(error) in (TypeError, ValueError), repr(error)  # noqa: PT017
            first, *_ = str(error).splitlines()  # scikit-learn shows complex numbers below
            assert len(first) < 400, error  # noqa: PT017
            return
    assert all(issubclass(own.category, DataWarning) for own in caught), caught
    assert encoded.shape[0] == len(table()[1])
    assert not np.any(np.isinf(encoded))


def read(model, X, y):
    """Codes and classes as `fit` finds them; a whole fit would take long for so many labels."""
    model = getattr(model, "estimator", model)
    if partly_labeled(model):
        model.set_params(unlabeled=None if np.asarray(y)[0] is None else np.nan)
        _, classes, _, codes = model._read_samples(X, y, None)
        return codes, classes
    _, classes, codes, _ = model._check_labeled(X, y, None)
    return codes, classes


def test_the_guide_has_these_tables():
    pytest.importorskip("dask")  # without it, there are fewer containers
    assert markdown() in GUIDE.read_text("utf-8"), "copy what `python -m tests.hostile` prints"
