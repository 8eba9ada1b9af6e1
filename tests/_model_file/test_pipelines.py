"""Model files of pipelines: the same results, steps of other classes are refused, fuzzed."""

import copy
import json
import random
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("safetensors")
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)

from opgd import DataWarning, OPGDClassifier, TableEncoder, load_model, save_model
from opgd._model_file.encoder_state import COLUMNS
from opgd.model_file import ModelFileError
from tests._model_file.forging import read, write
from tests._model_file.mutations import any_value, other_array
from tests._model_file.pipelines import GOLDEN, KNOWN, NEW, PIPELINES, Y, fit, predict
from tests._model_file.pipelines import X as TABLE
from tests.fuzzing import damaged_bytes, damaged_json

FILES = sorted(GOLDEN.glob("*.opgd"))
CASES, PARTS, MAX_SECONDS = 400, 4, 4.0
LATER = [pytest.param(part, marks=pytest.mark.slow) for part in range(2, PARTS)]
NUMBERS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.repeat([0, 1], 20)


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_come_back_with_the_same_results(name, tmp_path):
    model = fit(name)
    save_model(model, tmp_path / "one")
    same = load_model(tmp_path / "one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # unknown categories
        for rows in (TABLE, NEW, NEW[NEW.columns[::-1]]):
            found = predict(same, rows)
            for method, values in predict(model, rows).items():
                np.testing.assert_array_equal(found[method], values)
    names = [pipeline[:-1].get_feature_names_out().tolist() for pipeline in (model, same)]
    assert names[0] == names[1]
    assert [step for step, _ in same.steps] == [step for step, _ in model.steps]
    save_model(same, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("name", ["encoder", "by hand"])
def test_loaded_pipelines_can_be_fitted_again(name, tmp_path):
    model = fit(name)
    save_model(model, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        again = clone(load_model(tmp_path / "model")).fit(TABLE, Y)
    np.testing.assert_array_equal(again.predict_proba(KNOWN), model.predict_proba(KNOWN))


def test_encoders_come_back_with_their_summary_and_settings(tmp_path):
    model = fit("search")
    save_model(model, tmp_path / "model")
    encoder = load_model(tmp_path / "model")[0]
    assert str(encoder.summary_) == str(model[0].summary_)
    assert encoder.get_params() == model[0].get_params()
    assert encoder.columns_ == model[0].columns_
    assert type(encoder.transform(KNOWN)).__name__ == "DataFrame"  # set_output


@pytest.mark.parametrize("template", ["{} EUR", "USD {}", "{}"])
@pytest.mark.parametrize("marks", [" .", " ,", "'.", "',"])
def test_formats_of_amounts_come_back(template, marks, tmp_path):
    written = str.maketrans(",.", marks)
    words = [template.format(f"{60 * i + i / 8:,.2f}".translate(written)) for i in range(40)]
    table = pd.DataFrame({"amount": words})
    model = make_pipeline(TableEncoder(), StandardScaler(), OPGDClassifier(1)).fit(table, LABELS)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    assert same[0].columns_ == model[0].columns_
    np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("unit", ["eur", "EURO", "ÄÖÜ", "", None, 5])
def test_units_of_a_file_are_verified(unit):
    field = COLUMNS["number"][1]["unit"]
    assert field.accepts("EUR", {})
    assert field.accepts(unit, {}) == (unit == "")


class Subclass(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (FunctionTransformer(np.arctan), "FunctionTransformer with func=<ufunc 'arctan'>"),
        (KBinsDiscretizer(2, encode="onehot-dense"), "a step of type KBinsDiscretizer"),
        (Subclass(), "a step of type Subclass"),
        (PowerTransformer(), "PowerTransformer with standardize=True (supported is standardize=F"),
        (SimpleImputer(add_indicator=True), "SimpleImputer with add_indicator=True"),
        (OneHotEncoder(dtype=np.float32, sparse_output=False), "OneHotEncoder with dtype="),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_other_steps_are_refused_by_name(step, name, tmp_path):
    model = make_pipeline(step, OPGDClassifier(1)).fit(np.round(NUMBERS), LABELS)
    with pytest.raises(TypeError, match=re.escape(name)):
        save_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_pipelines_must_end_in_one_of_our_estimators(tmp_path):
    for final in (LogisticRegression(), make_pipeline(OPGDClassifier(1))):
        model = make_pipeline(StandardScaler(), final).fit(NUMBERS, LABELS)
        with pytest.raises(TypeError, match=f"Pipeline that ends in {type(final).__name__}"):
            save_model(model, tmp_path / "model")


def test_parameters_that_results_do_not_depend_on_are_left_out(tmp_path):
    pca = PCA(2, random_state=np.random.RandomState(0))
    model = make_pipeline(pca, OPGDClassifier(1)).fit(NUMBERS, LABELS)
    with pytest.warns(DataWarning, match="pca.random_state"):
        save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.predict_proba(NUMBERS), model.predict_proba(NUMBERS))


def test_arrays_without_names_come_back(tmp_path):
    model = make_pipeline(TableEncoder(), StandardScaler(), OPGDClassifier(1)).fit(NUMBERS, LABELS)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.predict_proba(NUMBERS), model.predict_proba(NUMBERS))


# files of earlier versions


def test_there_is_a_golden_file_of_every_pipeline():
    assert {path.name.partition(".")[0] for path in FILES} == {
        name.replace(" ", "_") for name in PIPELINES
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_pipelines_are_read_and_answer_as_they_did(path):
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    for method, values in predict(load_model(path), KNOWN).items():
        if method == "predict":
            assert values.tolist() == expected[method]
        else:
            np.testing.assert_allclose(values, expected[method], rtol=1e-9, atol=1e-12)


# forged files


def find_places(tree, path=()):
    """Return the paths of all values in a tree of dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from find_places(value, (*path, key))


def mutate_value(rng, contents):
    """Replace a value anywhere in the description of the steps."""
    places = [path for path in find_places(contents.model["steps"]) if len(path) > 1]
    *parents, last = rng.choice(places)
    node = contents.model["steps"]
    for key in parents:
        node = node[key]
    node[last] = any_value(rng)


def mutate_tensor(rng, contents):
    """Change one array."""
    name = rng.choice(sorted(contents.tensors))
    contents.tensors[name] = other_array(rng, contents.tensors[name])


def mutate_order(rng, contents):
    """Drop, repeat or exchange steps."""
    steps = contents.model["steps"]
    kind = rng.randrange(3)
    if kind == 0:
        steps.pop()
    elif kind == 1:
        steps.append(copy.deepcopy(steps[0]))
    else:
        steps[0][1], contents.model["final"][1] = contents.model["final"][1], steps[0][1]


def mutate_tree(rng, contents):
    """Change the whole description."""
    contents.model = damaged_json(rng, contents.model)


def make_mutant(rng):
    """Return the name of a mutation and the changed bytes, or None."""
    data = rng.choice(FILES).read_bytes()
    mutate = rng.choices(
        [mutate_value, mutate_tensor, mutate_order, mutate_tree, None], [0.5, 0.25, 0.05, 0.1, 0.1]
    )[0]
    if mutate is None:
        return "bytes", damaged_bytes(rng, data)
    contents = read(data)
    try:
        mutate(rng, contents)
        return mutate.__name__, write(contents)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None  # nobody could have written this file


def find_fault(data, path):
    """Load a file and predict; return what is wrong, or None.

    A changed encoder may need other columns: this raises a ValueError, like a changed table.
    """
    path.write_bytes(data)
    start = time.process_time()
    try:
        model = load_model(path)
    except ModelFileError as error:
        return None if "\n" not in str(error) else f"message {error}"
    except Exception as error:
        return f"load_model raises {type(error).__name__}: {error}"
    finally:
        seconds = time.process_time() - start
    if seconds > MAX_SECONDS:
        return f"{seconds:.1f} s"
    try:
        with np.errstate(all="ignore"):
            repr(model)
            for method, values in predict(model, KNOWN).items():
                if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
                    return f"{method} is not finite"
    except ValueError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, 1, *LATER])
def test_forged_pipelines_are_refused_or_finite(part, tmp_path):
    faults, used = [], 0
    for number in range(part * CASES // PARTS, (part + 1) * CASES // PARTS):
        found = make_mutant(random.Random(f"pipelines {number}"))
        if found is None:
            continue
        used += 1
        fault = find_fault(found[1], tmp_path / "model")
        if fault:
            faults.append(f"case {number}, {found[0]}: {fault}")
    assert not faults
    assert used > 0.8 * CASES / PARTS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model["steps"][0][1].update(estimator="Popen"), "unexpected type 'Popen'"),
        (lambda model: model["steps"][0][1].update(estimator="OPGDClassifier"), "unexpected type"),
        (lambda model: model["steps"].append(model["steps"][0]), "already|distinct|tensor|incons"),
        (lambda model: model["final"].__setitem__(0, "tableencoder"), "distinct"),
        (lambda model: model["steps"][0][1]["table"]["values"][0].pop(), "features|match"),
    ],
)
def test_forged_steps_are_refused(change, message, tmp_path):
    refuse("encoder", change, message, tmp_path)


@pytest.mark.parametrize("standardize", [True, None])
def test_transformers_that_standardize_are_refused(standardize, tmp_path):
    def change(model):
        model["steps"][0][1]["steps"][0][1]["steps"][1][1]["parameters"].update(
            standardize=standardize
        )

    refuse("power", change, "its standardize .PowerTransformer. must be", tmp_path)


def refuse(name, change, message, tmp_path):
    contents = read((GOLDEN / f"{name}.v4.opgd").read_bytes())
    change(contents.model)
    (tmp_path / "model").write_bytes(write(contents))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model")
